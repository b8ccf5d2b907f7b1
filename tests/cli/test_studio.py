# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx studio`: what it says to bad input; the page itself is tested in tests/studio."""

import builtins

import pytest

from phalanx.cli import main


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["two_link", "--port", "0"], "expected a port from 1 to 65535"),
        (["two_link", "--port", "x"], "expected a port from 1 to 65535"),
        (["nobody"], "no built-in robot"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, told, capsys) -> None:
    try:
        status = main(["studio", *arguments])
    except SystemExit as end:  # argparse's own
        status = end.code
    said = capsys.readouterr().err
    assert status == 2
    assert told.lower() in said.lower()
    assert said.count("\n") == 1


def test_without_viser_it_names_the_extra(monkeypatch, capsys) -> None:
    plain = builtins.__import__

    def refuse(name, *args, **more):
        if name == "viser":
            raise ImportError("no viser", name="viser")
        return plain(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert main(["studio", "two_link", "--no-browser"]) == 2
    assert 'pip install ".[studio]" in a clone' in capsys.readouterr().err


def test_the_help_has_examples_that_fit_a_terminal(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["studio", "--help"])
    text = capsys.readouterr().out
    assert "phalanx studio puma560" in text
    assert max(map(len, text.splitlines())) <= 80
