# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lines: operations of all algorithms of a function over the number of links of a chain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from ...algorithms import FUNCTIONS, algorithms
from ...errors import PhalanxError, is_one_of, shown
from ...io.generators import chain
from ...program.analyses.cost import Cost
from ...progress import steps
from ...robot.robot import Robot, require_robot
from ...typing import Customise, Path
from ..compare import Comparison
from ..cost import cost
from ..machines import whole
from ..plotting import BLUE, GREY, ORANGE, line_styles, new_figure, new_ticks, saved, styled
from ..recommend import duration
from ..schedule import speedups

_LONGEST = 1000  # links; programs of longer chains are not unrolled
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
    kernel, in loops where it has loops; paths are those of the unrolled equations, with the trees of which
    loops make recursions. A function of a frame takes the last one of each chain.
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


_MOST_BARS = 16  # bars; smaller ones are summed in one more


def cost_profile(cost: Cost, path: Any = None, *, title: str = "", by: str = "quantity") -> Any:
    """Operations over time with as many processors as they can use, and by `quantity` or by `link`."""
    parts = cost.by_quantity if by == "quantity" else cost.by_link
    ranked = sorted(parts.items(), key=lambda item: -item[1].total)
    bars = [(name, c.multiplications, c.additions + c.divisions) for name, c in ranked if c.total]
    if len(bars) > _MOST_BARS:
        rest = bars[_MOST_BARS - 1 :]
        bars = [
            *bars[: _MOST_BARS - 1],
            (f"{len(rest)} others", sum(b[1] for b in rest), sum(b[2] for b in rest)),
        ]
    if by == "link" and len(parts) <= _MOST_BARS:  # along the robot, not by size
        bars = [(n, c.multiplications, c.additions + c.divisions) for n, c in parts.items() if c.total]
    sums = "additions, divisions" if cost.divisions else "additions"
    with styled():
        figure, _ = new_figure(6.3, 3.2 + 0.12 * len(bars))
        figure.clear()
        over_time, shares = figure.subplots(1, 2, width_ratios=(3, 2))
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        steps = len(cost.width)
        over_time.stairs(cost.width, range(steps + 1), fill=True, color=BLUE)
        mean = sum(cost.width) / max(steps, 1)
        over_time.axhline(mean, color=GREY, linestyle="--", linewidth=1.0)
        over_time.annotate(f"mean {mean:.1f}", (steps, mean), ha="right", va="bottom", color=GREY, fontsize=8)
        over_time.set(xlabel="step", ylabel="operations that start", xlim=(0, max(steps, 1)), ylim=(0, None))
        if cost.looped and not steps:
            over_time.clear()
            over_time.set_axis_off()
            over_time.set_title(f"{cost.total:,} operations in loops")
        else:
            loops = " in loops" * cost.looped
            over_time.set_title(f"{cost.total:,} operations{loops}, path of {cost.span.total:,}")
        names = [str(name) for name, *_ in bars]
        first = [m for _, m, _ in bars]
        shares.barh(names, first, color=BLUE, label="multiplications")
        shares.barh(names, [a for *_, a in bars], left=first, color=ORANGE, label=sums)
        shares.invert_yaxis()
        shares.grid(False, axis="y")
        shares.set(xlabel="operations", title=f"by {by}" + " in loops" * cost.looped)
        figure.legend(loc="outside lower right", ncols=2)
    return saved(figure, path)


PROCESSORS = (1, 2, 4, 8, 16, 32, 64, 128)


