# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Messages are short, whatever was passed by mistake; warnings point at the caller."""

from __future__ import annotations

import linecache
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import dispatch
from phalanx.errors import shown, warn

MANY = np.linspace(0.0, 1.0, 700).reshape(100, 7)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("many", "'many'"),
        (np.float64(2.5), repr(np.float64(2.5))),
        (MANY, "an array of shape (100, 7)"),
        (list(range(1000)), f"{str(list(range(1000)))[:57]}..."),
    ],
)
def test_values_are_shown_on_less_than_a_line(value: Any, text: str) -> None:
    assert shown(value) == text
    assert len(shown(value)) <= 60


MISTAKES: dict[str, Any] = {
    "threads of a method": lambda r: r.inverse_dynamics(MANY, MANY, MANY, threads=MANY),
    "threads of a kernel": lambda r: r.kernel("inverse_dynamics")(MANY, MANY, MANY, threads=MANY),
    "threads of all": lambda r: px.set_threads(MANY),
    "dtype": lambda r: r.kernel("inverse_dynamics", dtype=MANY),
    "frame": lambda r: r.jacobian(MANY, MANY),
    "armature": lambda r: r.replace(armature=MANY),
    "coordinates to fix": lambda r: r.fix({r.joint_names[0]: MANY}),
    "generator": lambda r: r.random_state(rng=MANY),
    "batch": lambda r: r.random_state(MANY),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_arrays_in_the_wrong_place_are_told_by_their_shape(mistake: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        MISTAKES[mistake](px.load("panda"))
    text = str(caught.value)
    assert "expected" in text or "frames: " in text
    assert "0.001" not in text  # none of the numbers
    assert len(text) < 500


# ------------------------------------------------------------------- where warnings point

FLAT = '<inertia ixx="1" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'  # no body is flat in two directions
BODY = f'<inertial><mass value="1"/>{FLAT}</inertial>'
JOINT = '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>{3}</joint>'
UNPHYSICAL = (
    f'<robot name="r"><link name="a"/><link name="b">{BODY}</link>{JOINT.format("j", "a", "b", "")}</robot>'
)
LOST_MIMIC = UNPHYSICAL.replace(FLAT, "").replace("</joint>", '<mimic joint="gone"/></joint>')
TABLE = '{"rows": [{"a": 1.0, "mass": 1.0, "inertia": [1.0, 0.0, 0.0]}]}'
TENDON = """<mujoco><worldbody><body><joint name="h"/><geom size="1" mass="1"/></body></worldbody>
<tendon><fixed name="t"><joint joint="h" coef="1"/></fixed></tendon></mujoco>"""


def built() -> px.Robot:
    builder = px.RobotBuilder()
    builder.add_link("base")
    builder.add_link("link", mass=1.0, inertia=(1.0, 0.0, 0.0))
    builder.add_joint("joint", "revolute", "base", "link")
    return builder.build()


def quiet(function: Any, *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


def saved(path: Path) -> Path:
    """A file of ours with the same flat body."""
    quiet(px.load, path).save(path.with_suffix(".json"))
    return path.with_suffix(".json")


def warned(robot: px.Robot) -> None:
    """A call that warns on its way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "require_invertible", warn)
        robot.forward_dynamics(*robot.random_state(rng=0))  # px.load has made it anew


API_HEAD: dict[str, Any] = {
    "load of a text": lambda path: px.load(UNPHYSICAL),
    "load of a file": lambda path: px.load(path),
    "load of an unknown mimic": lambda path: px.load(LOST_MIMIC),
    "load of MJCF": lambda path: px.load(TENDON),
    "from_dh": lambda path: px.Robot.from_dh([{"a": 1.0, "mass": 1.0, "inertia": [1.0, 0.0, 0.0]}]),
    "with_payload": lambda path: px.load("panda").with_payload("panda_link1", 1.0, inertia=(1.0, 0.0, 0.0)),
    "build": lambda path: built(),
    "load of a table": lambda path: px.load(TABLE),
    "load of a saved robot": lambda path: px.load(saved(path)),
    "load of a description": lambda path: px.load(quiet(px.load, path).description),
    "to_urdf": lambda path: px.load("panda").replace(armature=0.1).to_urdf(),
    "save as URDF": lambda path: px.load("panda").replace(armature=0.1).save(path),
    "a call": lambda path: warned(px.load("two_link")),
}
SILENT: dict[str, Any] = {  # the robot that they change was warned about
    "replace": lambda robot: robot.replace(gravity=(0.0, 0.0, 0.0)),
    "fix": lambda robot: robot.fix({"j": 0.0}),
    "with_floating_base": lambda robot: robot.with_floating_base(),
    "with_payload": lambda robot: robot.with_payload("b", 1.0, inertia=(1.0, 1.0, 1.0)),
    "pickle": lambda robot: pickle.loads(pickle.dumps(robot)),
}


@pytest.mark.parametrize("door", API_HEAD)
def test_warnings_point_at_the_line_of_the_caller(door: str, tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(UNPHYSICAL)
    with pytest.warns(px.PhalanxWarning) as caught:
        API_HEAD[door](path)
    assert {warning.filename for warning in caught} == {__file__}
    line = linecache.getline(__file__, caught[0].lineno)
    assert "px." in line or "builder." in line


@pytest.mark.parametrize("change", SILENT)
def test_a_changed_copy_does_not_repeat_the_warning(change: str) -> None:
    SILENT[change](quiet(px.load, UNPHYSICAL))


def test_all_warnings_go_through_the_function_that_finds_the_line() -> None:
    package = Path(px.__file__).parent
    sources = {file.relative_to(package).as_posix(): file.read_text() for file in package.rglob("*.py")}
    assert [name for name, text in sources.items() if re.search(r"warnings\.warn\w*\(", text)] == [
        "errors.py"
    ]


# ------------------------------------------------------------------- names from files

HOSTILE = 'a\x1b[2J\x07\x9b31m\u202e\u2028\r\n\x00"'


def _described(name: str) -> Any:
    builder = px.RobotBuilder(name)
    builder.add_link("base")
    builder.add_link(name, mass=1.0, inertia=(1.0, 1.0, 5.0))
    builder.add_joint(f"{name} joint", "revolute", "base", name)
    return builder


def test_no_message_hands_control_characters_to_the_terminal() -> None:
    with pytest.warns(px.PhalanxWarning) as warned:
        robot = _described(HOSTILE).build()
    with pytest.raises(px.PhalanxError) as missing:
        robot.jacobian([0.0], "x")
    with pytest.raises(px.PhalanxError) as shape:
        robot.mass_matrix([0.0, 0.0])
    texts = [str(w.message) for w in warned] + [str(missing.value), str(shape.value), repr(robot)]
    texts += [repr(robot.kernel("gravity_forces")), repr(px.schedule(robot, "gravity_forces"))]
    texts += [*str(robot.to_dh()).split("\n")[:1], str(px.accuracy(robot, "gravity_forces"))]
    assert len(texts) == 8
    for text in texts:
        assert text.isprintable()
        assert r"a\x1b[2J\x07" in text


def test_a_message_of_a_million_characters_keeps_its_ends() -> None:
    with pytest.raises(px.PhalanxError) as caught:
        _described("x" * 1_000_000).add_joint("j", "wobbly", "base", "x" * 1_000_000, lower="low" * 1_000_000)
    assert len(str(caught.value)) < 200
    builder = _described("x" * 1_000_000)
    builder.add_link("x" * 1_000_000)
    with pytest.raises(px.PhalanxError) as caught:
        builder.build()
    text = str(caught.value)
    assert text.startswith('robot "xxx')
    assert text.endswith('xxx"; expected unique names. Rename one.')
    assert len(text) <= 1500


def test_errors_survive_pickling_and_keep_what_is_no_text() -> None:
    import pickle

    error = px.PhalanxError("a\x1b", 3)
    assert error.args == ("a\\x1b", 3)
    assert pickle.loads(pickle.dumps(error)).args == error.args


def test_the_nearest_of_many_long_names_is_found_soon() -> None:
    from phalanx.errors import nearest

    names = [f"{'x' * 100_000}{k}" for k in range(100)]
    assert "did you mean" not in nearest("x" * 100_000, names)
    assert len(nearest("x", names)) < 3000
    assert 'did you mean "left_knee"?' in nearest("left_kne", [*names, "left_knee"])


def test_values_that_cannot_be_shown_are_told_by_their_type() -> None:
    class Secret:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shown(Secret()) == "a value of type Secret"
    assert shown(10**5000) == "a value of type int"


# ------------------------------------------------------------------- wrong kinds


def _endless() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


STRANGE: dict[str, Any] = {
    "a list": [1, 2],
    "a list that holds itself": _endless(),
    "an array": np.ones((2, 3)),
    "a very large array": np.broadcast_to(0.0, (2**40, 2)),
    "a mapping": {"a": 1},
    "a set": {1},
    "an object": object(),
    "a whole number without end": 10**5000,
    "bytes": b"x",
}
PLACES: dict[str, Any] = {
    "papers.reproduce": px.papers.reproduce,
    "papers.paper": px.papers.paper,
    "the progress of papers": lambda x: px.papers.reproduce("lathrop", progress=x),
    "joints of a tree": lambda x: px.tree(3, joints=x),
    "branching of a tree": lambda x: px.tree(3, branching=x),
    "links of a chain": px.chain,
    "figures of transputers": lambda x: px.machines.transputers(figures=x),
    "assignment of transputers": lambda x: px.machines.transputers(assignment=x),
    "nodes of systolic machines": lambda x: px.machines.systolic(nodes=x),
    "processors": px.machines.pram,
    "times": lambda x: px.machines.pram(addition=x),
    "function": px.algorithms,
    "function to be counted": lambda x: px.cost(px.load("two_link"), x),
    "algorithm": lambda x: px.load("two_link").mass_matrix([0, 0], algorithm=x),
    "option": lambda x: px.load("two_link").forward_dynamics(*[[0, 0]] * 3, algorithm=("cfa", {"solver": x})),
    "backend": lambda x: px.load("two_link").mass_matrix([0, 0], backend=x),
    "threads": lambda x: px.load("two_link").mass_matrix([0, 0], threads=x),
    "result": lambda x: px.load("two_link").mass_matrix([0, 0], out=x),
    "state": lambda x: px.load("puma560").mass_matrix(x),
    "frame": lambda x: px.load("two_link").frame_pose([0, 0], x),
    "type of numbers": lambda x: px.load("two_link").kernel("mass_matrix", dtype=x),
    "customisation": lambda x: px.cost(px.load("two_link"), "mass_matrix", customise=x),
    "convention": lambda x: px.cost(px.load("two_link"), "mass_matrix", convention=x),
    "granularity": lambda x: px.schedule(px.load("two_link"), "mass_matrix", granularity=x),
    "convention of a schedule": lambda x: px.schedule(px.load("two_link"), "mass_matrix", convention=x),
    "machine": lambda x: px.schedule(px.load("two_link"), "mass_matrix", machine=x),
    "sizes of a formula": lambda x: px.closed_form("mass_matrix", "crba", sizes=x),
    "algorithm of a formula": lambda x: px.closed_form("mass_matrix", x),
    "convention of a formula": lambda x: px.closed_form("mass_matrix", "crba", convention=x),
    "robot to compare": lambda x: px.compare(x, "mass_matrix"),
    "function to compare": lambda x: px.compare(px.load("two_link"), x),
    "batch to recommend for": lambda x: px.recommend(px.load("two_link"), "mass_matrix", x),
    "digits": lambda x: px.accuracy(px.load("two_link"), digits=x),
    "states": lambda x: px.accuracy(px.load("two_link"), states=x),
    "Pinocchio's model": lambda x: px.convert.to_pinocchio(px.load("two_link"), x, [0, 0]),
    "MuJoCo's model": lambda x: px.convert.from_mujoco(px.load("two_link"), x, [0, 0]),
    "robot to convert": lambda x: px.convert.to_mujoco(x, None, [0, 0]),
    "rows of a comparison": lambda x: px.figures.comparison(x),
    "lengths of a figure": lambda x: px.figures.cost_over_n("mass_matrix", lengths=x),
    "processors of a figure": lambda x: px.figures.speedup_over_processors(
        px.load("two_link"), "mass_matrix", processors=x
    ),
    "place of a chart": lambda x: px.schedule(px.load("two_link"), "mass_matrix").plot(x),
    "place of a trace": lambda x: px.schedule(px.load("two_link"), "mass_matrix").to_trace(x),
    "DH rows": px.Robot.from_dh,
    "DH numbers": lambda x: px.Robot.from_dh([{"a": x}]),
    "DH vectors": lambda x: px.Robot.from_dh([{"com": x}]),
    "DH inertias": lambda x: px.Robot.from_dh([{"inertia": x}]),
    "base of a DH table": lambda x: px.Robot.from_dh([{"a": 1}], base=x),
    "angles of a DH table": lambda x: px.Robot.from_dh([{"a": 1}], angles=x),
    "seed": lambda x: px.load("two_link").random_state(rng=x),
    "name": lambda x: px.load("two_link").replace(name=x),
    "mimic": lambda x: px.load("two_link", mimic=x),
    "source": px.load,
}
SERVED = {  # what these places can make something of
    "seed": ("a list", "a whole number without end"),
    "threads": ("a whole number without end",),  # a bound, and more than enough
    "processors of a figure": ("a list",),
    "lengths of a figure": ("a list",),
    "place of a trace": ("bytes",),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", STRANGE)
def test_wrong_kinds_are_refused_in_our_words(
    place: str, kind: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind in SERVED.get(place, ()):
        return
    monkeypatch.chdir(tmp_path)
    with pytest.raises(px.PhalanxError) as caught:
        PLACES[place](STRANGE[kind])
    assert len(str(caught.value)) < 800
    assert not list(tmp_path.iterdir())


def test_huge_axes_are_directions_like_others() -> None:
    def matrix(size: float) -> Any:
        builder = px.RobotBuilder()
        builder.add_link("a")
        builder.add_link("b", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 2.0, 2.5))
        builder.add_joint("j", "universal", "a", "b", axis=(size, size, 0), axis2=(0, -size, size))
        return builder.build().mass_matrix([0.3, 0.4], backend="numpy")

    np.testing.assert_allclose(matrix(1e300), matrix(1.0), rtol=1e-14)
