# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Published URDF files against Pinocchio, and long ones."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

import phalanx as px
from phalanx.errors import PhalanxError, PhalanxWarning
from phalanx.io.urdf import read_urdf
from phalanx.io.xml import Element, UnfitError
from phalanx.robot.checks import check_numbers
from phalanx.robot.description import ordered


def test_published_urdfs_have_the_joints_and_the_mass_that_pinocchio_finds(example_urdf: Path) -> None:
    pin = pytest.importorskip("pinocchio", reason="the oracle of this test")
    try:
        # A free root, because Pinocchio drops the mass of a root that is fixed.
        model = pin.buildModelFromUrdf(str(example_urdf), pin.JointModelFreeFlyer())
    except ValueError:
        model = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhalanxWarning)
        if model is None:
            with pytest.raises(PhalanxError, match=example_urdf.name):
                ordered(read_urdf(example_urdf.read_bytes(), source=example_urdf.name))
            return
        d = read_urdf(example_urdf.read_bytes(), source=example_urdf.name)
    _, joints = ordered(d)
    check_numbers(d)
    assert {j.name for j in joints if j.type != "fixed"} == set(list(model.names)[2:])
    total = sum(body.mass for body in model.inertias)
    assert sum(link.mass for link in d.links) == pytest.approx(total, rel=1e-12)


def test_the_quick_parser_gives_the_same_robots_as_the_one_with_lines(example_urdf: Path) -> None:
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", PhalanxWarning)
        try:
            quick = read_urdf(example_urdf.read_bytes(), source="f")
        except PhalanxError as error:
            quick = error
        patch.setattr("phalanx.io.urdf.children_quickly", unfit)
        if isinstance(quick, PhalanxError):
            with pytest.raises(PhalanxError, match=re.escape(str(quick))):
                read_urdf(example_urdf.read_bytes(), source="f")
            return
        assert read_urdf(example_urdf.read_bytes(), source="f") == quick


def unfit(_: object) -> Iterator[Element]:
    """No children: everything is left to the parser with lines."""
    yield from ()
    raise UnfitError


def long_chain(n: int, joint: str = "") -> str:
    """A chain of n links; `joint` is formatted with the number of the joint and of the one before."""
    link = (
        '<link name="l{0}"><inertial><origin xyz="0.1 0 0" rpy="0 0 0.1"/><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
    )
    whole = (
        '<joint name="j{0}" type="revolute"><parent link="l{1}"/><child link="l{0}"/>'
        '<origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>'
        f'<limit lower="-1" upper="1" effort="1" velocity="1"/>{joint}</joint>'
    )
    moved = "".join(link.format(i) + whole.format(i, i - 1) for i in range(1, n))
    return f'<robot name="r"><link name="l0"/>{moved}</robot>'


MIMIC = '<mimic joint="j{1}" multiplier="1.0001"/>'


def test_a_chain_of_ten_thousand_links_is_read() -> None:
    d = read_urdf(long_chain(10_000), source="long.urdf")
    assert (len(d.links), len(d.joints)) == (10_000, 9_999)


@pytest.mark.parametrize("joint", ["", MIMIC], ids=["plain", "chain of mimics"])
def test_the_work_of_loading_grows_with_the_number_of_links(joint: str) -> None:
    def calls(n: int) -> int:
        """Calls of functions while a chain loads: the same on every machine."""
        text = long_chain(n, joint).replace('<mimic joint="j0" multiplier="1.0001"/>', "")
        count = 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            robot = px.load(text)
        finally:
            sys.setprofile(None)
        assert robot.nv == (1 if joint else n - 1)
        return count

    calls(10)
    small, large = calls(200), calls(800)
    assert large < 4.2 * small


def test_a_long_chain_of_mimics_multiplies() -> None:
    n = 3000
    robot = px.load(long_chain(n, MIMIC).replace('<mimic joint="j0" multiplier="1.0001"/>', ""))
    assert robot.mimics[f"j{n - 1}"].joint == "j1"
    assert robot.mimics[f"j{n - 1}"].multiplier == pytest.approx(1.0001 ** (n - 2), rel=1e-12)
