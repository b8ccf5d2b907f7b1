# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which figures stand in README.md and docs/performance.md? Measured in one run, written between their markers.

    python benchmarks/readme_tables.py [--seconds 2] [--print] [--from FOLDER]

It runs `peers.py`, `derivatives.py`, `one_state.py` (AVX-512 and AVX2, where the processor has both), `partition.py`,
`limits.py` and `threads.py` one after another on an otherwise idle machine, some ten minutes, and redraws
docs/peers.png. `--print` shows the tables and changes no page; `--from` reads the JSON files of an earlier run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import conditions

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "performance.md")
DYNAMICS = ("inverse_dynamics", "forward_dynamics")
SEVERAL_AXES = {
    "a floating base": ["--floating-base"],
    "spherical": ["--joints", "spherical"],
    "spherical, revolute and prismatic": ["--joints", "spherical", "revolute", "prismatic"],
}
LABELS = {
    "ur5": "UR5",
    "panda": "Panda without fingers",
    "talos": "Talos reduced",
    "anymal (floating)": "ANYmal, floating",
    "solo12 (floating)": "Solo 12, floating",
}

Results = dict[str, Any]


# ------------------------------------------------------------------------ measuring


def run(script: str, folder: Path, name: str, *options: str, **environment: str) -> None:
    """Run a benchmark, its figures in FOLDER/NAME.json."""
    command = [sys.executable, str(Path(__file__).with_name(script)), *options]
    print(
        "$", " ".join([f"{k}={v}" for k, v in environment.items()] + command[1:]), file=sys.stderr, flush=True
    )
    subprocess.run(
        [*command, "--json", str(folder / f"{name}.json")],
        check=True,
        stdout=sys.stderr,
        env={**os.environ, **environment},
    )


def measure(folder: Path, seconds: str) -> None:
    """Fill a folder with the figures of all scripts."""
    (folder / "conditions.json").write_text(json.dumps(conditions()), encoding="utf-8")
    robots = ("ur5", "panda", "talos", "anymal", "solo12", "chain200")
    picture = str(ROOT / "docs" / "peers.png")
    run("peers.py", folder, "peers", "--seconds", seconds, "--plot", picture, "--robots", *robots)
    run("derivatives.py", folder, "derivatives", "--seconds", seconds)
    for level in ("avx512", "avx2"):
        run("one_state.py", folder, f"one_state_{level}", PHALANX_CPU=level)
    for k, options in enumerate(SEVERAL_AXES.values()):
        run("partition.py", folder, f"partition_{k}", "--rounds", "60", *options)
    run("limits.py", folder, "limits")
    run("threads.py", folder, "threads", "--batches", "4096", "8192", "16384", "65536")


def read(folder: Path) -> Results:
    """The figures of a folder, by the names of their files."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}


# ------------------------------------------------------------------------ tables


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return (
        "\n".join("| " + " | ".join(line) + " |" for line in lines)
        .replace("| --- ", "|---")
        .replace("--- |", "---|")
    )


def short(number: float) -> str:
    """Three digits, thousands separated."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def label(row: Results) -> str:
    name = LABELS.get(row["robot"])
    return f"{name} ({row['nv']})" if name else f"chain of {row['nv']} links"


def named(robot: str) -> str:
    """The name of a robot as people write it."""
    return next(
        (name for key, name in LABELS.items() if key.partition(" ")[0] == robot.partition(" ")[0]), robot
    )


def readme(found: Results) -> str:
    """The first table of the README."""
    rows = []
    for robot in ("ur5", "panda", "talos", "chain"):
        row = next(r for r in found["peers"]["batch"] if r["robot"].startswith(robot))
        ours, theirs = ([row["ns"][f][engine] for f in DYNAMICS] for engine in ("phalanx", "pinocchio"))
        units = [f"{x / 1e3:.2g} µs" if x >= 1000 else f"{x:.0f} ns" for x in ours]
        times = " and ".join(f"{b / a:.0f}" for a, b in zip(ours, theirs, strict=True))
        rows.append([f"{label(row)}, a batch of {row['batch']}", *units, f"{times} times"])
    one = found["peers"]["one_state_us"]["panda"]
    times = " and ".join(f"{one[f]['pinocchio'] / one[f]['bound']:.0f}" for f in DYNAMICS)
    cells = [f"{one[f]['bound']:.2f} µs" for f in DYNAMICS]
    rows.append(["Panda, one state from Python, bound arrays", *cells, f"{times} times"])
    peer = f"against Pinocchio {'.'.join(found['peers']['pinocchio'].split('.')[:2])}"
    return table(["one core, float64, per state", "inverse dynamics", "forward dynamics", peer], rows)


def peers(found: Results) -> str:
    """Nanoseconds of a state in a batch, and times Pinocchio."""
    functions = (*DYNAMICS, "mass_matrix")
    rows = []
    for row in found["peers"]["batch"]:
        cells = [
            f"{short(ns['phalanx'])}, {ns['pinocchio'] / ns['phalanx']:.0f} times"
            for ns in (row["ns"][f] for f in functions)
        ]
        rows.append([label(row), *cells])
    return table(["robot", *(f.replace("_", " ") for f in functions)], rows)


