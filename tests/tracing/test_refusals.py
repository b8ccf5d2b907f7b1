# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions that cannot be traced are refused when they are made, with the user's line and a remedy."""

# ruff: noqa: E731
import math
import random
import re
import time
from typing import Any

import numpy as np
import pytest

import phalanx as px

ROBOT = px.load("two_link")
LINE = r"^tests/tracing/test_refusals\.py:\d+: "
AT = r" \(tests/tracing/test_refusals\.py:\d+\)"


def decides(q: Any) -> Any:
    if q[0] > 0.0:
        return q
    return -q


def chooses(q: Any) -> Any:
    return q if q[0] > 0.0 else -q


def loops(q: Any) -> Any:
    x = q[0]
    while x > 1.0:
        x = 0.5 * x
    return x


def asserts(q: Any) -> Any:
    assert q[0] > 0.0
    return q


def takes_the_largest(q: Any) -> Any:
    return max(q[0], q[1])


def uses_math(q: Any) -> Any:
    return math.sin(q[0])


def makes_a_float(q: Any) -> Any:
    return float(q[0])


def indexes(q: Any) -> Any:
    return np.arange(3.0)[q[0]]


def picks(q: Any) -> Any:
    return q[q[0]]


def fills_floats(q: Any) -> Any:
    x = np.zeros(2)
    x[0] = q[0]
    return x


def fills_a_block(q: Any, robot: Any) -> Any:
    x = np.zeros((4, 4))
    x[:2, :2] = robot.mass_matrix(q)
    return x


def starts_from_floats(q: Any) -> Any:
    x = np.asarray(q, dtype=float)
    return 2.0 * x


def adds_in_place(q: Any) -> Any:
    x = np.zeros(2)
    x += q
    return x


def changes_its_argument(q: Any) -> Any:
    q[0] = 0.0
    return q


def orders(q: Any) -> Any:
    return np.argsort(q)


def picks_where_positive(q: Any) -> Any:
    return q[q > 0.0]


def asks_for_nan(q: Any) -> Any:
    return np.where(np.isnan(q), 0.0, q)


def finds_eigenvalues(q: Any, robot: Any) -> Any:
    return np.linalg.eigvalsh(robot.mass_matrix(q))


def inverts_by_svd(q: Any) -> Any:
    return np.linalg.pinv(np.outer(q, q)) @ q


def fits(q: Any) -> Any:
    return np.linalg.lstsq(np.outer(q, q), q)[0]


def solves_many(q: Any) -> Any:
    return np.linalg.solve(np.eye(20) * q[0], np.ones(20))


def formats(q: Any, robot: Any) -> Any:
    print(f"{q[0]:.3f}")
    return q


def simulates(q: Any, robot: Any) -> Any:
    return robot.simulation()


def takes_any_words(q: Any, robot: Any, **more: Any) -> Any:
    return q


def rolls_dice(q: Any) -> Any:
    return q * random.random()


def reads_the_clock(q: Any) -> Any:
    return q * time.time()


def catches_the_refusal(q: Any) -> Any:
    try:
        return q if q[0] > 0.0 else 2.0 * q
    except Exception:
        return -q


def keeps_a_cache(q: Any) -> Any:
    return {q[0]: 1.0}[q[0]] * q


def returns_none_by_name(q: Any) -> Any:
    return {"tau": q, "rest": None}


def returns_the_robot(q: Any, robot: Any) -> Any:
    return q, robot


def returns_numbered_results(q: Any) -> Any:
    return {1: q}


def returns_nothing(q: Any) -> Any:
    q + 1.0


def returns_words(q: Any) -> Any:
    return {"tau": "q"}


def returns_nan(q: Any) -> Any:
    return q * np.nan


def takes_others(q: Any, target: Any) -> Any:
    return q - target


def takes_any_number(*q: Any) -> Any:
    return q[0]


def takes_out(q: Any, out: Any) -> Any:
    return q


def depends_on_nothing(robot: Any) -> Any:
    return np.ones(2)


def misspells(q: Any, robot: Any) -> Any:
    return robot.mas_matrix(q)


def misnames_a_frame(q: Any, robot: Any) -> Any:
    return robot.jacobian(q, "hnd")


def asks_for_threads(q: Any, robot: Any) -> Any:
    return robot.mass_matrix(q, threads=2)


def divides_by_zero(q: Any) -> Any:
    return q / 0.0


def has_wrong_shapes(q: Any, robot: Any) -> Any:
    return robot.mass_matrix(q) @ np.ones(3)


def goes_beyond(q: Any) -> Any:
    return q[5]


def changes_the_robot(q: Any, robot: Any) -> Any:
    robot.gravity = q
    return q


def uses_the_real_robot(q: Any) -> Any:
    return ROBOT.mass_matrix(q)


