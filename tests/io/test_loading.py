# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Everything that may come into `px.load`: sources that work, and one clear error for each that does not."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import phalanx as px

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0" rpy="0 0 0"/><mass value="1.5"/>'
    '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>'
)
JOINT = (
    '<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>'
    '<origin xyz="0 0 0.3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>'
    '<limit lower="-2" upper="2" effort="10" velocity="3"/></joint>'
)
SHOULDER = '<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/></joint>'
LINKS = f'<link name="base"/><link name="upper">{INERTIAL}</link><link name="lower">{INERTIAL}</link>'
ARM = f'<robot name="arm">\n{LINKS}\n{SHOULDER}\n{JOINT}\n</robot>'


def test_all_kinds_of_sources_give_the_same_robot(tmp_path: Path) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    with path.open("rb") as binary, path.open() as text:
        sources = [
            path,
            str(path),
            ARM,
            ARM.encode(),
            f"  {ARM}",
            io.StringIO(ARM),
            io.BytesIO(ARM.encode()),
            binary,
            text,
        ]
        robots = [px.load(source) for source in sources]
    assert all(robot == robots[0] for robot in robots)
    assert robots[0].joint_names == ("shoulder", "elbow")
    assert px.load(robots[0].description) == robots[0]


def test_options_change_the_robot() -> None:
    robot = px.load(ARM, gravity=(0, 0, -1.6), floating_base=True)
    assert robot.gravity.tolist() == [0.0, 0.0, -1.6]
    assert robot.link_names == ("base", "upper", "lower")
    assert px.load("panda", floating_base=True).nv == px.load("panda").nv + 6