def one_state_from_python(found: Results) -> str:
    """Microseconds of a call with one state."""
    one = found["peers"]["one_state_us"]["panda"]
    names = {
        "pinocchio": "Pinocchio",
        "kernel": "kernel",
        "method": "method of the robot",
        "bound": "bound kernel",
    }
    rows = [[names[k], *(f"{one[f][k]:.2f}" for f in DYNAMICS)] for k in names]
    return table(["Panda, one state from Python, µs", *(f.replace("_", " ") for f in DYNAMICS)], rows)


def derivatives(found: Results) -> str:
    """Matrices of derivatives beside Pinocchio, `vjp` beside its function, and compile times."""
    rows = []
    for name, robot in found["derivatives"]["robots"].items():
        matrices = [
            f"{short(r['ns']['phalanx'])}, {r['ns']['pinocchio'] / r['ns']['phalanx']:.0f} times"
            for r in robot["matrices"]
        ]
        products = " and ".join(f"{r['ns']['vjp'] / r['ns']['function']:.1f}" for r in robot["products"])
        compiling = " and ".join(f"{r['compile']:.1f}" for r in robot["matrices"])
        rows.append([named(name), *matrices[:2], products, f"{compiling} s"])
    head = ["robot", "of inverse dynamics", "of forward dynamics", "`vjp`, times its function", "compiling"]
    return table(head, rows)


def one_chain(found: Results) -> str:
    """One state of one chain: what lanes gain."""
    rows = []
    for function, serial in (("inverse_dynamics", ""), ("forward_dynamics", ""), ("mass_matrix", "")):
        for level in ("avx512", "avx2"):
            seconds = found[f"one_state_{level}"]["seconds"]
            by_link = [
                k
                for k in seconds
                if k.startswith(f"{function}, ") and not re.search("one state|fresh|full", k)
            ]
            full = [k for k in seconds if k.startswith(f"{function}, ") and k.endswith("full registers")]
            cut, serial = seconds[f"{function}, one state"], seconds[by_link[0]]
            cells = [f"{short(1e6 * x)} µs" for x in (cut, serial)]
            last = f"{short(1e6 * seconds[full[0]])} µs" if full else ""
            rows.append(
                [
                    f"{function.replace('_', ' ')}, {level.upper().replace('X5', 'X-5')}",
                    *cells,
                    f"{serial / cut:.1f}",
                    last,
                ]
            )
    return table(["", "`partition`", "link by link", "ratio", "link by link in full registers"], rows)


def several_axes(found: Results) -> str:
    """`partition` beside `aba` for joints of several axes."""
    rows = []
    for k, joints in enumerate(SEVERAL_AXES):
        seconds = found[f"partition_{k}"]["seconds"]
        cut, serial = (1e6 * min(seconds[name]) for name in ("partition", "aba"))
        rows.append([joints, f"{cut:.0f} µs", f"{serial:.0f} µs", f"{serial / cut:.1f}"])
    return table(["1000 joints", "`partition`", "`aba`", "ratio"], rows)


def limits(found: Results) -> str:
    """Shares of the measured peak."""
    rows: dict[str, list[str]] = {}
    for row in found["limits"]["rows"]:
        rows.setdefault(row["robot"], []).append(f"{row['share']:.2f}")
    return table(
        ["robot", "inverse dynamics", "forward dynamics", "mass matrix"],
        [[named(k), *v] for k, v in rows.items()],
    )


def threads(found: Results) -> str:
    """Two threads or more beside one."""
    rows = [
        [f"{r['batch']:,}", *(f"{x:.2f}" for x in r["ratio"]), f"{r['bound']:.2f}"]
        for r in found["threads"]["rows"]
    ]
    head = ["states", "into `out`", "new results", "backwards inputs", "independent threads"]
    return table(head, rows)


TABLES: dict[str, Callable[[Results], str]] = {
    "readme": readme,
    "peers": peers,
    "one state from Python": one_state_from_python,
    "derivatives": derivatives,
    "one chain": one_chain,
    "several axes": several_axes,
    "limits": limits,
    "threads": threads,
}


def write(page: Path, found: Results) -> None:
    """Fill the tables of a page: whatever is between `<!-- measured: NAME -->` and `<!-- end of measured -->`."""
    text = page.read_text(encoding="utf-8")
    for name, make in TABLES.items():
        made = f"<!-- measured: {name} -->\n\n{make(found)}\n\n{found['conditions']}.\n\n<!-- end of measured -->"
        text = re.sub(
            rf"<!-- measured: {name} -->.*?<!-- end of measured -->",
            lambda _, m=made: m,
            text,
            flags=re.DOTALL,
        )
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Measure everything and fill the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--seconds", default="2", help="per robot and function of peers.py and derivatives.py"
    )
    parser.add_argument("--print", action="store_true", help="show the tables, change no page")
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="FOLDER", help="figures of an earlier run"
    )
    options = parser.parse_args()
    folder = options.source or Path(tempfile.mkdtemp(prefix="phalanx-tables-"))
    if options.source is None:
        measure(folder, options.seconds)
        print(f"figures are in {folder}", file=sys.stderr)
    found = read(folder)
    if options.print:
        print(found["conditions"], *(f"\n{name}\n\n{make(found)}" for name, make in TABLES.items()), sep="\n")
        return
    for page in PAGES:
        write(page, found)


if __name__ == "__main__":
    main()
