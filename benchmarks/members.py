"""Where the weights and temperatures of the candidates come from, and what they are worth.

    python benchmarks/members.py collect DIRECTORY [--labels 2 5 10 20] [--draws 2] [--rows 600]
                                         [--sets NAME ...] [--jobs 1] [--trial NAME ...] [--fresh]
    python benchmarks/members.py compare DIRECTORY
    python benchmarks/members.py gain DIRECTORY
    python benchmarks/members.py trial DIRECTORY
    python benchmarks/members.py shift DIRECTORY
    python benchmarks/members.py fading DIRECTORY
    python benchmarks/members.py rates DIRECTORY

``collect`` fits every default candidate of ``leaven.selection`` on the tables of
``benchmarks/safe.py`` and keeps its class probabilities, of held-out labels and of unlabeled rows,
in one file per table, number of labels and draw; what a file holds is not computed again. The draws
are others than those of ``safe.py``. ``--trial`` adds candidates that are not in the package, those
of ``TRIALS``.

``compare`` combines them in four ways and prints accuracy, log loss and expected calibration error
on the unlabeled rows, mean over tables:

- as shipped: the ``Member`` numbers of the package;
- learned: weights and temperatures of the largest likelihood, learned on all *other* tables
  (leave-one-set-out: tables that are versions of one data set leave together);
- equal: equal weights, temperatures learned in the same way;
- supervised: as shipped, without the candidates that learn from unlabeled rows.

It also prints the numbers learned on all tables, beside the shipped ones.

``gain`` compares the combination with its supervised part on every run: the share of unlabeled
rows whose class changed, the gain that the probabilities promise, and the true gain. It learns
the mean and the deviation of the gain from the first two, prints them beside the shipped ones,
and prints how well the sign of the gain is told by numbers learned on all other tables.

``trial`` prints what the candidates of ``--trial`` would be worth, on the runs that hold them:
their accuracy beside the shipped ones, what the combination gains by each, and what it gains by
weights that follow the held-out labels more or less closely, with the standard error over tables. A
candidate on trial has the weight of extremely randomized trees, and the best temperature of the
other tables.

``shift`` prints what is gained by shifting the classes to the proportions of the unlabeled rows:
estimated by one or more steps of expectation maximization, by higher powers of the probabilities,
or known, with the standard error over tables and the worst of them.

``fading`` prints accuracy and log loss where the weight of candidates that learn from unlabeled
rows falls with powers of the number of labels per class, from five on or, in the lines "from one",
from one label on with the same weight at five.

``rates`` prints accuracy, log loss and calibration error of the combination where a held-out row
counts for more or less in the temperature of each candidate; 0 leaves these at their values for
other tables. Texts have ``Member`` numbers of their own, and a directory of their own: ``collect
DIRECTORY --sets "texts, comp" ...``. So have the tables whose columns say little about the classes,
the first ones of ``benchmarks/fresh.py``: ``--fresh``.
"""

from __future__ import annotations

import argparse
import os
import warnings
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from fresh import FIRST, TABLES, prepare_numbers
from joblib import Parallel, delayed
from safe import LABELS, TEXTS, calibration_error, few_labels, prepare, set_names, write_run
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from scipy.stats import norm, rankdata
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from leaven.selection import (
    SUPERVISED,
    Candidate,
    Folds,
    Member,
    _pool,
    combine_held_out,
    compare_answers,
    draw_folds,
    estimate,
    make_candidates,
    standard_problem,
    take_one,
    tempered_log,
)
from leaven.selection import fit as fit_decision
from leaven.selection._decide import LIKELY
from leaven.selection._gain import (
    CHANGE,
    CHANGE_DEVIATION,
    DEVIATION,
    HARDLY_CHANGED,
    PROMISE,
)
from leaven.selection._member import FULL_WEIGHT
from leaven.selection._shift import SHARPNESS, class_shift, known_shift

