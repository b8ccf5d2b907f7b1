# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Calls of what explains robots and of the command line: machines, costs, papers, figures, conversions."""

from __future__ import annotations

import contextlib
import io
import os
from functools import cache
from random import Random
from typing import Any

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.cli import main

from .elements import WORDS
from .pool import NAMES, near, robots, state
from .values import WHOLE, anything

CONVERSIONS = ("pinocchio", "mujoco", "_basis")


def machines(rng: Random) -> None:
    """Machines, and schedules on them."""
    m = px.machines
    time = lambda: near(rng, 1.0, 0.05)  # noqa: E731
    match rng.randrange(4):
        case 0:
            machine: Any = m.pram(
                near(rng, rng.choice((1, 4, 10**9)), 0.3), addition=time(), trigonometric=time()
            )
        case 1:
            figures = near(rng, m.T800(links=near(rng, 8, 0.2)), 0.2) if rng.random() < 0.5 else None
            machine = m.transputers(
                near(rng, 4, 0.2), assignment=near(rng, "list", 0.2), figures=figures, start_up=time()
            )
        case 2:
            machine = m.systolic(nodes=near(rng, rng.choice(("per link", "one")), 0.3), division=time())
        case _:
            machine = m.processor_array(
                near(rng, rng.choice(("n", "n(n+1)/2")), 0.2),
                network=near(rng, "nearest", 0.2),
                per_word=time(),
            )
    robot = near(rng, rng.choice(robots()[:3]), 0.05)
    function = near(rng, rng.choice(("inverse_dynamics", "mass_matrix", *FUNCTIONS)), 0.05)
    choice = near(rng, "auto", 0.1)
    more = {"granularity": near(rng, None, 0.1), "customise": near(rng, "full", 0.1)}
    found = px.schedule(robot, function, choice, near(rng, machine, 0.05), **more)
    repr(found)
    if rng.random() < 0.2:
        path = near(rng, rng.choice(("gantt.html", "gantt.txt", "no/such/place.html")), 0.3)
        write = rng.choice((found.plot, found.to_trace))
        try:
            write(path)
        finally:
            for name in set(os.listdir()):
                os.remove(name)


def costs(rng: Random) -> None:
    """Counts, formulas, and what is asked about algorithms."""
    robot = near(rng, rng.choice(robots()[:6]), 0.1)
    function = near(rng, rng.choice(list(FUNCTIONS)), 0.1)
    choice = near(rng, rng.choice(("auto", *NAMES)), 0.1)
    match rng.randrange(7):
        case 0 | 1:
            more = {"customise": near(rng, rng.choice(("none", "semi", "full")), 0.2)}
            found = px.cost(
                robot, function, choice, **more, convention=near(rng, None, 0.2), frame=near(rng, None)
            )
            str(found), repr(found)
            found.span_with(multiplication=near(rng, 2.0, 0.3), division=near(rng, 1.0))
        case 2:
            sizes = near(rng, (1, 2, 3, 4, 5, 6), 0.3)
            customise, inertias = near(rng, "none", 0.2), near(rng, "dense", 0.2)
            repr(px.closed_form(function, choice, customise=customise, inertias=inertias, sizes=sizes))
        case 3:
            px.algorithms(function)
        case 4:
            # Only what is refused: an answer takes seconds of measuring.
            wrong = rng.choice(
                ({"batch": rng.choice((0, -1, 1.5, None, "4", True))}, {"dtype": "i4"}, {"dtype": []})
            )
            if rng.random() < 0.3:
                px.recommend(anything(rng), function)
            else:
                px.recommend(robot, function, **wrong)
        case 5:
            wrong = rng.choice(
                ({"batch": rng.choice((0, 1.5, None, "4"))}, {"processors": rng.choice((0, "4", 1.5))})
            )
            if rng.random() < 0.3:
                px.compare(anything(rng), function)
            else:
                px.compare(robot, function, **wrong)
        case _:
            more = {
                "dtype": near(rng, "float64", 0.3),
                "digits": near(rng, 30, 0.3),
                "rng": near(rng, 0, 0.3),
            }
            small = near(rng, robots()[0], 0.1)
            str(
                px.accuracy(
                    small, function, algorithm=choice, backend="numpy", states=near(rng, 1, 0.3), **more
                )
            )


