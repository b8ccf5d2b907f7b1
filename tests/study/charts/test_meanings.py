# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Letters of charts: every one that a page shows has a plain name."""

import pytest

import phalanx as px
from phalanx.algorithms import algorithms
from phalanx.study import machines
from phalanx.study.charts.meanings import KINDS, MEANINGS, explained, explained_kinds, meaning
from phalanx.study.schedule import task_graph

SHOWN = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "gravity_forces")
ROBOTS = {
    "arm": px.load("puma560"),
    "chain": px.chain(4, prismatic=0.5),
    "tree": px.tree(5, branching=0.6, seed=2, joints=("revolute", "spherical", "prismatic")),
    "floating": px.tree(4, branching=0.7).with_floating_base(),
}
LONGEST = 58  # characters that fit beside a colour


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("function", SHOWN)
def test_every_quantity_of_a_chart_has_a_plain_name(function: str, robot: str) -> None:
    for a in algorithms(function):
        if not a.refusal(ROBOTS[robot]):
            graph = task_graph(ROBOTS[robot], function, a.name, granularity="equation")
            assert graph.algorithm == a.name
            unknown = {t.quantity for t in graph.tasks if not meaning(t.quantity, a.name)}
            assert not unknown, f"{function} by {a.name}: name these in study/charts/meanings.py"


@pytest.mark.parametrize(
    ("function", "machine"),
    [("inverse_dynamics", machines.transputers()), ("mass_matrix", machines.processor_array())],
    ids=str,
)
def test_quantities_of_the_papers_programs_have_plain_names(function: str, machine: machines.Machine) -> None:
    found = px.schedule(ROBOTS["arm"], function, machine=machine)
    assert all(meaning(t.quantity, found.graph.algorithm) for t in found.tasks)


def test_a_letter_means_what_its_algorithm_has_it_mean() -> None:
    assert explained("F", "newton_euler") == "F: wrench (force and moment) that each joint transmits"
    assert explained("F", "luh_walker_paul") == "F: inertial force of each link"
    assert explained("nothing of ours") == "nothing of ours"
    assert max(map(len, MEANINGS.values())) <= LONGEST


def test_processors_of_a_systolic_machine_name_their_operation() -> None:
    found = px.schedule(ROBOTS["arm"], "inverse_dynamics", "luh_walker_paul", machines.systolic(nodes="one"))
    told = explained_kinds(found.drawn)
    assert "SV: scaled vector" in told
    assert set(KINDS) == {t.kind for t in found.graph.tasks if t.kind.isupper()}
    assert explained_kinds(["P0", "P1"]) == ""


def test_charts_tell_the_meaning(tmp_path) -> None:
    found = px.schedule(ROBOTS["arm"], "inverse_dynamics", "newton_euler", machines.pram(2))
    page = found.plot(tmp_path / "gantt.html")
    text = page.read_text(encoding="utf-8")
    assert "spatial acceleration of each link" in text
    systolic = px.schedule(ROBOTS["arm"], "inverse_dynamics", "luh_walker_paul", machines.systolic())
    assert "SV: scaled vector" in systolic.plot(tmp_path / "systolic.html").read_text(encoding="utf-8")