FIRST_DRAW = 100  # safe.py has the draws below
FEWEST_ROWS = 50  # unlabeled, to measure on
FLOOR = 1e-3  # of a probability in the log loss
POWERS = np.exp(np.linspace(-2.5, 4.0, 66))  # temperatures to choose from, 10% apart
MOST_ROWS = 200  # per run, to learn weights from
RATES = (0.0, 0.5, 2.0, 4.0)  # multiples of the shipped learning rate of the weights
EM_STEPS = (1, 2, 3, 5)  # towards the proportions of the unlabeled rows
SHARPNESSES = (2.0, 3.0, 50.0)  # powers of the probabilities; the last one counts classes
FADINGS = (0.0, 0.5, 1.0)  # powers of the number of labels per class
MEMBER_RATES = (0.0, 0.1, 0.25, 0.5, 1.0)  # of a held-out row in a candidate's temperature
PENALTY = 5e-4  # of squared log weights: with 50 tables they must not run away


# Candidates that are not in the package, by name; all supervised, on scaled rows.
TRIALS = {
    "laplacian-kernel": lambda seed: SVC(C=10.0, kernel=laplacian_kernel),
    "svc-1": lambda seed: SVC(C=1.0),
    "shrunken-lda": lambda seed: make_pipeline(
        PCA(random_state=seed), LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    ),
    "logistic-shrunken": lambda seed: LogisticRegression(C=0.1, max_iter=1_000),
    "network": lambda seed: MLPClassifier(
        (50,), solver="lbfgs", alpha=3.0, max_iter=100, random_state=seed
    ),
}


def collect_one(directory, name, per_class, draw, most_rows, trials):
    path = Path(directory) / f"{name}__{per_class}__{draw}.npz"
    stored = dict(np.load(path)) if path.exists() else {}
    if stored and set(trials) <= set(stored["names"].tolist()):
        return
    warnings.simplefilter("ignore")
    X, truth = (prepare_numbers if name in TABLES else prepare)(name, most_rows)
    y = few_labels(truth, per_class, FIRST_DRAW + draw)
    free = y < 0
    if free.sum() < FEWEST_ROWS:
        return
    problem = standard_problem(X, y, np.unique(truth), seed=draw)
    known = stored["names"].tolist() if stored else []
    tried = [] if stored else make_candidates(None, problem)
    tried += [
        Candidate(each, TRIALS[each](draw), SUPERVISED, scaled=True)
        for each in trials
        if each not in known
    ]
    candidates = [each for each in tried if each.skipped is None]
    folds = draw_folds(problem.codes, "auto", draw)
    outcomes = estimate(problem, candidates, folds)
    names, final, held_out, seconds = [], [], [], []
    for candidate, outcome in zip(candidates, outcomes, strict=True):
        if outcome.probabilities is None:
            print(path.stem, outcome.reason, flush=True)
            continue
        fitted = fit_decision(problem, [candidate], take_one(candidate, outcome.params))
        names.append(candidate.name)
        final.append(fitted.probabilities[free])
        held_out.append(outcome.probabilities)
        seconds.append(outcome.seconds + fitted.candidates[0].seconds)
    found = {
        "names": np.array(names),
        "P": np.array(final, dtype=np.float32),
        "H": np.array(held_out, dtype=np.float32),
        "seconds": np.array(seconds),
    }
    if stored:
        found = {key: np.concatenate([stored[key], each]) for key, each in found.items()}
    write_run(path, **found, y=y[folds.rows], fold=folds.fold, truth=truth[free])


def read_runs(directory, pattern="*"):
    runs = []
    for path in sorted(Path(directory).glob(f"{pattern}.npz")):
        name, per_class, draw = path.stem.split("__")
        stored = np.load(path)
        runs.append(
            {"set": name, "labels": int(per_class), "draw": int(draw)}
            | {key: stored[key] for key in ("y", "fold", "truth")}
            | {"names": stored["names"].tolist()}
            | {key: stored[key].astype(float) for key in ("P", "H")}
        )
    return runs


def family(name):
    """Tables that are versions of one data set leave together."""
    return name.removesuffix("-local").removesuffix("-noise").replace("_", "-").rstrip("0123456789")


def _of(logs, truth):
    return logs[np.arange(len(truth)), truth]


def temperature_losses(run):
    """Log loss of every candidate of a run at each of the ``POWERS``, once for all tables."""
    return {
        name: np.array([-_of(tempered_log(P, power), run["truth"]).mean() for power in POWERS])
        for name, P in zip(run["names"], run["P"], strict=True)
    }


