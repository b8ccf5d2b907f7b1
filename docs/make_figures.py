# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Draws the figures of the pages, with the same functions that users call.

python docs/make_figures.py            # all
python docs/make_figures.py kane       # one
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import phalanx as px

PAGES = Path(__file__).parent
LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


def lathrop(path: Path) -> None:
    """Critical path of inverse dynamics over the number of joints, all algorithms."""
    px.figures.cost_over_n("inverse_dynamics", path, lengths=LENGTHS, quantity="span")


def zomaya_morris(path: Path) -> None:
    """The transputer program, as a Gantt chart."""
    machine = px.machines.transputers(4)
    px.schedule(px.load("puma560"), "inverse_dynamics", algorithm="zomaya_morris", machine=machine).plot(path)


def recursive_doubling(path: Path) -> None:
    """Critical path of the mass matrix over the number of joints, all algorithms."""
    px.figures.cost_over_n("mass_matrix", path, lengths=LENGTHS[1:-1], quantity="span")


def kane(path: Path) -> None:
    """Operations of the mass matrix over the number of joints, all algorithms."""
    px.figures.cost_over_n("mass_matrix", path, lengths=LENGTHS[1:-1], customise="semi")


def band_sparsity(path: Path) -> None:
    """Critical path of forward dynamics over the number of joints, all algorithms."""
    px.figures.cost_over_n("forward_dynamics", path, lengths=LENGTHS[:-2], quantity="span")


def speedup(path: Path) -> None:
    """What p processors gain on a PUMA 560, all algorithms of inverse dynamics."""
    px.figures.speedup_over_processors(px.load("puma560"), "inverse_dynamics", path)


def data_flow(path: Path) -> None:
    """The equations of inverse dynamics of a two-link arm, by level."""
    px.figures.data_flow(px.load("two_link"), "inverse_dynamics", path, algorithm="zomaya_morris")


def reachability(path: Path) -> None:
    """A cut through the workspace of a Panda, by the manipulability of its hand."""
    axes = np.linspace(-1.0, 1.0, 161), 0.0, np.linspace(-0.6, 1.3, 153)
    found = px.load("panda").reachable("panda_hand", axes, seeds=64)
    px.figures.reachability(found, path, title="panda_hand")


FIGURES: dict[str, tuple[Callable[[Path], None], ...]] = {
    "papers": (lathrop, zomaya_morris, recursive_doubling, kane, band_sparsity),
    "explain": (speedup, data_flow),
    "howto": (reachability,),
}


def main(names: Sequence[str]) -> None:
    for folder, draws in FIGURES.items():
        for draw in draws:
            if not names or draw.__name__ in names:
                path = PAGES / folder / f"{draw.__name__}.png"
                draw(path)
                print(path, path.stat().st_size // 1024, "KB")


if __name__ == "__main__":
    main(sys.argv[1:])
