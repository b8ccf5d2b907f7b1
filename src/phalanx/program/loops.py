# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Operations that a program of loops carries out for one state: instructions times turns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .cost import REAL, Bytes, Cost, Count
from .form.count import BlockCount, is_partial, runs
from .form.program import Program
from .ops import COS, INPUT, NEG, OPS, SIN
from .rewrite import Code


def cost_of_loops(program: Program, result: str, form: str = "") -> Cost:
    """The cost of a program of loops; what has no name of its own belongs to the quantity `result`."""
    quantities: dict[str, np.ndarray] = {}
    links = np.zeros((0, 4), dtype=np.int64)
    constants: set[float] = set()
    intermediate = 0
    for run in runs(program):
        times = int(run.times.sum())
        each = np.zeros(4, dtype=np.int64)
        for name, count in _counts(run):
            quantities.setdefault(name or result, np.zeros(4, dtype=np.int64))[:] += times * np.array(count)
            each += count
        links = np.zeros((len(run.times), 4), dtype=np.int64) if not len(links) else links
        links += run.times[:, None] * each
        constants |= {a for i in run.code.instructions if i.op != INPUT for a in i.args if type(a) is float}
        intermediate += times * _partial_results(run.code)
    moved = Bytes(
        inputs=REAL * sum(buffer.size for buffer in program.inputs),
        outputs=REAL * sum(buffer.size for buffer in program.outputs),
        parameters=REAL * (program.parameters + len(constants)),
        intermediate=REAL * intermediate,
    )
    bodies = [*range(len(links) - 1), -1]
    total = [int(x) for x in links.sum(axis=0)]
    return Cost(
        multiplications=total[0],
        additions=total[1],
        divisions=total[2],
        trigonometric=total[3],
        by_quantity={name: _count(sums) for name, sums in quantities.items() if sums.any()},
        by_link={b: _count(sums) for b, sums in zip(bodies, links, strict=True) if sums.any()},
        bytes=moved,
        looped=True,
        form=form,
    )


def _count(numbers: np.ndarray) -> Count:
    return Count(*(int(x) for x in numbers))


def _counts(run: BlockCount) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    """What one run counts as, by quantity; the product and the sum of a multiply-add may belong to two."""
    for i in run.code.instructions:
        op = OPS[i.op]
        if i.op in (INPUT, NEG):
            continue
        if op.multiplications and op.additions:
            yield i.of_product, (op.multiplications, 0, 0, 0)
            yield i.quantity, (0, op.additions, 0, 0)
        else:
            yield i.quantity, (op.multiplications, op.additions, op.divisions, op.trigonometric)


def _partial_results(code: Code) -> int:
    """Partial results that are made, and reads of such, those of earlier loops included."""
    made = [i.op not in (INPUT, NEG, SIN, COS) for i in code.instructions]
    kept = [i.op in (SIN, COS) or (i.op == INPUT and is_partial(i.args[0])) for i in code.instructions]
    read = (a for i in code.instructions if i.op not in (INPUT, SIN, COS) for a in i.args if type(a) is int)
    return sum(made) + sum(made[a] or kept[a] for a in read)
