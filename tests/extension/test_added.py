# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One of each thing that can be added, added here: whatever promises to find it does."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import numpy as np
import pytest

import phalanx as px
from phalanx import cli
from phalanx.algorithms import ALGORITHMS, FUNCTIONS
from phalanx.algorithms.registry import algorithm
from phalanx.backends import base
from phalanx.backends.numpy import NumpyBackend
from phalanx.data import recording as opening
from phalanx.data.formats import npy
from phalanx.export import api
from phalanx.io import loading
from phalanx.program import interpret as interpreter
from phalanx.program import intervals, ops
from phalanx.program.analyses.cost import cost_of
from phalanx.program.analyses.critical_path import chains_of
from phalanx.program.analyses.ranges import ranges
from phalanx.program.builder import Builder, straight
from phalanx.program.graph import Graph
from phalanx.program.ir import Program
from phalanx.program.passes import differentiate
from phalanx.program.rolled import body_graph as looped
from phalanx.robot.description import Description, Joint, Link
from phalanx.robot.model import Model, gravity_twist, joint_kinematics
from phalanx.simulation import integrators
from phalanx.simulation.integrators import INTEGRATORS, Next, integrator
from phalanx.spatial import Array, force_cross, motion_cross
from phalanx.study import machines
from phalanx.study import schedule as scheduling
from phalanx.study.machines import Machine, Times
from phalanx.study.scheduling.list_scheduler import on_shared_memory
from phalanx.study.scheduling.validity import require_valid
from phalanx.sweeps.verbs import accumulate, propagate
from phalanx.typing import Backend as BackendName
from reference.c_library import Library
from reference.sampling import agree
from reference.stepping import distance, reference