CHANGES = [
    ("<robot", "<rabbit", "not well-formed XML (mismatched tag)"),
    ("</robot>", "", "<text>"),
    ('link="upper"/><child', 'link="uper"/><child', 'joint "elbow" has the unknown parent link "uper"'),
    ('<child link="lower"/>', '<child link="low"/>', 'joint "elbow" has the unknown child link "low"'),
    ('<link name="lower">', '<link name="upper">', 'two links are named "upper"; expected unique names'),
    ('name="elbow"', 'name="shoulder"', 'two joints are named "shoulder"; expected unique names'),
    (JOINT, "", '2 root links ("base", "lower"); expected one'),
    ('<parent link="base"/>', '<parent link="lower"/>', "the links form a cycle"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', "expected a direction. Give it a non-zero axis"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1"/>', "expected"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 nan 0"/>', "nan"),
    ('type="revolute"', 'type="wobbly"', "wobbly"),
    ('<mass value="1.5"/>', '<mass value="-1.5"/>', "negative mass -1.5"),
    ('<mass value="1.5"/>', '<mass value="nan"/>', "nan"),
    ('<mass value="1.5"/>', '<mass value="heavy"/>', "heavy"),
    ('ixx="0.1"', 'ixx="inf"', "inf"),
    ('xyz="0 0 0.3"', 'xyz="0 0 x"', "0 0 x"),
    ('lower="-2"', 'lower="low"', "low"),
]


@pytest.mark.parametrize(
    ("old", "new", "message"), CHANGES, ids=[f"{o[:14]}-{n[:14]}" for o, n, _ in CHANGES]
)
def test_a_broken_urdf_gives_one_clear_error(old: str, new: str, message: str) -> None:
    broken = ARM.replace(old, new, 1)
    assert broken != ARM
    with pytest.raises(px.PhalanxError, match=re.escape(message)) as caught:
        px.load(broken)
    assert caught.value.__cause__ is None
    assert "\n" not in str(caught.value)


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><robot name="&c;"><link name="a"/></robot>'
)
SOURCES: list[tuple[Any, str]] = [
    (
        "no/such/file.urdf",
        r'load: cannot read "no/such/file.urdf": no such file. Expected a file, a built-in name',
    ),
    (Path("arm.urdf"), 'cannot read "arm.urdf": no such file'),
    ("/", 'cannot read "/": Is a directory'),
    ("", "cannot read"),
    ("pandaa", 'no built-in robot "pandaa"; did you mean "panda"'),
    ("a" * 5000, "cannot read .*: File name too long|no built-in robot"),
    ("a" * 5000 + ".urdf", "cannot read .*: File name too long"),
    ("a\0b.urdf", r"load: the path 'a\\x00b.urdf' holds a null character, which no file name can"),
    ("a\ud800b.urdf", "holds a lone surrogate, which no file name can"),
    (Path("a\ud800b"), "holds a lone surrogate, which no file name can"),
    ("UR5", 'no built-in robot "UR5"; did you mean "ur5"'),
    ("Panda", 'no built-in robot "Panda"; did you mean "panda"'),
    ("~/no/such.urdf", 'cannot read "/.*/no/such.urdf": no such file'),
    (3, "load: got int, expected a path, a file object, a text or a built-in name"),
    (None, "load: got NoneType, expected a path"),
    ("<robot", "<text>"),
    ("<html><body/></html>", "html"),
    (ARM.encode() + b"\n\0\0", "<text>:6: null bytes stand after the end of the document.*Remove them"),
    (ARM + "\0", "<text>:5: null bytes stand after the end of the document"),
    *(
        (
            f'<?xml version="1.0" encoding="{name}"?>{ARM}'.encode(),
            "the file declares an encoding that cannot",
        )
        for name in ("utf-7", "gb2312", "shift_jis", "utf-32", "idna", "punycode", "undefined", "rot13", "x")
    ),
    ('{"rows": [{"a": ' + "9" * 5000 + "}]}", "<text>: neither XML nor JSON: Exceeds the limit"),
    ("[[row]]\na = " + "9" * 5000, "<text>: neither XML nor TOML: Exceeds the limit"),
    ('{"rows": [{"a": 1' + "0" * 400 + "}]}", 'row 1: "a" is .*; expected a finite number'),
    ('{"rows": [{"lower": 1' + "0" * 400 + "}]}", 'row 1: "lower" is .*; expected a number'),
    (BOMB, "<text>:1: the file declares a document type or an entity"),
    ("{", "<text>: neither XML nor JSON"),
    ("[[1, 2]", "<text>: neither XML nor TOML"),
    (b"\x00\xff\xfe", "neither XML nor"),
    ("name = 1\n", "<text>"),
    ("{}", "<text>"),
    (io.StringIO(""), "<file object>"),
    (SimpleNamespace(read=lambda: 5), "<file object>: reading gave int, expected text or bytes"),
    (io.TextIOWrapper(io.BytesIO(b"<robot \xff/>"), "utf-8"), "cannot read the file object: 'utf-8' codec"),
    ('<robot name="\ud800"/>', "<text>: not text"),
]


@pytest.mark.parametrize(("source", "message"), SOURCES, ids=[repr(s)[:24] for s, _ in SOURCES])
def test_a_source_that_is_no_robot_is_refused(source: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.load(source)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "arm.urdf"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero", "/dev/stdin" if not os.path.isfile("/dev/stdin") else "/dev/zero"):
        with pytest.raises(px.PhalanxError, match="not a regular file but a pipe or a device"):
            px.load(path)


def test_a_file_beyond_any_robot_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phalanx.files.LARGEST", 2**20)
    path = tmp_path / "arm.urdf"
    with path.open("wb") as file:
        file.truncate(2**20 + 1)
    with pytest.raises(px.PhalanxError, match="larger than 1 MiB, which no robot file is"):
        px.load(path)


def test_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "arm.urdf").write_text(ARM)
    assert px.load("~/arm.urdf").joint_names == ("shoulder", "elbow")
    assert px.load(Path("~/arm.urdf")).joint_names == ("shoulder", "elbow")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"mimic": "coupld"},
            'load: mimic=\'coupld\'; did you mean "coupled"? choices: "coupled", "independent".',
        ),
        ({"mimic": ["coupled"]}, "load: mimic=['coupled'];"),
        ({"gravity": (0, 0)}, "load: gravity: got shape (2,), expected three numbers."),
        ({"gravity": "down"}, "load: gravity: got 'down', expected three numbers."),
        ({"gravity": (0, 0, np.nan)}, "gravity = nan; expected finite numbers."),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        px.load(ARM, **options)
    assert message in str(caught.value)