REFUSED: dict[Any, str] = {
    decides: LINE + r'"if q\[0\] > 0\.0:" decides on a traced value.*np\.where',
    chooses: LINE + r".*decides on a traced value.*np\.where",
    loops: LINE + r'"while x > 1\.0:" loops until.*for loop of a fixed number',
    asserts: LINE + r".*asserts a traced value.*leave it out",
    takes_the_largest: LINE + r".*max\(\).*np\.maximum",
    uses_math: LINE + r".*function of math.*use that of NumPy",
    makes_a_float: LINE + r".*float\(\).*leave it traced",
    indexes: LINE + r".*index.*np\.interp",
    picks: LINE + r".*indexes by a traced value.*np\.where",
    fills_floats: LINE + r".*array of floats.*np\.zeros\(shape, like=q\)",
    fills_a_block: LINE + r".*array of floats.*np\.zeros\(shape, like=q\)",
    starts_from_floats: LINE + r".*makes an array of float64.*leave it as it is",
    adds_in_place: LINE + r".*array of floats.*x = x \+ y",
    changes_its_argument: LINE + r".*changes an array in place.*q\.copy",
    orders: LINE + r".*calls np\.argsort.*np\.minimum",
    picks_where_positive: LINE + r".*picks entries by a traced condition.*np\.where",
    finds_eigenvalues: LINE + r".*calls np\.linalg\.eigvalsh.*decompose it outside",
    asks_for_nan: LINE + r".*calls np\.isnan",
    inverts_by_svd: LINE + r".*calls np\.linalg\.pinv.*damped_solve",
    fits: LINE + r".*calls np\.linalg\.lstsq.*damped_solve",
    solves_many: LINE + r".*20 rows, more than 12.*robot\.forward_dynamics",
    formats: LINE + r".*needs the number behind a traced value, as format\(\) does; leave it traced",
    simulates: f"returns a value of type Simulation{AT}, expected arrays",
    takes_any_words: rf"takes \*\*more{AT}, of which no size is given; pass sizes by name",
    rolls_dice: f'function "rolls_dice" gives another result each time it runs{AT}.*pass what changes',
    reads_the_clock: f"gives another result each time it runs{AT}.*it reads a clock.*as an argument",
    catches_the_refusal: LINE + r".*decides on a traced value.*np\.where",
    keeps_a_cache: LINE + r".*unhashable type.*use NumPy's own functions on it, no keys",
    returns_none_by_name: AT + r': its result "rest": got None, expected real numbers',
    returns_the_robot: f"returns the robot{AT}, expected arrays",
    returns_numbered_results: AT + ": its result has the key 1, expected strings as keys",
    returns_nothing: f"returns nothing, expected an array; is a return missing{AT}",
    returns_words: AT + r': its result "tau": got \'q\', expected real numbers',
    returns_nan: f"{AT} computes with NaN, expected numbers; check its constants",
    takes_others: f"takes 'target'{AT}, whose size is not known; pass it.*target=n",
    takes_any_number: rf"takes \*q{AT}, expected arguments with names",
    takes_out: f"has an argument 'out'{AT}, a keyword of every call; rename it",
    depends_on_nothing: f"takes no arrays.*{AT}",
    misspells: LINE + r".*'mas_matrix'; did you mean \"mass_matrix\"",
    misnames_a_frame: LINE + r'.*no frame "hnd"|.*has no frame',
    asks_for_threads: LINE + r".*takes no threads; leave it out",
    divides_by_zero: LINE + r".*divides a traced value by zero; check the constant",
    has_wrong_shapes: LINE + r".*raises ValueError",
    goes_beyond: LINE + r".*out of bounds.*Check the sizes of its arguments",
    changes_the_robot: LINE + r".*robots are immutable",
    uses_the_real_robot: LINE + r".*take robot as an argument",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_traced_is_refused_with_its_line_and_a_remedy(function: Any) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        ROBOT.function(function)
    assert re.search(REFUSED[function], str(caught.value), re.DOTALL), str(caught.value)
    assert "test_refusals.py:" in str(caught.value)


def test_wrong_sizes_are_refused() -> None:
    f = lambda q, goal: q - goal
    for size, message in {
        -1: "expected a number of entries",
        2.5: "is 2.5, expected a number",
        "qq": 'names: "t", "q"',
    }.items():
        with pytest.raises(px.PhalanxError, match=message):
            ROBOT.function(f, goal=size)
    with pytest.raises(px.PhalanxError, match="got a size for 'gaol', which it does not take"):
        ROBOT.function(f, gaol=2)
    with pytest.raises(px.PhalanxError, match="expected a Python function"):
        ROBOT.function(3)
    assert ROBOT.function(f, goal="q").inputs["goal"] == (2,)


@pytest.mark.filterwarnings("error")
def test_factors_of_what_is_not_definite_are_refused_without_a_warning() -> None:
    f = lambda q, robot: np.linalg.cholesky(robot.jacobian(q, "panda_hand")[:6, :6])
    with pytest.raises(px.PhalanxError, match="returns nan whatever the state is"):
        px.load("panda").function(f)
