# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""List schedules on networks: gaps of links, and the best of several numbers of processors."""

from itertools import pairwise

import numpy as np
import pytest

import phalanx as px
from phalanx.study.machines import LinkTimes, pram
from phalanx.study.schedule import task_graph
from phalanx.study.scheduling.list_scheduler import first_gap, on_assigned_network, on_network
from phalanx.study.scheduling.networks import all_pairs


def test_the_first_gap_of_a_link_is_that_of_trying_every_time():
    rng = np.random.default_rng(4)
    for _ in range(300):
        times = np.cumsum(rng.integers(0, 4, 20)).tolist()
        busy = [(a, b) for a, b in zip(times[::2], times[1::2], strict=True) if b > a]
        earliest, length = int(rng.integers(0, 30)), int(rng.integers(0, 5))
        free = (t for t in range(earliest, 200) if all(t + length <= a or b <= t for a, b in busy))
        assert first_gap(busy, earliest, length) == next(free)


@pytest.mark.parametrize("start_up", [0.0, 30.0, 3000.0])
def test_more_processors_are_never_worse_and_never_better_than_all_tries(start_up):
    graph = task_graph(px.snake(8), "inverse_dynamics", "newton_euler", granularity="equation")
    durations = graph.durations(pram().times)

    def makespan(count):
        placed, messages = on_network(
            graph, durations, all_pairs(tuple(map(str, range(count))), LinkTimes(start_up))
        )
        again = on_assigned_network(
            graph,
            durations,
            all_pairs(tuple(map(str, range(count))), LinkTimes(start_up)),
            {task: processor for task, processor, _ in placed},
        )
        assert again == (placed, messages)
        return max([s + durations[k] for k, _, s in placed] + [m.arrival for m in messages])

    found = [makespan(count) for count in range(1, 8)]
    assert found[0] == sum(durations)
    assert all(b <= a for a, b in pairwise(found))
    assert (found[-1] < found[0]) == (start_up < 3000.0)
