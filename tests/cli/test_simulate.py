# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx simulate`: what it computes, prints, saves and refuses."""

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.cli import main, simulated_motion

LAW = """
import numpy as np

def law(t, q, qd, u, robot):
    return robot.gravity_forces(q) + 20.0 * (u - q) - 3.0 * qd

def push(t, q, qd, u, robot):
    return np.ones(2)
"""


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["simulate", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_summary_fits_and_tells_what_was_simulated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["simulate", "panda", "--seconds", "0.2", "--hold"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "panda, held at its start: one simulation of 0.2 s" in text
    assert "200 steps of 1 ms, implicit, float64" in text
    assert all(name in text for name in px.load("panda").joint_names)
    for word in ("steps a second", "energy", "diverged", "limits"):
        assert word in text


def test_the_middle_of_a_long_robot_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "snake:130", "--seconds", "0.002"]) == 0
    text = capsys.readouterr().out
    assert "… 110 more (--json)" in text
    assert "joint9 " in text
    assert "joint60 " not in text
    assert "joint129 " in text


def test_it_is_the_rollout_of_the_same_simulation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.npz"
    facts = report(
        capsys, "two_link", "--drop", "--seconds", "0.5", "--integrator", "euler", "--save", str(file)
    )
    robot = px.load("two_link")
    run = robot.simulation(dt=1e-3, integrator="euler").rollout(
        robot.neutral(), np.zeros(2), steps=500, every=10
    )
    with np.load(file) as saved:
        assert saved["q"].shape == (1, 51, 2)
        assert np.array_equal(saved["q"][0, 1:], run.q)  # in pieces or not
        assert np.array_equal(saved["qd"][0, 1:], run.qd)
        np.testing.assert_allclose(saved["time"][1:], run.time)
        energy = robot.kinetic_energy(saved["q"], saved["qd"]) + robot.potential_energy(saved["q"])
        np.testing.assert_allclose(saved["energy"], energy, atol=1e-12)
        assert not saved["diverged"].any()
    assert facts["steps"] == 500
    assert facts["what"] == "drop"
    assert facts["coordinates"][0]["end"][0] == pytest.approx(run.q[-1, 0])


def test_a_robot_that_is_held_stays(capsys: pytest.CaptureFixture[str]) -> None:
    facts = report(capsys, "panda", "--hold", "--pose", "panda_joint2=0.4,panda_joint4=-1.5")
    assert facts["diverged"] == []
    assert facts["limits"] == []
    for name, value in (("panda_joint2", 0.4), ("panda_joint4", -1.5)):
        [row] = [c for c in facts["coordinates"] if c["name"] == name]
        assert row["start"] == [value, value]
        assert row["range"] == pytest.approx([value, value], abs=1e-6)


def test_many_random_starts_are_those_of_the_seed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    facts = report(capsys, "panda", "--batch", "20", "--seed", "3", "--seconds", "0.05", "--save", str(file))
    q, qd, _ = px.load("panda").random_state(20, rng=np.random.default_rng(3))
    with np.load(file) as saved:
        np.testing.assert_array_equal(saved["q"][:, 0], q)
        np.testing.assert_array_equal(saved["qd"][:, 0], qd)
    assert facts["batch"] == 20
    assert facts["steps_per_second"] == pytest.approx(20 * 50 / facts["compute_seconds"])


def test_a_law_in_a_file_drives_the_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "law.py"
    file.write_text(LAW)
    facts = report(capsys, "two_link", "--control", str(file), "--seconds", "3", "--pose", "joint1=0.5")
    assert facts["what"] == "control"
    start = [c["start"][0] for c in facts["coordinates"]]
    assert start[0] == 0.5
    assert [c["end"][0] for c in facts["coordinates"]] == pytest.approx(start, abs=1e-3)
    pushed = report(capsys, "two_link", "--control", f"{file}:push", "--seconds", "0.5")
    assert pushed["coordinates"][1]["end"][0] != pytest.approx(0.0, abs=1e-2)


def test_limits_that_are_reached_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    facts = report(capsys, "panda", "--drop", "--pose", "panda_joint2=1.7", "--seconds", "0.5")
    assert any(row["joint"] == "panda_joint2" and row["limit"] == "upper" for row in facts["limits"])
    free = report(capsys, "panda", "--drop", "--pose", "panda_joint2=1.7", "--no-limits", "--seconds", "0.5")
    most = [max(row["beyond"] for row in x["limits"] if row["limit"] == "upper") for x in (facts, free)]
    assert most[1] > 2 * most[0]


def test_energy_of_an_undamped_arm_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    facts = report(capsys, "two_link", "--drop", "--integrator", "rk4")
    assert facts["energy"]["relative"] < 1e-6