def others(rng: Random) -> None:
    """Everything else: loading, papers, threads, figures, conversions."""
    match rng.randrange(9):
        case 0 | 1:
            more = {"gravity": near(rng, None), "floating_base": near(rng, False), "strict": near(rng, False)}
            if rng.random() < 0.2:
                more |= {"xacro_args": near(rng, {}, 0.7), "packages": near(rng, None, 0.5)}
            px.load(near(rng, "two_link", 0.7), mimic=near(rng, "coupled"), **more)
        case 2:
            px.papers.reproduce(anything(rng), progress=near(rng, None))
        case 3:
            px.papers.paper(near(rng, "lathrop", 0.7))
        case 4:
            try:
                px.set_threads(anything(rng))
            finally:
                px.set_threads(None)
        case 5:
            name = rng.choice([x for x in dir(px.convert) if x[0] != "_" and x.endswith(CONVERSIONS)])
            model = _pinocchio() if rng.random() < 0.5 else near(rng, _mujoco(), 0.5)
            robot = near(rng, rng.choice(robots()[:3]), 0.1)
            batch = rng.choice(((), (2,)))
            size = robot.nq if isinstance(robot, px.Robot) else 2
            most = 2 if name.startswith("tau") else 1 if name.endswith("basis") else rng.choice((1, 2, 3))
            most = 5 if name.startswith("derivatives") else most
            given = [state(rng, (size,), batch) for _ in range(most)]
            getattr(px.convert, name)(robot, model, *given)
        case 6:
            px.figures.cost_over_n(
                near(rng, "gravity_forces", 0.5),
                lengths=near(rng, (1, 2), 0.5),
                quantity=near(rng, "work", 0.5),
            )
        case 7:
            px.figures.data_flow(near(rng, robots()[0], 0.5), near(rng, "gravity_forces", 0.5))
        case _:
            px.figures.comparison(near(rng, [], 0.8), near(rng, None))


@cache
def _pinocchio() -> Any:
    try:
        import pinocchio
    except ImportError:
        return None
    model = pinocchio.Model()
    parent = 0
    for name in robots()[0].joint_names:
        parent = model.addJoint(parent, pinocchio.JointModelRZ(), pinocchio.SE3.Identity(), name)
    return model


@cache
def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        return None
    return mujoco.MjModel.from_xml_string("<mujoco><worldbody/></mujoco>")


def command_line(rng: Random) -> None:
    """A command; whatever it is told, it ends with a status and at most one line of complaint."""
    command = rng.choice(("info", "info", "info", "cost", "schedule", "demo", "papers", "cache", "", "x"))
    words = [w for w in WORDS if w not in ("~", "--")]  # with two dashes `papers` computes all of them
    robot = rng.choice(("two_link", "puma560", "two_link", rng.choice(words)))
    arguments = [command, robot]
    if command == "papers":
        arguments[1] = rng.choice(words)
    if command == "demo":
        arguments.append(f"--batch={rng.choice((1, 3, *WHOLE[:3], 'x'))}")
    if command == "schedule":
        options = ("pram", "pram:8", "pram:x", "systolic", "array", "transputers:assignment=list", *words)
        arguments.append(f"--machine={rng.choice(options)}")
    if command == "cache":
        arguments.pop()
    for option in rng.sample(
        ("--json", "--floating-base", "--all", "--mimic=x", "--algorithm=aba", "--help"), 1
    ):
        if rng.random() < 0.4:
            arguments.append(option)
    if rng.random() < 0.2:
        arguments.insert(rng.randrange(len(arguments) + 1), rng.choice(words))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status: Any = main(arguments)
        except SystemExit as stop:
            status = stop.code
    for text in (out.getvalue(), err.getvalue()):
        assert all(line.isprintable() for line in text.split("\n")), f"control characters from {arguments}"
    assert status in (0, 2), f"status {status} of {arguments}"
    if status == 2:
        told = [line for line in err.getvalue().splitlines() if ": warning: " not in line]
        assert len(told) == 1, f"{arguments}: {told}"
        assert not out.getvalue(), f"{arguments} printed {out.getvalue():.100}"
