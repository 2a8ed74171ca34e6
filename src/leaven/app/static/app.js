"use strict";
// The flow: one key = label + save + next.

const AHEAD = 50; // rows that are here before they are asked for
const REFILL = 35; // fewer than this: get more
const POLL = 2000; // milliseconds between looks at the progress

const app = {
  start: null,
  classes: [],
  progress: null,
  order: "useful",
  query: "",
  current: null, // the row on the screen
  ahead: [], // the questions after it
  past: [], // what was answered in this window, oldest first
  trail: [], // the steps that an undo takes back: the row of an answer, or null of another step
  place: null, // where in the past we are; null is the present
  held: null, // the question of the present while we are in the past
  model: null,
  oldest: null, // the oldest event of the file that the arrow keys have come to
  wasAway: false,
  walking: false,
  loading: false,
  turn: 0, // raised when questions that are on their way are no longer wanted
  ended: false,

  async open() {
    try {
      this.start = await ask("/api/start", { window: windowName });
    } catch (error) {
      this.alarm(error instanceof Refused ? error.message : "The server does not answer. Trying again …");
      if (!(error instanceof Refused)) setTimeout(() => this.open(), 1000);
      return;
    }
    const { start } = this;
    document.title = start.title + " · " + start.target;
    $("title").textContent = start.title;
    $("who").textContent = start.target + " · " + start.user;
    $("export").href = address("/api/export", { token });
    $("guide-button").hidden = !start.guide;
    $("order").replaceChildren(...Object.entries(start.orders).map(([name, words]) => make("option", { value: name, text: words })));
    this.tellChanges(start.changes);
    this.alarm("");
    this.take(start.progress);
    outbox.open(start.table);
    await this.refill(); // shows the first row
    setTimeout(() => this.poll(), POLL);
    $("question").focus({ preventScroll: true });
  },

  tellChanges(changes) {
    const parts = [];
    if (changes.n_new) parts.push(plural(changes.n_new, "new row") + ".");
    if (changes.moved) parts.push("The rows stand in another order; their labels moved with them.");
    if (changes.changed.length) {
      const rows = changes.changed.slice(0, 10).map(([row, label]) => "row " + (row + 1) + (label ? " (was " + label + ")" : ""));
      parts.push("Changed since they were labeled, and asked again: " + rows.join(", ") + (changes.changed.length > 10 ? ", …" : "") + ".");
    }
    if (changes.n_gone) parts.push(plural(changes.n_gone, "labeled row") + " are no longer in the table; their labels are kept in the event file.");
    $("news").hidden = !parts.length;
    $("news").textContent = parts.join(" ");
  },

  // Questions

  // Get more questions; with `keep` also other ones for all but so many of those that are here. Until
  // the new ones have come the old ones stay: whoever types fast never waits for a row.
  async refill(keep) {
    if (this.loading || this.ended) return;
    this.loading = true;
    const { turn, order } = this;
    try {
      const kept = new Set(this.ahead.slice(0, keep).map((found) => found.row));
      const have = new Set([...kept, ...outbox.rows()]);
      if (this.current) have.add(this.current.row);
      if (this.held) have.add(this.held.row);
      const { questions } = await ask("/api/questions", { order, q: this.query, n: AHEAD - kept.size, have: [...have].join(",") });
      if (turn !== this.turn) return;
      this.ahead = this.ahead.filter((found) => keep === undefined || kept.has(found.row));
      // What was answered while we waited is not asked again.
      const gone = new Set([...outbox.allRows(), ...this.past.slice(-AHEAD).map((item) => item.found.row), ...this.ahead.map((found) => found.row)]);
      if (this.current) gone.add(this.current.row);
      this.ahead.push(...questions.filter((found) => !gone.has(found.row) || found.why === "suspicious" || found.why === "skipped"));
    } catch (error) {
      if (error instanceof Refused) this.say(error.message);
    } finally {
      if (turn === this.turn) this.loading = false;
    }
    if (turn !== this.turn || this.ended) return;
    if (!this.current && this.ahead.length) this.next();
    else if (!this.current) this.show(null);
  },

  // Questions that are on their way are not taken, and new ones can be asked for.
  forget() {
    this.turn += 1;
    this.loading = false;
  },

  next() {
    this.place = null;
    this.held = null;
    this.show(this.ahead.shift() || null);
    if (this.ahead.length < REFILL) this.refill();
  },

  show(found, quiet) {
    this.current = found;
    const past = this.place !== null;
    document.body.classList.toggle("past", past);
    if (!found) {
      $("row").replaceChildren(make("p", { class: "soft", text: this.loading ? "Loading …" : this.order === "search" ? "No more rows in this search." : this.order === "suspicious" ? "No suspicious label." : "No more rows to ask." }));
      $("number").textContent = "";
      $("why").textContent = "";
      $("suggestion").hidden = true;
      $("near-button").hidden = true;
      this.showClasses();
      return;
    }
    $("number").textContent = "Row " + (found.row + 1).toLocaleString("en") + " of " + this.start.n_rows.toLocaleString("en");
    $("why").textContent = this.whyOf(found, past);
    showRow(found, this.start);
    showSuggestion(found);
    this.showClasses();
    $("near-button").hidden = found.n_twins < 2;
    $("near-button").replaceChildren(make("kbd", { text: "d" }), " " + plural(found.n_twins - 1, "near-duplicate"));
    if (!quiet) this.announceRow(found);
  },

  whyOf(found, past) {
    const others = Object.entries(found.others).map(([user, label]) => user + " says " + label);
    const state = past ? (found.label ? "labeled " + found.label : found.mark || "") : "";
    const words = { random: "drawn at random, for the estimate of accuracy", check: "a spot check of a label given in bulk", suspicious: "labeled " + found.label + ", which the model doubts", skipped: "skipped before", search: "from the search", cluster: "from a cluster" };
    if (found.suggestion) words.useful = words.uncertain = "the model is least sure here";
    return [past ? "history: " + state : words[found.why], ...others].filter(Boolean).join(" · ");
  },

  announceRow(found) {
    const text = (found.cells.find(([name]) => this.start.texts.includes(name)) || found.cells[0] || ["", ""])[1];
    const suggestion = found.suggestion ? " Suggestion: " + found.suggestion.label + ", " + percent(found.suggestion.share) + "." : "";
    this.say((this.lastSaid ? this.lastSaid + " " : "") + "Row " + (found.row + 1) + ": " + text.slice(0, 300) + suggestion);
    this.lastSaid = "";
  },

  showClasses() {
    showClasses(this.current, this.progress, panel.group !== null);
  },

  // All columns and characters of the row on the screen.
  async showFull() {
    const { found } = await ask("/api/row", { row: this.current.row });
    if (this.current && this.current.row === found.row) this.show({ ...this.current, cells: found.cells }, true);
  },

  // Answers

  label(name) {
    const rows = panel.checkedRows();
    if (rows !== null) return this.labelMany(rows, name);
    this.answer("label", name, name);
  },

  labelMany(rows, name) {
    if (!rows.length) return this.tell("No row is checked.");
    if (!this.canSave()) return;
    const why = panel.kind;
    const next = why === "cluster" ? panel.next : null;
    outbox.put({ kind: "label", rows, label: name, source: "bulk", why });
    this.trail.push(null);
    const gone = new Set(rows);
    this.forget();
    this.ahead = this.ahead.filter((found) => !gone.has(found.row));
    this.lastSaid = plural(rows.length, "row") + " labeled " + name + " in bulk; u undoes this step.";
    this.flash(this.lastSaid);
    panel.close();
    if (this.current && gone.has(this.current.row)) this.next();
    else this.say(this.lastSaid);
    // Unless something else was opened while the labels were saved.
    if (next !== null) outbox.afterwards = () => panel.kind === null && !$("ask").open && this.run("further");
  },

  // No answer is taken that could not be kept, nor one that nobody would read.
  canSave() {
    if (outbox.state !== "full" && !this.ended) return true;
    this.tell(this.ended ? "This page is done: start leaven annotate again to go on." : "Nothing can be saved at the moment.");
    return false;
  },

  answer(kind, name, words) {
    if (!this.canSave()) return;
    const found = this.current;
    if (!found) return this.tell("There is no row on the screen.");
    const shown = found.suggestion ? { label: found.suggestion.label, share: found.suggestion.share } : {};
    const action = { kind, rows: [found.row], base: found.base, why: found.why || "history", shown };
    if (name !== undefined) action.label = name;
    outbox.put(action);
    this.trail.push(found);
    const changed = { ...found, label: name || null, mark: kind, base: null };
    this.lastSaid = "Row " + (found.row + 1) + " " + (kind === "label" ? "labeled " + name : words) + ".";
    if (this.place !== null) {
      this.past[this.place] = { found: changed, key: action.key };
      this.forward();
    } else {
      this.past.push({ found: changed, key: action.key });
      if (this.past.length > 2000) this.past.shift();
      this.next();
    }
  },

  accept() {
    if (this.groupIsOpen()) return;
    if (!this.current || !this.current.suggestion) return this.tell(this.progress.learner || "There is no suggestion for this row yet.");
    this.label(this.current.suggestion.label);
  },

  // Skip a row, or a cluster; "unsure" is an answer to a row alone.
  setAside(kind, words) {
    if (kind === "skip" && panel.kind === "cluster") return this.commands.cluster();
    if (!this.groupIsOpen()) this.answer(kind, undefined, words);
  },

  // With many rows to be labeled at the side, the row behind them is not what a key is for.
  groupIsOpen() {
    if (panel.group !== null) this.tell("Press the key of a class to label the checked rows, or Esc to go back to the row.");
    return panel.group !== null;
  },

  undo() {
    if (!this.canSave()) return;
    const action = outbox.put({ kind: "undo" });
    const found = this.trail.pop();
    if (!found || this.place !== null) return;
    // The row is back at once; the answer of the server says what was undone.
    action.guess = found.row;
    this.past = this.past.filter((item) => item.found.row !== found.row);
    if (this.current) this.ahead.unshift(this.current);
    this.show({ ...found, label: null, mark: null, base: null }, true);
  },

  back() {
    const place = this.place === null ? this.past.length - 1 : this.place - 1;
    if (place < 0) return this.olderStep();
    if (this.place === null) this.held = this.current;
    this.place = place;
    this.show(this.past[place].found);
  },

  forward() {
    if (this.place === null) return;
    if (this.place + 1 < this.past.length) {
      this.place += 1;
      this.show(this.past[this.place].found);
    } else if (this.held) {
      const held = this.held;
      this.place = null;
      this.held = null;
      this.show(held);
    } else {
      this.next();
    }
  },

  // Beyond what this window has seen: the history of the event file.
  async olderStep() {
    if (this.walking) return;
    this.walking = true;
    try {
      const known = new Set(this.past.map((item) => item.found.row));
      const isOlder = (step) => step.row !== null && ["label", "skip", "unsure"].includes(step.kind) && !known.has(step.row);
      let row = null;
      while (row === null) {
        const { steps } = await ask("/api/history", this.oldest === null ? {} : { before: this.oldest });
        if (!steps.length) return this.tell("This is the oldest row.");
        const older = steps.find(isOlder);
        this.oldest = (older || steps[steps.length - 1]).event;
        if (older) row = older.row;
      }
      const { found } = await ask("/api/row", { row });
      if (this.place === null) this.held = this.current;
      this.past.unshift({ found, key: "" });
      this.place = 0;
      this.show(found);
    } finally {
      this.walking = false;
    }
  },

  async visit(row) {
    const { found } = await ask("/api/row", { row });
    if (this.place === null) this.held = this.current;
    const known = this.past.findIndex((item) => item.found.row === row);
    if (known >= 0) this.past[known].found = found;
    else this.past.push({ found, key: "" });
    this.place = known >= 0 ? known : this.past.length - 1;
    panel.close();
    this.show(found);
  },

  result(action, result) {
    if (outbox.afterwards && !outbox.waiting.length) {
      const then = outbox.afterwards;
      outbox.afterwards = null;
      then();
    }
    if (!result.ok) {
      this.tell(result.error);
      if (result.status === 409) this.visit(action.rows[0]).catch(() => {});
      return;
    }
    if (action.kind === "undo") return this.undone(action, result);
    for (const item of this.past) if (item.key === action.key && result.row) item.found.base = result.row.base;
    if (action.kind === "class") { this.classes = result.classes; this.showClasses(); }
    if (action.kind === "note" && result.row && this.current && this.current.row === result.row.row) {
      this.show({ ...this.current, notes: result.row.notes }, true);
    }
  },

  undone(action, result) {
    const what = result.kind === "label" ? "label " + result.label : result.kind;
    const text = "Undone: " + what + (result.n_rows === 1 ? " of row " + (result.row.row + 1) : " of " + plural(result.n_rows, "row")) + ".";
    this.tell(text);
    if (!result.row || !["label", "skip", "unsure"].includes(result.kind)) return;
    const { row } = result.row;
    this.past = this.past.filter((item) => item.found.row !== row);
    this.ahead = this.ahead.filter((found) => found.row !== row);
    if (this.current && this.current.row === row) {
      this.show({ ...result.row, why: this.current.why }, true);
    } else if (action.guess === undefined || action.guess !== row) {
      if (this.current && this.place === null) this.ahead.unshift(this.current);
      this.place = null;
      this.show(result.row, true);
    }
  },

  // Around it

  setOrder(order) {
    this.order = order;
    $("order").value = order;
    this.current = null;
    this.held = null;
    this.place = null;
    this.ahead = [];
    this.forget();
    this.show(null);
    this.refill();
  },

  // What the server says of all labels, after as many new events of this window as it knows of.
  take(progress, ours) {
    const others = this.progress !== null && progress.version - this.progress.version > (ours || 0);
    this.progress = progress;
    this.classes = progress.classes;
    $("people-button").hidden = !progress.agreement && !progress.disagreements;
    showStrip(progress);
    if (progress.model !== this.model) {
      const first = this.model === null;
      this.model = progress.model;
      // The row on the screen stays; those after it are chosen anew by the new model.
      if (!first || this.current) this.refill(2).then(() => this.freshen());
    } else if (others) {
      this.refill(0); // another window or person may have answered what is here to be asked
    }
    if (this.start) this.showClasses();
  },

  // The row on the screen had no suggestion when it came: it has one now.
  async freshen() {
    if (!this.current || this.current.suggestion || this.place !== null) return;
    const row = this.current.row;
    try {
      const { found } = await ask("/api/row", { row });
      if (this.current && this.current.row === row) this.show({ ...this.current, suggestion: found.suggestion, n_twins: found.n_twins }, true);
    } catch {
      // The next row will have one.
    }
  },

  async poll() {
    try {
      if (!document.hidden || !this.current) {
        const { progress } = await ask("/api/progress", { window: windowName });
        if (progress.version >= (this.progress ? this.progress.version : 0)) this.take(progress);
      } else {
        await ask("/api/progress", { window: windowName });
      }
      if (outbox.state === "away" && !outbox.waiting.length) outbox.change("saved");
      if (!this.ahead.length) this.refill();
    } catch (error) {
      if (!(error instanceof Refused) && outbox.state === "saved") outbox.change("away");
    }
    if (!this.ended) setTimeout(() => this.poll(), POLL);
  },

  showSaved() {
    const count = outbox.waiting.length;
    const words = {
      saved: "Saved",
      saving: "Saving " + count + " …",
      away: count ? "The server is away: " + waiting(count) + " here" : "The server is away",
      full: "Cannot save",
      refused: "Not accepted: " + outbox.message,
    };
    const box = $("saved");
    box.textContent = words[outbox.state];
    box.className = outbox.state;
    if (outbox.state === "full") this.alarm("Labels cannot be saved: " + outbox.message + " Nothing is asked until they can. " + waiting(count) + " in this window: do not close it.");
    else if (outbox.state === "refused") this.alarm(outbox.message + " " + waiting(count) + " in this window.");
    else this.alarm("");
    document.body.classList.toggle("full", outbox.state === "full");
    // Heard once, when it changes: the number of answers that wait is no news.
    const isAway = outbox.state === "away";
    if (isAway !== this.wasAway) this.say(isAway ? "The server is away. Answers are kept here until it is back." : "The server is back.");
    this.wasAway = isAway;
  },

  alarm(text) {
    $("alarm").hidden = !text;
    if ($("alarm").textContent !== text) $("alarm").textContent = text;
  },

  // The same words twice are news too: a space makes them another text.
  say(text) {
    $("said").textContent = text === $("said").textContent ? text + "\u00a0" : text;
  },

  // For everyone: on the screen for a while, and aloud.
  tell(text) {
    this.flash(text);
    this.say(text);
  },

  flash(text) {
    $("news").hidden = false;
    $("news").textContent = text;
    clearTimeout(this.flashing);
    this.flashing = setTimeout(() => { $("news").hidden = true; }, 6000);
  },

  async done() {
    if (!(await outbox.settle())) {
      return this.tell("Not done: " + waiting(outbox.waiting.length) + " to be saved.");
    }
    await ask("/api/done", {}, {});
    this.ended = true;
    this.forget();
    this.alarm("");
    this.show(null);
    $("row").replaceChildren(make("p", { class: "text", text: "Done: every label is saved. You can close this window." }));
    this.say("Done. You can close this window.");
  },

  commands: {
    accept: () => app.accept(),
    skip: () => app.setAside("skip", "skipped"),
    unsure: () => app.setAside("unsure", "marked unsure"),
    undo: () => app.undo(),
    back: () => app.back(),
    forward: () => app.forward(),
    note: () => app.canSave() && boxes.note(),
    new: () => app.canSave() && boxes.newClass(),
    find: () => boxes.findClass(),
    full: () => app.showFull(),
    near: () => app.current && panel.near(app.current.row),
    search: () => panel.search(app.query),
    cluster: () => panel.cluster(panel.kind === "cluster" ? panel.next : undefined),
    further: () => panel.furtherCluster(),
    history: () => panel.history(),
    guide: () => app.start.guide && panel.guide(),
    people: () => panel.people(),
    help: () => (panel.kind === "help" ? panel.close() : panel.help()),
    close: () => panel.close(),
    zoom: () => { const image = $("row").querySelector(".zoom"); if (image) image.click(); },
    done: () => app.done(),
  },

  async run(name) {
    try {
      await this.commands[name]();
    } catch (error) {
      this.tell(error instanceof Refused ? error.message : "The server does not answer.");
    }
  },
};