def learn_temperatures(runs, members):
    """The power with the largest likelihood for each candidate, each run counting the same."""
    found = {}
    for name in members:
        losses = [r["losses"][name] for r in runs if name in r["names"]]
        if losses:
            found[name] = float(POWERS[np.mean(losses, axis=0).argmin()])
    return found


def learn_weights(runs, temperatures):
    """Prior weights with the largest likelihood of the unlabeled rows, given the held-out ones."""
    order = list(temperatures)
    prepared = []
    for r in runs:
        use = [(k, r["names"].index(name)) for k, name in enumerate(order) if name in r["names"]]
        powers = [temperatures[order[k]] for k, _ in use]
        pairs = [(i, t) for (_, i), t in zip(use, powers, strict=True)]
        logs = np.stack([tempered_log(r["P"][i, :MOST_ROWS], t) for i, t in pairs])
        held = np.stack([tempered_log(r["H"][i], t) for i, t in pairs])
        rows = np.arange(len(r["y"]))
        score = held[:, :, rows, r["y"]].mean(axis=1).sum(axis=1) / np.sqrt(len(rows))
        prepared.append((np.array([k for k, _ in use]), logs, score, r["truth"][:MOST_ROWS]))

    def loss(theta):
        value, slope = PENALTY * theta @ theta, 2 * PENALTY * theta
        for use, logs, score, truth in prepared:
            w = softmax(theta[use] + score)
            z = np.tensordot(w, logs, axes=1)
            rows = np.arange(len(truth))
            value -= log_softmax(z, axis=1)[rows, truth].mean() / len(prepared)
            error = softmax(z, axis=1)
            error[rows, truth] -= 1
            of_member = np.tensordot(logs, error, axes=([1, 2], [0, 1])) / len(truth)
            slope[use] += w * (of_member - w @ of_member) / len(prepared)
        return value, slope

    theta = minimize(loss, np.zeros(len(order)), jac=True, method="L-BFGS-B").x
    return dict(zip(order, np.exp(theta - theta.mean()).tolist(), strict=True))


def _by_name(run):
    return dict(zip(run["names"], run["P"], strict=True))


def combined(run, members):
    """The combination that the package would make."""
    names = [name for name in run["names"] if name in members]
    places = [run["names"].index(name) for name in names]
    folds = Folds(np.arange(len(run["y"])), run["fold"])
    return combine_held_out(
        names,
        [run["H"][i] for i in places],
        run["y"],
        folds,
        members,
    )


def combine(run, members):
    """Probabilities of the unlabeled rows by the combination, without a shift of the classes."""
    return combined(run, members).pool.combine(_by_name(run))


def answers(run, members, sharpnesses=(SHARPNESS,)):
    """Probabilities of the unlabeled rows for each power in the estimated class proportions."""
    found = combined(run, members)
    P = found.pool.combine(_by_name(run))
    counts = np.bincount(run["y"], minlength=P.shape[1])
    shifts = [class_shift(found.held_out, run["y"], counts, P, sharpness=s) for s in sharpnesses]
    return [replace(found.pool, shift=tuple(shift)).shifted(P) for shift in shifts]


def shifted(run, members):
    """Probabilities of the unlabeled rows by the combination, as the package gives them."""
    return answers(run, members)[0]


def faded(members, kinds, labels, power, start=FULL_WEIGHT):
    """Members whose weight, if they learn from unlabeled rows, falls with a power of the labels."""
    factor = (FULL_WEIGHT / max(labels, start)) ** power
    return {
        name: each
        if kinds[name] == SUPERVISED
        else replace(
            each,
            weight=factor * each.weight,
            faint_weight=each.faint_weight and factor * each.faint_weight,
        )
        for name, each in members.items()
    }


def shipped_at(runs, kind=None):
    """What the package ships, for each number of labels per class; of one kind, or of all."""
    return {
        labels: {
            each.name: each.member
            for each in _shipped_candidates(runs, labels)
            if kind in (None, each.kind)
        }
        for labels in {r["labels"] for r in runs}
    }


