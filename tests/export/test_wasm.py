# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""WebAssembly in Node: bits of kernels without fused multiply-adds, and errors that say what was wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.export.api import Request, entries
from phalanx.export.wasm import linked
from reference.kernels import arguments, robot, same_bits
from reference.node import called, node
from reference.unfused import unfused

CHAIN = px.chain(70, seed=2)


def exported(r: px.Robot, functions: Any, folder: Path, dtype: Any = "float64") -> list[str]:
    return [path.name for path in r.export(folder / "arm.wasm", functions, dtype=dtype)]


@pytest.mark.parametrize(
    ("name", "function", "dtype"),
    [
        ("panda", "inverse_dynamics", "float64"),
        ("mixed", "forward_dynamics", "float32"),
        ("floating", "forward_kinematics", "float64"),
        ("chain", "forward_dynamics", "float64"),
        ("chain", "mass_matrix", "float32"),
    ],
)
def test_bits_are_those_of_kernels_without_fused_multiply_adds(
    name: str, function: str, dtype: str, tmp_path: Path
) -> None:
    r = CHAIN if name == "chain" else robot(name)
    assert exported(r, function, tmp_path, dtype) == ["arm.wasm", "arm.mjs"]
    inputs = arguments(r, function, 5, dtype)
    inputs[0][0, -1] = 1.5  # not of the C library's sine, which may differ in the last place
    inputs[0][1] = np.nan
    (entry,) = entries(r, function)
    wanted = unfused(r, function, inputs)
    for results in called(tmp_path, entry.name, dict(zip(entry.inputs, inputs, strict=True)), entry.outputs):
        same_bits(*results.values(), wanted)


def test_large_angles_turn_without_a_c_library(tmp_path: Path) -> None:
    r = robot("panda")
    exported(r, "gravity_forces", tmp_path)
    q = np.array([[0.1, x, 0.2, -x, 0.3, 1.0, 0.0] for x in (1e5, 1e5 + 1, 1e9, 1e22, 1e300)])
    (one, many) = called(tmp_path, "gravity_forces", {"q": q}, {"result": (7,)})
    np.testing.assert_allclose(one["result"], r.gravity_forces(q), rtol=1e-11, atol=1e-11)
    same_bits(one["result"], many["result"])


def test_several_results_come_by_name_and_a_step_of_a_simulation_is_a_function(tmp_path: Path) -> None:
    r = robot("panda")
    sim = r.simulation(2e-3, integrator="implicit")
    functions = ("inverse_dynamics_derivatives", sim)
    exported(r, functions, tmp_path)
    q, qd, qdd = r.random_state(3, rng=4)
    made = entries(r, functions)
    given = [{"q": q, "qd": qd, "qdd": qdd}, {"q": q, "qd": qd, "u": qdd, "time": np.zeros((3, 1))}]
    wanted = [r.inverse_dynamics_derivatives(q, qd, qdd), sim.step(q, qd, qdd)]
    for entry, inputs, right in zip(made, given, wanted, strict=True):
        for results in called(tmp_path, entry.name, inputs, entry.outputs):
            for result, each in zip(results.values(), right, strict=True):
                np.testing.assert_allclose(result, each, rtol=1e-9, atol=1e-10)


def test_the_module_imports_nothing_and_the_script_tells_what_it_is(tmp_path: Path) -> None:
    r = robot("ur5")
    functions = ("inverse_dynamics", f"jacobian:{r.frame_names[-1]}")
    exported(r, functions, tmp_path, "float32")
    told = json.loads(
        node(
            """
import { readFileSync } from "node:fs";
import { info, load } from "./arm.mjs";
const module = new WebAssembly.Module(readFileSync("arm.wasm"));
const arm = await load(readFileSync("arm.wasm"));
console.log(JSON.stringify({ imports: WebAssembly.Module.imports(module), info, same: arm.info === info,
  exports: WebAssembly.Module.exports(module).map((e) => e.name), again: !!(await load(module)) }));
""",
            tmp_path,
        )
    )
    request = Request(r, entries(r, functions), tmp_path / "arm.wasm", np.dtype("float32"))
    assert told["imports"] == []
    assert told["same"]
    assert told["again"]
    assert told["exports"][:2] == ["memory", "__heap_base"]
    info = told["info"]
    assert info["version"] == request.version
    assert (info["name"], info["nq"], info["dtype"]) == ("ur5", 6, "float32")
    assert info["jointNames"] == list(r.joint_names)
    assert info["limits"]["lower"] == r.limits.lower.tolist()
    assert info["functions"]["inverse_dynamics"]["inputs"] == {"q": [6], "qd": [6], "qdd": [6]}


