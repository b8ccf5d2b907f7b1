# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What pages name in code style exists: modules, files, commands, options, attributes, functions and classes.

Of every span in code style that is not a sample:

- a command `phalanx …` or `make …` is one, and so are its options;
- a path (with a slash or the suffix of our sources) is one of the repository, from any folder on;
- a dotted name of `phalanx`, `px` or something users hold (`robot.`, `sim.`, `kernel.`, …) resolves;
- an attribute of anything else (`Model.carrier`, `report.emit`) is defined in the class, or anywhere;
- an option (`--json`) is one of a command or of a script;
- an identifier, also one that is called, given or quoted (`name(…)`, `name=…`, `"name"`), is defined in the
  sources or the samples of the page, or is a word of Python;
- a name of exported code (`ARM_…`, of a robot in a file arm) consists of words that the exporters write.

Names with a part left open (`<name>_site`, `…_view`) are checked as paths only.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import keyword
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.cli import build_parser

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
MADE = re.compile(r"<!-- table: .*?<!-- end of table -->", re.DOTALL)  # made by docs/make_tables.py
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
SUFFIXES = ("py", "md", "toml", "ll", "js", "json", "png")
OPEN = re.compile(r"[<>…*]")  # names with a part left open
# Words of others in code style.
FOREIGN = {
    "--disable-gil": "of Python's configure",
    "Euler": "an integrator of MuJoCo",
    "Precision": "of JAX",
    "clang": "a program of LLVM",
    "data/demo_0/obs": "a group in files of robomimic",
    "double4": "a type of OpenCL C",
    "eulerdamp": "a flag of MuJoCo",
    "implicitfast": "an integrator of MuJoCo",
    "llc": "a program of LLVM",
    "next_obs": "a group in files of robomimic",
    "pyplot": "of Matplotlib",
    "reg_": "a name in generated Verilog",
    "rich": "a package",
    "tqdm": "a package",
}


def spans(page: Path) -> list[str]:
    """What a page has in code style, samples and tables that are made apart."""
    text = MADE.sub("", FENCED.sub("", page.read_text(encoding="utf-8")))
    return SPAN.findall(text)


# ---------------------------------------------------------------------- what there is


@cache
def files() -> frozenset[str]:
    """All files and folders of the repository, from the root on."""
    skipped = {".git", ".venv", "build", "__pycache__"}
    found = (p.relative_to(ROOT) for p in ROOT.rglob("*"))
    return frozenset(p.as_posix() for p in found if not skipped & set(p.parts))


@cache
def commands() -> dict[str, set[str]]:
    """The commands of `phalanx` with their options."""
    (group,) = [a for a in build_parser()._actions if hasattr(a, "choices") and a.choices]
    assert isinstance(group.choices, dict)
    return {name: {*p._option_string_actions} for name, p in group.choices.items()}


@cache
def targets() -> set[str]:
    return set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