def shipped_members(runs):
    """What the package ships, before it depends on the number of labels, and each one's kind."""
    candidates = _shipped_candidates(runs)
    shipped = {each.name: each.member for each in candidates}
    return shipped, {each.name: each.kind for each in candidates}


def learned_members(runs, members, *, equal):
    temperatures = learn_temperatures(runs, members)
    weights = dict.fromkeys(temperatures, 1.0) if equal else learn_weights(runs, temperatures)
    return {name: Member(weights[name], temperatures[name]) for name in temperatures}


def _shipped_candidates(runs, labels=1):
    """Those of the kind of problem that was collected: two classes skip none.

    With one label per class they have the weights of the recipes.
    """
    kinds = {r["set"] in TEXTS for r in runs}
    if len(kinds) > 1:
        raise SystemExit("Collect tables and texts in directories of their own.")
    y = np.repeat([-1, 0, 1], [10, labels, labels])
    X = np.random.default_rng(0).random((len(y), 2))
    X = sparse.csr_matrix(X) if kinds == {True} else X
    candidates = make_candidates(None, standard_problem(X, y, [0, 1]))
    return [each for each in candidates if each.skipped is None]


def compare(directory):
    runs = read_runs(directory)
    for r in runs:
        r["losses"] = temperature_losses(r)
    candidates = _shipped_candidates(runs)
    shipped = {each.name: each.member for each in candidates}
    at, alone_at = shipped_at(runs), shipped_at(runs, SUPERVISED)
    ways = {"as shipped": [], "learned": [], "equal": [], "supervised": []}
    for left_out in sorted({family(r["set"]) for r in runs}):
        others = [r for r in runs if family(r["set"]) != left_out]
        learned = learned_members(others, shipped, equal=False)
        equal = learned_members(others, shipped, equal=True)
        for r in runs:
            if family(r["set"]) == left_out:
                found = (at[r["labels"]], learned, equal, alone_at[r["labels"]])
                for way, members in zip(ways, found, strict=True):
                    ways[way].append(_measure(r, combine(r, members)))
    for way, rows in ways.items():
        table = pd.DataFrame(rows).groupby(["set", "labels"]).mean().groupby("labels").mean()
        print(f"\n{way}:\n{table.T.round(3).to_string()}")
    everywhere = learned_members(runs, shipped, equal=False)
    shown = {
        name: {
            "weight": shipped[name].weight,
            "learned": everywhere[name].weight,
            "temperature": shipped[name].temperature,
            "learned temperature": everywhere[name].temperature,
        }
        for name in everywhere
    }
    print(f"\n{len(runs)} runs\n{pd.DataFrame(shown).T.round(2).to_string()}")


def with_rate(run, members, rate):
    """The combination whose likelihood weights have another learning rate, without temperature."""
    names = [name for name in run["names"] if name in members]
    places = [run["names"].index(name) for name in names]
    powers = [members[name].temperature for name in names]
    held = np.stack([tempered_log(run["H"][i], t) for i, t in zip(places, powers, strict=True)])
    rows = np.arange(len(run["y"]))
    score = held[:, :, rows, run["y"]].mean(axis=1).sum(axis=1) / np.sqrt(len(rows))
    weights = softmax(np.log([members[name].weight for name in names]) + rate * score)
    logs = [tempered_log(run["P"][i], t) for i, t in zip(places, powers, strict=True)]
    return softmax(np.tensordot(weights, np.stack(logs), axes=1), axis=1)


def trial(directory):
    runs = read_runs(directory)
    for r in runs:
        r["losses"] = temperature_losses(r)
    at = shipped_at(runs)
    known = {name for members in at.values() for name in members}
    on_trial = sorted({name for r in runs for name in r["names"]} - known)
    rows = []
    for left_out in sorted({family(r["set"]) for r in runs}):
        others = [r for r in runs if family(r["set"]) != left_out]
        powers = learn_temperatures(others, on_trial)
        here = [r for r in runs if family(r["set"]) == left_out]
        rows += [_trial_row(r, at[r["labels"]], powers) for r in here]
    table = pd.DataFrame(rows).groupby(["set", "labels"]).mean()
    size = table.groupby("labels").size()
    gains = table.filter(regex=r"^(\+|rate)").sub(table["as shipped"], axis=0)
    error = gains.groupby("labels").std() / np.sqrt(size.to_numpy()[:, None])
    print(
        f"{len(runs)} runs; accuracy (%)\n{table.groupby('labels').mean().T.round(2).to_string()}"
    )
    print(f"\ngain over the shipped combination:\n{gains.groupby('labels').mean().T.round(2)}")
    print(f"\nits standard error over tables:\n{error.T.round(2)}")


