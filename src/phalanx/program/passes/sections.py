# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs that are a prologue, one loop that ends on data, and an epilogue: the values live between them.

Such a program can be run so that a lane whose state is done takes the next state. For that the loop uses
nothing of a state but real numbers that the prologue has computed: loads of inputs at constant indices move
there, and no scratch memory is shared between sections.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..ir import (
    Containers,
    Load,
    Program,
    Select,
    SimdRegion,
    Store,
    Until,
    Value,
    counters_of,
    is_scratch,
    read_by,
    statements,
)


@dataclass(frozen=True)
class Sections:
    """A program in three sections; `live` are values of the prologue that the others use."""

    program: Program
    prologue: tuple[Any, ...]
    loop: Until
    epilogue: tuple[Any, ...]
    live: tuple[Any, ...]
    results: tuple[Any, ...]  # loop-carried and live values that the epilogue uses


def sections(program: Program) -> Sections | None:
    """The three sections of a program, None if it does not have this shape."""
    loops = [k for k, s in enumerate(program.body) if isinstance(s, Until)]
    if len(loops) != 1 or program.lanes > 1:
        return None
    every = list(statements(program.body))
    if sum(isinstance(s, Until) for s in every) > 1 or any(isinstance(s, SimdRegion) for s in every):
        return None
    at = loops[0]
    loop = program.body[at]
    moved: list[Load] = []
    loop = replace(loop, body=_without_loads(loop.body, moved))
    epilogue = _without_loads(program.body[at + 1 :], moved)
    prologue = (*program.body[:at], *moved)
    if any(loop.counter in counters_of(x) for s in statements(loop.body) for x in _integers(s)):
        return None
    parts = (prologue, loop.body, epilogue)
    used = [{s.buffer for s in statements(part) if isinstance(s, Load | Store)} for part in parts]
    if any(b in used[j] for k in range(3) for j in range(k) for b in used[k] if is_scratch(b)):
        return None
    defined = dict.fromkeys(
        x
        for s in statements(prologue)
        for x in ((s,) if isinstance(s, Load | Value | Select) else getattr(s, "carried", ()))
    )
    after = read_by(epilogue)
    inside = {*read_by(loop.body), *loop.yields, loop.stop}
    live = tuple(x for x in defined if x in inside or x in after)
    results = tuple(x for x in (*loop.carried, *live) if x in after)
    return Sections(program, prologue, loop, epilogue, live, results)


def _without_loads(body: tuple[Any, ...], moved: list[Load]) -> tuple[Any, ...]:
    """The statements without loads of inputs at constant indices, which are appended to `moved`."""
    made = []
    for s in body:
        if isinstance(s, Load) and s.buffer.kind == "input" and isinstance(s.index, int):
            moved.append(s)
        elif isinstance(s, Containers):
            made.append(replace(s, body=_without_loads(s.body, moved)))
        else:
            made.append(s)
    return tuple(made)


def _integers(s: Any) -> Iterator[Any]:
    for field in ("index", "condition", "first", "end", "successor", "limit"):
        yield getattr(s, field, None)
