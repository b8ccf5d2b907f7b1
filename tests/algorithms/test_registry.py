# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The lists of functions and algorithms that users see."""

from __future__ import annotations

import pytest

import phalanx as px


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
