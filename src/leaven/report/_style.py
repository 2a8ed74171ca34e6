"""The look of the page, in light, in dark and on paper, and the one small script."""

from __future__ import annotations

import base64
import hashlib

# Classes with a color and a shape of their own.
N_COLORS = 8

LIGHT = {
    "page": "#ffffff",
    "panel": "#f4f5f7",
    "ink": "#1d2127",
    "soft": "#565e6b",
    "line": "#d3d7dd",
    "accent": "#1f5fa8",
    "k0": "#1f66ad",
    "k1": "#c04f0c",
    "k2": "#147a55",
    "k3": "#a03a86",
    "k4": "#856800",
    "k5": "#5b4bb7",
    "k6": "#b3263a",
    "k7": "#32727f",
    "rest": "#6b7280",
}
# Every color has a contrast of at least 3 against the page, those of text 4.5 and more.
DARK = {
    "page": "#14171c",
    "panel": "#1e232b",
    "ink": "#e8eaee",
    "soft": "#a9b1be",
    "line": "#3a414d",
    "accent": "#7db7f0",
    "k0": "#6db3f2",
    "k1": "#ff9a57",
    "k2": "#4fd1a0",
    "k3": "#ef8fd6",
    "k4": "#e0c04c",
    "k5": "#b3a6ff",
    "k6": "#ff8591",
    "k7": "#7fd0de",
    "rest": "#9aa3b0",
}


def _variables(colors: dict[str, str]) -> str:
    return "".join(f"--{name}:{color};" for name, color in colors.items())


_RULES = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  color: var(--ink); background: var(--page); max-width: 54rem; margin: 0 auto;
  padding: 1rem 1.1rem 4rem; overflow-wrap: break-word; }
h1, p, li, dt, dd, summary, figcaption { overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 1rem 0 .5rem; }
h2 { font-size: 1.2rem; line-height: 1.3; margin: 0 0 .4rem; }
section { margin-top: 2.6rem; }
p { margin: .5rem 0; max-width: 44rem; }
.soft, figcaption, caption { color: var(--soft); font-size: .9rem; }
.verdict { font-size: 1.1rem; border-left: 4px solid var(--accent); background: var(--panel);
  padding: .7rem 1rem; margin: 1rem 0; max-width: none; border-radius: 0 6px 6px 0; }
dl.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.6rem, 1fr)); gap: .6rem;
  margin: 1rem 0; }
dl.tiles div { background: var(--panel); border-radius: 6px; padding: .55rem .8rem; }
dl.tiles dt { color: var(--soft); font-size: .85rem; }
dl.tiles dd { margin: 0; font-size: 1.3rem; font-weight: 600; font-variant-numeric: tabular-nums; }
figure { margin: .8rem 0; }
figure > svg, .plot > svg { display: block; width: 100%; overflow: visible; }
.plot { padding: 0 1rem 0 3.1rem; }
svg text { fill: var(--soft); font-size: 13px; paint-order: stroke; stroke: var(--page);
  stroke-width: 4px; stroke-linejoin: round; }
svg text.name { fill: var(--ink); font-size: 14px; }
svg text.chosen { font-weight: 700; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .reference { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 5 4; }
svg .bar { fill: var(--soft); }
svg .given { fill: var(--page); stroke: var(--soft); stroke-width: 1.5; }
/* Hues are for classes alone: blue is one class on the whole page. */
.with { color: var(--ink); }
.without { color: var(--soft); }
.ink { fill: currentColor; stroke: currentColor; }
.whisker { stroke: currentColor; stroke-width: 2.5; }
.hollow { fill: var(--page); stroke: currentColor; stroke-width: 2.5; }
.band { fill: currentColor; fill-opacity: .16; stroke: none; }
.curve { fill: none; stroke: currentColor; stroke-width: 2; vector-effect: non-scaling-stroke; }
ul.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding: 0;
  margin: .5rem 0; font-size: .9rem; }
ul.legend svg { width: 30px; height: 16px; vertical-align: -3px; margin-right: .3rem;
  overflow: visible; }
.scroll { overflow-x: auto; margin: .6rem 0; }
.scroll:focus-visible, .map:focus-visible, summary:focus-visible { outline: 3px solid var(--accent);
  outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: .94rem; }
