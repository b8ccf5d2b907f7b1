# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What editors, checkers and `help` are told: every function as it can be called, from one source."""

from __future__ import annotations

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
    assert list(bound) == [*f.inputs, "out", *f.optional]


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
