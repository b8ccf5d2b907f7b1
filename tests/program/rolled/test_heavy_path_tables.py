# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Tables of the heavy paths of a robot."""

from __future__ import annotations

import numpy as np

import phalanx as px
from phalanx.program.rolled.heavy_path_tables import heavy_path_rows


def test_tables_of_heavy_paths_list_every_link_once() -> None:
    robot = px.tree(19, 0.6, seed=4)
    rows, parents = heavy_path_rows(robot.model), np.asarray(robot.model.parents)
    assert sorted(rows.bodies) == list(range(19))
    assert rows.length.sum() == 19
    np.testing.assert_array_equal(rows.levels, np.ceil(np.log2(rows.length)))
    for first, length, carrier in zip(rows.first, rows.length, rows.carrier, strict=True):
        links = rows.bodies[first : first + length]
        np.testing.assert_array_equal(parents[links[1:]], links[:-1])
        assert parents[links[0]] == (carrier if carrier < 19 else -1)
    assert rows.branches
    carriers = set(rows.carrier.tolist()) - {19}
    assert {int(rows.bodies[k]) for k in rows.loaded} == carriers
    assert rows.loaded_count.sum() == len(rows.loaded)
