"""How the bundled example tables were made: ``python -m studies.make_examples``.

Nothing in them is real. The tables are written once and shipped; the tests make them again
and compare. ``RandomState`` is used because its stream does not change between versions of
NumPy.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.ticket_grammar import (
    ASIDES,
    CLOSINGS,
    CONTEXTS,
    GREETINGS,
    SENTENCES,
    SHARED,
    SLOTS,
)

TICKET_SEED, ORCHARD_SEED = 42, 0
_TOPIC_SHARES = {"billing": 0.24, "bug": 0.24, "login": 0.2, "shipping": 0.2, "feature": 0.12}
_CHANNELS = ("email", "chat", "web form", "phone note")
_CHANNEL_SHARES = {
    "billing": (0.4, 0.2, 0.2, 0.2),
    "bug": (0.25, 0.4, 0.3, 0.05),
    "login": (0.2, 0.4, 0.1, 0.3),
    "shipping": (0.4, 0.2, 0.1, 0.3),
    "feature": (0.35, 0.1, 0.5, 0.05),
}


def make_support_tickets(n_rows: int = 600, n_labeled: int = 20) -> tuple[pd.DataFrame, Any]:
    """Make the table of support tickets, and the true topics."""
    rng = np.random.RandomState(TICKET_SEED)
    topics = list(_TOPIC_SHARES)
    drawn = rng.choice(len(topics), n_rows, p=list(_TOPIC_SHARES.values()))
    days = np.sort(rng.randint(0, 90, n_rows))
    rows = []
    for position, (code, day) in enumerate(zip(drawn, days, strict=True)):
        topic = topics[code]
        channel = _CHANNELS[rng.choice(len(_CHANNELS), p=_CHANNEL_SHARES[topic])]
        rows.append(
            {
                "id": f"T{position + 1:04d}",
                "created": str(np.datetime64("2024-03-01") + np.timedelta64(int(day), "D")),
                "channel": channel,
                "text": write_ticket(topic, channel, rng),
                "topic": topic,
            }
        )
    table = pd.DataFrame(rows)
    return _hide(table, "topic", n_labeled // len(topics), rng)


def write_ticket(topic: str, channel: str, rng: np.random.RandomState) -> str:
    """Write one ticket: one to three sentences on the topic, and what people put around."""
    short = channel in {"chat", "phone note"}
    more = (rng.uniform(size=2) < np.array([0.5, 0.12]) * (0.6 if short else 1.0)).sum()
    parts = [write(_pick(SENTENCES[topic], rng), rng) for _ in range(1 + more)]
    if rng.uniform() < 0.35:
        parts.insert(0, write(_pick(CONTEXTS, rng), rng))
    if rng.uniform() < 0.35:
        parts.append(write(_pick(SHARED, rng), rng))
    if rng.uniform() < 0.2:
        other = _pick([name for name in ASIDES if name != topic], rng)
        parts.append(write(_pick(ASIDES[other], rng), rng))
    if not short and rng.uniform() < 0.6:
        parts.insert(0, write(GREETINGS, rng))
    if rng.uniform() < (0.2 if short else 0.7):
        parts.append(write(CLOSINGS, rng))
    if channel == "phone note":
        parts.insert(0, "Caller says:")
    text = " ".join(parts)
    if channel == "chat":
        text = text.lower() if rng.uniform() < 0.7 else text
        text = mistype(text, rng, rate=0.04)
    return text


def write(template: str, rng: np.random.RandomState) -> str:
    """Choose values for the slots and alternatives of a template; start with a capital."""
    while match := re.search(r"\{(\w+)\}|\[([^\[\]]+)\]", template):
        slot, alternatives = match.groups()
        if slot is None:
            value = _pick(alternatives.split("|"), rng)
        else:
            value = SLOTS[slot] if slot in SLOTS else _number(slot, rng)
        template = template[: match.start()] + value + template[match.end() :]
    return template[0].upper() + template[1:]


def mistype(text: str, rng: np.random.RandomState, rate: float) -> str:
    """Swap two letters in some of the longer words."""
    words = text.split(" ")
    for position, word in enumerate(words):
        if len(word) > 4 and word.isalpha() and rng.uniform() < rate:
            k = rng.randint(1, len(word) - 2)
            words[position] = word[:k] + word[k + 1] + word[k] + word[k + 2 :]
    return " ".join(words)


def make_orchard(n_rows: int = 500, n_labeled: int = 15) -> tuple[pd.DataFrame, Any]:
    """Make the table of apples, and the true varieties.

    An apple changes far more while it ripens than it differs from another variety of the
    same age, and the varieties swap places on the way: each is a thin curve in the six
    measurements, and the three curves wind around each other. A few labels say little about
    the rest of a curve, the unlabeled rows do.
    """
    rng = np.random.RandomState(ORCHARD_SEED)
    names = np.array(["Amberley", "Briarsweet", "Corvane"])
    k = rng.choice(3, n_rows, p=[0.4, 0.35, 0.25])
    ripe = rng.uniform(size=n_rows)
    noise = rng.standard_normal((n_rows, 6))
    phase = 2 * np.pi * (0.6 * ripe + k / 3)
    diameter = 52 + 28 * ripe**0.8 + 0.9 * noise[:, 0]
    height = diameter * (0.92 + 0.078 * np.sin(phase)) + 0.8 * noise[:, 1]
    weight = 0.00052 * diameter**2 * height * (1 + 0.025 * noise[:, 2])
    firmness = 38 + 55 * np.exp(-1.8 * ripe) + 1.6 * noise[:, 3]
    sugar = 8 + 6 / (1 + np.exp(-5 * (ripe - 0.5))) + 1.3 * np.cos(phase) + 0.25 * noise[:, 4]
    acidity = 3 + 9 * (1 - ripe) ** 1.4 + 0.65 * np.sin(phase) + 0.3 * noise[:, 5]
    sites = np.array(["north slope", "river", "terrace"])
    share = np.array([[0.45, 0.30, 0.25], [0.25, 0.45, 0.30], [0.30, 0.25, 0.45]])
    site = sites[[rng.choice(3, p=share[code]) for code in k]]
    acidity[rng.uniform(size=n_rows) < 0.08] = np.nan
    table = pd.DataFrame(
        {
            "id": [f"A{position + 1:03d}" for position in range(n_rows)],
            "site": site,
            "diameter_mm": np.round(diameter, 1),
            "height_mm": np.round(height, 1),
            "weight_g": np.rint(weight).astype(int),
            "firmness_n": np.round(firmness, 1),
            "sugar_brix": np.round(sugar, 1),
            "acidity_g_l": np.round(acidity, 1),
            "variety": names[k],
        }
    )
    return _hide(table, "variety", n_labeled // 3, rng)


def _hide(
    table: pd.DataFrame, target: str, per_class: int, rng: np.random.RandomState
) -> tuple[pd.DataFrame, Any]:
    """Keep ``per_class`` labels of each class, and return all of them beside."""
    truth = table[["id", target]].copy()
    keep = np.zeros(len(table), dtype=bool)
    for label in sorted(table[target].unique()):
        rows = np.flatnonzero(table[target] == label)
        keep[rng.choice(rows, per_class, replace=False)] = True
    table[target] = table[target].astype(object).where(keep, None)
    return table, truth


def _pick(options: Any, rng: np.random.RandomState) -> Any:
    return options[rng.randint(len(options))]


def _number(slot: str, rng: np.random.RandomState) -> str:
    if slot == "order":
        return f"{rng.randint(10000, 99999)}"
    if slot == "count":
        return f"{rng.randint(2, 15)}"
    return f"{rng.randint(4, 180)}.{_pick(['00', '50', '90', '95'], rng)}"


def write_all(folder: Path) -> None:
    """Write the tables into ``folder`` and the truth into its folder ``truth``."""
    (folder / "truth").mkdir(parents=True, exist_ok=True)
    for name, make in (("support_tickets", make_support_tickets), ("orchard", make_orchard)):
        table, truth = make()
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
        truth.to_csv(folder / "truth" / f"{name}.csv", index=False, lineterminator="\n")


if __name__ == "__main__":
    write_all(Path(__file__).parents[1] / "src" / "leaven" / "datasets" / "data")
