# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The command line: arguments to the API to print; one file per command."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import textwrap
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn, TextIO

from ..errors import PhalanxError
from ..progress import bars
from .output import emit, one_line

__all__ = ["main"]

# Each command and its line in `phalanx --help`; its module is imported when somebody calls it.
COMMANDS = {
    "info": "describe a robot: its tree, joints, limits and masses",
    "compare": "count, time and check all algorithms of a function on a robot",
    "cost": "count the operations of an algorithm on a robot",
    "schedule": "place an algorithm on the processors of a machine",
    "speedup": "say how many processors are worth it for one state, predicted and measured",
    "papers": "recompute the tables, formulas and claims of the papers behind the algorithms",
    "ik": "find configurations whose frame is at a pose, or at each pose of a file",
    "simulate": "simulate a robot in time and report its motion",
    "run": "compute functions for every frame of a recording",
    "studio": "open a page with the robot in 3D, its dynamics and its schedules",
    "report": "write one page about a robot: in 3D, with costs, schedules, times and errors",
    "export": "write functions as C, OpenCL, CUDA, PTX, object code, WebAssembly or Verilog",
    "demo": "compute the torques of a million random states and time it",
    "cache": "show or clear the folder of compiled kernels",
}


class _Parser(argparse.ArgumentParser):
    """A parser that answers bad arguments in one line, and says so where its help cannot be printed."""

    def print_help(self, file: Any = None) -> None:
        if file is None:
            emit(self.format_help().rstrip("\n"))
        else:
            super().print_help(file)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it, but a command refuses unknown arguments itself and so names its own help."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

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


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of all commands; with `only`, the arguments of no other command are added."""
    parser = _Parser(
        prog="phalanx", description="Robot dynamics: describe, compute, compare.", allow_abbrev=False
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for name, summary in COMMANDS.items():
        # Without abbreviations: a misspelt option is an error, not the one that begins alike.
        command = commands.add_parser(name, help=summary, allow_abbrev=False)
        if only in (None, name):
            module = import_module(f".{name}", __name__)
            command.description = summary[0].upper() + summary[1:] + "."
            command.epilog = "examples:\n" + textwrap.indent(module.EXAMPLES.strip(), "  ")
            command.formatter_class = argparse.RawDescriptionHelpFormatter
            command.add_argument("--json", action="store_true", help="print JSON for other programs")
            command.set_defaults(run=module.run)
            module.add(command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 2 bad input, 74 output cannot be written, 130 interrupted, 141 its reader gone."""
    command = "phalanx"
    words = sys.argv[1:] if argv is None else argv
    try:
        # Options before the command take no value: its name is the first word that is no option.
        named = next((word for word in words if not word.startswith("-")), "")
        args = build_parser(only=named).parse_args(words)
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
    """The exit status where standard output cannot be written; silent if its reader has left."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        # The interpreter flushes stdout once more at exit; give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return _CLOSED
    _complain(f"{command}: cannot write to standard output: {one_line(error.strerror or error)}")
    return _UNWRITTEN


def _complain(text: str) -> None:
    """Print one line on standard error, if the process has one."""
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
