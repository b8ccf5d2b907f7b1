# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix on arrays of processors: Fijany's programs, placed in time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ....algorithms.inertia.processor_array import steps
from ....program.analyses.cost import Count
from ...machines import processor_array
from ...scheduling.array_program import ArraySchedule, array_schedule
from ..operations import cost_at, general, grows_as, pair, work
from ..printed_formulas import PrintedFormula, formula
from ..quantities import arithmetic_of_print, at_sizes, fitted, quantity
from ..verdicts import Claim

_FUNCTION = "mass_matrix"
FORMS: dict[str, dict[str, str]] = {
    "VN-EB listed": {},
    "VN-EB": {"moment": "inside"},
    "VCR-B": {"form": "composite"},
    "VCR-B from the base": {"form": "composite_base"},
}
_IN_COLUMNS = ("VN-EB listed", "VN-EB", "VCR-B")  # forms whose columns need nothing from other columns
_SIZES = {"n(n+1)/2": (4, 6, 8, 12, 16), "n": (4, 5, 6, 7, 8, 9, 12)}
_ENDS = ("VCR-B from the base", "VCR-B")
_DOUBLED = (8, 16, 32)  # below, going from neighbour to neighbour takes as few steps as shuffling


@quantity
def leading_work(function: str, algorithm: str) -> tuple[Any, Any]:
    """coefficients of n^2 in the operations that phalanx.cost counts, verified on more sizes"""
    return tuple(_only(part, ("n^2",)) for part in work(function, algorithm))


@quantity
def parallel_cost(processors: str, form: str, n: int | None = None) -> tuple[Any, Any]:
    """operations of the busiest processor in each step of px.schedule on px.machines.processor_array"""
    return pair(lambda size: _busiest(processors, form, size), n, _SIZES[processors])


@quantity
def parallel_slopes(
    processors: str, form: str, terms: Sequence[str] = ("n", "L"), additions: bool = True
) -> Any:
    """coefficients of n and L in the operations of the busiest processor of px.schedule"""
    products, sums = (_only(part, terms) for part in parallel_cost(processors, form))
    return (products, sums) if additions else products


@quantity
def parallel_speedup(processors: str, form: str, n: int) -> float:
    """operations of composite_variant over those of the busiest processor"""
    return cost_at(_FUNCTION, "composite_variant", n).total / _busiest(processors, form, n).total


@arithmetic_of_print
def ratio_of_totals(serial: Sequence[int], parallel: Sequence[int]) -> float:
    """the printed serial operations over the printed parallel ones"""
    return sum(serial) / sum(parallel)


@quantity
def array_processors(processors: str, n: int | None = None) -> Any:
    """processors of px.machines.processor_array"""
    machine = processor_array(processors)
    if n is not None:
        return machine.count(n)
    return fitted({size: machine.count(size) for size in range(1, 9)})


@quantity
def array_levels() -> Any:
    """levels of R, P, F and N in the library's processor_array, fitted"""
    found = {}
    for n in range(1, 34):
        plan = steps(n)
        found[n] = {len(plan.rotations), len(plan.outward), len(plan.inward)}
    if any(len(counts) > 1 for counts in found.values()):
        return "different for different quantities"
    return fitted({n: counts.pop() for n, counts in found.items()})


@quantity
def communication(network: str, order: str) -> Claim:
    """steps in which messages pass in px.schedule on px.machines.processor_array"""
    counts = {
        form: {n: _array("n(n+1)/2", n, form, network).communication_steps for n in _DOUBLED}
        for form in _IN_COLUMNS
    }
    figures = "; ".join(f"{form}: {at_sizes(steps)}" for form, steps in counts.items())
    return Claim(all(grows_as(steps, order) for steps in counts.values()), figures)