def test_unphysical_inertias_warn_once_or_are_refused() -> None:
    thin = ARM.replace('ixx="0.1"', 'ixx="0.3"', 1)
    with pytest.warns(
        px.PhalanxWarning, match=r'^<text>: 1 link has an inertia .*"upper": triangle .* 0.1 kg m2'
    ) as caught:
        px.load(thin)
    assert len(caught) == 1
    with pytest.raises(px.PhalanxError, match=r'"upper": triangle.*Correct them, or leave out strict=True'):
        px.load(thin, strict=True)


VALUES = st.sampled_from(
    [
        "",
        " ",
        "nan",
        "-inf",
        "1e400",
        "-1",
        "0",
        "0 0 0",
        "1 2",
        "1e-320 0 0",
        "x",
        "upper",
        "é",
        "0x10",
        "1_0",
        "fixed",
        "floating",
        "planar",
    ]
)


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, 10**6), VALUES), min_size=1, max_size=3), st.integers(0, 3 * len(ARM))
)
@pytest.mark.filterwarnings("ignore::phalanx.PhalanxWarning")
def test_whatever_stands_in_a_urdf_gives_a_robot_or_one_error(edits: list[tuple[int, str]], cut: int) -> None:
    text = ARM
    for place, value in edits:
        spans = [m.span(1) for m in re.finditer(r'="([^"]*)"', text)]
        start, stop = spans[place % len(spans)]
        text = text[:start] + value + text[stop:]
    text = text[:cut] + text[cut + 1 :]
    robot = loaded_or_refused(text)
    assert robot is None or np.isfinite(robot.neutral()).all()


def loaded_or_refused(text: str) -> px.Robot | None:
    """The robot, or None after the one error that is allowed."""
    try:
        return px.load(text)
    except px.PhalanxError as error:
        refusal = error
    assert str(refusal).startswith(("<text>", "load: "))
    assert refusal.__cause__ is None
    return None


TOML = """
name = "two"
convention = "standard"

[[row]]
a = 1.0
mass = 1.0
com = [-0.5, 0, 0]
inertia = [0.1, 0.1, 0.1]
"""


@settings(max_examples=150)
@given(
    st.integers(0, len(TOML)),
    st.integers(0, 4),
    st.sampled_from(["", "nan", '"x"', "[1]", "-1", "{}", "\n", "=", "\0", "true", "1e999"]),
)
@pytest.mark.filterwarnings("ignore::phalanx.PhalanxWarning")
def test_whatever_stands_in_a_table_gives_a_robot_or_one_error(place: int, width: int, value: str) -> None:
    assert px.load(TOML).nv == 1
    text = TOML[:place] + value + TOML[place + width :]
    robot = loaded_or_refused(text)
    assert robot is None or robot.nv <= 1


def test_a_urdf_without_any_inertia_warns_once() -> None:
    bare = ARM.replace(INERTIAL, "")
    with pytest.warns(px.PhalanxWarning, match=r"^<text>: no link has a mass or an inertia") as caught:
        robot = px.load(bare)
    assert len(caught) == 1
    assert not robot.inverse_dynamics(*robot.random_state(rng=0)).any()
    px.load(ARM.replace(INERTIAL, "", 1))  # one is enough
    px.load('<robot name="r"><link name="base"/></robot>')  # and nothing moves here


def test_other_objects_of_mujoco_are_no_robots() -> None:
    mujoco = pytest.importorskip("mujoco", reason="its objects are refused")
    with pytest.raises(px.PhalanxError, match="load: got MjOption of MuJoCo, expected a MjModel or a MjSpec"):
        px.load(mujoco.MjOption())


def test_what_is_no_path_is_refused_when_saving() -> None:
    with pytest.raises(px.PhalanxError, match=r"^save: got int, expected a path"):
        px.chain(2).save(3)
