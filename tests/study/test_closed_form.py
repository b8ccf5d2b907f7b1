# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Formulas of the papers, computed from the texts of the algorithms."""

from __future__ import annotations

from typing import Any

import pytest

import phalanx as px
from phalanx.program.analyses.cost import Count
from phalanx.study.closed_form import _Forms, general_chain

FEW = (*range(1, 9), 11, 12)
POWERS = (1, 2, 4, 8, 16, 32)


@pytest.mark.parametrize(
    ("customise", "inertias", "multiplications", "additions"),
    [
        ("none", "dense", "150n", "116n"),  # Table 2
        ("semi", "dense", "117n", "95n"),  # Table 3
        ("semi", "diagonal", "105n", "83n"),
    ],
)
def test_zomaya_and_morris(customise: str, inertias: str, multiplications: str, additions: str) -> None:
    form = px.closed_form("inverse_dynamics", "zomaya_morris", customise=customise, inertias=inertias)
    assert (str(form.multiplications), str(form.additions)) == (multiplications, additions)
    assert form.multiplications.verified[-1] == 20
    assert form.multiplications.exceptions == ()


@pytest.mark.parametrize(
    ("convention", "multiplications", "additions"),
    [("lathrop_linear", "2n + 3", "6n + 7"), ("lathrop_online", "2n + 5", "6n + 9")],  # eqs. (1) and (5)
)
def test_the_time_of_lathrops_linear_recursion(convention: str, multiplications: str, additions: str) -> None:
    form = px.closed_form("inverse_dynamics", "luh_walker_paul", convention=convention)
    assert (str(form.span.multiplications), str(form.span.additions)) == (multiplications, additions)
    assert form.span.additions.exceptions == ()


def test_the_work_of_lathrops_table_2() -> None:
    form = px.closed_form("inverse_dynamics", "luh_walker_paul", convention="lathrop_online", sizes=FEW)
    assert (str(form.multiplications), str(form.additions)) == ("135n", "110n")


def test_the_time_of_lathrops_logarithmic_recursion() -> None:
    form = px.closed_form("inverse_dynamics", "lathrop")
    assert (str(form.span.multiplications), str(form.span.additions)) == ("2L + 5", "6L + 10")
    assert form.span.multiplications.levels == "n+1"
    assert form.span.multiplications.exceptions == (1, 2, 4, 8, 16)  # the tree closes a level early


# Joint 1 of the tree, from chains of 1 to 17 joints.
DEPTHS = {
    1: (6, 13),
    2: (8, 19),
    3: (9, 22),
    4: (10, 25),
    6: (11, 28),
    8: (12, 31),
    9: (13, 34),
    16: (14, 37),
}


@pytest.mark.parametrize("n", DEPTHS)
def test_the_path_of_lathrops_tree_at_every_length(n: int) -> None:
    span = px.cost(general_chain(n), "inverse_dynamics", "lathrop", customise="none").span
    assert (span.multiplications, span.additions) == DEPTHS[n]


@pytest.mark.parametrize(
    ("algorithm", "multiplications", "additions"),
    [  # the largest powers as published or, where the paper has no formula, as its listing gives
        ("kane_original", {"n^3": "5", "n^2": "15"}, {"n^3": "3", "n^2": "23/2"}),
        ("kane_variant", {"n^2": "33/2"}, {"n^2": "35/2"}),
        ("newton_euler_variant", {"n^2": "39/2"}, {"n^2": "19"}),
        ("composite_variant", {"n^2": "9/2"}, {"n^2": "4"}),
        (
            "composite_original",
            {"n^2": "27/2", "n": "221/2", "1": "-97"},
            {"n^2": "10", "n": "84", "1": "-77"},
        ),
    ],
)
def test_mass_matrices(algorithm: str, multiplications: Any, additions: Any) -> None:
    form = px.closed_form("mass_matrix", algorithm, sizes=FEW)
    for found, expected in ((form.multiplications, multiplications), (form.additions, additions)):
        assert {term: str(found[term]) for term in expected} == expected


@pytest.mark.parametrize("algorithm", ["newton_euler_variant", "composite_variant"])
def test_coefficients_of_pairs_do_not_depend_on_customisation(algorithm: str) -> None:
    general, semi = (
        px.closed_form("mass_matrix", algorithm, customise=c, sizes=FEW) for c in ("none", "semi")
    )
    assert general.multiplications["n^2"] == semi.multiplications["n^2"]
    assert general.additions["n^2"] == semi.additions["n^2"]