ROOT = Path(__file__).parents[2]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a command prints."""
    try:
        status = cli.main(list(arguments))
    except SystemExit as done:  # of --help
        status = int(done.code or 0)
    assert status == 0
    return capsys.readouterr().out


# ------------------------------------------------------------------------ an algorithm


@pytest.fixture(name="toy_algorithm")
def toy_algorithm_() -> Iterator[str]:
    @algorithm("inverse_dynamics", source="Featherstone 2008, Table 5.1, p. 96")
    def toy(
        model: Model, q: Array, qd: Array, qdd: Array, *, external: Array = 0.0,
        base_velocity: Array = None, base_acceleration: Array = 0.0,
    ) -> Array:  # fmt: skip
        X, S, cJ = joint_kinematics(model, q)
        V = propagate(X, S @ qd, root=base_velocity)
        Vd = propagate(
            X, S @ qdd + cJ + motion_cross(V, S @ qd), root=base_acceleration - gravity_twist(model)
        )
        G = model.inertia
        return S.T @ accumulate(X, G @ Vd + force_cross(V, G @ V) - external) + model.armature * qdd

    yield "toy"
    del ALGORITHMS["inverse_dynamics"]["toy"]


def test_an_algorithm(toy_algorithm: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert toy_algorithm in [a.name for a in px.algorithms("inverse_dynamics")]
    for robot, form in ((px.load("panda"), "unrolled"), (px.tree(80, seed=1), "looped")):
        state = robot.random_state(3, rng=0)
        wanted = robot.inverse_dynamics(*state, algorithm="newton_euler", backend="numpy")
        for backend in base.installed():
            found = robot.inverse_dynamics(*state, algorithm=toy_algorithm, backend=backend)  # type: ignore[arg-type]
            agree(found, wanted, 1e-11)
        assert robot.kernel("inverse_dynamics", toy_algorithm).form.startswith(form)
    panda = px.load("panda")
    assert px.cost(panda, "inverse_dynamics", toy_algorithm).total > 0
    assert px.schedule(panda, "inverse_dynamics", toy_algorithm).makespan > 0
    rows = json.loads(printed(capsys, "compare", "two_link", "--function", "inverse_dynamics", "--json"))
    assert toy_algorithm in json.dumps(rows)


# ------------------------------------------------------------------------ an operation


CUBE = "cube"


def cubes() -> Program:
    made = Builder({"x": (1,)}, {"out": (1,)})
    made.store(made.outputs["out"], 0, made.value(CUBE, made.load(made.inputs["x"], 0)))
    return made.finished()


CUBED: dict[str, Any] = {
    "name": CUBE,
    "arity": 1,
    "multiplications": 2,
    "numpy": lambda a: a * a * a,
    "steps": lambda w, a: w.binary("fmul", w.binary("fmul", a, a), a),
    "derivative": lambda y, a: (3.0 * a * a,),
    "interval": lambda a: intervals.Interval(a.low**3, a.high**3),
    "record": lambda graph, a: graph.operation(CUBE, a),
}


@pytest.mark.parametrize("gap", ["arity", "numpy", "steps", "derivative", "interval", "record"])
def test_a_row_with_a_gap_is_no_operation(gap: str) -> None:
    with pytest.raises(TypeError, match=f"'{gap}'"):
        ops.Op(**{name: value for name, value in CUBED.items() if name != gap})


def test_an_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    from phalanx.languages.codegen import Routine
    from phalanx.languages.dialects import c
    from reference.compiled import compiled

    with pytest.raises(TypeError, match="unknown operation on real numbers 'cube'"):
        cubes()
    # A row is all: interpreter, compiled code, languages, derivatives, counts and loops read it.
    monkeypatch.setitem(ops.OPS, CUBE, ops.Op(**CUBED))
    graph = Graph()
    x = graph.input("x", 0)
    node = graph.operation(CUBE, x)
    traced = straight({"x": (1,)}, {"out": (1,)}, [node])
    program = cubes()
    values = np.array([[0.3], [-2.0], [7.5]])
    wanted = values**3
    agree([interpreter.interpret(program, {"x": v})["out"] for v in values], wanted, 1e-15)
    agree(compiled(program, np.float64, fma=True)(values), wanted, 1e-15)
    agree(interpreter.program_on_arrays(traced, {"x": values}), wanted, 1e-15)
    assert "*" in str(Routine("toy", {"x": 1}, {"out": 1}, program, c("double")).body.lines)
    slope = straight({"x": (1,)}, {"out": (1,)}, differentiate.tangents([node], {x.number: 1.0}))
    agree(interpreter.program_on_arrays(slope, {"x": values}), 3.0 * values**2, 1e-15)
    assert differentiate.adjoints([node], [1.0]).keys() == {x.number}
    assert graph.operation(CUBE, 2.0) == 8.0
    assert looped.copied(graph, node, [x]) is node
    assert cost_of(traced).multiplications == 2
    assert ranges(program, {"x": (-2.0, 3.0)}).high["out"] == 27.0
    assert chains_of(program).longest == (2, 0, 0, 0)


# ------------------------------------------------------------------------ a backend


class _Toy(NumpyBackend):
    """NumPy's, under another name."""

    name = "toy"
    calls = 0

    def run(self, *args: Any) -> None:
        type(self).calls += 1
        super().run(*args)


def test_a_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("phalanx.backends.toy")
    module.BACKEND = _Toy()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(base._MODULES, "toy", "toy")
    assert "toy" in base.installed()
    robot = px.load("ur5")
    q, qd, qdd = robot.random_state(2, rng=0)
    inputs = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    for name, f in FUNCTIONS.items():
        more = {"frame": robot.link_names[-1]} if f.frame else {}
        given = [inputs[i] for i in f.inputs]
        found, wanted = (getattr(robot, name)(*given, **more, backend=b) for b in ("toy", "numpy"))
        agree(found, wanted, 0.0)
    assert _Toy.calls == len(FUNCTIONS)
    agree(robot.jvp("mass_matrix", (q,), (qd,), backend="toy"), robot.jvp("mass_matrix", (q,), (qd,)), 1e-12)
    with pytest.raises(px.PhalanxError, match='did you mean "toy"'):
        robot.mass_matrix(q, backend="toyy")  # type: ignore[arg-type]


def test_the_type_of_backends_names_all_of_them() -> None:
    assert set(get_args(BackendName)) == {"auto", *base._MODULES}


# ------------------------------------------------------------------------ an integrator


@pytest.fixture(name="heun")
def heun_() -> Iterator[str]:
    @integrator(order=2, evaluations=2, explicit=True, summary="the mean of two slopes")
    def heun(step: Any) -> Next:
        h = step.h
        first = step.forces(step.time, step.q, step.qd)
        qdd = step.accelerations(step.q, step.qd, first)
        rates = step.rates(step.q, step.qd)
        q, qd = step.q + h * rates, step.qd + h * qdd
        then = step.accelerations(q, qd, step.forces(step.time + h, q, qd))
        ahead = step.rates(q, qd)
        there = step.normalized(step.q + 0.5 * h * (rates + ahead))
        return Next(there, step.qd + 0.5 * h * (qdd + then), first.law, qdd)

    yield "heun"
    del INTEGRATORS["heun"]


