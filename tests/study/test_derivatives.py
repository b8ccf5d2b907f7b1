# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives and quantities of motion are counted, placed on processors, compared and printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import phalanx as px
from phalanx.cli import main

FUNCTIONS = {
    "inverse_dynamics_derivatives": None,
    "forward_dynamics_derivatives": None,
    "coriolis_matrix": None,
    "regressor": None,
    "centroidal_momentum": None,
    "centroidal_momentum_matrix": None,
    "frame_velocity": "tool0",
    "frame_acceleration": "tool0",
    "jacobian_time_derivative": "tool0",
    "kinematic_hessian": "tool0",
}
ROBOT = px.load("ur5")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_counted_and_placed(function: str) -> None:
    frame = FUNCTIONS[function]
    cost = px.cost(ROBOT, function, frame=frame)
    kernel: Any = px.Robot.kernel
    assert cost.total == kernel(ROBOT, function, frame=frame).cost.total
    assert 0 < cost.span.total < cost.total
    assert sum(cost.width) == cost.total
    one, eight = (
        px.schedule(ROBOT, function, machine=px.machines.pram(p), frame=frame).makespan for p in (1, 8)
    )
    assert one == cost.total
    assert max(cost.span.total, cost.total / 8) <= eight < one


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_compared_in_print(
    function: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    frame = FUNCTIONS[function]
    chosen = ["ur5", "--function", function, *(["--frame", frame] if frame else [])]
    assert main(["compare", *chosen, "--batch", "16"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert all(entry.name in text for entry in px.algorithms(function))
    for command in ("cost", "schedule"):
        assert main([command, *chosen]) == 0
        text = capsys.readouterr().out
        assert max(map(len, text.splitlines())) <= 80
        assert f"{px.cost(ROBOT, function, frame=frame).total:,}" in text


def test_both_texts_of_inverse_dynamics_are_compared(tmp_path: Path) -> None:
    rows = {r.algorithm: r for r in px.compare(ROBOT, "inverse_dynamics_derivatives", batch=16)}
    assert set(rows) == {"idsva", "carpentier_mansard"}
    assert rows["idsva"].chosen
    assert all(r.error < 1e-14 for r in rows.values())
    least, other = (rows[name].cost for name in ("idsva", "carpentier_mansard"))
    assert least is not None
    assert other is not None
    assert least.total < other.total


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "kinetic_energy"])
def test_products_cost_a_few_times_the_function(function: str) -> None:
    own = px.cost(ROBOT, function).total
    jvp, vjp, hvp = (px.cost(ROBOT, function, derivative=mode).total for mode in ("jvp", "vjp", "hvp"))
    assert own < jvp <= 3 * own
    assert own < vjp <= 3 * own
    assert vjp < hvp <= 9 * own
    alone = px.schedule(ROBOT, function, machine=px.machines.pram(1), derivative="vjp")
    assert alone.makespan == vjp
    assert alone.graph.title.startswith(f"{function}.vjp of ur5 by ")


def test_products_are_counted_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "ur5", "--function", "forward_dynamics", "--derivative", "vjp", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["function"] == "forward_dynamics.vjp"
    assert told["total"] == px.cost(ROBOT, "forward_dynamics", derivative="vjp").total
    assert main(["schedule", "ur5", "--derivative", "jvp"]) == 0
    assert "inverse_dynamics.jvp of ur5" in capsys.readouterr().out


def test_the_frame_is_that_of_the_last_link_unless_named(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for more in ([], ["--frame", "wrist_3_link"], ["--frame", "shoulder_link"]):
        assert main(["cost", "ur5", "--function", "jacobian_time_derivative", "--json", *more]) == 0
        told.append(json.loads(capsys.readouterr().out)["total"])
    assert told[0] == told[1] != told[2]


def test_wrong_choices_say_what_was_expected(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong, message in (
        ({"derivative": "gradient"}, r"cost: derivative='gradient'; derivatives: .*jvp.*vjp.*hvp"),
        ({"derivative": "vjp", "customise": "none"}, 'expected customise="full"'),
    ):
        with pytest.raises(px.PhalanxError, match=message):
            px.cost(ROBOT, "inverse_dynamics", **wrong)  # type: ignore[arg-type]
    with pytest.raises(px.PhalanxError, match="has several results"):
        px.cost(ROBOT, "inverse_dynamics_derivatives", derivative="vjp")
    with pytest.raises(px.PhalanxError, match="got frame='tool0', but takes none"):
        px.compare(ROBOT, "centroidal_momentum", frame="tool0")
    assert main(["cost", "ur5", "--derivative", "vjp", "--formula"]) == 2
    assert "no formula in n is implemented for inverse_dynamics.vjp" in capsys.readouterr().err
