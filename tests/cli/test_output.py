# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Numbers, tables and JSON as the commands print them."""

import io
import json
import sys

import numpy as np
import pytest

from phalanx.cli.output import emit, emit_json, fit, number, one_line, table


def test_numbers_have_four_digits_and_infinity_is_a_dash() -> None:
    assert [number(x) for x in (np.pi, -0.5, 1e-9, float("inf"))] == ["3.142", "-0.5", "1e-09", "–"]


def test_text_is_shortened_in_the_middle() -> None:
    assert fit("abcdefghij", 5) == "ab…ij"
    assert fit("abc", 5) == "abc"


def test_control_characters_of_names_do_not_reach_the_terminal() -> None:
    assert fit("a\x1b[31mb", 20) == "a\\x1b[31mb"


def test_a_table_aligns_and_its_first_column_gives_way() -> None:
    lines = table(("name", "value"), [("a" * 40, "1.5"), ("b", "22.25")], align="<>", width=30)
    assert lines == [
        "name" + " " * 21 + "value",
        "─" * 23 + "  ─────",
        "a" * 11 + "…" + "a" * 11 + "    1.5",
        "b" + " " * 24 + "22.25",
    ]


def test_json_is_strict(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({"a": np.array([1.0, np.inf]), "b": np.float32(0.5), "c": (1, None), "d": {"e": np.nan}})
    assert json.loads(capsys.readouterr().out) == {
        "a": [1.0, None],
        "b": 0.5,
        "c": [1, None],
        "d": {"e": None},
    }


def test_an_output_without_unicode_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    emit("└─ Gelenk ä … 3 more")
    sys.stdout.flush()
    assert raw.getvalue() == b"`- Gelenk \\xe4 ... 3 more\n"


def test_messages_become_one_line() -> None:
    assert one_line("a\n  b\tc") == "a b c"
