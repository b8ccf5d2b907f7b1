# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The pages: every sample runs as it stands, every command exists, and the site builds without network."""

import ast
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import phalanx as px
from phalanx.cli import build_parser
from reference import opencl_device

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
RUNNER = Path(__file__).parent / "run_samples.py"
# Commands whose arguments only are checked; tests run them elsewhere.
SLOW = ("compare", "papers", "report", "studio")
MISSING = 77  # the runner's exit status where a sample needs a package that is not installed


@dataclass(frozen=True)
class Block:
    """A sample of a page: its language, its text and the line where it starts."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """All samples of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text[: m.start(2)].count("\n") + 1) for m in BLOCK.finditer(text)]


def commands(page: Path) -> list[str]:
    """The commands of a page: lines of shell samples, prompts and comments taken off."""
    shell = [block.text for block in blocks(page) if block.language in ("console", "sh")]
    lines = [line for text in shell for line in text.replace("\\\n", " ").splitlines()]
    typed = [
        line.removeprefix("$ ") for line in lines if line.startswith(("$ ", "phalanx ", "make ", "pip "))
    ]
    return [line.split("  #")[0].strip() for line in typed]


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def run(*command: str | Path, folder: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    """A finished process, in a folder of its own and without a display."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "COLUMNS": "80", **extra}
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=folder,
        env=environment,
    )


WITH_SAMPLES = [page for page in PAGES if any(b.language == "python" for b in blocks(page)) or commands(page)]


@pytest.mark.parametrize("page", WITH_SAMPLES, ids=name)
def test_samples_of_a_page_run_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    """Python first, in one process; then the commands, which find the files that it wrote."""
    if page.name == "opencl.md" and (reason := opencl_device.missing()):
        pytest.skip(reason)
    samples = [(b.line, b.text) for b in blocks(page) if b.language == "python"]
    (tmp_path / "samples.json").write_text(json.dumps({"page": name(page), "samples": samples}))
    done = run(sys.executable, RUNNER, "samples.json", folder=tmp_path)
    if done.returncode == MISSING:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    for line in commands(page):
        words = shlex.split(line.split(" | ")[0])
        if words[0] == "phalanx" and words[1] not in SLOW:
            done = run(sys.executable, "-m", *words, folder=tmp_path)
            assert done.returncode == 0, f"{name(page)}: {line}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_of_a_page_exist(page: Path) -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for line in commands(page):
        words = shlex.split(line.split(" | ")[0])
        if words[0] == "make":
            assert set(words[1:]) <= set(targets), line
        elif words[0] == "pip":
            extras = re.findall(r"\[(.*?)\]", line)
            assert {e for text in extras for e in text.split(",")} <= set(project["optional-dependencies"]), (
                line
            )
        else:
            assert words[0] == "phalanx", f"{name(page)}: nobody checks {line!r}"
            build_parser().parse_args(words[1:])


def test_extras_are_installed_from_a_clone_and_the_sentence_stands_once() -> None:
    texts = {name(page): page.read_text(encoding="utf-8") for page in PAGES}
    assert [page for page, text in texts.items() if re.search(r"""install ['"]?phalanx""", text)] == []
    assert [page for page, text in texts.items() if re.search(r"""install ['"]?\.\[""", text)] == [
        "README.md"
    ]
    sources = (ROOT / "src").rglob("*.py")
    named = [path for path in sources if re.search(r"""phalanx\[[a-z{]""", path.read_text(encoding="utf-8"))]
    assert named == [], "errors.installing says how to get an extra"


def test_extras_that_messages_name_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"""installing\(['"](\w+)['"]\)""", texts))
    assert {"viz", "studio", "accuracy"} <= named <= set(project["optional-dependencies"])


def test_samples_are_python_or_shell_or_output() -> None:
    """A sample in another language would not be checked by anyone."""
    known = {
        "python",
        "console",
        "sh",
        "text",
        "toml",
        "xml",
        "c",
        "js",
    }  # of C and JavaScript see tests/export/
    assert {b.language for page in PAGES for b in blocks(page)} <= known


def test_every_public_name_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    missing = [n for n in px.__all__ if not re.search(rf"(?:phalanx|px)\.{n}\b", reference)]
    assert not missing


def test_every_example_is_on_the_page_of_examples() -> None:
    shown = re.findall(
        r"literalinclude\} \.\./\.\./(.*)", (ROOT / "docs/howto/examples.md").read_text("utf-8")
    )
    assert shown == [name(file) for file in sorted((ROOT / "examples").glob("*.py"))]


def test_every_benchmark_asks_a_question_and_names_its_machine() -> None:
    """The first paragraph of its docstring ends with a question; it prints `machine.conditions()`."""
    scripts = [p for p in (ROOT / "benchmarks").glob("*.py") if "__main__" in p.read_text(encoding="utf-8")]
    assert len(scripts) > 20
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        asked = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
        assert "?" in asked, script.name
        assert "conditions()" in text, script.name


def test_every_page_is_reached_from_the_index() -> None:
    """Sphinx would say so too; this needs no Sphinx."""
    listed = set()
    for index in (ROOT / "docs").rglob("*.md"):
        for block in re.findall(r"```\{toctree\}\n(.*?)```", index.read_text(encoding="utf-8"), re.DOTALL):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            if ":glob:" in block:
                listed |= {p for entry in entries for p in index.parent.glob(entry + ".md")}
            else:
                names = [re.sub(r".*<(.*)>", r"\1", entry) for entry in entries]
                listed |= {index.parent / ("index.md" if n == "self" else n + ".md") for n in names}
    pages = set((ROOT / "docs").rglob("*.md"))
    assert pages - listed == set()
    assert listed - pages == set()


def test_the_site_builds_without_network_and_without_warnings(tmp_path: Path) -> None:
    for package in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(package, reason="extra `docs` not installed")
    offline = (
        "import socket, sys\n"
        "def refuse(*_): raise OSError('no network while building')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from sphinx.cmd.build import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = run(sys.executable, "-c", offline, "-W", "-q", ROOT / "docs", tmp_path / "site", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "papers/lathrop.html" in index
    # Nothing on the pages is fetched from elsewhere when they are read, either.
    outside = re.compile(r'<(?:script|link|img)[^>]*(?:src|href)="https?://')
    assert not [p.name for p in (tmp_path / "site").rglob("*.html") if outside.search(p.read_text("utf-8"))]


def test_the_readme_names_where_versions_of_python_were_run() -> None:
    """Those that classifiers name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert named[0] == project["requires-python"].removeprefix(">=")
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("What was run where")[2]
    for version in named:
        assert re.search(rf"\b{re.escape(version)}\b", table), version
    assert ("Free Threading" in "".join(project["classifiers"])) == ("3.14t" in table)