def test_recursive_doubling_on_powers_of_two() -> None:
    form = px.closed_form("mass_matrix", "recursive_doubling", sizes=POWERS)
    assert str(form.divisions) == "1/2 nL"
    assert form.multiplications["nL"] == form.multiplications.coefficients["nL"]
    # 129 multiplications and 104 additions for each of the n/2 computations of a level; 27 and 20 a pair.
    assert (str(form.multiplications["nL"]), str(form.additions["nL"])) == ("129/2", "52")
    assert (str(form.multiplications["n^2"]), str(form.additions["n^2"])) == ("27/2", "10")
    depth = px.closed_form("mass_matrix", "recursive_doubling", customise="semi", sizes=POWERS).span.total
    assert str(depth) == "13L + 4"
    assert depth.exceptions == (1,) or depth(1) == 4


def test_depth_of_composite_bodies() -> None:
    depth = px.closed_form("mass_matrix", "composite_original", customise="semi", sizes=FEW).span.total
    assert str(depth) == "9n - 1"


def test_forms_by_quantity() -> None:
    form = px.closed_form("inverse_dynamics", "zomaya_morris", sizes=FEW)
    rows = {"w": "9n", "wd": "15n", "vd": "27n", "psi": "18n", "F": "3n", "N": "24n", "tau": "3n"}
    assert {name: str(form.by_quantity[name].multiplications) for name in rows} == rows


def test_options_are_passed_on() -> None:
    serial = px.closed_form("mass_matrix", ("processor_array", {"processors": "n"}), sizes=POWERS[:5])
    array = px.closed_form("mass_matrix", "processor_array", sizes=POWERS[:5])
    assert serial.costs[8].total < array.costs[8].total


def test_no_formula_is_an_error_that_names_the_sizes() -> None:
    form = px.closed_form("mass_matrix", "recursive_doubling", sizes=range(1, 13))
    with pytest.raises(
        px.PhalanxError,
        match=r"multiplications of mass_matrix .* follow no sum of .*, 12; powers of two alone",
    ):
        _ = form.multiplications
    assert "no formula for n = 1, 2" in repr(form)


def test_structure_saves_lathrops_path_one_addition_of_the_projection() -> None:
    forms = {c: px.closed_form("inverse_dynamics", "lathrop", customise=c).span for c in ("none", "semi")}
    assert (str(forms["none"].additions), str(forms["semi"].additions)) == ("6L + 10", "6L + 9")
    assert str(forms["none"].multiplications) == str(forms["semi"].multiplications) == "2L + 5"
    for level, additions in (("none", 2), ("semi", 1)):
        projection = px.cost(general_chain(6), "inverse_dynamics", "lathrop", customise=level)
        assert projection.by_quantity["tau"] == Count(6 * (additions + 1), 6 * additions)


def test_too_few_powers_of_two_call_for_more_and_enough_give_the_formula() -> None:
    few = px.closed_form("forward_dynamics", "cfa", sizes=(1, 2, 4, 8, 16))
    with pytest.raises(px.PhalanxError, match=r"more or larger ones may, for instance sizes=\(2, 4, .*64\)"):
        _ = few.total
    enough = px.closed_form("forward_dynamics", "cfa", sizes=(2, 4, 8, 16, 32, 64))
    assert len(enough.total.verified) >= 2


def test_where_powers_of_two_have_no_formula_either_the_counts_are_left() -> None:
    cubes = {n: Count(n**5) for n in (2, 4, 8, 16, 32, 64)}
    with pytest.raises(px.PhalanxError, match=r"`costs` of the result has the counts themselves"):
        _ = _Forms("nothing", cubes, "n").total


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"customise": "full"}, "customise='full'; a formula in n exists for 'none' and 'semi' only"),
        ({"inertias": "dens"}, 'inertias=.dens.; did you mean "dense"'),
        ({"sizes": (1, 2)}, r"sizes=\(1, 2\), expected more than 2 integers"),
        ({"sizes": (0, 1, 2, 3)}, "integers from 1"),
    ],
)
def test_bad_choices_are_refused(choice: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.closed_form("inverse_dynamics", "zomaya_morris", **choice)


def test_general_chains_have_no_zero_and_no_frame_of_their_own() -> None:
    chain = general_chain(5).model.dh
    for values in (chain.a, chain.d, chain.sa, chain.ca, chain.m, chain.s, chain.J):
        assert (values != 0.0).all()
    assert chain.turns.all()
    assert not chain.slipped.any()
    assert not general_chain(5, "diagonal").model.dh.J[:, [1, 2, 4]].any()
