"use strict";
// The strip: can I stop?
function showStrip(progress) {
  if (!progress) return;
  const strip = $("strip");
  const { counts } = progress;
  const labeled = counts.given + counts.hand + counts.bulk;
  const bar = make("div", { class: "progress", role: "img", "aria-label": labeled + " of " + counts.n_rows + " rows have a label" });
  for (const kind of ["given", "hand", "bulk"]) {
    const part = make("i", { class: kind, title: counts[kind].toLocaleString("en") + " " + kind });
    part.style.width = (100 * counts[kind]) / counts.n_rows + "%";
    bar.append(part);
  }
  // The list stays, and with it how far a finger has scrolled it.
  const facts = strip.querySelector("dl") || make("dl");
  facts.replaceChildren();
  const fact = (name, value, title, note) =>
    facts.append(make("div", { title }, make("dt", { text: name }), make("dd", { text: value }), note ? make("dd", { class: "soft", text: note }) : null));
  const sources = [["given", counts.given], ["by hand", counts.hand], ["in bulk", counts.bulk]];
  fact("Rows with a label", labeled.toLocaleString("en") + " of " + counts.n_rows.toLocaleString("en"), "",
    sources.filter(([, n]) => n).map(([word, n]) => n.toLocaleString("en") + " " + word).join(", "));
  if (progress.per_minute) fact("Labels per minute", String(Math.round(progress.per_minute)), "Pauses are left out");
  const accuracy = progress.accuracy;
  fact("Estimated accuracy", accuracy ? percent(accuracy.share) : "not known yet",
    "Of the model, on labels that it did not know, at rows drawn at random: about one question in ten. Never estimated from rows that were chosen to be asked.",
    accuracy ? percent(accuracy.low) + " to " + percent(accuracy.high) + ", from " + plural(accuracy.n, "random row") : "about 1 question in 10 is random");
  if (progress.curve.length > 1) facts.append(make("div", { class: "curve", title: "Accuracy by number of labels" }, make("dt", { text: "Learning curve" }), sparkline(progress.curve)));
  if (progress.uncertain !== null) fact("Uncertain rows", progress.uncertain.toLocaleString("en"), "Rows without a label whose suggestion is below 80%");
  if (progress.gain !== null) fact("20 more labels", "+" + (100 * progress.gain).toFixed(1) + " points", "Expected gain in accuracy, by the learning curve so far");
  if (progress.checks) fact("Spot checks", progress.checks.agree + " of " + progress.checks.n, "Labels in bulk that a label by hand confirmed");
  if (progress.agreement) fact(progress.agreement.measure, progress.agreement.kappa.toFixed(2), "On rows that all labeled: " + progress.agreement.people.join(", "), plural(progress.disagreements, "disagreement"));
  const [advice, reason] = adviceOf(progress, labeled);
  facts.append(make("div", { class: "advice" + (progress.stop ? " stop" : "") },
    make("dt", { text: "Can I stop?" }), make("dd", { text: advice }), reason ? make("dd", { class: "soft", text: reason }) : null));
  if (strip.firstChild) strip.firstChild.replaceWith(bar);
  else strip.append(bar, facts);
}

// What to do, and why; only ever advice.
function adviceOf(progress, labeled) {
  if (labeled === progress.counts.n_rows) return ["Yes", "every row has a label"];
  if (progress.learner) return ["Not known yet", progress.learner];
  if (progress.stop) return ["You may", "the answers of the last models hardly differ"];
  return ["Better go on", "new labels still change the answers"];
}

function sparkline(curve) {
  const space = "http://www.w3.org/2000/svg";
  const [width, height] = [120, 32];
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", "0 0 " + width + " " + height);
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", "From " + percent(curve[0][1]) + " to " + percent(curve[curve.length - 1][1]));
  const sizes = curve.map((point) => Math.log2(point[0] + 1));
  const low = Math.min(...curve.map((point) => point[2]));
  const high = Math.max(...curve.map((point) => point[3]), low + 0.01);
  const x = (i) => ((sizes[i] - sizes[0]) / Math.max(sizes[sizes.length - 1] - sizes[0], 1e-9)) * (width - 2) + 1;
  const y = (share) => height - 1 - ((share - low) / (high - low)) * (height - 2);
  const band = document.createElementNS(space, "path");
  band.setAttribute("class", "band");
  band.setAttribute("d", "M" + curve.map((point, i) => x(i) + "," + y(point[3])).join("L") +
    "L" + curve.map((point, i) => x(i) + "," + y(point[2])).reverse().join("L") + "Z");
  const line = document.createElementNS(space, "path");
  line.setAttribute("class", "line");
  line.setAttribute("d", "M" + curve.map((point, i) => x(i) + "," + y(point[1])).join("L"));
  picture.append(band, line);
  return picture;
}
