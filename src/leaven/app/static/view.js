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
const waiting = (count) => plural(count, "answer") + (count === 1 ? " waits" : " wait");

// Letters that are commands are no keys of classes.
const CLASS_KEYS = [..."1234567890abeijklopqrstvwy"];

// Which key labels with which class. A class whose name is a key has that key: nobody wants to press
// 1 for a class "0". A key once given stays, also when a class is added later.
const classKeys = {
  given: new Map(),

  update(classes) {
    this.given = new Map([...this.given].filter(([name]) => classes.includes(name)));
    const taken = new Set(this.given.values());
    const give = (name, key) => {
      if (key === undefined || taken.has(key) || this.given.has(name)) return;
      this.given.set(name, key);
      taken.add(key);
    };
    for (const name of classes) give(name, CLASS_KEYS.find((key) => key === name.toLowerCase()));
    for (const name of classes) give(name, CLASS_KEYS.find((key) => !taken.has(key)));
  },

  classOf(key) {
    const found = [...this.given].find(([, own]) => own === key);
    return found && found[0];
  },
};

function colorOf(number) {
  return "k" + (number % 8);
}

// A text with the words that speak for the suggestion marked, and quotes folded.
function textOf(text, words) {
  const box = make("div", { class: "text", dir: "auto" });
  const lines = text.trimEnd().split("\n");
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
      if (cell.length < length) box.append(moreOf(found.row, plural(length, "character")));
    } else if (cell) {
      const why = telling.get(name);
      small.append(
        make("div", { class: why ? "telling" : "" },
          make("dt", { text: name }),
          make("dd", { text: cell, dir: "auto" }, why && why !== cell ? make("small", { text: " " + why }) : null)));
    }
  }
  if (small.children.length) box.append(small);
  if (found.cells.length < start.n_columns) box.append(moreOf(found.row, plural(start.n_columns, "column")));
  for (const [user, note] of found.notes) {
    box.append(make("p", { class: "note" }, make("b", { text: user + ": " }), note));
  }
  box.scrollTop = 0;
}

function imageOf(row, cell) {
  const image = make("img", { src: address("/api/image", { row, token }), alt: cell, class: "image" });
  const button = make("button", { class: "zoom", title: "Zoom (z)", "aria-pressed": "false", onclick: () => {
    button.setAttribute("aria-pressed", String(button.classList.toggle("large")));
  } }, image);
  image.addEventListener("error", () => button.replaceWith(make("p", { class: "note", text: "This image cannot be shown: " + cell })));
  return button;
}

// The same image, small and only when it comes into view.
function thumbnail(row, words) {
  return make("img", { src: address("/api/image", { row, token }), alt: words, title: words, class: "thumb", loading: "lazy" });
}

function moreOf(row, what) {
  return make("button", { text: "Show all " + what, onclick: () => app.run("full") });
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
    make("span", { class: "share", text: percent(suggestion.share), title: "Calibrated: of 100 suggestions with this number, about as many are right" }));
  const others = suggestion.all.slice(1).filter(([, share]) => share >= 0.05);
  if (others.length) {
    box.append(make("span", { class: "soft", text: others.map(([name, share]) => name + " " + percent(share)).join(", ") }));
  }
  const reasons = [...suggestion.words, ...suggestion.columns.map(([name, what]) => name + ": " + what)].slice(0, 6);
  if (reasons.length) {
    box.append(make("span", { class: "because" }, "because of ", ...reasons.map((word) => make("mark", { text: word, dir: "auto" }))));
  }
}

function showClasses(found, progress, bulk) {
  const box = $("classes");
  const many = app.classes.length > 12;
  // Buttons stay while their classes do: one that is replaced loses the focus, or half a click.
  const names = JSON.stringify(app.classes);
  if (box.dataset.names !== names) {
    box.dataset.names = names;
    classKeys.update(app.classes);
    box.classList.toggle("many", many);
    box.replaceChildren(...app.classes.map(classButton));
    if (!app.classes.length) box.append(make("p", { class: "soft" }, "No class yet: press ", make("kbd", { text: "n" }), " to make one."));
    $("find-button").hidden = !many;
  }
  const suggested = found && found.suggestion && !bulk ? found.suggestion.label : null;
  const label = found && !bulk ? found.label : null;
  app.classes.forEach((name, i) => {
    const button = box.children[i];
    button.setAttribute("aria-pressed", String(label === name));
    button.classList.toggle("suggested", name === suggested);
    button.lastChild.textContent = String((progress && progress.per_class[i]) || "");
  });
  $("bulk-line").hidden = !bulk;
  $("bulk-line").textContent = bulk ? "One key labels " + plural(panel.checkedRows().length, "row") : "";
  const best = box.querySelector(".suggested");
  if (many && best && suggested !== box.dataset.best) best.scrollIntoView({ block: "nearest" });
  box.dataset.best = suggested || "";
}

function classButton(name, i) {
  const key = classKeys.given.get(name);
  return make("button", { class: "class " + colorOf(i), "data-class": i },
    key ? make("kbd", { text: key }) : null, make("span", { text: name, dir: "auto" }), make("small"));
}
