# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lines: operations of all algorithms of a function over the number of links of a chain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from ...algorithms import FUNCTIONS, algorithms
from ...errors import PhalanxError, is_one_of, shown
from ...io.generators import chain
from ...progress import steps
from ...typing import Customise, Path
from ..cost import cost
from ..plotting import line_styles, new_figure, new_ticks, saved, styled

_LONGEST = 1000  # links; programs of longer chains are not written out
LENGTHS = (2, 3, 4, 6, 8, 12, 16)


def cost_over_n(
    function: str,
    path: Path | None = None,
    *,
    lengths: Sequence[int] = LENGTHS,
    customise: Customise = "full",
    quantity: Literal["work", "span"] = "work",
) -> Any:
    """Operations ("work") or those along the critical path ("span") over chains of n links, all charged.

    The chains are random, in general position; `customise` is that of `phalanx.cost`. Work is that of the
    kernel, in loops where it has loops; paths are those of the equations written out, with the trees of which
    loops make recursions. A function of a frame is asked for the last one of each chain.
    """
    if not is_one_of(quantity, ("work", "span")):
        raise PhalanxError(f'figures.cost_over_n: quantity {shown(quantity)}, expected "work" or "span".')
    few = isinstance(lengths, list | tuple | range) and all(
        type(n) is int and 1 <= n <= _LONGEST for n in lengths
    )
    if not few or not lengths:
        raise PhalanxError(
            f"figures.cost_over_n: lengths is {shown(lengths)}, expected integers from 1 to {_LONGEST}."
        )
    algorithms(function)
    lengths = sorted(set(lengths))
    robots = {n: chain(n) for n in lengths}
    lines: dict[str, list[tuple[int, int]]] = {}
    todo = [(a, n) for a in algorithms(function) for n in lengths if not a.refusal(robots[n])]
    for algorithm, n in steps(todo, "counting", lambda item: f"{item[0].name} at {item[1]} links"):
        robot = robots[n]
        frame = robot.frame_names[-1] if FUNCTIONS[function].frame else None
        found = cost(robot, function, algorithm.name, customise=customise, convention="program", frame=frame)
        total = found.total if quantity == "work" else found.written_out.span.total
        lines.setdefault(algorithm.name, []).append((n, total))
    with styled():
        figure, axes = new_figure()
        ranked = sorted(lines.items(), key=lambda line: -line[1][-1][1])
        for (name, points), style in zip(ranked, line_styles(), strict=False):
            axes.plot(*zip(*points, strict=True), label=name, **style)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(lengths, [str(n) for n in lengths])
        axes.yaxis.set_major_locator(new_ticks())
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.minorticks_off()
        axes.set_xlabel("links of the chain, n")
        axes.set_ylabel("operations" + ("" if quantity == "work" else " along the critical path"))
        axes.set_title(f"{function}: {'work' if quantity == 'work' else 'span'} over n")
        figure.legend(loc="outside right center")
    return saved(figure, path)
