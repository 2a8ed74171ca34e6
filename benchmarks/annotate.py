"""The labeling page: how long a key waits, and how many labels a person is spared.

    python benchmarks/annotate.py speed [ROWS ...]     key -> saved + next rows, start-up, memory
    python benchmarks/annotate.py labels [TRIALS]      simulated annotator on five data sets

``speed`` posts labels as the page does while the learner refits in its own process, beside the same
server without a learner. A key includes the write to the disk and the request for the next row. On
a machine that others use too, a key also waits for a processor: "processor" is the time on it of
server and client per key while the learner refits, which others hardly change, "models" how many
models it handed over meanwhile, and "load" the number of processes that wanted a processor in the
last minute. The page itself has the next row before the key is pressed, so the times bound what a
user can notice.

``labels`` counts the labels that "most useful next" needs to reach the accuracy of random
questions with 200 labels, and presses the keys of someone who labels cluster by cluster: "all seen"
looks at every row and unchecks what does not belong, "eight seen" looks at the eight rows that a
cluster shows and labels it only if they are of one class.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from leaven._labels import UNLABELED
from leaven.app import AnnotateOptions, open_page
from leaven.app._answers import Answers, Mind, Request
from leaven.app._events import EventStore
from leaven.app._learner import ProcessLearner, Ready
from leaven.app._orders import RANDOM_EVERY, typical_first
from leaven.app._prepared import neighbors, prepare
from leaven.app._session import Session
from leaven.app._sheet import Sheet
from leaven.datasets import load_example

REACH = 200  # random labels whose accuracy is to be reached
KEYS = int(os.environ.get("LEAVEN_KEYS", "300"))  # of one measurement
PAUSE = 0.1  # seconds between keys: a person who reads is slower
TEST_EVERY = 5  # steps of ten labels
SEEN = 8  # rows that a cluster shows


def texts(n_rows: int) -> pd.DataFrame:
    """Tickets, drawn again and again with a number in each."""
    tickets = load_example("support_tickets", with_truth=True)
    chosen = np.random.default_rng(0).integers(0, len(tickets), n_rows)
    drawn = tickets.iloc[chosen].reset_index(drop=True)
    numbers = np.random.default_rng(1).integers(0, 50_000, n_rows)
    drawn["text"] = [
        f"{text} Ref {n} {n * 7 % 9973}" for text, n in zip(drawn["text"], numbers, strict=True)
    ]
    drawn["truth"] = drawn["topic_true"]
    return drawn[["text", "truth"]].assign(topic="")


def memory(pid: int | str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


class Keys:
    """Post one label, then ask for the rows that follow, as the page does."""

    def __init__(self, page, truth) -> None:
        self.page, self.truth = page, truth
        self.token = page.address.partition("token=")[2]
        self.number = 0
        self.spent_ms: list[float] = []
        self.connect()

    def connect(self) -> None:
        """Connect anew: the server closes a connection that says nothing for five seconds."""
        host = self.page.address.split("/")[2]
        self.connection = http.client.HTTPConnection(host, timeout=120)

    def send(self, method, path, body=None):
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, {"X-Leaven-Token": self.token})
        return json.loads(self.connection.getresponse().read())

    def press(self, row: int) -> float:
        self.number += 1
        action = {"key": f"key-{self.number:08d}", "kind": "label", "rows": [row]}
        action["label"] = self.truth[row]
        start, spent = time.perf_counter(), time.process_time()
        self.send("POST", "/api/actions", {"actions": [action]})
        self.send("GET", "/api/questions?n=1")
        taken = 1000 * (time.perf_counter() - start)
        self.spent_ms.append(1000 * (time.process_time() - spent))
        return taken

    def press_while(self, page, *, learning: bool) -> np.ndarray:
        """Press keys, ten a second, while the learner refits after each of them, or rests."""
        learner = page.session.learner
        if not learning:
            page.session.learner = None
        self.spent_ms = []
        times = self.run(KEYS, PAUSE)
        page.session.learner = learner
        return times

    def run(self, n_keys: int, pause: float) -> np.ndarray:
        times = []
        while len(times) < n_keys:
            for question in self.send("GET", "/api/questions?n=40")["questions"]:
                times.append(self.press(question["row"]))
                time.sleep(pause)
        return np.array(times)


def speed(sizes: list[int]) -> None:
    print("                                 idle, ms     retraining, ms  processor, ms")
    print(
        "rows     learner start s ready s   p50   p99     p50     p99   p50     p99"
        "  models  load  server MB  learner MB",
        flush=True,
    )
    for n_rows in sizes:
        table = texts(n_rows)
        classes = tuple(sorted(table["truth"].unique()))
        for with_learner in (False, True):
            measure(table, classes, with_learner)


def measure(table: pd.DataFrame, classes: tuple[str, ...], with_learner: bool) -> None:
    truth = table["truth"].tolist()
    made = []

    def make(subject):
        made.append(ProcessLearner(subject))
        return made[0]

    with tempfile.TemporaryDirectory() as folder:
        options = AnnotateOptions(text=("text",), classes=classes, port=0)
        start = time.perf_counter()
        shown = table[["text", "topic"]]
        file = Path(folder) / "l.db"
        learner = make if with_learner else None
        with open_page(shown, "topic", file, options, learner=learner) as page:
            started = time.perf_counter() - start
            keys = Keys(page, truth)
            keys.run(10, 0.0)
            while with_learner and page.session.knowledge.answers is None:
                time.sleep(0.2)
            ready = time.perf_counter() - start
            keys.connect()
            idle = keys.press_while(page, learning=False)
            n_models = count_models(page)
            busy = keys.press_while(page, learning=True)
            child = memory(made[0]._process.pid) if made else float("nan")
            spent = np.quantile(keys.spent_ms, [0.5, 0.99])
            print(
                f"{len(table):<8} {'yes' if made else 'no':<7} {started:7.2f} {ready:7.1f} "
                f"{np.median(idle):5.1f} {np.quantile(idle, 0.99):5.1f} "
                f"{np.median(busy):7.1f} {np.quantile(busy, 0.99):7.1f} "
                f"{spent[0]:5.1f} {spent[1]:7.1f} "
                f"{n_models():7d} {os.getloadavg()[0]:5.1f} {memory('self'):10.0f} {child:11.0f}",
                flush=True,
            )


def count_models(page):
    """Count the models that the learner hands over from now on."""
    hear, versions = page.session.knowledge.take, set()

    def take(news) -> None:
        if isinstance(news, Answers):
            versions.add(news.version)
        hear(news)

    page.session.knowledge.take = take
    return lambda: len(versions)


def data_sets() -> dict[str, tuple[pd.DataFrame, list[str], np.ndarray]]:
    """Five tables with their truth: texts, measurements and categories."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    found = {}
    tickets = load_example("support_tickets", with_truth=True)
    found["support tickets"] = (tickets[["text"]], ["text"], tickets["topic_true"].to_numpy())
    apples = load_example("orchard", with_truth=True)
    found["orchard"] = (
        apples.drop(columns=["id", "variety", "variety_true"]),
        [],
        apples["variety_true"].to_numpy(),
    )
    for name, load in [
        ("digits", load_digits),
        ("cancer", load_breast_cancer),
        ("wine", load_wine),
    ]:
        data = load(as_frame=True)
        if name == "wine":  # too few rows for 200 labels: twice, with noise
            rng = np.random.default_rng(0)
            again = data.data + 0.3 * data.data.std().to_numpy() * rng.normal(size=data.data.shape)
            table = pd.concat([data.data, again], ignore_index=True)
            found["wine, noisy"] = (table, [], np.concatenate([data.target, data.target]))
        else:
            found[name] = (data.data, [], data.target.to_numpy())
    return found


