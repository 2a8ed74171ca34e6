"""Is SafeClassifier better than what one would use instead, and do its probabilities hold?

    python benchmarks/safe.py [--sets NAME ...] [--labels 2 5 10 20] [--draws 10] [--jobs 1]
                              [--out safe.jsonl] [--rows 2000] [--texts] [--store DIRECTORY]

Every table and image set that ``leaven.datasets`` finds (``LEAVEN_DATA`` names the directory)
is used, or with ``--texts`` groups of newsgroups in their place, as tf-idf. Discrete columns
become one-hot columns, missing numbers the median; sets with more than 2,000 rows are cut to
2,000 of them, drawn once with a fixed seed.
Classes with fewer rows than the labels asked for give all rows but one, and classes with a
single row are dropped. Accuracy is that on the unlabeled rows; everything has the same labels.
Each result is written to ``--out`` at once, one JSON object per line; results that are there
already are not computed again. Printed at the end, mean over sets at each number of labels:

- the accuracy of SafeClassifier, of the supervised candidate that its folds rank first, of each
  candidate by itself, and of scikit-learn's alternatives: extremely randomized trees and a random
  forest of 200 trees, SVC(C=10), 1-NN, shrunken LDA, logistic regression, its self-training, and
  LabelSpreading(kernel="knn"), all scaled (LDA by 100 principal components where there are more
  than 1,000 columns, since its cost is cubic in them); for texts a linear SVM, naive Bayes,
  logistic regression and its self-training;
- the expected calibration error (ten bins) of its confidence and of logistic regression, and the
  one that its confidences would have on average if they held exactly ("ece if exact"): with a few
  hundred rows the accuracy of a bin differs from its confidence even then; the same with the rows
  of all draws of a set in one set of bins, and with the rows of all sets in one, each set counting
  the same, and the accuracy in each bin of these;
- the coverage and mean size of its 90% sets, the error among rows that are not flagged at a
  target of 5%, the bias of the expected accuracy, and in how many runs the accuracy is inside its
  interval of 90% ("inside");
- how often it says that the unlabeled rows helped, and how often that is true: against the same
  combination of the supervised candidates alone; how often that they hardly mattered, and how often
  the two accuracies are within 2.5 points then;
- mean ranks with Nemenyi's critical difference.

The temperatures and weights that candidates have before labels are seen were chosen on these data
sets with other draws of the labels and at most 550 rows, and on the first tables of ``fresh.py``.
``--store`` keeps the class probabilities of all candidates, and ``unseen.py`` combines them again
with numbers that were learned on other data sets alone.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from functools import partial
from pathlib import Path

# One thread each: the jobs are processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from leaven.datasets import list_available, load
from leaven.selection import (
    assess,
    make_candidates,
    prediction_sets,
    rows_above_target,
    select,
    standard_problem,
    take_one,
)
from leaven.selection import fit as fit_decision
from leaven.statistics import nemenyi_test

MOST_ROWS = 2_000
LABELS = (2, 5, 10, 20)
KEY = ["set", "labels", "draw"]
TARGET_ERROR = 0.05
# Groups of newsgroups: what their names begin with, or hold.
TEXTS = {
    "texts, all 20": ("",),
    "texts, comp": ("comp.",),
    "texts, rec": ("rec.",),
    "texts, sci": ("sci.",),
    "texts, talk": ("talk.",),
    "texts, religion": ("alt.atheism", "soc.religion", "talk.religion"),
    "texts, pc and mac": ("pc.hardware", "mac.hardware"),
    "texts, baseball and hockey": ("rec.sport",),
    "texts, windows and x": ("ms-windows", "windows.x"),
}
NEAR = 0.025  # accuracies this close are called hardly different


def set_names():
    table = list_available()
    table = table[table["available"] & table["kind"].ne("text")]
    return table["name"].tolist()


def prepare_texts(name, most_rows):
    """The tf-idf of texts, as one would take it, and class codes."""
    bunch = load("20news-bydate")
    groups = pd.Series(bunch.target).astype(str)
    chosen = np.flatnonzero(groups.apply(lambda group: any(word in group for word in TEXTS[name])))
    rows = np.sort(np.random.default_rng(0).permutation(chosen)[:most_rows])
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english")
    X = vectorizer.fit_transform(pd.Series(bunch.data).iloc[rows].astype(str))
    return X, pd.factorize(groups.iloc[rows], sort=True)[0]


def as_numbers(numbers, names):
    """One-hot columns and medians for missing cells, as one would write it by hand."""
    parts = []
    if numbers.shape[1]:
        parts.append(numbers.fillna(numbers.median()).fillna(0).to_numpy(float))
    if names.shape[1]:
        text = names.astype(object).where(names.notna(), "?").astype(str)
        parts.append(pd.get_dummies(text).to_numpy(float))
    return np.hstack(parts)


def prepare(name, most_rows=MOST_ROWS):
    """Numbers and class codes of a data set."""
    if name in TEXTS:
        return prepare_texts(name, most_rows)
    bunch = load(name)
    X = pd.DataFrame(bunch.data)
    numbers = X.select_dtypes("number")
    names = X.drop(columns=numbers.columns)
    if bunch.kind == "discrete":
        names, numbers = X, X.iloc[:, :0]
    X = as_numbers(numbers, names)
    truth = pd.factorize(np.asarray(bunch.target), sort=True)[0]
    if len(X) > most_rows:
        rows = np.sort(np.random.default_rng(0).choice(len(X), most_rows, replace=False))
        X, truth = X[rows], truth[rows]
    keep = (truth >= 0) & (np.bincount(truth[truth >= 0])[truth] >= 2)
    return X[keep], pd.factorize(truth[keep], sort=True)[0]


def few_labels(truth, per_class, seed):
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        rows = np.flatnonzero(truth == c)
        y[rng.choice(rows, min(per_class, len(rows) - 1), replace=False)] = c
    return y


def alternatives(seed):
    """What one would use instead, by name; the last two learn from unlabeled rows too."""
    return {
        "sklearn extra-trees": ExtraTreesClassifier(200, random_state=seed),
        "sklearn random-forest": RandomForestClassifier(200, random_state=seed),
        "sklearn SVC(C=10)": SVC(C=10.0),
        "sklearn 1-NN": KNeighborsClassifier(1),
        "sklearn shrunken LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "sklearn logistic regression": LogisticRegression(max_iter=1_000),
        "sklearn self-training": SelfTrainingClassifier(LogisticRegression(max_iter=1_000)),
        "sklearn label spreading": LabelSpreading(kernel="knn"),
    }


def text_alternatives():
    """The same for texts; the last one learns from unlabeled rows too."""
    return {
        "sklearn linear SVM": LinearSVC(),
        "sklearn naive Bayes": MultinomialNB(),
        "sklearn logistic regression": LogisticRegression(max_iter=1_000),
        "sklearn self-training": SelfTrainingClassifier(LogisticRegression(max_iter=1_000)),
    }


def reliability(confidence, right, n_bins=10):
    """Share of the rows, sum of confidences and of right rows in equal bins, per row."""
    place = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    weights = np.stack([np.ones(len(place)), confidence, right])
    return np.array([np.bincount(place, each, n_bins) for each in weights]) / len(place)


def calibration_error(confidence, right, n_bins=10):
    """Mean distance of confidence and accuracy over equal bins, weighted by their rows."""
    return bins_error(reliability(confidence, right, n_bins))


def bins_error(bins):
    """The calibration error of what :func:`reliability` returns, or of a mean of it."""
    return float(np.abs(bins[1] - bins[2]).sum())


def exact_calibration_error(confidence, n_draws=100):
    """Mean calibration error of rows that are right with exactly the stated probability."""
    rng = np.random.default_rng(0)
    return float(
        np.mean(
            [
                calibration_error(confidence, rng.random(len(confidence)) < confidence)
                for _ in range(n_draws)
            ]
        )
    )


def store_answers(path, found, alone, y, truth):
    """Keep what a combination is made of: held-out and final probabilities of its candidates."""
    tried = [
        each for each in found.outcomes if each.name in alone and each.probabilities is not None
    ]
    write_run(
        path,
        names=np.array([each.name for each in tried]),
        P=np.array([alone[each.name] for each in tried], dtype=np.float32),
        H=np.array([each.probabilities for each in tried], dtype=np.float32),
        y=y[found.folds.rows],
        fold=found.folds.fold,
        truth=truth[y == -1],
    )


def write_run(path, **arrays):
    """Write the answers of one run, whole or not at all."""
    written = path.with_suffix(".part")
    with written.open("wb") as file:
        np.savez_compressed(file, **arrays)
    written.replace(path)


def run(name, per_class, draw, most_rows, store=None):
    warnings.simplefilter("ignore")
    X, truth = prepare(name, most_rows)
    y = few_labels(truth, per_class, draw)
    free = y == -1
    started = time.perf_counter()
    # What SafeClassifier does, with every step in sight: nothing has to be fitted again.
    problem = standard_problem(X, y, np.unique(truth), prior="labeled", seed=draw)
    candidates = make_candidates(None, problem)
    found = select(problem, candidates, random_state=draw)
    seconds = time.perf_counter() - started
    decision, assessment = found.decision, assess(found, problem)
    P = found.probabilities[free]
    right = P.argmax(axis=1) == truth[free]
    confidence = P.max(axis=1)
    n_tested = 0 if found.folds is None else len(found.folds.rows)
    flagged = rows_above_target(confidence, TARGET_ERROR, n_tested, problem.n_classes)
    sets = prediction_sets(P, assessment.scores, 0.1, assessment.likely)
    # Each candidate by itself; those without weight in the combination were not fitted in it.
    alone = {each.name: each.probabilities[free] for each in found.fitted.candidates}
    chosen = {each.name: each.params for each in found.outcomes}
    for candidate in candidates:
        if candidate.skipped is None and candidate.name not in alone:
            params = chosen.get(candidate.name) or candidate.grid[0]
            fitted = fit_decision(problem, [candidate], take_one(candidate, params))
            alone[candidate.name] = fitted.probabilities[free]
    accuracy = {
        name: float((each.argmax(axis=1) == truth[free]).mean()) for name, each in alone.items()
    }
    if store is not None and found.folds is not None:
        store_answers(store / f"{name}__{per_class}__{draw}.npz", found, alone, y, truth)
    # The supervised candidates combined in the same way, without any use of the unlabeled rows.
    without = decision.without.combine(alone).argmax(axis=1)
    if name in TEXTS:
        Z, others = X, text_alternatives()
    else:
        Z, others = StandardScaler().fit_transform(X), alternatives(draw)
    is_wide = Z.shape[1] > 1_000 and name not in TEXTS
    narrow = PCA(100, random_state=draw).fit_transform(Z) if is_wide else Z
    labeled = np.flatnonzero(~free)
    logistic = np.nan
    for alternative, estimator in others.items():
        rows = np.arange(len(y)) if "self" in alternative or "spread" in alternative else labeled
        V = narrow if alternative.endswith("LDA") else Z
        estimator.fit(V[rows], y[rows])
        accuracy[alternative] = float((estimator.predict(V[free]) == truth[free]).mean())
        if alternative.endswith("logistic regression"):
            Q = estimator.predict_proba(V[free])
            logistic = calibration_error(Q.max(axis=1), Q.argmax(axis=1) == truth[free])
    return {
        "set": name,
        "labels": per_class,
        "draw": draw,
        "rows": len(truth),
        "seconds": seconds,
        "safe": float(right.mean()),
        "without": float((without == truth[free]).mean()),
        "best_supervised": decision.best_supervised,
        "accuracy": accuracy,
        "ece": calibration_error(confidence, right),
        "bins": reliability(confidence, right).tolist(),
        "ece if exact": exact_calibration_error(confidence),
        "ece logistic": logistic,
        "coverage": float(sets[np.arange(len(sets)), truth[free]].mean()),
        "set size": float(sets.sum(axis=1).mean()),
        "unflagged": float((~flagged).mean()),
        "unflagged wrong": float((~right & ~flagged).mean()),
        "expected": assessment.accuracy.value,
        "inside": bool(assessment.accuracy.low <= right.mean() <= assessment.accuracy.high),
        "helped": decision.unlabeled_helped,
        "probability": decision.probability_helped,
        "changed": decision.changed,
    }


def summarize(results):
    """Print accuracies, calibration and verdicts, mean over sets, and the mean ranks."""
    rows = [
        {key: r[key] for key in KEY}
        | {"SafeClassifier": r["safe"], "supervised combination": r["without"]}
        | {"its best supervised": r["accuracy"][r["best_supervised"]]}
        | r["accuracy"]
        for r in results
    ]
    table = pd.DataFrame(rows)
    by_set = table.drop(columns="draw").groupby(["set", "labels"]).mean()
    shown = 100 * by_set.groupby("labels").mean().T
    print(f"{table['set'].nunique()} sets, {table['draw'].nunique()} draws; accuracy (%)")
    print(shown.sort_values(shown.columns[0], ascending=False).round(1).to_string())
    others = [name for name in by_set if name.startswith(("sklearn", "its best"))]
    leads = 100 * by_set[others].rsub(by_set["SafeClassifier"], axis=0)
    print(f"\nlead in points:\n{leads.groupby('labels').mean().T.round(1).to_string()}")
    error = leads.groupby("labels").sem().T
    print(f"\nits standard error over sets:\n{error.round(1).to_string()}")
    gain = leads["its best supervised"]
    print("\nworst sets against its best supervised candidate (points), then all counts together:")
    print(gain.nsmallest(5).round(1).to_string())
    print(gain.groupby("set").mean().nsmallest(5).round(1).to_string())
    print_quality(pd.DataFrame(results))
    compared = by_set.drop(columns=["its best supervised", "supervised combination"])
    compared = compared.dropna(axis=1)
    print("\nmean ranks:")
    print(compared.rank(axis=1, ascending=False).mean().sort_values().round(2).to_string())
    if len(compared) > 1:
        found = nemenyi_test(compared, higher_is_better=True)
        print(f"Nemenyi: critical difference {found.critical_difference:.2f}")


def print_quality(table):
    """Print what probabilities, sets and verdicts are worth, mean over sets."""
    table = table.assign(
        bias=100 * (table["expected"] - table["safe"]), inside=table["inside"].astype(float)
    )
    columns = [
        "ece",
        "ece if exact",
        "ece logistic",
        "coverage",
        "set size",
        "unflagged",
        "unflagged wrong",
    ]
    columns += ["bias", "inside", "seconds"]
    means = table.groupby(["set", "labels"])[columns].mean().groupby("labels").mean()
    means["error of unflagged"] = means.pop("unflagged wrong") / means["unflagged"]
    for said in ("yes", "no", "hardly", "cannot tell"):
        means[f"says {said}"] = (table["helped"] == said).groupby(table["labels"]).mean()
    said = table[table["helped"] == "yes"]
    means["number of yes"] = said.groupby("labels").size()
    means["right of yes"] = (said["safe"] > said["without"]).groupby(said["labels"]).mean()
    said = table[table["helped"] == "hardly"]
    near = (said["safe"] - said["without"]).abs() <= NEAR
    means[f"hardly: within {NEAR:g}"] = near.groupby(said["labels"]).mean()
    print("\nprobabilities and verdicts:")
    print(means.T.round(3).to_string())
    print_reliability(table)


def print_reliability(table):
    """Print how often rows of a confidence are right, where rows of several runs are one."""
    errors, accuracy = {}, {}
    for per_class, runs in table.groupby("labels"):
        of_set = [np.mean(each.tolist(), axis=0) for _, each in runs.groupby("set")["bins"]]
        rows, confidence, right = together = np.mean(of_set, axis=0)
        errors[per_class] = {
            "draws of a set together": np.mean([bins_error(each) for each in of_set]),
            "all sets together": bins_error(together),
        }
        used = rows > 0
        where = (confidence[used] / rows[used]).round(2)
        accuracy[per_class] = pd.Series(right[used] / rows[used], index=where)
    print("\nexpected calibration error:")
    print(pd.DataFrame(errors).round(3).to_string())
    for per_class, values in accuracy.items():
        shown = ", ".join(f"{at:.2f}: {value:.2f}" for at, value in values.items())
        print(f"{per_class} labels, confidence and share of right rows: {shown}")


def read(path):
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def run_all(run, names, options):
    """Run what is not in ``options.out`` yet, write each result at once, and return all of them."""
    done = {tuple(r[key] for key in KEY) for r in read(options.out)}
    todo = [
        (name, per_class, draw)
        for draw in range(options.draws)  # outermost: a run that is stopped has whole draws
        for per_class in options.labels
        for name in names
        if (name, per_class, draw) not in done
    ]
    jobs = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(run)(*job, options.rows) for job in todo
    )
    with options.out.open("a", encoding="utf-8") as file:
        for result in jobs:
            file.write(json.dumps(result) + "\n")
            file.flush()
            print(
                f"{result['set']} {result['labels']} labels, draw {result['draw']}: "
                f"{result['safe']:.3f}, {result['seconds']:.1f} s",
                flush=True,
            )
    results = [r for r in read(options.out) if r["set"] in names]
    return [r for r in results if r["labels"] in options.labels]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="*", default=None)
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("--labels", nargs="*", type=int, default=list(LABELS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rows", type=int, default=MOST_ROWS)
    parser.add_argument("--out", type=Path, default=Path("safe.jsonl"))
    parser.add_argument("--store", type=Path, default=None)
    options = parser.parse_args()
    if options.store is not None:
        options.store.mkdir(parents=True, exist_ok=True)
    names = options.sets or (list(TEXTS) if options.texts else set_names())
    summarize(run_all(partial(run, store=options.store), names, options))


if __name__ == "__main__":
    main()
