"use strict";
// Talking to the server: reads, and an outbox of actions that survives its absence.

const token = new URLSearchParams(location.search).get("token") || "";
// The name of this window, so that the server knows when the last one is closed.
const windowName = sessionStorage.getItem("leaven.window") || newKey();
sessionStorage.setItem("leaven.window", windowName);

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function address(path, query) {
  const words = new URLSearchParams(query || {});
  return path + (words.size ? "?" + words : "");
}

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, query, body) {
  const answer = await fetch(address(path, query), {
    method: body === undefined ? "GET" : "POST",
    headers: { "X-Leaven-Token": token, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
  });
  const found = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, found.error);
  return found;
}

// Actions are sent in order, one batch at a time. Each has a key of its own: if the answer is
// lost and it is sent again, the server knows it already.
const outbox = {
  waiting: [],
  state: "saved", // "saving", "away" (no server), "full" (cannot save), "refused"
  message: "",
  onchange: () => {},
  onresult: () => {},
  onprogress: () => {},
  place: "",
  busy: false,

  open(table) {
    const prefix = "leaven.outbox." + table + ".";
    this.place = prefix + windowName;
    // What an earlier window could not send is sent now.
    const old = [];
    for (const name of Object.keys(localStorage).filter((name) => name.startsWith(prefix))) {
      old.push(...this.read(name));
      if (name !== this.place) localStorage.removeItem(name);
    }
    this.waiting = old.concat(this.waiting);
    this.keep();
    this.send();
  },

  read(name) {
    try {
      const found = JSON.parse(localStorage.getItem(name));
      return Array.isArray(found) ? found : [];
    } catch {
      return [];
    }
  },

  keep() {
    if (!this.place) return;
    try {
      if (this.waiting.length) localStorage.setItem(this.place, JSON.stringify(this.waiting));
      else localStorage.removeItem(this.place);
    } catch {
      // No room or not allowed: the actions are still in memory.
    }
  },

  put(action) {
    action.key = newKey();
    this.waiting.push(action);
    this.keep();
    if (this.state === "saved") this.change("saving");
    else this.onchange();
    this.send();
    return action;
  },

  change(state, message) {
    this.state = state;
    this.message = message || "";
    this.onchange();
  },

  rows() {
    return this.waiting.flatMap((action) => (action.rows && action.rows.length === 1 ? action.rows : []));
  },

  // Rows of all actions that wait, those in bulk among them: too many for an address.
  allRows() {
    return this.waiting.flatMap((action) => action.rows || []);
  },

  // Wait until all is sent; false if it cannot be at the moment.
  async settle() {
    while (this.waiting.length && this.state === "saving") await new Promise((done) => setTimeout(done, 50));
    return !this.waiting.length;
  },

  async send() {
    if (this.busy || !this.waiting.length) return;
    this.busy = true;
    let pause = 250;
    while (this.waiting.length) {
      const batch = this.waiting.slice(0, 50);
      try {
        const found = await ask("/api/actions", {}, { actions: batch });
        this.waiting.splice(0, batch.length);
        this.keep();
        pause = 250;
        batch.forEach((action, i) => this.onresult(action, found.results[i]));
        this.onprogress(found.progress, batch.length);
        this.change(this.waiting.length ? "saving" : "saved");
      } catch (error) {
        if (error instanceof Refused && error.status === 400) {
          // The server understood and refused the batch as such: sending it again is in vain.
          this.waiting.splice(0, batch.length);
          this.keep();
          batch.forEach((action) => this.onresult(action, { ok: false, error: error.message }));
          continue;
        }
        const state = !(error instanceof Refused) ? "away" : error.status === 507 ? "full" : "refused";
        this.change(state, error.message);
        await new Promise((done) => setTimeout(done, pause));
        pause = Math.min(2 * pause, 4000);
      }
    }
    this.busy = false;
    this.change("saved");
  },
};

addEventListener("pagehide", () => {
  const data = new Blob([JSON.stringify({ window: windowName })], { type: "application/json" });
  navigator.sendBeacon(address("/api/leave", { token }), data);
});
