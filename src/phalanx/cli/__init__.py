# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The command line: arguments to the API to print; one file per command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

from ..errors import PhalanxError
from ..progress import bars
from . import cache, compare, cost, demo, info, papers, schedule
from .report import one_line

__all__ = ["main"]

COMMANDS = (info, compare, cost, schedule, papers, demo, cache)


class _Parser(argparse.ArgumentParser):
    """A parser that answers bad arguments in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


class _Version(argparse.Action):
    """`--version`, read on demand because the metadata of packages is slow to import."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"phalanx {version('phalanx')}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all commands; each sets `run` to its function."""
    parser = _Parser(prog="phalanx", description="Robot dynamics: describe, compute, compare.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 2 bad input, 130 interrupted, 141 reader of the output gone."""
    args = build_parser().parse_args(argv)
    try:
        with warnings.catch_warnings(), bars(not args.json):
            warnings.showwarning = _show_warning
            status: int = args.run(args)
        sys.stdout.flush()
    except PhalanxError as error:
        print(f"phalanx {args.command}: {one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"phalanx {args.command}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The interpreter flushes stdout once more at exit; give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return status


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"phalanx: warning: {one_line(message)}", file=sys.stderr)