def label_until(mind: Mind, truth: np.ndarray, order: str, stop: int, seed: int) -> list[float]:
    """Accuracy on a quarter of the rows that is never asked, after each step of ten labels."""
    rng = np.random.RandomState(seed)
    n_classes = int(truth.max()) + 1
    drawn = rng.permutation(len(truth)).tolist()
    n_tested = len(truth) // 4
    tested, drawn = np.array(drawn[:n_tested]), drawn[n_tested:]
    allowed = set(drawn)
    prepared = mind.prepared
    queue = (
        drawn if order == "random" else typical_first(prepared.cluster, prepared.distance).tolist()
    )
    codes = np.full(len(truth), UNLABELED, dtype=np.intp)
    curve = []
    while (codes != UNLABELED).sum() < stop:
        for _ in range(10):
            n_known = int((codes != UNLABELED).sum())
            # As on the page: one question in ten is random.
            source = drawn if n_known % RANDOM_EVERY == RANDOM_EVERY - 1 else queue
            row = next((row for row in source if codes[row] == UNLABELED and row in allowed), None)
            row = next(row for row in drawn if codes[row] == UNLABELED) if row is None else row
            codes[row] = truth[row]
        if len(np.unique(codes[codes != UNLABELED])) < 2:
            curve.append(0.0)
            continue
        request = Request(0, codes.copy(), n_classes, np.empty(0, dtype=np.intp))
        answers = mind.answer(request)
        if len(curve) % TEST_EVERY == 0:
            mind.test(request)  # chooses the model and its temperature
        curve.append(float(np.mean(answers.top[tested, 0] == truth[tested])))
        if order != "random":
            queue = answers.useful.tolist()
    return curve


