"""The labeling page: how long a key waits, and how many labels a person is spared.

    python benchmarks/annotate.py speed [ROWS ...]     key -> next row, start-up, memory
    python benchmarks/annotate.py labels [TRIALS]      simulated annotator on five data sets

``speed`` opens the page in a process of its own, as ``leaven annotate`` does, and presses 20 keys
a second: first without a learner, then with one that rests, then with one that refits all the
time. Each is measured twice. "server" posts a label and asks for the next row, the write to the
disk included: what the page would wait for if it had nothing prefetched. "screen" presses keys in
Chromium (``LEAVEN_CHROMIUM``, or ``chromium`` on the path; left out where there is none) and
measures from the key to the frame that shows the next row: what a person waits for. "busy" is the
part of the time in which the learner was computing meanwhile, "models" how many it handed over,
and "load" the number of processes that wanted a processor in the last minute: on a machine that
others use too, a key also waits for a processor. ``LEAVEN_REALTIME=1`` lets the page and the
browser go before all other processes, and the learner before those of other people, as if these
were not there; it needs Linux and root.

``labels`` counts the labels that "most useful next" needs to reach the accuracy of random
questions with 200 labels, and presses the keys of someone who labels cluster by cluster: "all seen"
looks at every row and unchecks what does not belong, "eight seen" looks at the eight rows that a
cluster shows and labels it only if they are of one class.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import os
import shutil
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
KEYS = int(os.environ.get("LEAVEN_KEYS", "300"))  # of one measurement, where there are rows enough
PAUSE = 0.05  # seconds between keys: a person who reads is slower
QUIET = 2.0  # seconds without work after which the learner rests
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


def memory(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return float("nan")


def processor_seconds(pid: int) -> float:
    """Time that a process has computed so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def go_first() -> None:
    """Give this process and those that it starts precedence over all others, if that was asked."""
    if os.environ.get("LEAVEN_REALTIME") == "1":
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def go_after_the_page(learner: ProcessLearner) -> int:
    """Let the learner yield to the page, though not to others; return its process."""
    while learner._process is None:
        time.sleep(0.001)
    pid = learner._process.pid
    if os.environ.get("LEAVEN_REALTIME") == "1":
        for thread in map(int, os.listdir(f"/proc/{pid}/task")):
            os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, thread, -15)
    return pid


def serve(table: pd.DataFrame, classes: tuple[str, ...], with_learner: bool, pipe) -> None:
    """Run the page in this process, and do what the other end of the pipe says."""
    made, models = [], set()
    if os.environ.get("LEAVEN_REALTIME") == "1":
        # Linux shares the processors among sessions first: the low numbers of processes in another
        # one count for nothing.
        os.setsid()
        with contextlib.suppress(OSError):
            Path("/proc/self/autogroup").write_text("-15")

    def make(subject):
        made.append(ProcessLearner(subject))
        return made[0]

    with tempfile.TemporaryDirectory() as folder:
        options = AnnotateOptions(text=("text",), classes=classes, port=0)
        learner = make if with_learner else None
        file = Path(folder) / "l.db"
        with open_page(table, "topic", file, options, learner=learner) as page:
            session = page.session
            take = session.knowledge.take

            def count(news) -> None:
                if isinstance(news, Answers):
                    models.add(news.version)
                take(news)

            session.knowledge.take = count
            pipe.send(page.address)
            while (word := pipe.recv()) != "end":
                if word in ("rest", "learn"):
                    session.learner = made[0] if made and word == "learn" else None
                # At each word: threads that the learner started since have its own low priority.
                learner_pid = go_after_the_page(made[0]) if made else None
                knowledge = session.knowledge
                pipe.send(
                    {
                        "ready": knowledge.answers is not None and knowledge.groups is not None,
                        "models": len(models),
                        "learner": learner_pid,
                    }
                )


