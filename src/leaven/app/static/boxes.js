"use strict";
// A small box to type in: a new class, a note, or a class to be found.

const MATCHES = 8; // classes that are listed while one is typed

const boxes = {
  prompt({ label, hint, rows, value, choices, submit }) {
    const text = $("ask-text");
    $("ask-label").textContent = label;
    $("ask-hint").textContent = hint || "";
    text.rows = rows || 1;
    text.value = value || "";
    // With a list below it the box is a combobox, whose choices a screen reader follows.
    for (const [name, value] of [["role", "combobox"], ["aria-expanded", "true"], ["aria-controls", "ask-list"], ["aria-autocomplete", "list"]]) {
      if (choices) text.setAttribute(name, value);
      else text.removeAttribute(name);
    }
    if (!choices) text.removeAttribute("aria-activedescendant");
    $("ask-list").hidden = !choices;
    let chosen = 0; // which of the matches Enter takes
    const fill = () => {
      const names = choices ? choices(text.value) : [];
      chosen = Math.min(chosen, Math.max(0, Math.min(names.length, MATCHES) - 1));
      $("ask-list").replaceChildren(...names.slice(0, MATCHES).map((name, i) => this.choice(name, i, chosen, submit)));
      if (choices) this.tellChoices(names, chosen);
      return names;
    };
    text.oninput = () => { chosen = 0; fill(); };
    fill();
    text.onkeydown = (event) => {
      if (choices && ["ArrowDown", "ArrowUp"].includes(event.key)) {
        event.preventDefault();
        chosen = Math.max(0, chosen + (event.key === "ArrowDown" ? 1 : -1));
        return fill();
      }
      if (event.key !== "Enter" || event.isComposing || (rows > 1 && event.shiftKey)) return;
      event.preventDefault();
      const typed = choices ? fill()[chosen] : text.value.trim();
      $("ask").close();
      if (typed !== undefined && (typed || rows > 1)) submit(typed, event.shiftKey);
    };
    $("ask").showModal();
    text.focus();
  },

  choice(name, i, chosen, submit) {
    const options = { id: "choice-" + i, class: i === chosen ? "first" : "", role: "option", "aria-selected": String(i === chosen) };
    return make("li", { ...options, onclick: () => { $("ask").close(); submit(name); } }, make("span", { text: name, dir: "auto" }));
  },

  tellChoices(names, chosen) {
    const matches = names.length === 1 ? "1 match" : names.length.toLocaleString("en") + " matches";
    $("ask-hint").textContent = names.length ? matches + ". Enter takes " + names[chosen] + "; arrow keys choose another." : "No class has this in its name.";
    $("ask-text").setAttribute("aria-activedescendant", names.length ? "choice-" + chosen : "");
  },

  newClass() {
    this.prompt({
      label: "Name of the new class",
      hint: "Enter adds it; Shift+Enter also labels this row.",
      submit: (name, andLabel) => {
        if (app.classes.includes(name)) return app.tell("There is a class " + name + " already.");
        outbox.put({ kind: "class", label: name });
        app.trail.push(null);
        app.classes = [...app.classes, name];
        app.showClasses();
        app.tell("New class " + name + ", key " + (classKeys.given.get(name) || "f"));
        if (andLabel === true) app.label(name);
      },
    });
  },

  findClass() {
    this.prompt({
      label: "Label with the class …",
      choices: (typed) => {
        const wanted = typed.trim().toLowerCase();
        const starts = app.classes.filter((name) => name.toLowerCase().startsWith(wanted));
        return [...starts, ...app.classes.filter((name) => !starts.includes(name) && name.toLowerCase().includes(wanted))];
      },
      submit: (name) => app.label(name),
    });
  },

  note() {
    const found = app.current;
    if (!found) return;
    const own = found.notes.find(([user]) => user === app.start.user);
    this.prompt({
      label: "Note on row " + (found.row + 1),
      hint: "Enter saves, Shift+Enter is a new line. An empty note is removed.",
      rows: 4,
      value: own ? own[1] : "",
      submit: (text) => {
        outbox.put({ kind: "note", rows: [found.row], text });
        app.trail.push(null);
      },
    });
  },
};
