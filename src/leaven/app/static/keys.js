"use strict";
// What keys, clicks and the order of the questions do. Loaded last: it starts the page.

const KEYS = {
  Enter: "accept", " ": "skip", x: "unsure", u: "undo", ArrowLeft: "back", ArrowRight: "forward",
  "/": "search", n: "new", "?": "help", c: "cluster", d: "near", f: "find", m: "note", h: "history", g: "guide", z: "zoom", Escape: "close",
};

// How far a key moves a long text: in lines, in pages, or to an end.
const SCROLLS = {
  ArrowDown: [60, 0], ArrowUp: [-60, 0], PageDown: [0, 0.9], PageUp: [0, -0.9], Home: [-1e9, 0], End: [1e9, 0],
};

// The key as the page shows it, also with Caps Lock, on a keyboard without Latin letters, and on
// one that has digits only with Shift.
function keyOf(event) {
  const { key } = event;
  if (key.length !== 1) return key;
  if (/[A-Z]/.test(key)) return event.getModifierState("CapsLock") ? key.toLowerCase() : key;
  if (KEYS[key] || CLASS_KEYS.includes(key) || event.shiftKey) return key;
  const [, digit, letter] = /^(?:Digit(\d)|Key([A-Z]))$/.exec(event.code) || [];
  if (digit) return digit;
  return letter && !/[\u0000-\u024f]/.test(key) ? letter.toLowerCase() : key;
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const typing = event.target.closest("input:not([type=checkbox]), textarea, select, dialog");
  if (event.key === "Escape" && !$("ask").open && panel.kind) {
    event.preventDefault();
    return panel.close();
  }
  // Keys that mean something where the focus is stay there: typing, and buttons reached by Tab.
  if (typing || !app.start || $("ask").open) return;
  const key = keyOf(event);
  if ((key === "Enter" || key === " ") && event.target.closest("button, a, summary, input")) return;
  // The focus is not on the text, so that the browser would scroll nothing.
  if (SCROLLS[key] && !event.target.closest("#panel")) {
    const [pixels, pages] = SCROLLS[key];
    event.preventDefault();
    return $("row").scrollBy(0, pixels + pages * $("row").clientHeight);
  }
  const command = KEYS[key];
  if (!CLASS_KEYS.includes(key) && !command) return;
  event.preventDefault();
  if (event.repeat && !["back", "forward"].includes(command)) return; // a key held down is one answer
  if (command) return app.run(command);
  const name = classKeys.classOf(key);
  if (name === undefined) app.tell("No class has the key " + key + ".");
  else app.label(name);
});

addEventListener("click", (event) => {
  const button = event.target.closest("[data-do], [data-class]");
  if (!button || !app.start) return;
  if (button.dataset.class !== undefined) app.label(app.classes[Number(button.dataset.class)]);
  else app.run(button.dataset.do);
  // The next Enter or Space is an answer again, not this button.
  if (event.detail > 0) button.blur();
});

$("order").addEventListener("change", (event) => {
  const { value } = event.target;
  event.target.blur();
  if (value !== "search" || app.query) return app.setOrder(value);
  // There is nothing to go through before something was searched for.
  event.target.value = app.order;
  app.run("search");
});

outbox.onchange = () => app.showSaved();
outbox.onresult = (action, result) => app.result(action, result);
outbox.onprogress = (progress, ours) => app.take(progress, ours);
app.open();