def labels(n_trials: int) -> None:
    print("                                                        all seen      eight seen")
    print(
        "data set         rows  random at 200  labels for it  share  keys/row  keys/row  right",
        flush=True,
    )
    shares = []
    for name, (table, words, target) in data_sets().items():
        truth = np.unique(target, return_inverse=True)[1]
        prepared = prepare(table, words)
        assert prepared is not None
        graph = neighbors(prepared)
        reach, needed = [], []
        for trial in range(n_trials):
            curves = {}
            for order in ("random", "useful"):
                mind = Mind(prepared, seed=trial)
                mind.use_graph(graph)
                curves[order] = label_until(mind, truth, order, REACH, trial)
            goal = curves["random"][-1]
            reached = [
                10 * (step + 1) for step, each in enumerate(curves["useful"]) if each >= goal
            ]
            reach.append(goal)
            needed.append(reached[0] if reached else REACH)
        shares.append(float(np.mean(needed)) / REACH)
        every, glance = (by_cluster(table, words, truth, prepared, n) for n in (None, SEEN))
        print(
            f"{name:<16} {len(truth):5d} {np.mean(reach):14.3f} {np.mean(needed):14.0f} "
            f"{shares[-1]:6.2f} {every[0]:9.2f} {glance[0]:9.2f} {glance[1]:6.3f}",
            flush=True,
        )
    print(
        f"mean share {np.mean(shares):.2f}: 'most useful next' needs this part of the random labels"
    )


def by_cluster(table, words, truth, prepared, seen: int | None) -> tuple[float, float]:
    """Label all rows, cluster by cluster, then the others one by one.

    Returns the keys per row, each unchecked box among them, and the share of right labels.
    """
    names = [f"c{code}" for code in range(int(truth.max()) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        store = EventStore(Path(folder) / "l.db")
        session = Session(Sheet(table, "label", text=words), store, "ann", classes=names)
        things = prepared.things
        session.hear(Ready(prepared.cluster, prepared.distance, things, prepared.about_clusters))
        n_keys, left = 0, []
        for number in np.unique(prepared.cluster):
            found = session.cluster(int(number))
            shown = found["open"] if seen is None else glimpse(found)
            counts = np.bincount(truth[shown], minlength=len(names))
            label = int(counts.argmax())
            if seen is not None and counts[label] < len(shown):
                left += found["open"]  # mixed: row by row
                continue
            wrong = {row for row in shown if truth[row] != label}
            left += sorted(wrong)
            n_keys += len(wrong) + 1
            record(
                session, "bulk", [row for row in found["open"] if row not in wrong], names[label]
            )
        for row in left:
            n_keys += 1
            record(session, "hand", [row], names[truth[row]])
        right = float(np.mean(session.board.codes == truth))
        assert session.board.counts()["hand"] + session.board.counts()["bulk"] == len(truth)
        session.close()
    return n_keys / len(truth), right


def glimpse(found) -> list[int]:
    """The rows of a cluster that the page shows."""
    return [line["row"] for line in found["typical"] + found["atypical"]]


def record(session, source: str, rows: list[int], name: str) -> None:
    key = f"{source}-{rows[0]:08d}"
    session.record({"key": key, "kind": "label", "rows": rows, "label": name, "source": source})


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "all"
    if what in ("speed", "all"):
        speed([int(size) for size in sys.argv[2:]] or [1_000, 10_000])
    if what in ("labels", "all"):
        labels(int(sys.argv[2]) if what == "labels" and len(sys.argv) > 2 else 1)
