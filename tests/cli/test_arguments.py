# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots on the command line: files, built-in names, and generators with their size."""

import argparse
import json

import pytest

import phalanx as px
from phalanx.cli import build_parser, main
from phalanx.cli.arguments import load_robot

# Every command that names a robot, with what else it requires.
PARSERS = next(a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction)).choices
WITH_ROBOT = [name for name, p in PARSERS.items() if any(a.dest == "robot" for a in p._actions)]


def required(parser: argparse.ArgumentParser, robot: str) -> list[str]:
    """The arguments that a command cannot do without, in their order, the robot among them."""
    found = []
    for action in parser._actions:
        if not action.option_strings and (action.required or action.dest == "robot"):
            choices = list(action.choices or ["inverse_dynamics"])
            found.append(robot if action.dest == "robot" else choices[0])
        elif action.required and action.option_strings:
            found += [action.option_strings[0], "out.h"]
    return found


@pytest.mark.parametrize("name", ["snake:4", "chain:5", "tree:6", "chain:5,seed=3,prismatic=0.4"])
@pytest.mark.parametrize("command", WITH_ROBOT)
def test_every_command_takes_generated_robots(command: str, name: str) -> None:
    args = build_parser().parse_args([command, *required(PARSERS[command], name)])
    robot = load_robot(args)
    generator, _, size = name.partition(":")
    assert (robot.name, robot.n_links) == (generator, int(size[0]))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["info", "snake:200"], "nv = 200"),
        (["cost", "chain:5"], "critical path"),
        (["schedule", "tree:6", "--processors", "2"], "2 processors"),
    ],
)
def test_commands_run_on_generated_robots(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    assert told in capsys.readouterr().out


def test_options_of_a_generator_have_an_effect(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "chain:10,seed=2,prismatic=0.5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sum(joint["type"] == "prismatic" for joint in told["joints"]) == 5
    assert px.load("tree:30,branching=0").depth == 30


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("snake:0", "snake: n is 0; expected at least 1."),
        ("snake:x", "robot \"snake:x\": got 'x', expected an integer as in snake:200."),
        ("snake:", "got '', expected an integer as in snake:200."),
        ("snake:2.5", "snake: n is 2.5; expected an integer."),
        ("snake", 'robot "snake": expected its size too, as in snake:200.'),
        ("worm:5", 'no generator "worm" of robots; generators: "chain", "coil", "dill", "snake", "tree".'),
        ("snak:5", 'did you mean "snake"?'),
        ("chain:5,speed=3", "got 'speed=3', expected an integer as in chain:50, then options of chain"),
        ("chain:5,seed=1,seed=2", "got 'seed=2'"),
    ],
)
def test_a_wrong_generator_or_size_is_one_clear_line(
    name: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["info", name]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert told in captured.err


def test_pictures_take_generated_robots() -> None:
    scene = px.visuals("snake:5")
    assert scene.is_generated
    assert {part.link for part in scene.parts} == set(range(-1, 5))
