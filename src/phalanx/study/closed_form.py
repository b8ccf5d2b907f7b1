# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What an algorithm costs on a general chain of n joints, as a formula in n."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import numpy as np

from ..dispatch import resolve
from ..errors import PhalanxError, is_one_of, nearest, shown
from ..program.analyses.cost import Cost, Count
from ..progress import steps
from ..robot.robot import Robot
from ..typing import AlgorithmLike, Customise
from .conventions import convention_of
from .cost import cost
from .fitting import BASIS, FURTHER, FittedFormula, fit

SIZES = (*range(1, 13), 15, 16, 17, 20)
_LONGEST = 10_000  # joints: programs of longer chains are not unrolled anyway
_POWERS = (2, 4, 8, 16, 32, 64)
_LEVELS = ("none", "semi")
_INERTIAS = ("dense", "diagonal")


class _Forms:
    """The counts of one kind over all sizes, fitted when read."""

    def __init__(self, of: str, counts: dict[int, Count], levels: str) -> None:
        self._of, self._counts, self._levels = of, counts, levels

    @property
    def multiplications(self) -> FittedFormula:
        return self._formula("multiplications")

    @property
    def additions(self) -> FittedFormula:
        return self._formula("additions")

    @property
    def divisions(self) -> FittedFormula:
        return self._formula("divisions")

    @property
    def trigonometric(self) -> FittedFormula:
        return self._formula("trigonometric")

    @property
    def total(self) -> FittedFormula:
        return self._formula("total")

    def _formula(self, kind: str) -> FittedFormula:
        found = fit({n: getattr(count, kind) for n, count in self._counts.items()}, self._levels)
        if found is None:
            sizes = list(self._counts)
            raise PhalanxError(
                f"closed_form: {kind} of {self._of} follow no sum of {', '.join(BASIS)} for n = "
                f"{', '.join(map(str, sizes))}; {_advice(sizes)}."
            )
        return found


def _advice(sizes: Sequence[int]) -> str:
    """Other sizes to try: trees are regular at powers of two, and a form of k terms needs k + 2 sizes."""
    if set(_POWERS) <= set(sizes):
        return "`costs` of the result has the counts themselves"
    alone = all(n & (n - 1) == 0 for n in sizes)
    return f"{'more or larger ones' if alone else 'powers of two alone'} may, for instance sizes={_POWERS}"


class ClosedForm(_Forms):
    """Counts of an algorithm as formulas: `multiplications`, …, `total`, and the same along `span`."""

    def __init__(
        self,
        function: str,
        algorithm: str,
        customise: str,
        convention: str,
        costs: dict[int, Cost],
        levels: str,
    ) -> None:
        super().__init__(f'{function} by "{algorithm}"', dict(costs), levels)
        self.function, self.algorithm = function, algorithm
        self.customise, self.convention = customise, convention
        self.costs = costs
        self.span = _Forms(
            f'the span of {function} by "{algorithm}"', {n: c.span for n, c in costs.items()}, levels
        )

    @property
    def by_quantity(self) -> dict[str, _Forms]:
        """The formulas of each quantity that the algorithm names."""
        names = dict.fromkeys(name for c in self.costs.values() for name in c.by_quantity)
        return {
            name: _Forms(
                f'{name} in {self.function} by "{self.algorithm}"',
                {n: c.by_quantity.get(name, Count()) for n, c in self.costs.items()},
                self._levels,
            )
            for name in names
        }

    def __repr__(self) -> str:
        what = f"{self.function} by {self.algorithm}, customise={self.customise!r}, {self.convention}"
        try:
            found = f"{self.multiplications} / {self.additions}"
        except PhalanxError:
            found = f"no formula for n = {', '.join(map(str, self.costs))}"
        return f"<ClosedForm {what}: {found}>"


def closed_form(
    function: str,
    algorithm: AlgorithmLike,
    *,
    customise: Customise = "none",
    convention: str | None = None,
    inertias: Literal["dense", "diagonal"] = "dense",
    sizes: Sequence[int] = SIZES,
) -> ClosedForm:
    """What an algorithm costs on a general chain of n revolute joints, as exact formulas in n.

    Formulas are sums of 1, n, n^2, n^3, L and nL with rational coefficients, where L is
    ceil(log2 n), or ceil(log2(n+1)) where the paper of the convention says so. They are fitted on the
    first of `sizes` and verified on the others; asking for one that does not exist is an error.
    `inertias="diagonal"` gives links without products of inertia in their DH frames, which
    customisation "semi" uses. For "full" a robot has numbers, so that there is no formula.

    `closed_form("inverse_dynamics", "zomaya_morris").multiplications` prints as `150n`.
    """
    if not is_one_of(customise, _LEVELS):
        raise PhalanxError(
            f"closed_form: customise={shown(customise)}; a formula in n exists for "
            f"{' and '.join(map(repr, _LEVELS))} only."
        )
    if not is_one_of(inertias, _INERTIAS):
        raise PhalanxError(
            f"closed_form: inertias={shown(inertias)};{nearest(inertias, _INERTIAS, what='kinds')}"
        )
    integers = isinstance(sizes, list | tuple | range) and all(
        type(n) is int and 1 <= n <= _LONGEST for n in sizes
    )
    wanted = sorted(set(sizes)) if integers else []
    if len(wanted) <= FURTHER:
        raise PhalanxError(
            f"closed_form: sizes={shown(sizes)}, expected more than {FURTHER} integers "
            f"from 1 to {_LONGEST:,}."
        )
    call = resolve(general_chain(wanted[0], inertias), function, algorithm)
    name = algorithm if isinstance(algorithm, str) else call.algorithm.name
    rules = convention_of(convention, name, customise)
    choice = (function, name, call.options, customise, convention)
    costs = {n: _cost_at(n, inertias, *choice) for n in steps(wanted, "counting", lambda n: f"{n} joints")}
    return ClosedForm(function, name, customise, rules.name, costs, rules.levels)


@cache
def _cost_at(
    n: int,
    inertias: str,
    function: str,
    name: str,
    options: tuple[tuple[str, Any], ...],
    customise: Customise,
    convention: str | None,
) -> Cost:
    choice = (name, dict(options)) if options else name
    return cost(general_chain(n, inertias), function, choice, customise=customise, convention=convention)


@cache
def general_chain(n: int, inertias: str = "dense") -> Robot:
    """A chain of n revolute joints in DH frames, none of whose parameters is zero."""
    rng = np.random.default_rng(n)
    rows = []
    for _ in range(n):
        a, d, alpha = rng.uniform(0.3, 0.6), rng.uniform(0.1, 0.3), rng.uniform(0.6, 1.2)
        xx, yy, zz = rng.uniform(0.02, 0.03, 3)
        xy, xz, yz = rng.uniform(0.001, 0.002, 3) if inertias == "dense" else (0.0, 0.0, 0.0)
        rows.append(
            {
                "a": a,
                "d": d,
                "alpha": alpha,
                "mass": rng.uniform(1.0, 2.0),
                "com": rng.uniform(0.05, 0.1, 3).tolist(),
                "inertia": [xx, xy, xz, yy, yz, zz],
            }
        )
    return Robot.from_dh(rows, name=f"general chain of {n}")
