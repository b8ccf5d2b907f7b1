# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""MJCF that would take MuJoCo minutes or read other files is refused before MuJoCo sees it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import phalanx as px
from phalanx.io.mjcf import compiling, prescan

mujoco = pytest.importorskip("mujoco", reason="MJCF is read through it")

BODY = '<body><joint/><geom size="0.1" mass="1"/></body>'


@pytest.fixture
def not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes it a failure to ask MuJoCo."""
    for name in ("from_string", "from_file"):
        monkeypatch.setattr(mujoco.MjSpec, name, lambda *_: pytest.fail("MuJoCo was asked"))


def world(inside: str, rest: str = "") -> str:
    return f"<mujoco>\n{rest}<worldbody>\n{inside}</worldbody></mujoco>"


def replicate(count: Any, inside: str = BODY) -> str:
    return f'<replicate count="{count}" offset="1 0 0">{inside}</replicate>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (world(replicate(100_000)), r"^<text>:3: <replicate> makes 300,000 elements; at most 10,000 are"),
        (world(replicate("1e5")), r"<replicate> makes 300,000 elements"),
        (world(replicate("&#49;00000")), r"<replicate> makes 300,000 elements"),
        (world(f"<frame>{replicate(100_000)}</frame>"), r"<replicate> makes 300,000 elements"),
        (world(f"<!-- a -- b --><body>{replicate(100_000)}</body>"), r"<replicate> makes 300,000 elements"),
        (world(replicate(100_000).replace("<rep", "< rep")), r"<replicate> makes 300,000 elements"),
        (world(replicate(100, replicate(100, replicate(100)))), r"<replicate> makes 30,\d\d\d elements"),
        (world(replicate(1000) * 4), r"<replicate> makes 12,000 elements"),
        (world(replicate(10**9, "")), r"<replicate> makes 1,000,000,000 elements"),
        (
            world("", '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
            r'^<text>:2: <hfield> makes 10,000,000,000 heights \(nrow="100000", ncol="100000"\); at most 25',
        ),
        (
            world("", '<asset><texture builtin="flat" width="1000000" height="1000"/></asset>'),
            r"<texture> makes 1,000,000,000 pixels",
        ),
        (world('<flexcomp count="100 100 100"/>'), r'<flexcomp> makes 1,000,000 elements \(count="100'),
        (world('<composite count="20000 1 1"/>'), r"<composite> makes 20,000 elements"),
        (
            world("", '<asset><mesh builtin="supersphere" params="2000 1 1"/></asset>'),
            r"<mesh> makes 4,000,000 faces",
        ),
        (world('<include file="/etc/x.xml"/>'), r'^<text>:3: <include> names the file "/etc/x\.xml"; a text'),
        (world("", '<asset><model name="x" file="x.xml"/></asset>'), r'<model> names the file "x\.xml"'),
        (world('<flexcomp type="mesh" file="x.obj"/>'), r'<flexcomp> names the file "x\.obj"'),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("not_compiled")
def test_models_that_take_minutes_or_read_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.load(text)


@pytest.mark.usefixtures("not_compiled")
def test_included_files_count_as_what_they_hold(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "many.xml").write_text(f"<mujoco>{BODY * 50}</mujoco>")
    (tmp_path / "parts" / "beside.xml").write_text('<mujoco><include file="many.xml"/></mujoco>')
    for name in ("parts/many.xml", "parts/beside.xml"):
        inside = replicate(200, f'<include file="{name}"/>')
        (tmp_path / "model.xml").write_text(world(inside))
        with pytest.raises(px.PhalanxError, match=r"model\.xml:3: <replicate> makes 30,\d\d\d elements"):
            px.load(tmp_path / "model.xml")


@pytest.mark.usefixtures("not_compiled")
def test_attached_models_count_as_what_they_hold(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(world(BODY * 50))
    asset = '<asset><model name="arm" file="arm.xml"/></asset>'
    (tmp_path / "model.xml").write_text(world(replicate(200, '<attach model="arm" prefix="x"/>'), asset))
    with pytest.raises(px.PhalanxError, match=r"<replicate> makes 30,\d\d\d elements"):
        px.load(tmp_path / "model.xml")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.usefixtures("not_compiled")
def test_a_pipe_is_not_included(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.xml")
    (tmp_path / "model.xml").write_text(world('<include file="pipe.xml"/>'))
    with pytest.raises(
        px.PhalanxError, match=r'model\.xml:3: <include> names "pipe\.xml", which is not a regular'
    ):
        px.load(tmp_path / "model.xml")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_mesh_is_not_read_from_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    os.mkfifo(tmp_path / "meshes" / "pipe.stl")
    asset = '<compiler meshdir="meshes"/><asset><mesh file="pipe.stl"/></asset>'
    (tmp_path / "model.xml").write_text(world(BODY, asset))
    with pytest.raises(px.PhalanxError, match=r'names the file "pipe\.stl", which is not a regular file'):
        px.load(tmp_path / "model.xml")


@pytest.mark.parametrize(
    "text",
    [
        world(replicate(30)),
        world(f"<!-- two -- hyphens -->{BODY}"),
        world(BODY, '<size nkey="2000000" nuserdata="2000000000" nuser_body="3"/>'),
        world(BODY, '<asset><hfield name="h" nrow="20" ncol="30" size="1 1 1 1"/></asset>'),
    ],
)
def test_models_of_a_sensible_size_are_read(text: str) -> None:
    assert px.load(text).nv == (30 if "replicate" in text else 1)


def test_files_that_include_themselves_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.xml").write_text(world('<include file="model.xml"/>'))
    with pytest.raises(px.PhalanxError, match=r"model\.xml: MuJoCo refuses the model: .*include"):
        px.load(tmp_path / "model.xml")


@pytest.mark.parametrize("text", ["<" * 200_000, '<a "' * 100_000, "<a " * 100_000, '<a b="' * 100_000])
def test_broken_tags_end_the_look_at_once(text: str) -> None:
    prescan.check_text(f"<mujoco>{text}", "m.xml")


@pytest.mark.parametrize("nothing", ["", " ", "&#0;", "&#0;1 2 3"])
def test_a_loop_between_nothing_is_refused_before_mujoco_hangs(nothing: str) -> None:
    body = BODY.replace("<body>", '<body name="a">')
    text = world(body).replace(
        "</mujoco>", f'\n<equality><connect body1="a" anchor="{nothing}"/></equality></mujoco>'
    )
    with pytest.raises(
        px.PhalanxError, match=r"^<text>:4: <connect> has the empty attribute anchor; expected"
    ):
        px.load(text)
    assert px.load(world(body)).nv == 1


def test_no_other_model_is_read_after_mujoco_has_failed_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_BROKEN", [])
    with monkeypatch.context() as patch:
        patch.setattr(mujoco.MjSpec, "from_string", fails)
        with pytest.raises(px.PhalanxError, match=r"^<text>: MuJoCo fails on the model: unknown exception"):
            px.load(world(BODY))
    with pytest.raises(px.PhalanxError, match=r"^<text>: MuJoCo has failed inside on <text> and may hang"):
        px.load(world(BODY))


def fails(_: str) -> None:
    raise RuntimeError("unknown exception")
