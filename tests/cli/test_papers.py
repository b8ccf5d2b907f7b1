# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx papers` in print and as JSON."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from phalanx import progress
from phalanx.cli import main
from phalanx.study.papers import catalogue, names, paper
from phalanx.study.papers.verdicts import Record


@pytest.mark.parametrize("columns", ["80", "100"])
def test_the_table_fits_the_terminal(
    columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert main(["papers", "zomaya_morris"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert max(map(len, captured.out.splitlines())) <= int(columns)
    assert "150n / 116n" in captured.out
    assert "Table 2: operations of the general" in captured.out
    told = " ".join(captured.out.split())
    assert "66 rows: 48 exact, 3 exact under an assumption, 7 differ, 8 not printed." in told
    assert "Not recomputed: Fig. 4:" in told


def test_the_counts_of_a_paper_fit_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["papers", "lathrop"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-1].endswith(".")


def test_only_some_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "zomaya_morris", "--only", "differs"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "567" in text
    assert "150n" not in text
    assert "Workers wait for each other's messages" in text


@pytest.mark.parametrize(
    ("word", "kind", "count"),
    [
        ("assumption", "exact under an assumption", 3),
        ("not-printed", "not printed", 8),
        ("arithmetic", "", 0),
    ],
)
def test_rows_of_every_kind_can_be_chosen(
    word: str, kind: str, count: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["papers", "zomaya_morris", "--only", word, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["kind"] for row in rows] == [kind] * count
    assert all(row["verdict"].startswith(kind) for row in rows)


def test_json_holds_numbers_and_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "zomaya_morris", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    general = next(row for row in rows if row["item"] == "general Newton-Euler, n = 6")
    assert general["published"] == general["computed"] == [900, 696]
    assert general["verdict"] == "exact"
    formula = next(row for row in rows if row["item"] == "general Newton-Euler")
    assert formula["computed"] == ["150n", "116n"]
    assert {"paper", "source", "item", "published", "computed", "verdict", "note", "how"} <= set(general)


def test_an_unknown_name_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["papers", "lathrup"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "lathrop" in captured.err


class Terminal(io.StringIO):
    """Standard error as a person would see it."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal whose bars appear at once; rows are not computed. pytest would replace that of a fixture."""
    place = Terminal()

    def timer(_: float, action: Any) -> Any:
        return SimpleNamespace(start=action, cancel=lambda: None)

    def record(chosen: Any, row: Any) -> Record:
        same = row.published
        return Record(chosen.name, row.source, row.item, same, same, "exact", note="", unit="", how="")

    monkeypatch.setattr(progress.threading, "Timer", timer)
    monkeypatch.setattr(catalogue, "_record", record)
    monkeypatch.setattr(sys, "stderr", place)
    return place


def test_one_bar_tells_how_far_all_papers_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = terminal(monkeypatch)
    assert main(["papers"]) == 0
    total = sum(len(paper(name).rows) for name in names())
    seen = place.getvalue()
    for done in (0, total // 2, total - 1):
        assert f" {done}/{total}  " in seen, done
    assert all(f"{name}: "[:9] in seen for name in names())
    assert seen.endswith("\r\x1b[K")  # gone before the table is printed
    assert "[#" not in capsys.readouterr().out


def test_json_and_pipes_have_no_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = terminal(monkeypatch)
    assert main(["papers", "kane"]) == 0
    assert place.getvalue() != ""
    place.truncate(0)
    capsys.readouterr()
    assert main(["papers", "kane", "--json"]) == 0
    assert place.getvalue() == ""
    json.loads(capsys.readouterr().out)
    monkeypatch.setattr(Terminal, "isatty", lambda _: False)
    assert main(["papers", "kane"]) == 0
    assert place.getvalue() == ""