@quantity
def better_frame(sizes: Sequence[int]) -> Claim:
    """makespans of px.schedule for VCR-B seen from both ends, one unit for an operation and for a link"""
    times = {n: [round(_array("n(n+1)/2", n, form).makespan) for form in _ENDS] for n in sizes}
    figures = ", ".join(
        f"{base} from the base and {tip} from the end effector at n = {n}" for n, (base, tip) in times.items()
    )
    return Claim(all(base < tip for base, tip in times.values()), figures)


@quantity
def rows_driven_by_data(sizes: Sequence[int]) -> Claim:
    """makespans of px.schedule for VCR-B seen from the base, rows driven by data or on the columns' clock"""
    times = {
        n: [
            round(_array("n(n+1)/2", n, _ENDS[0], rows=rows).makespan)
            for rows in ("driven by data", "clocked")
        ]
        for n in sizes
    }
    figures = ", ".join(
        f"{data} driven by data and {clock} clocked at n = {n}" for n, (data, clock) in times.items()
    )
    return Claim(all(data < clock for data, clock in times.values()), figures)


@quantity
def communication_along_rows(order: str) -> Claim:
    """links on the longest route of a message in px.schedule for VCR-B seen from the base"""
    counts = {n: _array("n(n+1)/2", n, _ENDS[0]).communication_steps for n in _DOUBLED}
    return Claim(grows_as(counts, order), at_sizes(counts))


@quantity
def transformations(algorithm: str, parts: Sequence[str], order: str) -> Claim:
    """multiplications of the quantities that turn vectors from frame to frame, by phalanx.cost"""
    counts = {
        n: sum(cost_at(_FUNCTION, algorithm, n).by_quantity[part].multiplications for part in parts)
        for n in range(3, 9)
    }
    form = fitted(counts)
    leading = next((t for t in ("n^2", "n") if isinstance(form, PrintedFormula) and form[t]), "1")
    return Claim(leading == order, f"{form} multiplications")


@quantity
def least_efficient(algorithm: str, others: Sequence[str]) -> Claim:
    """joints from which on the closed forms of phalanx.cost give it the most operations"""
    forms = {name: _total_form(name) for name in (algorithm, *others)}
    most = range(3, 200)
    first = {
        other: next(
            (n for n in most if all(forms[algorithm](k) > forms[other](k) for k in range(n, 200))), None
        )
        for other in others
    }
    figures = ", ".join(f"than {other} from n = {n}" for other, n in first.items())
    return Claim(None not in first.values(), f"more operations {figures}")


@quantity
def least_work(algorithm: str, others: Sequence[str], n: int) -> Claim:
    """operations that phalanx.cost counts"""
    counts = {name: cost_at(_FUNCTION, name, n).total for name in (algorithm, *others)}
    figures = ", ".join(f"{name} {count}" for name, count in counts.items())
    return Claim(counts[algorithm] == min(counts.values()), figures)


@quantity
def faster_in_parallel(processors: str, form: str, n: int) -> Claim:
    """operations in time of both forms on the same number of processors"""
    times = {name: _busiest(processors, name, n).total for name in ("VN-EB", "VCR-B")}
    figures = ", ".join(f"{count} operations for {name}" for name, count in times.items())
    return Claim(times[form] == min(times.values()), figures)


def _busiest(processors: str, form: str, n: int) -> Count:
    """The operations in time: those of the busiest processor in each step."""
    return _array(processors, n, form).busiest


@cache
def _array(
    processors: str, n: int, form: str, network: str = "shuffle-exchange", rows: str = "driven by data"
) -> ArraySchedule:
    machine = processor_array(processors, network=network, rows=rows)
    return array_schedule(general(n), machine, algorithm=("processor_array", FORMS[form]))


def _total_form(algorithm: str) -> PrintedFormula:
    form = fitted({n: cost_at(_FUNCTION, algorithm, n).total for n in range(3, 10)})
    return form if isinstance(form, PrintedFormula) else formula({})


def _only(part: Any, terms: Sequence[str]) -> Any:
    return formula({term: part[term] for term in terms}) if isinstance(part, PrintedFormula) else part
