// Fills the list of versions from versions.js one level up, where publish.py puts it. A build that was
// not published has no such file and shows its own version alone.
(function () {
  const select = document.getElementById("versions");
  const root = document.documentElement.dataset.content_root || "./";
  const page = select.dataset.page;
  const script = document.createElement("script");
  script.src = root + "../versions.js";
  script.onload = function () {
    const here = select.value;
    select.replaceChildren(...window.LEAVEN_VERSIONS.map(function (version) {
      return new Option(version, version, version === here, version === here);
    }));
  };
  document.head.append(script);
  select.addEventListener("change", function () {
    // The page may not exist in the other version: fall back to its start.
    const base = root + "../" + select.value + "/";
    fetch(base + page, { method: "HEAD" })
      .then(function (answer) { location.href = base + (answer.ok ? page : "index.html"); })
      .catch(function () { location.href = base + "index.html"; });
  });
})();
