# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Machines are plain values that refuse what cannot be built."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any

import pytest

import phalanx as px
from phalanx.program.analyses.cost import Count
from phalanx.study.machines import T800, LinkTimes, Times
from phalanx.study.scheduling.validity import require_valid


def test_operations_take_the_weights_of_cost_by_default() -> None:
    assert px.machines.pram(3).times == Times(1.0, 1.0, 1.0, 0.0)
    assert Times(2.0, 3.0, 5.0, 7.0).of(Count(1, 10, 100, 1000)) == 2 + 30 + 500 + 7000


def test_messages_take_a_start_and_a_time_per_number() -> None:
    assert LinkTimes(2.0, 0.5).of(6) == 5.0


def test_machines_cannot_be_changed_and_are_equal_by_value() -> None:
    machine = px.machines.pram(4)
    assert machine == px.machines.pram(4)
    assert machine != px.machines.pram(5)
    with pytest.raises(FrozenInstanceError):
        machine.count = 5  # type: ignore[misc]


def test_transputers_count_operations_or_microseconds() -> None:
    counted, timed = px.machines.transputers(), px.machines.transputers(unit="microseconds")
    assert (counted.times.multiplication, counted.links) == (1.0, LinkTimes())
    assert timed.times.addition == 3.0
    assert timed.links.of(3) == pytest.approx(3 * 4 / 1.7)
    own = px.machines.transputers(figures=T800(bytes_per_real=8.0), unit="microseconds", start_up=1.0)
    assert own.links.of(1) == pytest.approx(1.0 + 8 / 1.7)
    assert px.machines.transputers(addition=2.0).times == Times(1.0, 2.0)


@dataclass(frozen=True)
class Ring(px.machines.Machine):
    """A machine as users write one."""

    count: int = 5
    links: LinkTimes = field(default_factory=lambda: LinkTimes(1.0, 0.25))
    master: int | None = None

    def pairs(self) -> list[tuple[int, int]]:
        return [(k, (k + 1) % self.count) for k in range(self.count)]


@pytest.mark.parametrize("master", [None, 0, 3])
def test_a_machine_of_ones_own_is_scheduled_along_its_links(master: int | None) -> None:
    robot = px.load("puma560")
    found = require_valid(px.schedule(robot, "mass_matrix", "crba", Ring(master=master)))
    assert len(found.processors) == 5
    assert 1.0 <= found.makespan <= found.work + 100.0
    hops = {(hop.sender, hop.receiver) for message in found.messages for hop in message.hops}
    assert hops
    assert all((b - a) % 5 in (1, 4) for a, b in hops)
    free = px.schedule(robot, "mass_matrix", "crba", Ring(links=LinkTimes()))
    assert free.makespan <= found.makespan
    assert found.speedup == pytest.approx(found.least.work / found.makespan)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([(0, 1), (2, 3)], "no links lead from processor 0 to processor 2 of"),
        ([(0, 0)], r"has \(0, 0\), expected two different numbers from 0 on"),
        ([(0, -1)], "expected two different numbers"),
        ([(0, 1.5)], "expected two different numbers"),
        ([], r"pairs\(\) is empty"),
    ],
)
def test_links_that_join_nothing_are_refused(pairs: list[Any], told: str) -> None:
    class Broken(px.machines.Machine):
        def pairs(self) -> list[Any]:
            return pairs

    with pytest.raises(px.PhalanxError, match=told):
        px.schedule(px.load("two_link"), "mass_matrix", machine=Broken())
    with pytest.raises(px.PhalanxError, match=r"no links to place tasks on; give it a method pairs\(\)"):
        px.schedule(px.load("two_link"), "mass_matrix", machine=px.machines.Machine())


@pytest.mark.parametrize("n", [1, 2, 6, 9])
def test_arrays_have_the_processors_of_the_paper(n: int) -> None:
    assert px.machines.processor_array().count(n) == n * (n + 1) // 2
    assert px.machines.processor_array("n").count(n) == n


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: m.pram(0), "pram: processors is 0, expected an integer of at least 1"),
        (lambda m: m.pram(2.5), r"processors is 2\.5"),
        (lambda m: m.pram(True), "processors is True"),
        (lambda m: m.pram(2, addition=-1.0), r"addition is -1\.0, expected a time of at least 0"),
        (lambda m: m.pram(2, division=float("nan")), "division is nan"),
        (lambda m: m.transputers(3), 'for 4 processors, got 3; use assignment="list"'),
        (lambda m: m.transputers(5, assignment="list"), "a T800 has 4; use at most 4"),
        (lambda m: m.transputers(assignment="best"), "assignment is 'best', expected one of 'paper', 'list'"),
        (lambda m: m.transputers(unit="hours"), "unit is 'hours'"),
        (
            lambda m: m.transputers(program="printed"),
            "program is 'printed', expected one of 'repaired'",
        ),
        (
            lambda m: m.transputers(3, assignment="list", program="ahead"),
            'leave it out with assignment="list"',
        ),
        (lambda m: m.transputers(per_word=float("inf")), "per_word is inf"),
        (lambda m: T800(bytes_per_microsecond=0.0), "bytes_per_microsecond is 0"),
        (lambda m: m.systolic(nodes="two"), "nodes is 'two', expected one of 'per link', 'one'"),
        (lambda m: m.processor_array("n^2"), "processors is 'n\\^2', expected one of"),
        (lambda m: m.processor_array(network="ring"), "network is 'ring'"),
        (lambda m: m.processor_array(start_up="fast"), "start_up is 'fast'"),
    ],
)
def test_what_cannot_be_built_is_refused(make: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        make(px.machines)
