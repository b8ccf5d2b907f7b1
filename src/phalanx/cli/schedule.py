# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx schedule`: an algorithm on the processors of a machine, task by task."""

from __future__ import annotations

import argparse
import inspect
from collections import Counter
from typing import Any

from ..errors import PhalanxError, nearest, printable
from ..study.machines import MACHINES, Machine
from ..study.schedule import has_paper_assignment, schedule
from ..study.scheduling.array_program import ArraySchedule
from ..study.scheduling.list_scheduler import SystolicSchedule
from ..study.scheduling.placement import Schedule
from ..study.scheduling.tasks import GRANULARITIES
from .arguments import (
    add_algorithm,
    add_customise,
    add_derivative,
    add_function,
    add_robot,
    algorithm_of,
    frame_of,
    load_robot,
    positive_integer,
)
from .output import emit, emit_json, number, table, terminal_width

_MOST_ROWS = 24


EXAMPLES = """
phalanx schedule panda --machine pram:8 --plot gantt.html
phalanx schedule puma560 --machine transputers --trace trace.json
phalanx schedule puma560 --machine transputers:unit=microseconds
phalanx schedule panda --machine transputers:assignment=list
phalanx schedule puma560 --machine systolic --algorithm luh_walker_paul
phalanx schedule puma560 --machine transputers:program=ahead
phalanx schedule puma560 --machine array:network=nearest
phalanx schedule ur5 --machine array --algorithm processor_array:moment=inside
phalanx schedule arm.urdf --function forward_dynamics --processors 16 --json
phalanx schedule panda --function forward_dynamics_derivatives --processors 8
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    add_function(parser, more="; mass_matrix on an array")
    add_algorithm(parser)
    add_derivative(parser)
    parser.add_argument(
        "--machine",
        default="pram",
        metavar="M",
        help=f"{', '.join(MACHINES)}; with options as in pram:8 or transputers:assignment=list "
        "(default: pram:4)",
    )
    parser.add_argument(
        "--processors", type=positive_integer, metavar="P", help="processors of a pram or of transputers"
    )
    parser.add_argument(
        "--granularity",
        choices=GRANULARITIES,
        help="what a task is (default: scalar on a pram, vector on a systolic machine, else equation)",
    )
    add_customise(parser)
    parser.add_argument("--plot", metavar="FILE", help="save a Gantt chart (.html, .png, .pdf or .svg)")
    parser.add_argument("--trace", metavar="FILE", help="save trace events for Chrome or Perfetto (.json)")


def run(args: argparse.Namespace) -> int:
    """Print the schedule; exit status 0."""
    machine = machine_of(args.machine, args.processors)
    robot = load_robot(args)
    own = machine.paper if has_paper_assignment(machine) else None
    function = args.function or (own[0] if own else "inverse_dynamics")
    found = schedule(
        robot,
        function,
        algorithm_of(args),
        machine,
        granularity=args.granularity,
        customise=args.customise,
        frame=frame_of(args, robot, function),
        derivative=args.derivative,
    )
    saved = []
    if args.plot:
        saved.append(found.plot(args.plot))
    if args.trace:
        saved.append(found.to_trace(args.trace))
    if args.json:
        emit_json(found.to_dict())
        return 0
    lines = [printable(found.graph.title), f"on {found.machine}", "", *_facts(found), "", *_loads(found)]
    emit("\n".join(lines + [f"Saved {path}." for path in saved]))
    return 0


def machine_of(text: str, processors: int | None = None) -> Machine:
    """The machine that a text such as `pram:8` or `transputers:assignment=list` names."""
    name, _, rest = text.partition(":")
    if name not in MACHINES:
        raise PhalanxError(f"--machine: unknown machine {name!r};{nearest(name, MACHINES, what='machines')}")
    make = MACHINES[name]
    options = list(inspect.signature(make).parameters)
    given: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            key, value = options[0], part
        if key not in options or key in given or key == "figures":
            known = ", ".join(o for o in options if o != "figures")
            raise PhalanxError(f"--machine: got {part!r} in {text!r}, expected options of {name}: {known}.")
        given[key] = _value(value)
    if processors is not None:
        if name not in ("pram", "transputers") or "processors" in given:
            raise PhalanxError(f"--processors: --machine {text} already says how many processors there are.")
        given["processors"] = processors
        if name == "transputers" and processors != 4:
            given.setdefault("assignment", "list")
    return make(**given)


def _value(text: str) -> Any:
    """An integer, a number, or the text itself."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _facts(s: Schedule) -> list[str]:
    """The figures of a schedule, one on each line."""
    path, share = s.path, s.work / max(len(s.processors), 1)
    facts = {
        "tasks": f"{len(s.timed):,} ({s.graph.granularity})",
        "makespan": f"{s.makespan:,g} {s.machine.unit}",
        "speed-up": f"{s.speedup:.2f} on {len(s.processors)} processors over {s.rival}",
        "work on one": f"{number(s.work)}" + (f"; least: {least}" if (least := _least(s)) else ""),
        "efficiency": f"{s.efficiency:.0%}, the parallel efficiency of the algorithm",
        "bounds": f"critical path {number(s.span)}, work over processors {number(share)}",
        "critical chain": f"{path.multiplications} *, {path.additions} +"
        + (f", {path.divisions} /" if path.divisions else ""),
    }
    if s.messages:
        facts["messages"] = f"{len(s.messages):,} with {s.words:,} numbers"
    if isinstance(s, SystolicSchedule):
        facts["interval"] = f"a set every {s.interval:g} {s.machine.unit} at least; latency {s.latency:g}"
        steady = f"parallel efficiency {s.steady_efficiency:.0%}"
        facts["gain"] = f"{s.gain:.2f} once sets follow at that interval, {steady}"
    if isinstance(s, ArraySchedule):
        facts["communication"] = f"{s.communication_steps} steps"
    wide = max(map(len, facts))
    return [f"{name:<{wide}}  {text}" for name, text in facts.items()]


def _least(s: Schedule) -> str:
    """The least work and its algorithm, as text; empty if that is the scheduled one."""
    return f"{number(s.least.work)} by {s.least.algorithm}" if s.least.work < s.work else ""


def _loads(s: Schedule) -> list[str]:
    """A table of the processors: tasks, busy time, share, messages sent and received."""
    tasks = Counter(t.processor for t in s.timed)
    sent, got = Counter(m.sender for m in s.messages), Counter(m.receiver for m in s.messages)
    head = ["processor", "tasks", "busy", "share", "sent", "received"]
    rows = [
        [
            name,
            str(tasks[p]),
            number(s.loads[p]),
            f"{s.loads[p] / s.makespan:.0%}" if s.makespan else "–",
            str(sent[p]),
            str(got[p]),
        ]
        for p, name in enumerate(s.processors[:_MOST_ROWS])
    ]
    if not s.messages:
        head, rows = head[:4], [row[:4] for row in rows]
    more = len(s.processors) - _MOST_ROWS
    lines = table(head, rows, align="<>>>>>"[: len(head)], width=terminal_width())
    return lines + ([f"… {more:,} more"] if more > 0 else [])
