# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The command line: arguments to the API to print; one file per command."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn, TextIO

from ..errors import PhalanxError
from ..progress import bars
from . import cache, compare, cost, demo, export, info, papers, report_page, schedule, simulate, studio
from . import run as run_command
from .report import emit, one_line

__all__ = ["main"]

COMMANDS = (
    info,
    compare,
    cost,
    schedule,
    papers,
    simulate,
    run_command,
    studio,
    report_page,
    export,
    demo,
    cache,
)


class _Parser(argparse.ArgumentParser):
    """A parser that answers bad arguments in one line, and says so where its help cannot be printed."""

    def print_help(self, file: Any = None) -> None:
        if file is None:
            emit(self.format_help().rstrip("\n"))
        else:
            super().print_help(file)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {one_line(PhalanxError(message))}; see {self.prog} --help\n")


class _Version(argparse.Action):
    """`--version`, read on demand because the metadata of packages is slow to import."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        emit(f"phalanx {version('phalanx')}")
        parser.exit()


# Statuses as of a process that SIGPIPE ended, and EX_IOERR: Windows names neither.
_CLOSED, _UNWRITTEN = 128 + 13, 74


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all commands; each sets `run` to its function."""
    parser = _Parser(prog="phalanx", description="Robot dynamics: describe, compute, compare.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for command in COMMANDS:
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 2 bad input, 74 output cannot be written, 130 interrupted, 141 its reader gone."""
    command = "phalanx"
    try:
        args = build_parser().parse_args(argv)
        command = f"phalanx {args.command}"
        with warnings.catch_warnings(), bars(not args.json):
            warnings.showwarning = _show_warning
            status: int = args.run(args)
    except PhalanxError as error:
        # A command is often called like what it calls, which names itself.
        _complain(f"{command}: {one_line(error).removeprefix(command.split()[-1] + ': ')}")
        return 2
    except KeyboardInterrupt:
        _complain(f"{command}: interrupted")
        return 128 + signal.SIGINT
    except OSError as error:
        return _unwritten(command, error)
    return status


def _unwritten(command: str, error: OSError) -> int:
    """The exit status where standard output takes no more; a reader that left needs no words."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        # The interpreter flushes stdout once more at exit; give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return _CLOSED
    _complain(f"{command}: cannot write to standard output: {one_line(error.strerror or error)}")
    return _UNWRITTEN


def _complain(text: str) -> None:
    """One line on standard error, if there is any."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _complain(f"phalanx: warning: {one_line(message)}")