class Served:
    """The page in a process of its own."""

    def __init__(self, table: pd.DataFrame, with_learner: bool) -> None:
        context = multiprocessing.get_context("fork")  # the table need not be sent
        self.truth = table["truth"].tolist()
        # Four measurements, ten labels before them, and the rows that pages have prefetched.
        self.n_keys = min(KEYS, (len(table) - 110) // 4)
        self.pipe, theirs = context.Pipe()
        shown, classes = table[["text", "topic"]], tuple(sorted(set(self.truth)))
        self.began = time.perf_counter()
        arguments = (shown, classes, with_learner, theirs)
        self.process = context.Process(target=serve, args=arguments, daemon=True)
        self.process.start()
        self.address = self.pipe.recv()
        self.started = time.perf_counter() - self.began

    def tell(self, word: str) -> dict:
        self.pipe.send(word)
        return self.pipe.recv()

    def wait_until_quiet(self) -> float:
        """Wait for the first model and the graph; return the seconds, and let it come to rest."""
        while not self.tell("look")["ready"]:
            time.sleep(0.2)
        ready = time.perf_counter() - self.began
        learner = self.tell("rest")["learner"]
        spent = -1.0
        while processor_seconds(learner) - spent > 0.1 * QUIET:
            spent = processor_seconds(learner)
            time.sleep(QUIET)
        return ready

    def end(self) -> None:
        self.pipe.send("end")
        self.process.join()


class Keys:
    """Post one label, then ask for the row that follows."""

    def __init__(self, served: Served) -> None:
        self.truth = served.truth
        self.token = served.address.partition("token=")[2]
        self.host = served.address.split("/")[2]
        self.number = 0

    def send(self, method, path, body=None):
        data = None if body is None else json.dumps(body)
        self.connection.request(method, path, data, {"X-Leaven-Token": self.token})
        return json.loads(self.connection.getresponse().read())

    def press(self, row: int) -> float:
        self.number += 1
        action = {"key": f"key-{self.number:08d}", "kind": "label", "rows": [row]}
        action["label"] = self.truth[row]
        start = time.perf_counter()
        self.send("POST", "/api/actions", {"actions": [action]})
        self.send("GET", "/api/questions?n=1")
        return 1000 * (time.perf_counter() - start)

    def run(self, n_keys: int, pause: float = PAUSE) -> np.ndarray:
        # Anew for each run: the server closes a connection that says nothing for five seconds.
        self.connection = http.client.HTTPConnection(self.host, timeout=120)
        times: list[float] = []
        while len(times) < n_keys:
            for question in self.send("GET", "/api/questions?n=40")["questions"]:
                times.append(self.press(question["row"]))
                time.sleep(pause)
        return np.array(times[:n_keys])


WATCH = """() => {
  window.waits = [];
  addEventListener("keydown", (event) => {
    const before = document.getElementById("number").textContent;
    requestAnimationFrame(() => setTimeout(() => {
      const shown = document.getElementById("number").textContent;
      if (shown !== before && shown) waits.push(performance.now() - event.timeStamp);
    }));
  }, { capture: true });
}"""
"""Notes the time from a key to the end of the frame in which another row is on the screen."""


class Screen:
    """Keys in a real browser, measured there."""

    def __init__(self) -> None:
        chromium = os.environ.get("LEAVEN_CHROMIUM") or shutil.which("chromium")
        self.browser = None
        with contextlib.suppress(ImportError):
            from playwright.sync_api import sync_playwright

            if chromium:
                self.playwright = sync_playwright().start()
                options = ["--no-sandbox", "--disable-gpu"]
                self.browser = self.playwright.chromium.launch(
                    executable_path=chromium, args=options
                )

    def run(self, served: Served) -> np.ndarray:
        """Label as many rows; an empty array where there is no browser."""
        if self.browser is None:
            return np.empty(0)
        page = self.browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(served.address)
        page.wait_for_selector("#number:not(:empty)")
        page.evaluate(WATCH)
        for number in range(served.n_keys):
            page.keyboard.press(str(1 + number % len(set(served.truth))))
            time.sleep(PAUSE)
        while page.evaluate("outbox.waiting.length"):
            time.sleep(0.1)
        waits = np.array(page.evaluate("waits"))
        page.close()
        missed = served.n_keys - len(waits)
        assert not missed, f"{missed} of {served.n_keys} keys showed no other row"
        return waits

    def end(self) -> None:
        if self.browser is not None:
            self.browser.close()
            self.playwright.stop()


def speed(sizes: list[int]) -> None:
    print(
        "                                      server, ms    screen, ms\n"
        "rows     learner    start s  ready s   p50    p99    p50    p99  busy  models  load"
        "  server MB  learner MB",
        flush=True,
    )
    go_first()
    screen = Screen()
    for n_rows in sizes:
        table = texts(n_rows)
        for with_learner in (False, True):
            measure(table, with_learner, screen)
    screen.end()


def measure(table: pd.DataFrame, with_learner: bool, screen: Screen) -> None:
    served = Served(table, with_learner)
    keys = Keys(served)
    keys.run(10, 0.0)
    ready = served.wait_until_quiet() if with_learner else float("nan")
    for word in ("rest", "learn") if with_learner else ("rest",):
        before = served.tell(word)
        pid, began = before["learner"], time.perf_counter()
        spent = processor_seconds(pid) if pid else 0.0
        server, shown = keys.run(served.n_keys), screen.run(served)
        busy = (processor_seconds(pid) - spent) / (time.perf_counter() - began) if pid else 0.0
        n_models = served.tell("look")["models"] - before["models"]
        state = {"rest": "rests", "learn": "refits"}[word] if with_learner else "none"
        print(
            f"{len(table):<8} {state:<8} {served.started:9.2f} {ready:8.1f} "
            f"{_quantiles(server)} {_quantiles(shown)} {busy:5.2f} {n_models:7d} "
            f"{os.getloadavg()[0]:5.1f} {memory(served.process.pid):10.0f} "
            f"{memory(pid) if pid else float('nan'):11.0f}",
            flush=True,
        )
    served.end()


def _quantiles(times: np.ndarray) -> str:
    if not len(times):
        return f"{'-':>5} {'-':>6}"
    return f"{np.median(times):5.1f} {np.quantile(times, 0.99):6.1f}"


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
