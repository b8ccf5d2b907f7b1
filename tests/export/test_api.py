# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What can be asked of an export, what is refused, and that nothing half-written is left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import phalanx as px
from phalanx.cli import main
from phalanx.export.api import entries
from phalanx.languages.names import identifier
from phalanx.program import lowering
from phalanx.program.trace import trace

ARM = px.load("two_link")


@pytest.mark.parametrize(
    ("path", "more", "message"),
    [
        ("arm.txt", {}, r'"arm\.txt" has the suffix \'\.txt\'.*"\.h"'),
        ("arm", {}, r"has the suffix ''"),
        ("nowhere/arm.h", {}, r"the folder .*nowhere.* is not there; make it first"),
        ("arm.h", {"functions": "inverse_dynamic"}, r'did you mean "inverse_dynamics"'),
        ("arm.h", {"functions": ()}, r"functions is empty"),
        ("arm.h", {"functions": 3}, r"functions is 3, expected names"),
        ("arm.h", {"functions": [None]}, r"None is no function"),
        ("arm.h", {"functions": "jacobian"}, r'jacobian is of a frame; name it, such as "jacobian:link2"'),
        ("arm.h", {"functions": "jacobian:hand"}, r"hand"),
        ("arm.h", {"functions": "mass_matrix+external"}, r"mass_matrix takes no 'external'"),
        ("arm.h", {"functions": "vjp:inverse_dynamics_derivatives"}, r"several results"),
        (
            "arm.h",
            {"functions": ("mass_matrix", "mass_matrix")},
            r'two functions would be called "mass_matrix"',
        ),
        ("arm.h", {"functions": {"a b": "mass_matrix"}}, r"'a b' is no identifier"),
        ("arm.h", {"dtype": "float16"}, r"float16"),
        ("arm.h", {"target": "cortex-m4"}, r"target='cortex-m4'.*use \.o, \.ll, \.ptx or \.v"),
        ("arm.h", {"colour": 1}, r"have no option 'colour'.*\"casadi\", \"cmake\""),
        ("arm.h", {"casadi": True}, r"CasADi loads libraries.*arm\.c"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_nothing_is_written(
    path: str, more: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        ARM.export(tmp_path / path, **more)
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_none_and_one_that_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(px.PhalanxError, match="path is 3, expected the name of a file"):
        ARM.export(3)  # type: ignore[arg-type]
    (tmp_path / "arm.h").mkdir()
    with pytest.raises(px.PhalanxError, match="is a folder"):
        ARM.export(tmp_path / "arm.h")


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "arm.h"
    place.write_text("old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = r'cannot write ".*arm\.h": No space left on device; nothing was changed'
    with pytest.raises(px.PhalanxError, match=message):
        ARM.export(place)
    assert [p.name for p in tmp_path.iterdir()] == ["arm.h"]
    assert place.read_text() == "old"


def test_files_are_written_as_the_user_writes_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", None)  # of the whole process: other threads write files, too
        (made,) = ARM.export(tmp_path / "arm.h")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert made.stat().st_mode & 0o777 == 0o640


def test_a_robot_without_joints_and_a_kernel_of_another_robot(tmp_path: Path) -> None:
    still = ARM.fix(dict.fromkeys(ARM.joint_names, 0.0))
    with pytest.raises(px.PhalanxError, match="nothing to export"):
        still.export(tmp_path / "arm.h", "inverse_dynamics")
    other = px.load("ur5").kernel("mass_matrix")
    with pytest.raises(px.PhalanxError, match='is of robot "ur5", expected one of "two_link"'):
        ARM.export(tmp_path / "arm.h", other)


def test_a_step_of_a_long_robot_is_refused_with_a_remedy(tmp_path: Path) -> None:
    robot = px.chain(300)
    with pytest.raises(px.PhalanxError, match=r"300 bodies.*export forward_dynamics"):
        robot.export(tmp_path / "arm.h", robot.simulation(integrator="euler"))


@pytest.mark.parametrize("value", [1, "yes", None, [True, False]])
def test_options_are_true_or_false(value: Any, tmp_path: Path) -> None:
    for name, option in (("arm.c", "casadi"), ("arm.h", "cmake"), ("arm.cl", "vectors")):
        with pytest.raises(px.PhalanxError, match=f"export: {option} is .*, expected True or False"):
            ARM.export(tmp_path / name, "mass_matrix", **{option: value})
    assert not list(tmp_path.iterdir())


def test_a_target_of_any_kind_is_refused_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(px.PhalanxError, match=r"export: target=.*, which has none"):
        ARM.export(tmp_path / "arm.cu", "mass_matrix", target=10**5000)  # type: ignore[arg-type]


def test_names_of_functions_become_identifiers() -> None:
    made = entries(ARM, ["vjp:forward_dynamics", "jacobian:link2", "inverse_dynamics_derivatives+value"])
    assert [e.name for e in made] == [
        "forward_dynamics_vjp",
        "jacobian_link2",
        "inverse_dynamics_derivatives_value",
    ]
    assert list(made[0].outputs) == ["grad_q", "grad_qd", "grad_tau"]
    assert [identifier(x) for x in ("2 link", "a--b", "double", "é", "__x__")] == [
        "r2_link",
        "a_b",
        "double_",
        "robot",
        "x",
    ]


def test_versions_tell_robots_functions_and_precisions_apart(tmp_path: Path) -> None:
    def version(robot: Any, *functions: Any, **options: Any) -> str:
        (made,) = robot.export(tmp_path / "arm.h", *functions, **options)
        return next(line for line in made.read_text().splitlines() if "_VERSION" in line)

    first = version(ARM)
    assert version(ARM) == first
    others = [version(ARM, "mass_matrix"), version(ARM.replace(gravity=(0, 0, 0)))]
    others.append(version(ARM, ("inverse_dynamics", "forward_dynamics"), dtype="float32"))
    assert len({first, *others}) == 4


def test_the_command_traces_each_function_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[str] = []

    def counting(task: Any, **options: Any) -> Any:
        traced.append(task.algorithm.function)
        return trace(task, **options)

    monkeypatch.setattr(lowering, "trace", counting)
    assert main(["export", "panda", "-o", str(tmp_path / "arm.h")]) == 0
    assert traced == ["inverse_dynamics", "forward_dynamics"]
