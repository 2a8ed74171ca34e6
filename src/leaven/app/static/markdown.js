"use strict";
// Just enough Markdown for guidelines, all of it put in as text.

const HEADING = /^#{1,6}\s+(.*?)\s*#*$/;
const ITEM = /^(\s*)(?:([-*+])|\d+[.)])\s+(.*)/;
const FENCE = /^\s*```/;
const CELLS = /^\s*\|(.*)\|\s*$/;
const RULE = /^[\s|:-]+$/; // the line below the head of a table

function markdown(text) {
  const parts = [];
  let open = null; // the block to which the next line may belong
  const begin = (kind, element) => {
    parts.push(element);
    open = { kind, element, last: element };
  };
  for (const line of text.split(/\r?\n/)) {
    const [heading, item, cells] = [line.match(HEADING), line.match(ITEM), line.match(CELLS)];
    if (FENCE.test(line)) {
      if (open && open.kind === "code") open = null;
      else begin("code", make("pre"));
    } else if (open && open.kind === "code") {
      open.element.append(line + "\n");
    } else if (!line.trim()) {
      open = null;
    } else if (heading) {
      begin("heading", inline(make("h3", { class: "heading" }), heading[1]));
      open = null;
    } else if (item) {
      const kind = item[2] ? "ul" : "ol";
      // A list inside a list is shown further to the right, whatever its marks are.
      const deep = item[1].length > 1 && open !== null && ["ul", "ol"].includes(open.kind);
      if (!deep && (!open || open.kind !== kind)) begin(kind, make(kind));
      open.last = inline(make("li", { class: deep ? "deep" : "" }), item[3]);
      open.element.append(open.last);
    } else if (cells) {
      if (!open || open.kind !== "table") begin("table", make("table"));
      if (!RULE.test(line)) open.element.append(make("tr", {}, ...cells[1].split("|").map((cell) => inline(make("td"), cell.trim()))));
    } else if (line.startsWith(">")) {
      if (!open || open.kind !== "quote") begin("quote", make("blockquote"));
      inline(open.element, line.replace(/^>\s?/, "") + " ");
    } else if (open && ["p", "ul", "ol"].includes(open.kind)) {
      inline(open.last, " " + line.trim()); // lines are wrapped in the file, not on the page
    } else {
      begin("p", inline(make("p"), line.trim()));
    }
  }
  return parts;
}

const INLINE = /\*\*(.+?)\*\*|`(.+?)`|(?<![\p{L}\p{N}*])[*_](\S(?:.*?\S)?)[*_](?![\p{L}\p{N}*])|\[([^\]]+)\]\((https?:[^)\s]+)\)/gu;

function inline(element, text) {
  let last = 0;
  for (const match of text.matchAll(INLINE)) {
    const [all, bold, code, leaning, words, link] = match;
    element.append(text.slice(last, match.index));
    if (link) element.append(make("a", { href: link, target: "_blank", rel: "noopener noreferrer", text: words }));
    else element.append(make(bold ? "b" : code ? "code" : "em", { text: bold || code || leaning }));
    last = match.index + all.length;
  }
  element.append(text.slice(last));
  return element;
}
