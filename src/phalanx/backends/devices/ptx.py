# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""PTX, the assembly that drivers of NVIDIA's GPUs translate: programs through LLVM, one state a thread.

Every operation rounds as it does on a processor with fused multiply-adds: LLVM marks each one so that no
later translator fuses or reorders them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import PhalanxError, nearest, shown
from ...program.form.nonfinite import spread
from ...program.form.program import Program
from ...program.form.register_pressure import for_registers
from ..native.availability import llvm
from ..native.compile import in_written_order
from .grid import Grid, LaunchLayout

# Architectures, and the first release of PTX that knows them: drivers as old as that load it.
ARCHITECTURES = {
    "sm_75": 63,
    "sm_80": 70,
    "sm_86": 71,
    "sm_87": 74,
    "sm_89": 78,
    "sm_90": 78,
    "sm_100": 86,
    "sm_103": 88,
    "sm_120": 87,
}
DEFAULT = "sm_75"  # code for it runs on all later ones
_TRIPLE = "nvptx64-nvidia-cuda"


@dataclass(frozen=True)
class PtxSource:
    """A program that becomes a kernel of that name."""

    name: str
    program: Program
    told: tuple[float, ...] = ()  # what it is told with every call
    spreads: bool = True  # whether what is not finite reaches all results


@dataclass(frozen=True)
class PtxModule:
    """PTX, and how each of its kernels is launched."""

    text: str
    layouts: tuple[LaunchLayout, ...]


def architecture(name: Any, where: str) -> str:
    """A known architecture, by default the one whose code runs on all."""
    if name is None:
        return DEFAULT
    if not isinstance(name, str) or name not in ARCHITECTURES:
        close = nearest(str(name), ARCHITECTURES, what="targets")
        raise PhalanxError(f"{where}: unknown target {shown(name)} for PTX;{close}")
    return str(name)


def assembled(
    sources: Sequence[PtxSource], element: str, target: str = DEFAULT, *, functions: bool = False
) -> PtxModule:
    """The PTX of some programs; with `functions` also `NAME_state` of one state, for kernels to call."""
    grid = Grid(element)
    layouts = []
    for source in sources:
        program = for_registers(source.program)
        program = spread(program) if source.spreads else program
        layouts.append(grid.kernel(program, source.name, source.told))
        if functions:
            grid.function(program, f"{source.name}_state", source.told)
    return PtxModule(translated(grid.whole_text, target), tuple(layouts))


def translated(text: str, target: str) -> str:
    """The PTX of LLVM text."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(f'target triple = "{_TRIPLE}"\n{text}')
    module.verify()  # LLVM aborts the process on text that is not valid
    machine = llvm.Target.from_triple(_TRIPLE).create_target_machine(
        cpu=target, features=f"+ptx{ARCHITECTURES[target]}", opt=2, reloc="static", codemodel="default"
    )
    module.data_layout = str(machine.target_data)
    with in_written_order():  # which keeps few values alive
        return str(machine.emit_assembly(module))
