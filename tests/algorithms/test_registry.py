# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The lists of functions and algorithms that users see."""

from __future__ import annotations

import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS, FunctionSpec, default_algorithm


@pytest.mark.parametrize(
    ("function", "classics"),
    [
        ("inverse_dynamics", {"newton_euler"}),
        ("mass_matrix", {"crba"}),
        ("forward_dynamics", {"aba", "jsiia"}),
    ],
)
def test_the_classic_algorithms_are_listed(function: str, classics: set[str]) -> None:
    assert classics <= {entry.name for entry in px.algorithms(function)}


def test_an_entry_tells_what_the_interface_promises() -> None:
    entry = next(a for a in px.algorithms("inverse_dynamics") if a.name == "newton_euler")
    assert entry.source == "Featherstone 2008, Table 5.1, p. 96"
    assert (entry.topology, entry.joints, entry.coupled) == ("tree", "all", True)
    assert (entry.work, entry.span, dict(entry.options)) == ("O(n)", "O(depth)", {})


@pytest.mark.parametrize("name", ["mass_matrx", "Mass_Matrix"])
def test_an_unknown_function_is_refused_with_the_nearest(name: str) -> None:
    with pytest.raises(px.PhalanxError, match=f"unknown function '{name}'; did you mean \"mass_matrix\"?"):
        px.algorithms(name)


@pytest.mark.parametrize("name", [None, 3, ("mass_matrix",)])
def test_what_is_no_name_is_refused_with_the_list(name: object) -> None:
    with pytest.raises(px.PhalanxError, match=r'unknown function .*functions: "inverse_dynamics", '):
        px.algorithms(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("inverse_dynamics", FunctionSpec("inverse_dynamics")),
        ("jacobian:hand", FunctionSpec("jacobian", "hand")),
        ("jacobian:left:hand", FunctionSpec("jacobian", "left:hand")),
        ("vjp:forward_dynamics", FunctionSpec("forward_dynamics", derivative="vjp")),
        ("hvp:frame_pose:hand", FunctionSpec("frame_pose", "hand", "hvp")),
        (
            "forward_dynamics+external+inertias",
            FunctionSpec("forward_dynamics", optional=("external", "inertias")),
        ),
    ],
)
def test_a_function_is_named_in_one_grammar(name: str, spec: FunctionSpec) -> None:
    assert FunctionSpec.parse(name) == spec


def test_only_a_function_itself_is_plain() -> None:
    plain = ["mass_matrix", "jacobian:hand"]
    other = ["jvp:mass_matrix", "mass_matrix+inertias", "jacobian", "mass_matrix:hand", "mass"]
    assert [name for name in plain + other if FunctionSpec.parse(name).is_plain] == plain


def test_the_default_does_not_depend_on_the_order_of_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = {function: default_algorithm(function) for function in ALGORITHMS}
    for function, known in ALGORITHMS.items():
        monkeypatch.setitem(ALGORITHMS, function, dict(reversed(known.items())))
    assert {function: default_algorithm(function) for function in ALGORITHMS} == defaults