def surface() -> Any:
    """`tools/make_surface.py` as a module."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        spec = importlib.util.spec_from_file_location("make_surface", ROOT / "tools" / "make_surface.py")
        assert spec is not None
        assert spec.loader is not None
        tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tool)
    finally:
        sys.path.remove(str(ROOT / "tools"))
    return tool


def test_an_integrator(heun: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = px.tree(3, seed=2, joints=("revolute", "spherical"))
    q, qd, tau = robot.random_state(rng=1)
    end, errors = reference(robot, q, qd, lambda t, q, qd: tau, 0.2), []
    for steps in (40, 80):
        sim = robot.simulation(0.2 / steps, integrator=heun, friction=False, limits=False)
        errors.append(distance(robot, sim.rollout(q, qd, tau, steps=steps, every=steps).final, end))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(INTEGRATORS[heun].order, abs=0.15)
    # Long robots, derivatives, exports.
    long = px.snake(300)
    start = long.random_state(rng=0)[:2]
    assert np.isfinite(long.simulation(1e-4, integrator=heun).rollout(*start, steps=2).q).all()
    A, B = sim.linearize(q, qd, tau)
    assert A.shape == (2 * robot.nv, 2 * robot.nv)
    assert B.shape == (2 * robot.nv, robot.nv)
    library = Library(robot, sim, tmp_path, flags=("-O1",))
    agree(library("step", q, qd, tau, np.zeros(1))[0][0], sim.step(q, qd, tau)[0], 1e-12)
    # Types, docstring, commands, messages.
    text = surface().simulation()
    assert f'"{heun}"' in re.findall(r"Literal\[(.*?)\]", text)[0]
    assert f'"{heun}" (the mean of two slopes)' in " ".join(text.split())
    assert heun in printed(capsys, "simulate", "--help")
    assert heun in printed(capsys, "export", "--help")
    told = json.loads(
        printed(capsys, "simulate", "two_link", "--integrator", heun, "--seconds", "0.1", "--json")
    )
    assert told["integrator"] == heun
    with pytest.raises(px.PhalanxError, match='did you mean "heun"'):
        robot.simulation(integrator="heum")  # type: ignore[arg-type]


def test_the_default_integrator_is_that_of_the_method() -> None:
    assert px.load("two_link").simulation().integrator == integrators.DEFAULT


def test_the_page_lists_all_integrators_with_their_orders() -> None:
    page = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r'^\| `"(\w+)"` \| ([\d.]+) \|', page, re.MULTILINE))
    assert {name: round(float(order)) for name, order in rows.items()} == {
        name: i.order for name, i in INTEGRATORS.items()
    }
    assert set(re.findall(r'^- `"(\w+)"`:', page, re.MULTILINE)) == set(INTEGRATORS)


# ------------------------------------------------------------------------ a language


def test_a_language(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("phalanx.export.toy")
    module.files = lambda request: {request.path.name: " ".join(e.name for e in request.entries)}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(api.FORMATS, ".toy", "toy")
    (path,) = px.load("two_link").export(tmp_path / "arm.toy", ("mass_matrix", "gravity_forces"))
    assert path.read_text() == "mass_matrix gravity_forces"
    assert ".toy" in printed(capsys, "export", "--help")
    printed(capsys, "export", "two_link", "-o", str(tmp_path / "more.toy"))
    assert (tmp_path / "more.toy").is_file()


def test_pages_and_docstring_list_all_suffixes_of_exports() -> None:
    page = (ROOT / "docs" / "howto" / "export.md").read_text(encoding="utf-8")
    for suffix in api.FORMATS:
        assert re.search(rf"`{re.escape(suffix)}`", page), suffix
        assert re.search(rf"{re.escape(suffix)}\b", px.Robot.export.__doc__ or ""), suffix


# ------------------------------------------------------------------------ a file format of robots


def test_a_format_of_robot_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(content: Any, label: str, path: Path | None, strict: bool) -> Description:
        links = (Link("base"), Link("bob", 1.0, (0.0, 0.0, -1.0), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1)))
        return Description("toy", links, (Joint("hinge", "revolute", "base", "bob", axis=(0.0, 1.0, 0.0)),))

    monkeypatch.setitem(loading.READERS, "toy", read)
    file = tmp_path / "arm.xml"
    file.write_text("<toy/>")
    for source in (file, "<toy/>", b"<toy/>"):
        assert px.load(source).joint_names == ("hinge",)
    assert "hinge" in printed(capsys, "info", str(file))


# ------------------------------------------------------------------------ a machine


@dataclass(frozen=True)
class Pair(Machine):
    """Two processors around one memory, the second for what the first has no time for."""

    def __str__(self) -> str:
        return "pair()"


def pair(*, addition: float = 1.0) -> Pair:
    return Pair(Times(addition=addition))


def test_a_machine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    robot = px.load("two_link")
    with pytest.raises(px.PhalanxError, match="a Pair has no links to place tasks on"):
        px.schedule(robot, "inverse_dynamics", machine=pair())
    monkeypatch.setattr(scheduling, "PLACING", dict(scheduling.PLACING))

    @scheduling.placing(Pair)
    def on_pair(graph: Any, machine: Pair) -> Any:
        placed = on_shared_memory(graph, graph.durations(machine.times), 2)
        return scheduling.placed_on(graph, machine, ("first", "second"), placed)

    monkeypatch.setitem(machines.MACHINES, "pair", pair)
    found = require_valid(px.schedule(robot, "inverse_dynamics", machine=pair()))
    same = px.schedule(robot, "inverse_dynamics", machine=px.machines.pram(2), granularity="equation")
    assert found.makespan == same.makespan
    assert "pair" in printed(capsys, "schedule", "--help")
    told = printed(capsys, "schedule", "two_link", "--machine", "pair:addition=2")
    assert "on pair()" in told


def test_every_machine_is_placed_on_and_offered() -> None:
    from phalanx.studio import playback

    for make in machines.MACHINES.values():
        assert any(kind in scheduling.PLACING for kind in type(make()).__mro__)
    assert len(playback.MACHINES) == len(machines.MACHINES)
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for make in machines.MACHINES.values():
        assert f"phalanx.machines.{make.__name__}" in page


# ------------------------------------------------------------------------ a format of recordings


def test_a_format_of_recordings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = ModuleType("phalanx.data.formats.toy")
    module.__dict__.update(open_toy=npy.open_npz, ToyWriter=npy.NpzWriter)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(opening.FORMATS, ".toy", opening.Format("toy", "toy.open_toy", "toy.ToyWriter"))
    robot = px.load("two_link")
    state = dict(zip(("q", "qd", "qdd"), robot.random_state(5, rng=0), strict=True))
    with (tmp_path / "log.toy").open("wb") as file:
        np.savez(file, **state)
    recording = px.data.open(tmp_path / "log.toy", robot, joints="robot")
    px.data.run(recording, "inverse_dynamics", tmp_path / "out.toy")
    with np.load(tmp_path / "out.toy") as made:
        agree(made["inverse_dynamics"], robot.inverse_dynamics(**state), 1e-12)
    with pytest.raises(px.PhalanxError, match=r"expected one of .*\.toy"):
        px.data.run(recording, "inverse_dynamics", tmp_path / "out.boy")


def test_the_page_lists_all_formats_of_recordings() -> None:
    page = (ROOT / "docs" / "howto" / "recordings.md").read_text(encoding="utf-8").lower()
    for known in opening.FORMATS.values():
        assert known.name in page
        assert known.name in (px.data.open.__doc__ or "").lower().replace("hdf5", "hdf5")


# ------------------------------------------------------------------------ laws


def test_a_law() -> None:
    """A function of a user's own is a law; those of the library are in the reference by their `__all__`."""
    robot = px.load("two_link")

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return robot.gravity_forces(q) - 2.0 * qd

    q, qd, _ = robot.random_state(rng=0)
    for name in INTEGRATORS:
        run = robot.simulation(1e-3, integrator=name, control=law).rollout(q, qd, steps=3)  # type: ignore[arg-type]
        assert np.isfinite(run.q).all()
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for module in (px.control, px.contact):
        assert f".. automodule:: {module.__name__}" in page
        assert all(getattr(module, name).__doc__ for name in module.__all__)