def _trial_row(run, shipped, powers):
    def accuracy(P):
        return 100 * (P.argmax(axis=1) == run["truth"]).mean()

    row = {"set": run["set"], "labels": run["labels"]}
    row["as shipped"] = accuracy(combine(run, shipped))
    for name, power in powers.items():
        if name in run["names"]:
            new = Member(shipped["extra-trees"].weight, power)
            row[f"+ {name}"] = accuracy(combine(run, {**shipped, name: new}))
    for rate in RATES:
        row[f"rate x {rate}"] = accuracy(with_rate(run, shipped, rate))
    return row | {name: accuracy(P) for name, P in zip(run["names"], run["P"], strict=True)}


def shift(directory):
    """Accuracy gained by a shift to estimated or to known proportions, on average and at worst."""
    runs, rows = read_runs(directory), []
    at = shipped_at(runs)
    for r in runs:
        found = combined(r, at[r["labels"]])
        P, n_classes = found.pool.combine(_by_name(r)), r["P"].shape[2]
        counts = np.bincount(r["y"], minlength=n_classes)
        sizes = np.bincount(r["truth"], minlength=n_classes) / len(P)
        known = found.held_out, r["y"], counts, P
        shifts = {
            f"{n} step{'s' * (n > 1)}": class_shift(*known, n_steps=n, sharpness=1.0)
            for n in EM_STEPS
        }
        shifts |= {
            f"power {power:g}{', shipped' * (power == SHARPNESS)}": class_shift(
                *known, sharpness=power
            )
            for power in SHARPNESSES
        }
        shifts["true proportions"] = known_shift(sizes, counts, 1.0)
        row = {"set": r["set"], "labels": r["labels"]}
        right = 100 * (P.argmax(axis=1) == r["truth"]).mean()
        for way, b in shifts.items():
            row[way] = 100 * ((np.log(P) + b).argmax(axis=1) == r["truth"]).mean() - right
        rows.append(row)
    table = pd.DataFrame(rows).groupby(["set", "labels"]).mean()
    by_labels = table.groupby("labels")
    print(f"gain in accuracy\n{by_labels.mean().T.round(2).to_string()}")
    print(f"\nits standard error over tables:\n{by_labels.sem().T.round(2).to_string()}")
    print(f"\nworst table:\n{by_labels.min().T.round(1).to_string()}")


def fading(directory):
    """What is gained where unlabeled rows count less the more labels there are."""
    runs, rows = read_runs(directory), []
    shipped, kinds = shipped_members(runs)
    for power in FADINGS:
        for start in (FULL_WEIGHT, 1.0) if power else (FULL_WEIGHT,):
            for r in runs:
                members = faded(shipped, kinds, r["labels"], power, start)
                way = f"power {power:g}{', from one' * (start == 1.0)}"
                rows.append({"way": way} | _measure(r, shifted(r, members)))
    by_set = pd.DataFrame(rows).groupby(["labels", "way", "set"]).mean()
    print(f"{len(runs)} runs; shipped: power 1")
    print(by_set.groupby(["labels", "way"]).mean().round(3).to_string())


def rates(directory):
    """What held-out rows are worth in the temperatures of the candidates."""
    runs, rows = read_runs(directory), []
    at = shipped_at(runs)
    usual = _pool.MEMBER_RATE
    for rate in MEMBER_RATES:
        _pool.MEMBER_RATE = rate
        rows += [{"rate": rate} | _measure(r, combine(r, at[r["labels"]])) for r in runs]
    _pool.MEMBER_RATE = usual
    by_set = pd.DataFrame(rows).groupby(["labels", "rate", "set"]).mean()
    print(f"{len(runs)} runs; shipped {usual}")
    print(by_set.groupby(["labels", "rate"]).mean().round(3).to_string())


