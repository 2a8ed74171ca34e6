"use strict";
// From data to elements. Cells are only ever put in as text.

const $ = (id) => document.getElementById(id);

function make(tag, options, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options || {})) {
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const percent = (share) => Math.round(100 * share) + "%";
const plural = (count, word) => count.toLocaleString("en") + " " + word + (count === 1 ? "" : "s");

// Letters that are commands are no keys of classes.
const CLASS_KEYS = [..."1234567890abeijklopqrstvwyz"];

function colorOf(number) {
  return "k" + (number % 8);
}

// A text with the words that speak for the suggestion marked, and quotes folded.
function textOf(text, words) {
  const box = make("div", { class: "text", dir: "auto" });
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; ) {
    const quoted = lines[i].startsWith(">");
    let j = i;
    while (j < lines.length && lines[j].startsWith(">") === quoted) j++;
    const part = lines.slice(i, j).join("\n");
    if (quoted && j - i > 1) {
      box.append(make("details", { class: "quote" }, make("summary", { text: plural(j - i, "quoted line") }), marked(part, words)));
    } else if (part) {
      box.append(marked(part, words));
    }
    i = j;
  }
  return box;
}

function marked(text, words) {
  const line = make("p");
  if (!words || !words.length) {
    line.textContent = text;
    return line;
  }
  const wanted = new Set(words);
  let last = 0;
  for (const match of text.matchAll(/[\p{L}\p{N}_]{2,}/gu)) {
    if (!wanted.has(match[0].toLowerCase())) continue;
    line.append(text.slice(last, match.index), make("mark", { text: match[0] }));
    last = match.index + match[0].length;
  }
  line.append(text.slice(last));
  return line;
}

// Texts are long or have line breaks or are named as texts; everything else is a small cell.
function isText(name, cell, length, start) {
  return start.texts.includes(name) || length > 120 || cell.includes("\n");
}

function showRow(found, start) {
  const box = $("row");
  box.replaceChildren();
  const reasons = found.suggestion || { words: [], columns: [] };
  const telling = new Map(reasons.columns);
  const small = make("dl", { class: "cells" });
  for (const [name, cell, length] of found.cells) {
    if (name === start.images) {
      box.append(imageOf(found.row, cell));
    } else if (cell && isText(name, cell, length, start)) {
      box.append(make("h3", { text: name }), textOf(cell, reasons.words));
      if (cell.length < length) box.append(moreOf(found.row, length));
    } else if (cell) {
      const why = telling.get(name);
      small.append(
        make("div", { class: why ? "telling" : "" },
          make("dt", { text: name }),
          make("dd", { text: cell, dir: "auto" }, why ? make("small", { text: " " + why }) : null)));
    }
  }
  if (small.children.length) box.append(small);
  for (const [user, note] of found.notes) {
    box.append(make("p", { class: "note" }, make("b", { text: user + ": " }), note));
  }
  box.scrollTop = 0;
}

function imageOf(row, cell) {
  const image = make("img", { src: address("/api/image", { row, token }), alt: cell, class: "image" });
  const button = make("button", { class: "zoom", title: "Zoom", onclick: () => button.classList.toggle("large") }, image);
  image.addEventListener("error", () => button.replaceWith(make("p", { class: "note", text: "This image cannot be shown: " + cell })));
  return button;
}

function moreOf(row, length) {
  return make("button", { text: "Show all " + length.toLocaleString("en") + " characters", onclick: async () => {
    const found = await ask("/api/row", { row });
    app.showFull(found.found);
  } });
}

function showSuggestion(found) {
  const box = $("suggestion");
  const suggestion = found.suggestion;
  box.hidden = !suggestion;
  box.replaceChildren();
  if (!suggestion) return;
  const number = app.classes.indexOf(suggestion.label);
  box.className = colorOf(number);
  const bar = make("span", { class: "bar" }, make("i"));
  bar.firstChild.style.width = percent(suggestion.share);
  box.append(
    make("span", { class: "soft", text: "Suggestion" }),
    make("b", { text: suggestion.label, dir: "auto" }),
    bar,
    make("span", { class: "share", text: percent(suggestion.share), title: "Calibrated probability" }));
  const others = suggestion.all.slice(1).filter(([, share]) => share >= 0.05);
  if (others.length) {
    box.append(make("span", { class: "soft", text: others.map(([name, share]) => name + " " + percent(share)).join(", ") }));
  }
  if (suggestion.words.length) {
    box.append(make("span", { class: "because" }, "because of ", ...suggestion.words.map((word) => make("mark", { text: word, dir: "auto" }))));
  }
}

function showClasses(found, progress, bulk) {
  const box = $("classes");
  const suggested = found && found.suggestion ? found.suggestion.label : null;
  const label = found && !bulk ? found.label : null;
  const many = app.classes.length > 12;
  box.classList.toggle("many", many);
  box.replaceChildren(...app.classes.map((name, i) => {
    const key = CLASS_KEYS[i];
    const button = make("button", { class: "class " + colorOf(i), "data-class": i, "aria-pressed": label === name ? "true" : "false" },
      key ? make("kbd", { text: key }) : null,
      make("span", { text: name, dir: "auto" }),
      make("small", { text: String((progress && progress.per_class[i]) || "") }));
    if (!bulk && name === suggested) button.classList.add("suggested");
    return button;
  }));
  if (app.classes.length > CLASS_KEYS.length || many) {
    box.append(make("button", { "data-do": "find", class: "class" }, make("kbd", { text: "f" }), make("span", { text: "find a class" })));
  }
  if (!app.classes.length) box.append(make("p", { class: "soft" }, "No class yet: press ", make("kbd", { text: "n" }), " to make one."));
}

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
  const facts = make("dl");
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
  const advice = make("p", { class: "advice", text: adviceOf(progress, labeled) });
  if (progress.stop) advice.classList.add("stop");
  strip.replaceChildren(bar, facts, advice);
}

function adviceOf(progress, labeled) {
  if (labeled === progress.counts.n_rows) return "Every row has a label.";
  if (progress.learner) return progress.learner;
  if (progress.stop) return "You may stop: the answers of the last models hardly differ.";
  return "Go on: new labels still change the answers.";
}

function sparkline(curve) {
  const space = "http://www.w3.org/2000/svg";
  const [width, height] = [110, 30];
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
