"""Tables of results: numbers by hand, type by the test, characters that need care."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from leaven.evaluation import summary_table, wilcoxon_test

ERRORS = {
    ("iris", "NB"): [0.30, 0.28, 0.31, 0.33, 0.27, 0.29, 0.35, 0.32],
    ("iris", "SSNB"): [0.25, 0.26, 0.27, 0.26, 0.24, 0.28, 0.29, 0.26],
    ("iris", "SVM"): [0.26, 0.25, 0.28, 0.25, 0.25, 0.27, 0.30, 0.26],
    ("wine", "NB"): [0.10, 0.12, 0.11, 0.13, 0.12, 0.14, 0.10, 0.11],
    ("wine", "SSNB"): [0.20, 0.22, 0.21, 0.23, 0.20, 0.24, 0.21, 0.22],
    ("wine", "SVM"): [0.30, 0.32, 0.33, 0.31, 0.32, 0.34, 0.30, 0.31],
}


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(
        [
            (dataset, method, trial, error)
            for (dataset, method), errors in ERRORS.items()
            for trial, error in enumerate(errors)
        ],
        columns=["dataset", "method", "trial", "error"],
    )


def test_numbers(frame):
    table = summary_table(frame)
    assert list(table.means.index) == ["iris", "wine"]
    assert list(table.means.columns) == ["NB", "SSNB", "SVM"]
    for (dataset, method), errors in ERRORS.items():
        assert_allclose(table.means.loc[dataset, method], np.mean(errors))
        expected = np.std(errors, ddof=1) / np.sqrt(8)
        assert_allclose(table.standard_errors.loc[dataset, method], expected)
        assert table.n_trials.loc[dataset, method] == 8
    assert table.mean_ranks.to_dict() == {"NB": 2.0, "SSNB": 1.5, "SVM": 2.5}


def test_best_and_equivalent(frame):
    table = summary_table(frame)
    assert table.best.to_numpy().tolist() == [[False, True, False], [True, False, False]]
    # SSNB and SVM differ by at most 0.01 on iris, both ways; all else is far apart.
    assert wilcoxon_test(ERRORS["iris", "SSNB"], ERRORS["iris", "SVM"]).p_value > 0.05
    assert wilcoxon_test(ERRORS["iris", "SSNB"], ERRORS["iris", "NB"]).p_value < 0.05
    assert table.equivalent.to_numpy().tolist() == [[False, False, True], [False, False, False]]
    high = summary_table(frame, higher_is_better=True)
    assert high.best.to_numpy().tolist() == [[True, False, False], [False, False, True]]
    assert high.mean_ranks["SSNB"] == 2.5


def test_other_tests(frame):
    assert not summary_table(frame, test=None).equivalent.to_numpy().any()
    calls = []

    def always(a, b):
        calls.append((list(a), list(b)))
        return 0.5

    table = summary_table(frame, test=always)
    assert_array_equal(table.equivalent, ~table.best)
    assert (ERRORS["iris", "NB"], ERRORS["iris", "SSNB"]) in calls
    assert len(calls) == 4
    t_test = summary_table(frame, test=lambda a, b: stats.ttest_rel(a, b).pvalue)
    assert t_test.equivalent.loc["iris"].tolist() == [False, False, True]
    # At a level below the smallest p-value that 8 pairs can give nothing differs.
    assert summary_table(frame, alpha=0.001).equivalent.loc["wine"].tolist() == [False, True, True]


MARKDOWN = """\
| dataset | NB | SSNB | SVM |
| --- | ---: | ---: | ---: |
| iris | 0.306 ± 0.0094 | **0.264 ± 0.0056** | *0.265 ± 0.0063* |
| wine | **0.116 ± 0.0050** | 0.216 ± 0.0050 | 0.316 ± 0.0050 |
| mean rank | 2.00 | **1.50** | 2.50 |
"""

LATEX = r"""\begin{tabular}{lrrr}
\toprule
dataset & NB & SSNB & SVM \\
\midrule
iris & 0.306 $\pm$ 0.0094 & \textbf{0.264 $\pm$ 0.0056} & \textit{0.265 $\pm$ 0.0063} \\
wine & \textbf{0.116 $\pm$ 0.0050} & 0.216 $\pm$ 0.0050 & 0.316 $\pm$ 0.0050 \\
\midrule
mean rank & 2.00 & \textbf{1.50} & 2.50 \\
\bottomrule
\end{tabular}
"""


def test_printed(frame):
    table = summary_table(frame)
    text = table.to_markdown()
    assert text == MARKDOWN
    assert table.to_latex() == LATEX
    assert table.frame.loc["iris", "NB"] == "0.306 ± 0.0094"
    assert table.frame.index.tolist() == ["iris", "wine", "mean rank"]
    assert table._repr_markdown_() == text


def test_digits(frame):
    table = summary_table(frame, digits=1, error_digits=4)
    assert table.frame.loc["wine", "NB"] == "0.1 ± 0.0050"
    assert summary_table(frame, digits=2).frame.loc["wine", "NB"] == "0.12 ± 0.005"
    with pytest.raises(ValueError, match="digits must be a whole number of decimals, got -1"):
        summary_table(frame, digits=-1)


def test_latex_float(frame):
    text = summary_table(frame).to_latex(caption="Errors", label="tab:errors")
    assert text.startswith("\\begin{table}\n\\centering\n\\begin{tabular}")
    assert text.endswith("\\caption{Errors}\n\\label{tab:errors}\n\\end{table}\n")


def test_special_characters(frame):
    names = {"NB": "NB_|*50%*", "SSNB": "a & b\\c", "SVM": "{x}^~#$"}
    named = frame.replace({"method": names, "dataset": {"iris": "<i>_1"}})
    table = summary_table(named)
    head, _, first = table.to_markdown().splitlines()[:3]
    assert head == r"| dataset | NB\_\|\*50%\* | a & b\\c | {x}^\~\#\$ |"
    assert first.startswith(r"| \<i\>\_1 | ")
    assert len(re.findall(r"(?<!\\)\|", head)) == 5
    latex = table.to_latex()
    assert (
        r"dataset & NB\_|*50\%* & a \& b\textbackslash{}c & "
        r"\{x\}\textasciicircum{}\textasciitilde{}\#\$ \\" in latex
    )
    assert r"\textless{}i\textgreater{}\_1 & " in latex
    assert list(table.frame.columns) == list(names.values())


def test_equal_means_are_both_best():
    frame = pd.DataFrame(
        {
            "method": ["A"] * 3 + ["B"] * 3,
            "trial": [0, 1, 2] * 2,
            "error": [0.1, 0.2, 0.3, 0.3, 0.1, 0.2],
        }
    )
    table = summary_table(frame)
    assert table.best.to_numpy().tolist() == [[True, True]]
    assert table.frame.shape == (1, 2)  # one data set: no row of mean ranks


def test_failed_trials_and_missing_methods(frame):
    frame.loc[(frame["method"] == "NB") & (frame["trial"] < 3), "error"] = np.nan
    frame = frame[~((frame["method"] == "SVM") & (frame["dataset"] == "wine"))]
    table = summary_table(frame)
    assert table.n_trials.to_dict("list") == {"NB": [5, 5], "SSNB": [8, 8], "SVM": [8, 0]}
    assert_allclose(table.means.loc["wine", "NB"], np.mean(ERRORS["wine", "NB"][3:]))
    assert table.frame.loc["wine", "SVM"] == "–"
    assert not table.best.loc["wine", "SVM"]
    assert not table.equivalent.loc["wine", "SVM"]
    assert table.mean_ranks.to_dict() == {"NB": 3.0, "SSNB": 1.0, "SVM": 2.0}  # of iris alone
    assert "--" in table.to_latex()


def test_a_curve_that_broke_off_is_not_complete():
    frame = pd.DataFrame(
        {
            "method": ["A", "A", "B", "B", "A", "B", "B"],
            "trial": [0, 0, 0, 0, 1, 1, 1],
            "n_labeled": [1, 4, 1, 4, 1, 1, 4],
            "error": [0.5, 0.3, 0.6, 0.4, 0.1, 0.6, 0.2],
        }
    )
    table = summary_table(frame)
    assert table.n_trials.to_numpy().tolist() == [[1, 2]]
    assert_allclose(table.means.to_numpy(), [[0.8, 0.9]])
    assert table.frame.iloc[0, 0] == "0.800"  # one trial has no standard error
    assert not table.equivalent.to_numpy().any()


def test_aulc_column_is_taken_first(frame):
    both = frame.assign(aulc=frame["error"] * 10)
    assert_allclose(summary_table(both).means, 10 * summary_table(frame).means)
    assert_allclose(summary_table(both, value="error").means, summary_table(frame).means)


def test_errors(frame):
    with pytest.raises(ValueError, match="test must be 'wilcoxon', None or a function"):
        summary_table(frame, test="t")
    with pytest.raises(ValueError, match="alpha must be a probability"):
        summary_table(frame, alpha=95)
    with pytest.raises(ValueError, match="empty entries in dataset, trial or method"):
        summary_table(frame.assign(method=None))


def test_input_is_not_changed(frame):
    before = frame.copy()
    summary_table(frame).to_latex()
    pd.testing.assert_frame_equal(frame, before)
