"use strict";
// The panel at the side: searches, clusters, history, guidelines, keys.

const panel = {
  kind: null,
  group: null, // rows that one key labels: {open, has, unchecked}

  show(kind, title, ...children) {
    this.kind = kind;
    $("panel-title").textContent = title;
    $("panel-body").replaceChildren(...children);
    $("panel").hidden = false;
    document.body.classList.toggle("bulk", this.group !== null);
    app.showClasses();
  },

  close() {
    this.kind = null;
    this.group = null;
    $("panel").hidden = true;
    document.body.classList.remove("bulk");
    app.showClasses();
    $("question").focus({ preventScroll: true });
  },

  // The rows that stay checked; null if the panel has none to label.
  checkedRows() {
    if (!this.group) return null;
    return this.group.open.filter((row) => !this.group.unchecked.has(row));
  },

  bulk(found) {
    this.group = found.open.length ? { open: found.open, has: new Set(found.open), unchecked: new Set() } : null;
  },

  countLine() {
    const rows = this.checkedRows();
    const text = rows === null ? "Nothing to label here." : "Press the key of a class to label " + plural(rows.length, "row") + ". Labels given by hand stay.";
    return make("p", { id: "bulk-count", class: "call", text });
  },

  recount() {
    const line = $("bulk-count");
    if (line) line.replaceWith(this.countLine());
    app.showClasses();
  },

  lines(rows) {
    return make("ul", { class: app.start.images ? "lines tiles" : "lines" }, ...rows.map((row) => this.line(row)));
  },

  line(row) {
    const open = this.group && this.group.has.has(row.row);
    const box = open ? make("input", { type: "checkbox", checked: true, onchange: () => {
      if (box.checked) this.group.unchecked.delete(row.row);
      else this.group.unchecked.add(row.row);
      this.recount();
    } }) : null;
    if (box) box.checked = !this.group.unchecked.has(row.row);
    const tag = row.label ? make("b", { class: "tag " + colorOf(app.classes.indexOf(row.label)), text: row.label + (row.source === "bulk" ? " (bulk)" : "") }) : null;
    const words = make("span", { text: row.text, dir: "auto" });
    const shown = app.start.images ? thumbnail(row.row, row.text) : words;
    return make("li", {}, make(box ? "label" : "div", { class: "words" }, box, shown), tag,
      make("button", { class: "open", text: "Row " + (row.row + 1), title: "Show this row", onclick: () => app.visit(row.row) }));
  },

  answers(found) {
    if (!found.answers.length || this.group === null) return null;
    return make("p", { class: "soft", text: "The model answers " + found.answers.map(([name, share]) => name + " for " + percent(share)).join(", ") + "." });
  },

  search(words) {
    const input = make("input", { type: "search", placeholder: "words, \"a phrase\", -without", "aria-label": "Search", value: words || "" });
    const results = make("div", { id: "results" });
    let wanted = 0;
    const run = async () => {
      const mine = ++wanted;
      const found = await ask("/api/search", { q: input.value });
      if (mine !== wanted) return;
      app.query = input.value;
      this.bulk(found);
      document.body.classList.toggle("bulk", this.group !== null);
      const more = found.n_rows - found.rows.length;
      results.replaceChildren(
        make("p", { text: plural(found.n_rows, "row") + (found.n_rows ? "" : " with " + input.value) }),
        ...(found.n_rows ? [this.countLine()] : []),
        ...[this.answers(found)].filter(Boolean),
        this.lines(found.rows),
        ...(more > 0 ? [make("p", { class: "soft", text: "and " + plural(more, "more row") + ", which are labeled too." })] : []));
      app.showClasses();
      app.say(plural(found.n_rows, "row") + " found.");
    };
    let timer = 0;
    input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(run, 120); });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); clearTimeout(timer); run().then(() => { input.blur(); $("panel").focus(); }); }
    });
    this.group = null;
    const each = make("button", { text: "Ask these rows one by one", onclick: () => { app.setOrder("search"); this.close(); } });
    this.show("search", "Search", input, make("p", {}, each), results);
    input.focus();
    if (words) run();
  },

  async cluster(number) {
    this.showCluster(await ask("/api/cluster", number === undefined ? {} : { cluster: number }));
  },

  // After a cluster was labeled: the next one that has rows without a label.
  async furtherCluster() {
    const found = await ask("/api/cluster");
    if (found.n_free) this.showCluster(found);
    else app.tell("Every cluster is labeled.");
  },

  showCluster(found) {
    this.bulk(found);
    const all = make("details", {}, make("summary", { text: found.n_rows > found.rows.length ? "The first " + found.rows.length + " of " + plural(found.n_rows, "row") : "All " + plural(found.n_rows, "row") }), this.lines(found.rows));
    this.show("cluster", "A cluster of " + plural(found.n_rows, "row"),
      found.telling.length ? make("p", { class: "telling-words" }, ...found.telling.map((word) => make("mark", { text: word, dir: "auto" }))) : null,
      this.answers(found), this.countLine(),
      make("h3", { text: "Typical" }), this.lines(found.typical),
      found.atypical.length ? make("h3", { text: "Atypical" }) : null, found.atypical.length ? this.lines(found.atypical) : null,
      all,
      make("p", {}, make("button", { text: "Next cluster", "data-key": "c", onclick: () => this.cluster(found.next) })));
    this.next = found.next;
    $("panel").focus();
    app.say("A cluster of " + plural(found.n_rows, "row") + ": " + found.telling.join(", "));
  },

  async near(row) {
    const found = await ask("/api/near", { row });
    if (found.n_rows < 2) return app.tell(found.known ? "Row " + (row + 1) + " has no near-duplicates." : "Near-duplicates are not known yet: the rows are still being compared.");
    this.bulk(found);
    this.show("near", plural(found.n_rows - 1, "near-duplicate") + " of row " + (row + 1), this.countLine(), this.answers(found), this.lines(found.rows));
    $("panel").focus();
  },

  async history() {
    this.group = null;
    const list = make("ol", { class: "lines" });
    const load = async (before) => {
      const { steps } = await ask("/api/history", before === undefined ? {} : { before });
      list.append(...steps.map((step) => this.step(step)));
      more.hidden = steps.length < 50;
      more.onclick = () => load(steps[steps.length - 1].event);
    };
    const more = make("button", { text: "Older" });
    this.show("history", "History", make("p", { class: "soft", text: "u undoes the newest step; a row can be opened and its label changed." }), list, more);
    await load();
  },

  step(step) {
    const what = { label: step.label, skip: "skipped", unsure: "unsure", note: "note: " + step.label, class: "new class " + step.label }[step.kind];
    return make("li", {},
      make("b", { class: "tag " + (step.kind === "label" ? colorOf(app.classes.indexOf(step.label)) : ""), text: what }),
      make("span", { text: step.n_rows > 1 ? plural(step.n_rows, "row") + " in bulk: " + step.text : step.text, dir: "auto" }),
      step.row === null ? null : make("button", { class: "open", text: "Row " + (step.row + 1), onclick: () => app.visit(step.row) }));
  },

  async people() {
    this.group = null;
    const { rows } = await ask("/api/disagreements");
    this.show("people", plural(rows.length, "disagreement"), make("ul", { class: "lines" }, ...rows.map((row) =>
      make("li", {}, make("span", { text: row.text, dir: "auto" }),
        ...Object.entries(row.labels).map(([user, label]) => make("b", { class: "tag", text: user + ": " + label })),
        make("button", { class: "open", text: "Row " + (row.row + 1), onclick: () => app.visit(row.row) })))));
  },

  guide() {
    this.group = null;
    this.show("guide", "Guidelines", ...markdown(app.start.guide));
  },

  help() {
    this.group = null;
    const keys = [
      ["1 2 3 … a b …", "label the row and go to the next"], ["Enter", "accept the suggestion"], ["Space", "skip: the row comes back at the end; at a cluster, show the next one"],
      ["x", "unsure: a row for review"], ["u", "undo, any number of times"], ["← →", "walk through the history; a label can be changed there"],
      ["/", "search; Enter leaves the box, then a key labels all rows that are checked"], ["c", "a cluster, to be labeled with one key"],
      ["d", "near-duplicates of this row"], ["z", "zoom an image"], ["f", "find a class by typing"], ["n", "new class"], ["m", "note on this row"],
      ["↑ ↓ PgUp PgDn", "scroll a long text"], ["h", "history"], ["g", "guidelines"], ["Esc", "close a panel"], ["?", "this list"],
    ];
    this.show("help", "Keys", make("dl", { class: "keys" }, ...keys.map(([key, what]) =>
      make("div", {}, make("dt", {}, make("kbd", { text: key })), make("dd", { text: what })))));
  },
};