def test_calls_that_cannot_be_served_say_what_was_wrong(tmp_path: Path) -> None:
    exported(robot("two_link"), "inverse_dynamics", tmp_path)
    printed = node(
        """
import { load } from "./arm.mjs";
const arm = await load();
const x = new Float64Array(4);
const tries = [
  () => arm.inverse_dynamics(x, x),
  () => arm.inverse_dynamics(new Float64Array(3), x, x),
  () => arm.inverse_dynamics(x, new Float64Array(2), x),
  () => arm.inverse_dynamics(x, x, 7),
  () => arm.inverse_dynamics(x, x, x, new Float32Array(4)),
  () => arm.inverse_dynamics(x, x, x, new Float64Array(2)),
  () => arm.rows("mass_matrix"),
  () => arm.rows("inverse_dynamics", -1),
  () => load(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])),
];
for (const attempt of tries) {
  try { await attempt(); console.log("nothing"); } catch (e) { console.log(`${e.name}: ${e.message}`); }
}
""",
        tmp_path,
    )
    assert printed.splitlines() == [
        "TypeError: inverse_dynamics: got 2 arguments, expected q, qd, qdd.",
        "RangeError: inverse_dynamics: q has 3 numbers, expected 2 for each state.",
        "RangeError: inverse_dynamics: qd has 1 states of 2 numbers, q has 2.",
        "TypeError: inverse_dynamics: qdd is Number, expected Float64Array.",
        "TypeError: inverse_dynamics: the array for tau is Float32Array of 4 numbers, "
        "expected Float64Array of 4 numbers.",
        "TypeError: inverse_dynamics: the array for tau is Float64Array of 2 numbers, "
        "expected Float64Array of 4 numbers.",
        'RangeError: rows: unknown function "mass_matrix"; known: inverse_dynamics.',
        "RangeError: rows: count is -1, expected 0, 1, 2, …",
        printed.splitlines()[-1],
    ]
    assert "the module has version undefined, expected" in printed.splitlines()[-1]


def test_rows_stay_where_they_are_while_memory_grows_and_large_batches_go_in_parts(tmp_path: Path) -> None:
    exported(robot("two_link"), "inverse_dynamics", tmp_path)
    printed = node(
        """
import { load } from "./arm.mjs";
const arm = await load();
const rows = arm.rows("inverse_dynamics", 3);
rows.q.set([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
rows.qd.fill(0.5);
rows.qdd.fill(-1);
rows.run();
const n = 200000;
const q = Float64Array.from({ length: 2 * n }, (_, k) => rows.q[k % 6]);
const qd = new Array(2 * n).fill(0.5), qdd = new Float64Array(2 * n).fill(-1), tau = new Float64Array(2 * n);
console.log(arm.inverse_dynamics(q, qd, qdd, tau) === tau);
console.log(tau.every((x, k) => x === rows.tau[k % 6]));
rows.run();
console.log(rows.tau.every((x, k) => x === tau[k]), rows.count, arm.inverse_dynamics([], [], []).length);
""",
        tmp_path,
    )
    assert printed.splitlines() == ["true", "true", "true 3 0"]


def test_the_sample_of_the_page_runs(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "howto" / "object_code.md"
    sample = page.read_text(encoding="utf-8").split("```js\n")[1].split("```")[0]
    r = robot("panda")
    exported(r, ("inverse_dynamics", "gravity_forces", r.simulation(1e-3)), tmp_path)
    given = "const [q, qd, qdd, u] = [0.1, 0.2, 0.3, 0.4].map((x) => new Float64Array(7).fill(x));\n"
    shown = "console.log(JSON.stringify([[...tau], [...next.next_q], info.nq]));\n"
    tau, q, nq = json.loads(node(f"{sample.replace('const arm', given + 'const arm', 1)}{shown}", tmp_path))
    rows = [np.full(7, x) for x in (0.1, 0.2, 0.3)]
    np.testing.assert_allclose(tau, r.inverse_dynamics(*rows), rtol=1e-12)
    np.testing.assert_allclose(q, r.simulation(1e-3).step(rows[0], rows[1], np.full(7, 0.4))[0], rtol=1e-12)
    assert nq == 7


def test_names_that_a_page_or_a_string_would_not_bear_are_escaped(tmp_path: Path) -> None:
    r = robot("two_link").replace(name='</script>\n"arm\u2028')
    r.export(tmp_path / "arm.wasm", "mass_matrix")
    text = (tmp_path / "arm.mjs").read_text()
    assert "</script" not in text
    printed = node('import { info } from "./arm.mjs"; console.log(JSON.stringify(info.name));', tmp_path)
    assert json.loads(printed) == r.name


def test_code_that_calls_outside_is_refused() -> None:
    from phalanx.backends.native.compile import object_code
    from phalanx.backends.native.targets import WASM, machine

    text = """declare double @exp(double)
define double @f(double %x) {
  %y = call double @exp(double %x)
  ret double %y
}"""
    code = object_code(text, machine(WASM, np.dtype("float64")))
    with pytest.raises(px.PhalanxError, match='would call "exp", which no browser has'):
        linked(code)


def test_a_function_may_not_hide_what_a_robot_has_in_javascript(tmp_path: Path) -> None:
    with pytest.raises(px.PhalanxError, match='a member "rows" already'):
        robot("two_link").export(tmp_path / "arm.wasm", {"rows": "mass_matrix"})
    with pytest.raises(px.PhalanxError, match="target='x86-64'"):
        robot("two_link").export(tmp_path / "arm.wasm", target="x86-64")
    assert list(tmp_path.iterdir()) == []