def speedup_over_processors(
    robot: Robot, function: str, path: Path | None = None, *, processors: Sequence[int] = PROCESSORS
) -> Any:
    """Speed-up over one processor that takes the algorithm with the least work, all algorithms.

    Scalar operations on processors with a common memory, by list scheduling (`phalanx.schedule`).
    """
    require_robot(robot, "figures.speedup_over_processors")
    counts = sorted({whole(p, "figures.speedup_over_processors: processors") for p in _several(processors)})
    names = [a.name for a in algorithms(function) if not a.refusal(robot)]
    gains = speedups(robot, function, steps(names, "scheduling"), (1, *counts))
    if not gains:
        raise PhalanxError(f'figures.speedup: robot "{robot.name}" leaves nothing to compute.')
    with styled():
        figure, axes = new_figure()
        axes.plot(counts, counts, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), label="ideal")
        ranked = sorted(gains.items(), key=lambda item: -item[1][-1])
        for (name, gained), style in zip(ranked, line_styles(), strict=False):
            axes.plot(counts, gained[1:], label=name, **style)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_ylim(min(g[0] for g in gains.values()) * 0.9, max(map(max, gains.values())) * 1.5)
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.yaxis.set_major_formatter("{x:.3g}")
        axes.set_xlabel("processors, p")
        axes.set_ylabel("speed-up over the least work on one")
        axes.set_title(f"{function} of {robot.name}: speed-up over processors")
        figure.legend(loc="outside right center")
    return saved(figure, path)


def _several(processors: Any) -> Sequence[Any]:
    if not isinstance(processors, list | tuple | range) or not processors:
        raise PhalanxError(
            f"figures.speedup_over_processors: processors is {shown(processors)}, expected integers."
        )
    return processors


_WIDE = 30.0  # ratio of longest to shortest bar up to which a linear scale is readable


def comparison(
    rows: Sequence[Comparison], path: Path | None = None, *, title: str = "", batch: int = 0
) -> Any:
    """Measured times per state of all algorithms that `phalanx.compare` returned, the fastest on top.

    `batch` is the number of states that was given to it.
    """
    fine = isinstance(rows, list | tuple) and all(isinstance(row, Comparison) for row in rows)
    shown = [row for row in rows if not row.refused] if fine else []
    if not shown:
        raise PhalanxError("figures.comparison: no algorithm was measured, expected rows of phalanx.compare.")
    states = f"in a batch of {batch:,}" if batch else "in a batch"
    with styled():
        figure, left = new_figure(height=1.1 + 0.3 * len(shown))
        left.remove()
        left, right = figure.subplots(1, 2, sharey=True)
        _time_bars(left, [r.one_state for r in shown], [], "one state")
        _time_bars(right, [r.per_state for r in shown], [r.predicted for r in shown], states)
        left.set_yticks(range(len(shown)), [_bar_label(r) for r in shown])
        for tick, row in zip(left.get_yticklabels(), shown, strict=True):
            tick.set_fontweight("bold" if row.recommended else "normal")
        left.invert_yaxis()
        figure.suptitle((title or "Algorithms side by side") + ", one thread", fontsize=10, x=0.01, ha="left")
        if right.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower right")
    return saved(figure, path)


def _time_bars(axes: Any, seconds: list[float], predicted: list[float], title: str) -> None:
    """A bar for every algorithm with its time in words, and a mark where it was predicted."""
    power = 1e9 if max(seconds) < 1e-5 else 1e6
    values = [power * s for s in seconds]
    marks = [power * s for s in predicted]
    known = [(x, k) for k, x in enumerate(marks) if math.isfinite(x)]
    axes.barh(range(len(values)), values, height=0.62, color=BLUE)
    if known:
        axes.plot(
            *zip(*known, strict=True),
            "|",
            color=ORANGE,
            markersize=11,
            markeredgewidth=2.5,
            label="predicted",
        )
    for k, value in enumerate(values):
        end = max(value, marks[k]) if marks and math.isfinite(marks[k]) else value
        axes.annotate(
            duration(seconds[k]), (end, k), (4, 0), textcoords="offset points", va="center", fontsize=7
        )
    if max(values) > _WIDE * min(values):
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 2, 8 * max(values + marks))
    else:
        axes.set_xlim(0, 1.28 * max(values + [x for x, _ in known]))
    axes.set_xlabel(("nanoseconds" if power == 1e9 else "microseconds") + " per state")
    axes.set_title(title)
    axes.grid(visible=False, axis="y")


def _bar_label(row: Comparison) -> str:
    options = " ".join(f"{k}={v}" for k, v in row.options.items())
    name = row.algorithm + (f" {options}" if options else "")
    return name + ("" if row.backend == "native" else f" ({row.backend})") + (" ◂" if row.recommended else "")