@cache
def defined() -> frozenset[str]:
    """Identifiers of the repository: modules, names defined, parameters, keywords and words used as values.

    Of tests no words: they also speak of what is no more.
    """
    found = {path.rpartition("/")[2].partition(".")[0] for path in files()}
    for folder in ("src", "tests", "tools", "benchmarks", "docs", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found |= {*names_in(tree, words=folder != "tests")}
    extras = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return frozenset(found | set(re.findall(r"^(\w+) = ", extras, re.MULTILINE)))


@cache
def members() -> dict[str, set[str]]:
    """The names in each class of the sources, those of its instances included."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(names_in(node))
    return found


@cache
def options() -> set[str]:
    """The options of all commands and scripts."""
    found = set().union(*commands().values())
    for folder in ("benchmarks", "tests", "tools", "docs", "src"):
        paths = (path for path in (ROOT / folder).rglob("*.py") if path != Path(__file__))
        texts = (path.read_text(encoding="utf-8") for path in paths)
        found |= {x for text in texts for x in re.findall(r"""["'](--[a-z][\w-]*)["']""", text)}
    return found


@cache
def exporters() -> str:
    """All that the modules that export have written, for words of exported names."""
    folders = (ROOT / "src" / "phalanx" / name for name in ("export", "languages"))
    return "".join(path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))


def names_in(tree: ast.AST, *, words: bool = True) -> Iterator[str]:
    """Names that are defined, assigned, imported or asked for; with `words` also those used as values."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=x) | ast.FunctionDef(name=x) | ast.arg(arg=x) | ast.keyword(arg=str(x)):
                yield x
            case ast.Name(id=x, ctx=ast.Store()) | ast.Attribute(attr=x) | ast.alias(name=x):
                yield x
            case ast.Constant(value=str(x)) if words and x.removeprefix(".").isidentifier():
                yield x.removeprefix(".")  # also the ending of a name
            case _:
                pass


# ---------------------------------------------------------------------- what is named


def wrong(page: Path) -> list[str]:
    """The spans of a page that name what is not there."""
    samples = frozenset(re.findall(r"\w+", " ".join(FENCED.findall(page.read_text(encoding="utf-8")))))
    return [span for span in spans(page) if not all(exists(span, samples))]


def exists(span: str, samples: frozenset[str]) -> Iterator[bool]:
    """Whether what a span names exists, name by name; nothing where it names nothing of ours."""
    words = span.split()
    if words[0] in ("phalanx", "make"):
        yield is_command(words)
    elif is_path(span):
        yield span in FOREIGN or path_exists(span)
    elif m := re.fullmatch(r"(--[a-z][\w-]*)( .*)?", span):
        yield m[1] in options() or m[1] in FOREIGN
    elif any(map(is_path, words)):
        yield from (path_exists(word) for word in words if is_path(word))
    elif found := re.findall(r"\b((?:px|phalanx)(?:\.\w+)+)", span):
        yield from (resolves(name) for name in found)
    elif found := re.findall(rf"(?<![\w./])({'|'.join(HELD())})\.([a-z_]\w*)", span):
        yield from (any(has(x, name) for x in HELD()[what]) for what, name in found)
    elif m := re.fullmatch(r"([A-Z][a-z]\w*)\.([a-z_]\w*)(\(.*\))?", span):
        yield m[1] in FOREIGN or m[2] in members().get(m[1], ())
    elif m := re.fullmatch(r"([a-z]\w*)\.([a-z_]\w*)(\(.*\))?", span):
        yield m[1] == "arm" or is_identifier(m[2], samples)
    elif m := re.fullmatch(r"\"?([A-Za-z_]\w*)(\"|\(.*\)|=\S+)?", span):
        variable = m[1].isupper() and "=" in span and not m[1].startswith("PHALANX")  # of other programs
        yield variable or is_identifier(m[1], samples)


def is_command(words: list[str]) -> bool:
    if words[0] == "make":
        return all(w in targets() for w in words[1:] if not OPEN.search(w))
    if len(words) < 2 or words[1].startswith("-"):
        return True
    options = [w.partition("=")[0] for w in words[2:] if re.match(r"--?[a-z]", w)]
    return words[1] in commands() and set(options) <= commands()[words[1]]


def is_path(span: str) -> bool:
    """Whether a span is a path: with the suffix of a source, the end of a folder, or in a folder of ours."""
    if not re.fullmatch(r"[\w.<>…*{},/-]+", span) or span.startswith(("px.", "--", "arm.")):
        return False  # a file arm is the reader's
    if re.search(rf"\w\.(?:{'|'.join(SUFFIXES)})$", span) or (span.endswith("/") and len(span) > 1):
        return True
    first, slash, _ = span.partition("/")
    return bool(slash) and any(path.endswith(f"/{first}") or path == first for path in files())


def path_exists(span: str) -> bool:
    parts = re.escape(span.rstrip("/")).replace(r"\*", "[^/]*").replace("…", ".*")
    wanted = re.compile(rf"(?:.*/)?{re.sub(r'<.*?>', '[^/]*', parts)}")
    return any(wanted.fullmatch(path) for path in files())


def resolves(name: str) -> bool:
    """Whether a dotted name is a module or what one has; after `phalanx`, modules that can be imported so."""
    first, *rest = name.split(".")
    at: Any = px
    for k, part in enumerate(rest):
        try:
            at = importlib.import_module(".".join(["phalanx", *rest[: k + 1]]))
        except ImportError:
            if not has(at, part):
                return False
            at = getattr(at, part)
            if first == "phalanx" and inspect.ismodule(at):
                return False
    return True


@cache
def HELD() -> dict[str, tuple[Any, ...]]:
    """What users hold, by the names that pages have for it."""
    from phalanx.backends.devices.cuda import CudaKernel
    from phalanx.study.scheduling.systolic_run import SystolicRun

    robot = px.chain(2)
    sim = robot.simulation()
    q, qd, _ = robot.random_state(rng=0)
    return {
        "robot": (robot,),
        "sim": (sim,),
        "run": (sim.rollout(q, qd, steps=1), SystolicRun, SystolicRun.__dataclass_fields__),
        "kernel": (robot.kernel("inverse_dynamics"), CudaKernel),
        "cost": (px.cost(robot, "inverse_dynamics"),),
        "schedule": (px.schedule(robot, "inverse_dynamics"),),
        "np": (np,),
    }


def has(at: Any, name: str) -> bool:
    """Whether something has an attribute, which need not be looked up: some import packages."""
    return name in dir(at) or name in dir(type(at)) or (isinstance(at, dict) and name in at)


def is_identifier(name: str, samples: frozenset[str]) -> bool:
    of_entry = re.sub(r"(?<=\w)_?\d+$", "", name)  # q of q_0, link of link1
    if {name, of_entry} & (defined() | samples) or name in FOREIGN or keyword.iskeyword(name):
        return True
    return hasattr(builtins, of_entry) or hasattr(np, name) or is_exported(name)


def is_exported(name: str) -> bool:
    """Whether a name of exported code consists of its file, functions and words that exporters write."""
    file, _, rest = name.lower().partition("_")
    for function in sorted(FUNCTIONS, key=len, reverse=True):
        rest = rest.replace(function, "")
    words = [word for word in rest.split("_") if word]
    return file == "arm" and all(word.upper() in exporters() for word in words)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_exists(page: Path) -> None:
    assert wrong(page) == []


PACKAGES = sorted((ROOT / "src" / "phalanx").rglob("__init__.py"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.parent.relative_to(ROOT / "src").as_posix())
def test_what_the_docstring_of_a_package_names_exists(package: Path) -> None:
    """Its own modules by their names, anything else as on a page."""
    described = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
    own = {path.name.removesuffix(".py") for path in package.parent.iterdir()}
    others = [span for span in SPAN.findall(described) if span.removesuffix(".py").rstrip("/") not in own]
    assert [span for span in others if not all(exists(span, frozenset()))] == []


def test_words_of_others_are_needed() -> None:
    text = "\n".join(span for page in PAGES for span in spans(page))
    assert [word for word in FOREIGN if word not in text] == []


@pytest.mark.parametrize(
    "span",
    [
        "phalanx.machines.channels",
        "px.no_such_name(robot)",
        "px.machines.pramm(4)",
        "robot.inverse_dynamic(q, qd)",
        "sim.rolout(q)",
        "kernel.llvm()",
        "cost.spam",
        "phalanx explode ROBOT",
        "phalanx cost ROBOT --nothing",
        "make nothing",
        "--no-such-option",
        "Model.no_such_attribute",
        "NoSuchClass.carrier",
        "report.no_such_function",
        '"no_such_value"',
        "ARM_NO_SUCH_WORD",
        "python benchmarks/no_such_script.py",
        "study/no_such_module.py",
        "no_such_module.py",
        "src/phalanx/nowhere/",
        "NoSuchClass",
        "no_such_function(x)",
        "no_such_option=3",
    ],
)
def test_what_does_not_exist_is_found(span: str) -> None:
    assert not all(exists(span, frozenset()))


@pytest.mark.parametrize(
    "span",
    [
        "px.machines.pram(4)",
        "phalanx.study.scheduling.networks",
        "robot.inverse_dynamics(q, qd, qdd)",
        "robot.jax",
        "phalanx papers --only arithmetic",
        "make check",
        "robot/robot.py",
        "emit/codegen.py",
        "tests/algorithms/<function>/test_<name>.py",
        "Robot",
        "customise=\"full\"",
        "N/m",
        "(…, n_links, 6)",
        "ARM_FORWARD_DYNAMICS_WORKSPACE",
        "Model.carrier",
        "<name>_site",
    ],
)  # fmt: skip
def test_what_exists_or_is_no_name_is_left_alone(span: str) -> None:
    assert all(exists(span, frozenset()))