def test_a_floating_robot_lands_on_its_feet(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    builder = px.RobotBuilder("table")
    builder.add_link("top", mass=4.0, inertia=(0.1, 0.1, 0.2))
    for k, (x, y) in enumerate(((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))):
        builder.add_link(f"leg{k}", mass=0.2, com=(0, 0, -0.15), inertia=(0.002, 0.002, 1e-4))
        builder.add_joint(f"hip{k}", "revolute", "top", f"leg{k}", origin=(x, y, 0), axis=(0, 1, 0))
        builder.add_frame(f"foot{k}", f"leg{k}", (0.0, 0.0, -0.3))
    file = tmp_path / "table.json"
    builder.build().save(file)
    feet = [f"foot{k}" for k in range(4)]
    facts = report(
        capsys,
        str(file),
        "--floating-base",
        "--hold",
        "--seconds",
        "3",
        "--bandwidth",
        "20",
        "--ground",
        *feet,
    )
    height = facts["coordinates"][2]
    assert height["start"][0] == pytest.approx(0.32)
    assert height["end"][0] == pytest.approx(0.295, abs=0.01)
    fallen = report(capsys, str(file), "--floating-base", "--seconds", "1", "--height", "1.0")
    assert fallen["coordinates"][2]["end"][0] == pytest.approx(1.0 - 0.5 * 9.81, abs=0.01)


def test_pictures_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="draws the picture")
    for more in ([], ["--batch", "12"]):
        file = tmp_path / f"run{len(more)}.png"
        report(capsys, "two_link", "--seconds", "0.3", "--plot", str(file), *more)
        assert file.read_bytes().startswith(b"\x89PNG")


def test_a_rollout_in_pieces_is_the_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    runs = []
    for least in (1, 1 << 40):
        monkeypatch.setattr(simulated_motion, "_LEAST", least)
        file = tmp_path / "run.npz"
        assert main(["simulate", "two_link", "--seconds", "0.37", "--batch", "3", "--save", str(file)]) == 0
        with np.load(file) as saved:
            runs.append({name: saved[name] for name in ("time", "q", "qd", "tau", "energy")})
    for name in runs[0]:
        np.testing.assert_array_equal(runs[0][name], runs[1][name])


def test_a_file_is_saved_whole_or_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.npz"
    file.write_bytes(b"old")

    def full(target: Any, **arrays: Any) -> None:
        with contextlib.nullcontext(target) if hasattr(target, "write") else open(target, "wb") as opened:
            opened.write(b"half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(np, "savez_compressed", full)
        assert main(["simulate", "two_link", "--seconds", "0.01", "--save", str(file)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]
    assert file.read_bytes() == b"old"


def test_the_command_integrates_as_the_method_does(capsys: pytest.CaptureFixture[str]) -> None:
    """Unless told otherwise."""
    assert px.load("two_link").simulation().integrator == "implicit"
    assert report(capsys, "two_link", "--drop", "--seconds", "0.01")["integrator"] == "implicit"


@pytest.mark.filterwarnings("default::phalanx.PhalanxWarning")
def test_simulations_that_diverge_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "law.py"
    file.write_text("def law(t, q, qd, u, robot):\n    return 1e4 * q * q * q\n")
    more = ["--control", str(file), "--integrator", "euler", "--batch", "4", "--no-limits"]
    facts = report(capsys, "two_link", *more, "--dt", "0.05", "--seconds", "20")
    assert facts["diverged"] == [0, 1, 2, 3]
    assert facts["energy"]["largest_change"] is None
    assert facts["coordinates"][0]["end"] == [None, None]
    assert main(["simulate", "two_link", *more, "--dt", "0.05", "--seconds", "20"]) == 0
    out, err = capsys.readouterr()
    assert "diverged  4 of 4: 0, 1, 2, 3" in out
    assert err.count('4 of 4 simulations of robot "two_link" diverged') == 1


BAD_LAWS = {
    "syntax.py": ("def law(:", "syntax.py:1: SyntaxError"),
    "raises.py": ("\nx = 1 / 0", "raises.py:2: ZeroDivisionError"),
    "empty.py": ("x = 1", "no function law"),
    "shape.py": ("def law(t, q, qd, u, robot):\n    return q[:1]", "shape"),
    "branch.py": ("def law(t, q, qd, u, robot):\n    return q if q[0] > 0 else -q", "branch.py"),
}


@pytest.mark.parametrize("name", BAD_LAWS)
def test_bad_laws_are_refused_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = BAD_LAWS[name]
    (tmp_path / name).write_text(text)
    assert main(["simulate", "two_link", "--control", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["two_link", "--dt", "0"], "above 0"),
        (["two_link", "--seconds", "-1"], "above 0"),
        (["two_link", "--batch", "0"], "at least 1"),
        (["two_link", "--integrator", "leapfrog"], "leapfrog"),
        (["two_link", "--hold", "--drop"], "not allowed with"),
        (["two_link", "--pose", "knee=1"], "knee"),
        (["two_link", "--pose", "joint1"], "joint=value"),
        (["two_link", "--pose", "joint1=far"], "expected a number"),
        (["two_link", "--height", "1"], "floating-base"),
        (["two_link", "--friction", "0.5"], "--friction: needs --ground"),
        (["two_link", "--friction", "-1", "--ground", "link2"], "friction"),
        (["two_link", "--bandwidth", "3"], "--bandwidth: needs --hold"),
        (["two_link", "--ground", "toe"], "toe"),
        (["two_link", "--control", "nowhere.py"], "no file"),
        (["two_link", "--save", "run.csv"], ".npz"),
        (["two_link", "--save", "nowhere/run.npz"], "no folder"),
        (["two_link", "--plot", "run.doc"], ".png"),
        (["no_such_robot"], "no_such_robot"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["simulate", *arguments])
    except SystemExit as left:
        status = left.code
    assert status == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
