# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Specialise a program: its uniforms, numbers that all states of a call share, become constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ir import Buffer, Containers, For, Load, LoopCarried, Program, Table, Until, checked, renamed


def specialise(program: Program, uniforms: Sequence[float]) -> Program:
    """The program with the given numbers in place of its uniforms: a table of constants."""
    if program.uniform is None:
        return program
    if len(uniforms) != program.uniform.size:
        raise TypeError(f"specialise: {len(uniforms)} uniforms, expected {program.uniform.size}.")
    table = Table(program.uniform.name, np.array(uniforms))
    body = _specialised(program.body, program.uniform, table, {})
    return checked(replace(program, body=body, uniform=None))


def _specialised(
    body: tuple[Any, ...], uniform: Buffer, table: Table, names: dict[Any, Any]
) -> tuple[Any, ...]:
    """The statements with `table` in place of `uniform`; `names` maps values to their new ones."""
    made = []
    for s in body:
        if isinstance(s, Load):
            new: Any = Load(table, s.index) if s.buffer is uniform else s
        elif isinstance(s, For | Until):
            carried = tuple(LoopCarried(names.get(c.start, c.start)) for c in s.carried)
            names.update(zip(s.carried, carried, strict=True))
            inside = _specialised(s.body, uniform, table, names)
            new = replace(s, carried=carried, body=inside, yields=tuple(names.get(x, x) for x in s.yields))
            if isinstance(new, Until):
                new = replace(new, stop=names.get(new.stop, new.stop))
        elif isinstance(s, Containers):
            new = replace(s, body=_specialised(s.body, uniform, table, names))
        else:
            new = renamed(s, names)
        if new is not s:
            names[s] = new
        made.append(new)
    return tuple(made)
