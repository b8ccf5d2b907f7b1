# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What editors, checkers and `help` are told: every function as it can be called, from one source."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pydoc
from pathlib import Path
from typing import Any

import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.backends.base import installed

ROOT = Path(__file__).parents[1]
SIZES = {"q": "nq", "v": "nv", "l": "n_links"}
ROBOT = px.load("ur5")
FRAME = ROBOT.link_names[-1]


def kernel(function: str) -> px.Kernel:
    return ROBOT.kernel(function, frame=FRAME if FUNCTIONS[function].frame else None)


def declared(method: Any) -> dict[str, Any]:
    """Parameters by name with their defaults; each has a type, and so has the result."""
    signature = inspect.signature(method)
    assert signature.return_annotation is not signature.empty
    assert all(p.annotation is not p.empty for p in signature.parameters.values())
    return {p.name: p.default for p in signature.parameters.values()}


def keyword_only(method: Any) -> list[str]:
    return [p.name for p in inspect.signature(method).parameters.values() if p.kind is p.KEYWORD_ONLY]


def test_the_declarations_follow_the_registered_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    spec = importlib.util.spec_from_file_location("make_surface", ROOT / "tools" / "make_surface.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    stale = [path.name for path, text in tool.texts().items() if path.read_text(encoding="utf-8") != text]
    assert not stale, f"run `python tools/make_surface.py`: {stale} say something else"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_methods_and_kernels_have_the_same_names_and_defaults(function: str) -> None:
    f = FUNCTIONS[function]
    told, of_kernel = declared(getattr(ROBOT, function)), declared(kernel(function))
    frame = ["frame"] * f.frame
    last = [*["value"] * bool(f.value), "out", "algorithm", "backend", "threads"]
    assert list(told) == [*f.inputs, *frame, *f.optional, *f.choices, *last]
    assert list(of_kernel) == [*f.inputs, *f.optional, "out", "threads"]
    assert keyword_only(kernel(function)) == [*f.optional, "out", "threads"]
    assert {name: told[name] for name in of_kernel} == of_kernel
    assert {name: told[name] for name in f.choices} == {name: known[0] for name, known in f.choices.items()}
    bound = declared(kernel(function).bind)
    assert list(bound) == [*f.inputs, "out", *f.optional, "threads"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_help_gives_the_shape_of_every_input(function: str) -> None:
    f = FUNCTIONS[function]
    places = [getattr(ROBOT, function), kernel(function).__call__, getattr(px.Robot, function)]
    if "jax" in installed():
        places.append(getattr(ROBOT.jax, function))
    if importlib.util.find_spec("torch") is not None:
        places.append(getattr(ROBOT.torch, function))
    for place in places:
        text = pydoc.plain(pydoc.render_doc(place))
        for name, symbols in (f.inputs | f.optional).items():
            assert f"`{name}` (…, {', '.join(SIZES.get(s, s) for s in symbols)}): " in text
        assert function in text or "__call__" in text


TOP = """
    DistributedChain Kernel OwnFunction PhalanxError PhalanxWarning Robot RobotBuilder Simulation accuracy
    algorithms chain closed_form compare constraint contact control convert cost data figures generators
    load machines math papers recommend report robots schedule set_threads snake speedup target tree
    visuals
"""
OF_ROBOTS = """
    aba actuated armature attach bias_forces center_of_mass center_of_mass_acceleration
    center_of_mass_jacobian center_of_mass_velocity centroidal_momentum centroidal_momentum_matrix
    centroidal_momentum_time_variation close_loops configurations constrained_dynamics
    constrained_dynamics_derivatives constrained_inverse_dynamics constraint_bias constraint_error
    constraint_jacobian constraint_rank constraints coriolis_matrix coupling crba damping depth
    description difference digest distances expand export fix forward_dynamics forward_dynamics_derivatives
    forward_kinematics frame frame_acceleration frame_names frame_pose frame_poses frame_velocity frames
    friction from_dh function gravity gravity_forces hvp impulse_dynamics inertial_parameters integrate
    inverse_dynamics inverse_dynamics_derivatives inverse_kinematics inverse_kinematics_derivatives
    is_coupled is_serial jacobian jacobian_time_derivative jax joint_names joint_types jvp kernel
    kinematic_hessian kinetic_energy left_out limits link_masses link_names loops mass_matrix
    mass_matrix_inverse merge mimics n_links name neutral normalize nq nv operational_space_inertia
    parents potential_energy q_slices random_state reachable regressor remove replace reroot rnea save
    simulation spring_reference stiffness subtree to_dh to_urdf torch total_mass track v_slices vjp
    with_actuation with_configuration with_constraint with_floating_base with_frame with_payload
    with_srdf wrenches
"""


def test_dir_shows_what_users_may_call_and_nothing_else() -> None:
    assert dir(px) == TOP.split()
    assert dir(ROBOT) == OF_ROBOTS.split()
    assert dir(px.load("two_link")) == dir(ROBOT)  # whatever has been asked for so far
    for name in TOP.split():
        assert inspect.getdoc(getattr(px, name)), name
        public = getattr(px, name)
        if inspect.ismodule(public):
            assert dir(public) == sorted(public.__all__), name
    generators = px.generators.__all__
    assert generators == ["chain", "coil", "dill", "snake", "tree"]
    for name in generators:
        assert isinstance(getattr(px.generators, name)(3), px.Robot)
    for name in ("coil", "dill"):
        assert not hasattr(px, name)


OPTIONS_BY_NAME = {
    "simulation": ["dt"],
    "kernel": ["function", "algorithm", "dtype"],
    "export": ["path", "functions"],
    "jvp": ["function", "primals", "tangents"],
    "vjp": ["function", "primals", "cotangent"],
    "hvp": ["function", "primals", "cotangent", "tangents"],
}


def test_options_are_given_by_name() -> None:
    for name, first in OPTIONS_BY_NAME.items():
        found = inspect.signature(getattr(ROBOT, name)).parameters.values()
        assert [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD] == first, name
    for name in ("rollout", "step", "linearize", "bind"):
        found = inspect.signature(getattr(px.Simulation, name)).parameters.values()
        plain = [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert plain == ["self", "q", "qd", "controls"], name
    for name, told in (("jvp", "tangents"), ("vjp", "cotangents")):
        found = inspect.signature(getattr(px.Simulation, name)).parameters.values()
        assert [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD] == ["self", "primals", told]


def test_the_other_names_are_the_same_methods() -> None:
    assert px.Robot.rnea is px.Robot.inverse_dynamics
    assert px.Robot.crba is px.Robot.mass_matrix
    assert px.Robot.aba is px.Robot.forward_dynamics


def test_functions_on_jax_tell_their_parameters() -> None:
    pytest.importorskip("jax", reason="jax is an optional package")
    for name, f in FUNCTIONS.items():
        frame = ["frame"] * f.frame
        told = declared(getattr(ROBOT.jax, name))
        last = ["algorithm", "schedule", "parameters", "derivatives"]
        assert list(told) == [*f.inputs, *frame, *f.optional, *f.choices, *last]
        if not f.frame and len(f.outputs) == 1:  # others have no derivatives there
            assert list(declared(getattr(ROBOT.jax.native, name))) == list(f.inputs)


def test_functions_on_torch_tell_their_parameters() -> None:
    pytest.importorskip("torch", reason="PyTorch is an optional package")
    for name, f in FUNCTIONS.items():
        frame = ["frame"] * f.frame
        told = declared(getattr(ROBOT.torch, name))
        assert list(told) == [*f.inputs, *frame, *f.optional, *f.choices, "algorithm", "threads"]


def public() -> list[tuple[str, Any]]:
    """Everything under `px` that can be called, and the public methods of its classes."""
    found: list[tuple[str, Any]] = []
    rooms: list[tuple[str, Any]] = [("px", px)]
    rooms += [(f"px.{name}", getattr(px, name)) for name in ("convert", "figures", "machines", "papers")]
    for room, module in rooms:
        own = [n for n, t in vars(module).items() if getattr(t, "__module__", "") == module.__name__]
        for name in getattr(module, "__all__", [n for n in own if n[0] != "_"]):
            thing = getattr(module, name)
            if inspect.isclass(thing):
                found += [(f"{room}.{name}.{n}", method) for n, method in methods(thing)]
            elif callable(thing):
                found.append((f"{room}.{name}", thing))
    return found


def methods(kind: type) -> list[tuple[str, Any]]:
    """The public methods of a class that are our own."""
    theirs = dir(Exception)
    pairs = [(name, getattr(kind, name)) for name in dir(kind) if name[0] != "_" and name not in theirs]
    return [(name, thing) for name, thing in pairs if inspect.isfunction(thing) or inspect.ismethod(thing)]


@pytest.mark.parametrize(("name", "thing"), public(), ids=[name for name, _ in public()])
def test_everything_public_has_types_and_a_docstring(name: str, thing: Any) -> None:
    assert inspect.getdoc(thing), name
    signature = inspect.signature(thing)
    bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name != "self"]
    assert not bare, f"{name}: {bare} without types"
    assert signature.return_annotation is not signature.empty, name


@pytest.mark.parametrize(
    "name",
    [
        *("constraint", "contact", "control", "convert", "figures"),
        *("generators", "machines", "math", "papers", "target"),
    ],
)
def test_public_modules_are_imported_under_their_public_names(name: str) -> None:
    module = getattr(px, name)
    spec = module.__spec__
    assert importlib.import_module(f"phalanx.{name}") is module
    assert module.__spec__ is spec
    assert spec.name == module.__name__


def test_what_is_no_module_is_not_imported_as_one() -> None:
    for name in ("load", "Kernel", "nothing"):
        with pytest.raises(ModuleNotFoundError, match=f"No module named 'phalanx.{name}'"):
            importlib.import_module(f"phalanx.{name}")
