"""A real cluster of two worker processes on 127.0.0.1, of which one is killed now and then.

The cluster lives in a process of its own (cluster_work.py), started once, which is ended if it
hangs; here its answers are compared with those of one machine.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("distributed")
fcntl = pytest.importorskip("fcntl", reason="Windows has neither such locks nor SIGKILL")

WORK = Path(__file__).with_name("cluster_work.py")
SECONDS = 1000
"""More than the process allows itself."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of all test processes: the first of them starts the cluster
    folder = folder / "cluster"
    folder.mkdir(exist_ok=True)
    out, said = folder / "answers.pickle", folder / "said.txt"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            said.write_bytes(work(out))
    found = pickle.loads(out.read_bytes()) if out.exists() else {}
    return {**found, "said": said.read_text(errors="replace")}


def work(out):
    """Run cluster_work.py, and end it with its workers; return what it printed."""
    root = Path(__file__).parents[2]
    paths = [str(root / "src"), str(root), os.environ.get("PYTHONPATH", "")]
    process = subprocess.Popen(
        [sys.executable, str(WORK), str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        start_new_session=True,  # so that its workers can be ended with it
    )
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return b"It took too long."
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return said


def piece(answers, name):
    found = answers.get(name, answers["said"])
    assert not isinstance(found, str), found
    return found


def assert_same(pair, atol=1e-9):
    found, expected = pair
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        if getattr(wanted, "dtype", None) is not None and wanted.dtype.kind == "f":
            assert_allclose(found[name], wanted, atol=atol, err_msg=name)
        else:
            assert_array_equal(found[name], wanted, err_msg=name)


@pytest.mark.parametrize("model", ["em", "anchor graph"])
@pytest.mark.parametrize(
    "cuts", ["one", "two", "seven", "uneven, one empty", "a class in one partition"]
)
def test_fits_on_a_cluster_are_those_of_one_machine(answers, model, cuts):
    assert_same(piece(answers, "estimators")[model, cuts], atol=1e-8)


@pytest.mark.parametrize(
    "name",
    ["fit of a DataFrame", "HarmonicClassifier", "SelfTrainingClassifier", "saved model"],
)
def test_dataframes_and_predictions_on_a_cluster(answers, name):
    assert_same(piece(answers, "frames")[name], atol=1e-6)


def test_em_survives_a_killed_worker(answers):
    found = piece(answers, "killed")
    before, after = found["workers"]
    assert len(after) == 2
    assert set(before) != set(after)  # one was killed, and another one started
    assert_same(found["em"], atol=1e-8)


def test_persisted_rows_are_read_once(answers):
    found = piece(answers, "killed")
    assert found["reads"] == 3
    assert_same(found["persisted"], atol=1e-8)


def test_trials_of_a_lost_worker_are_computed_again_and_none_twice(answers):
    work = piece(answers, "trials")
    found, expected = work["compare"]
    assert (found["status"] == "ok").all()
    assert found["trial"].tolist() == expected["trial"].tolist()
    assert_array_equal(found["error"], expected["error"])
    assert work["fits"].count("ended") == len(found)  # all of them, none twice
    assert work["fits"].count("begun") == len(found) + 1  # but for the one that was killed
    assert not work["stored"].duplicated(["dataset", "method", "trial", "n_labeled"]).any()
    assert len(work["stored"]) == len(found)  # the store is on the client, and complete
    assert work["fits in the second run"] == 0
    pd.testing.assert_frame_equal(*work["again"])


def test_learning_curves_on_a_cluster_are_those_of_one_machine(answers):
    pd.testing.assert_frame_equal(*piece(answers, "trials")["learning curve"])


def test_studies_on_a_cluster_are_those_of_one_machine(answers):
    found, expected = piece(answers, "trials")["study"]
    assert len(found) == len(expected) == 2
    assert_array_equal(found["error"], expected["error"])


@pytest.mark.parametrize("method", ["naive-bayes-em", "anchor-graph"])
def test_files_are_labeled_on_a_cluster_as_on_one_machine(answers, method):
    # During the last method a worker is killed after its first file.
    assert_same(piece(answers, "files")[method], atol=1e-5)


def test_a_scheduler_without_workers_is_told(answers):
    found = piece(answers, "no worker")
    assert found["exit code"] == 2
    assert "has no worker: start some with 'dask worker'." in found["said"]
    assert "give them more memory, or cut the files into smaller ones" in found["killed"]