def gain_table(runs):
    """Change, promise and true gain of every run with a change."""
    at, alone_at, rows = shipped_at(runs), shipped_at(runs, SUPERVISED), []
    for r in runs:
        new, old = shifted(r, at[r["labels"]]), combine(r, alone_at[r["labels"]])
        found = compare_answers(new, old)
        right = [each.argmax(axis=1) == r["truth"] for each in (new, old)]
        gain = right[0].mean() - right[1].mean()
        rows.append((r["set"], r["labels"], found.share, found.promised, gain))
    table = pd.DataFrame(rows, columns=["set", "labels", "share", "promised", "gain"])
    return table[table["share"] > 0]


def learn_gain(table):
    """Factors of promise and share in the mean, logs of the deviation per share and of the rest."""
    share, promised, gain = (table[name].to_numpy() for name in ("share", "promised", "gain"))

    def loss(theta):
        mean, deviation = _gain_moments(theta, share, promised)
        return -norm.logpdf(gain, mean, deviation).mean() + PENALTY * theta[:2] @ theta[:2]

    start = np.array([1.0, 0.0, -1.0, -4.0])
    return minimize(loss, start, method="Nelder-Mead", options={"maxiter": 4_000}).x


def _gain_moments(theta, share, promised):
    mean = theta[0] * promised + theta[1] * share
    return mean, np.hypot(np.exp(theta[2]) * share, np.exp(theta[3]))


def gain(directory):
    table = gain_table(read_runs(directory))
    families = table["set"].map(family)
    table["probability"] = np.nan
    for left_out in families.unique():
        here = families == left_out
        theta = learn_gain(table[~here])
        mean, deviation = _gain_moments(theta, table["share"][here], table["promised"][here])
        table.loc[here, "probability"] = norm.cdf(mean / deviation)
    theta = learn_gain(table)
    print(f"{len(table)} runs; learned on all: promise {theta[0]:.2f}, share {theta[1]:.3f}, ")
    print(f"deviation {np.exp(theta[2]):.2f} per share and {np.exp(theta[3]):.4f}; shipped:")
    print(f"{PROMISE}, {CHANGE}, {CHANGE_DEVIATION} and {DEVIATION}")
    positive = table["gain"] > 0
    ranks = rankdata(table["probability"])
    n = positive.sum()
    auc = (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(table) - n))
    print(f"leave-one-set-out, area under the ROC curve of the sign: {auc:.3f}")
    hardly = table["share"] <= HARDLY_CHANGED
    yes = ~hardly & (table["probability"] >= LIKELY)
    no = ~hardly & (table["probability"] <= 1 - LIKELY)
    said = pd.DataFrame(
        {
            "hardly": hardly,
            "hardly, within 2.5 points": (table["gain"].abs() <= 0.025).where(hardly),
            "yes": yes,
            "yes, right": positive.where(yes),
            "no": no,
            "cannot tell": ~(hardly | yes | no),
        }
    ).astype(float)
    print(said.groupby(table["labels"]).mean().T.round(2).to_string())


def _measure(run, P):
    right = P.argmax(axis=1) == run["truth"]
    return {
        "set": run["set"],
        "labels": run["labels"],
        "accuracy": 100 * right.mean(),
        "log loss": -np.log(_of(P, run["truth"]) + FLOOR).mean(),
        "calibration error": calibration_error(P.max(axis=1), right),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    steps = {
        "compare": compare,
        "gain": gain,
        "trial": trial,
        "shift": shift,
        "fading": fading,
        "rates": rates,
    }
    parser.add_argument("step", choices=["collect", *steps])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--labels", nargs="*", type=int, default=list(LABELS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--trial", nargs="*", choices=list(TRIALS), default=[])
    options = parser.parse_args()
    if options.step != "collect":
        return steps[options.step](options.directory)
    options.directory.mkdir(parents=True, exist_ok=True)
    names = options.sets or (list(FIRST) if options.fresh else set_names())
    Parallel(n_jobs=options.jobs)(
        delayed(collect_one)(options.directory, name, per_class, draw, options.rows, options.trial)
        for draw in range(options.draws)
        for per_class in options.labels
        for name in names
    )


if __name__ == "__main__":
    main()