caption { text-align: left; padding-bottom: .3rem; }
caption span { display: block; position: sticky; left: 0; max-width: calc(100vw - 2.4rem); }
td.long { min-width: 15rem; }
th, td { text-align: start; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; max-width: 22rem; min-width: 3rem; }
thead th { color: var(--soft); font-weight: 600; white-space: nowrap; }
tbody th { font-weight: 500; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td svg { display: block; width: 100%; min-width: 5rem; height: 26px; margin-top: 1px; }
td img.thumb { display: block; width: 64px; height: 64px; object-fit: contain; margin: 2px 0;
  image-rendering: pixelated; }
td small { color: var(--soft); display: block; }
details { margin: .6rem 0; }
summary { cursor: pointer; color: var(--accent); padding: .25rem 0; }
.fold { margin: 0; } .fold > summary { color: inherit; padding: 0; margin: 0 0 .4rem; }
.fold > summary > h2 { display: inline; }
pre { background: var(--panel); padding: .8rem 1rem; border-radius: 6px; overflow-x: auto;
  font: .9rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.map { position: relative; border: 1px solid var(--line); border-radius: 6px;
  touch-action: pan-x pan-y pinch-zoom; }
.map > svg { display: block; width: 100%; aspect-ratio: 4 / 3; max-height: 80vh; }
.map use.small { fill: currentColor; fill-opacity: .75; }
.map use.large { fill: currentColor; stroke: var(--ink); stroke-width: 2; paint-order: stroke; }
ul.legend use.key { fill: currentColor; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; margin: 0; }
#ring { fill: none; stroke: var(--ink); stroke-width: 2.5; visibility: hidden; }
#tip { position: absolute; left: 0; top: 0; max-width: min(22rem, 96%); padding: .45rem .7rem;
  background: var(--ink); color: var(--page); border-radius: 6px; font-size: .88rem;
  line-height: 1.4; white-space: pre-line; unicode-bidi: plaintext;
  pointer-events: none; visibility: hidden; z-index: 1; }
@media (max-width: 30rem) { h1 { font-size: 1.35rem; } .plot { padding-left: 2.7rem; }
  th, td { padding-right: .6rem; }
  .cards thead { display: none; } .cards, .cards tbody, .cards tr { display: block; }
  .cards tr { border-bottom: 1px solid var(--line); padding: .5rem 0; }
  .cards caption { display: block; }
  .cards th, .cards td { display: grid; grid-template-columns: 7.2rem 1fr; gap: .6rem; border: 0;
    padding: .1rem 0; min-width: 0; max-width: none; text-align: start; white-space: normal; }
  .cards [data-label]::before { content: attr(data-label); color: var(--soft);
    overflow-wrap: anywhere; }
  .map > svg { aspect-ratio: 1; } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; }
  section { break-inside: avoid-page; } .scroll { overflow: visible; }
  #tip, #ring { display: none; }
  details::details-content { content-visibility: visible; display: block; }
  pre { white-space: pre-wrap; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def _class_colors() -> str:
    rules = [f".k{number}{{color:var(--k{number})}}" for number in range(N_COLORS)]
    return "".join([*rules, ".rest{color:var(--rest)}"])


STYLE = (
    f":root{{color-scheme:light dark;{_variables(LIGHT)}}}\n"
    # On paper it is always light.
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_variables(DARK)}}}}}"
    f"{_RULES}{_class_colors()}\n"
)

# Without a script the points have their <title>s. With it the row under the pointer, the finger
# or the arrow keys is shown in a box that stays inside the map; <title>s would pop up twice.
SCRIPT = """
"use strict";
(() => {
  const map = document.getElementById("map");
  if (!map) return;
  const picture = map.querySelector("svg"), tip = document.getElementById("tip");
  const ring = document.getElementById("ring"), said = document.getElementById("said");
  const dots = Array.from(picture.querySelectorAll("use"), (use) => {
    const title = use.querySelector("title"), text = title.textContent;
    title.remove();
    return { x: parseFloat(use.getAttribute("x")) / 100, y: parseFloat(use.getAttribute("y")) / 100,
      large: use.classList.contains("large"), text };
  });
  let current = null;
  const hide = () => {
    current = null;
    tip.style.visibility = ring.style.visibility = "hidden";
  };
  const show = (dot) => {
    if (dot === current) return;
    current = dot;
    tip.textContent = dot.text;
    ring.setAttribute("cx", 100 * dot.x + "%");
    ring.setAttribute("cy", 100 * dot.y + "%");
    const box = picture.getBoundingClientRect(), gap = 14;
    const x = dot.x * box.width, y = dot.y * box.height;
    const left = Math.max(2, Math.min(x - tip.offsetWidth / 2, box.width - tip.offsetWidth - 2));
    const above = y - tip.offsetHeight - gap;
    tip.style.left = left + "px";
    tip.style.top = (above > 0 ? above : y + gap) + "px";
    tip.style.visibility = ring.style.visibility = "visible";
  };
  const nearest = (event, reach) => {
    const box = picture.getBoundingClientRect();
    let best = null, least = reach * reach;
    for (const dot of dots) {
      const dx = dot.x * box.width - event.clientX + box.left;
      const dy = dot.y * box.height - event.clientY + box.top;
      const far = dx * dx + dy * dy;
      // On equal terms a labeled row wins: it is drawn on top.
      if (far < least || (far === least && dot.large)) { best = dot; least = far; }
    }
    return best;
  };
  const point = (event, reach) => {
    const dot = nearest(event, reach);
    if (dot) show(dot); else hide();
  };
  map.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse") point(event, 14);
  });
  map.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") hide();
  });
  map.addEventListener("click", (event) => point(event, 28));
  const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  const step = ([wx, wy]) => {
    const box = picture.getBoundingClientRect();
    let best = null, least = Infinity;
    for (const dot of dots) {
      const dx = (dot.x - current.x) * box.width, dy = (dot.y - current.y) * box.height;
      const ahead = dx * wx + dy * wy, aside = Math.abs(dx * wy) + Math.abs(dy * wx);
      if (ahead > 0 && ahead + 3 * aside < least) { best = dot; least = ahead + 3 * aside; }
    }
    return best;
  };
  map.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return hide();
    const way = ways[event.key];
    if (!way) return;
    event.preventDefault();
    const next = current ? step(way) : dots[dots.length - 1];
    if (next) { show(next); said.textContent = next.text; }
  });
  map.addEventListener("focus", () => {
    if (!current && dots.length && map.matches(":focus-visible")) {
      show(dots[dots.length - 1]);
      said.textContent = current.text;
    }
  });
  map.addEventListener("blur", hide);
})();
"""

# The browser itself refuses every request and every script but this one, whatever a cell holds.
POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; script-src 'sha256-"
    + base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    + "'"
)
