# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Phalanx on other machines: demo, kernels, threads, rollouts, bits and tests/backends/native, with counts.

python tests/emulated/run.py                       # all machines; what is missing is skipped with a reason
python tests/emulated/run.py windows --no-tests    # one of them, without pytest
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from emulated.machines import BUILD, MACHINES, ROOT, Machine, MissingError  # noqa: E402

CHECK = HERE / "check.py"
COUNTS = re.compile(r"(\d+) (passed|failed|skipped|errors?)")


def started(machine: Machine, *arguments: str, minutes: float) -> tuple[int | None, str]:
    """Exit status, None if it took too long, and output of Python on a machine."""
    with tempfile.TemporaryDirectory(prefix="phalanx-emulated-") as cache:
        env = {**os.environ, **machine.env, "PYTHONDONTWRITEBYTECODE": "1"}
        env["PHALANX_CACHE_DIR"] = machine.path(Path(cache))
        try:
            done = subprocess.run(
                [*machine.python, *arguments],
                cwd=ROOT,
                env=env,
                input="",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=60 * minutes,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            output = late.stdout or b""
            return None, output.decode(errors="replace") if isinstance(output, bytes) else output
        return done.returncode, done.stdout


def checks(machine: Machine, minutes: float) -> dict[str, Any]:
    """What `check.py` says on a machine."""
    status, output = started(machine, machine.path(CHECK), minutes=minutes)
    found: dict[str, Any] = {"status": status}
    for line in output.splitlines():
        if line.startswith("{"):
            each = json.loads(line)
            found |= {each["check"]: each} if "check" in each else each
    if "bits" not in found:
        found["output"] = output[-2000:]
    return found


def here(level: str = "") -> dict[str, str]:
    """Digests on this machine, at a lower level of x86-64 if one is named."""
    env = {"PYTHONPATH": str(ROOT / "src")} | ({"PHALANX_CPU": level} if level else {})
    status, output = started(Machine("here", (sys.executable,), env), str(CHECK), "bits", minutes=30)
    if status:
        return {}
    return next(json.loads(line)["digests"] for line in output.splitlines() if '"digests"' in line)


def native_tests(machine: Machine, minutes: float) -> tuple[str, bool]:
    """The counts of tests/backends/native on a machine, and whether nothing failed."""
    options = ("-p", "no:cacheprovider", "-m", "not exhaustive", "-rfE")
    status, output = started(machine, "-m", "pytest", *options, "tests/backends/native", minutes=minutes)
    (BUILD / machine.name / "pytest.log").write_text(output)
    last = next((line for line in reversed(output.splitlines()) if COUNTS.search(line)), "")
    counts = {what.rstrip("s"): int(n) for n, what in COUNTS.findall(last)}
    said = f"{counts.get('passed', 0)} passed, {counts.get('failed', 0) + counts.get('error', 0)} failed"
    if counts.get("skipped"):
        said += f", {counts['skipped']} skipped"
    for line in output.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            print(f"  {line}")
    if status is None:
        return f"not finished within {minutes:g} minutes", False
    return said if counts else f"pytest ended with status {status}", status == 0


def tried(name: str, references: dict[bool, dict[str, str]], minutes: float, tests: bool) -> bool:
    """Print what holds on a machine; whether nothing failed."""
    try:
        machine = MACHINES[name]()
    except MissingError as why:
        print(f"{name}: skipped ({why})")
        return True
    found = checks(machine, minutes)
    print(f"{name}: {json.dumps(found.get('machine', 'Python did not start'))}")
    fine = "bits" in found
    if not fine:
        print(found["output"])
    for check in ("demo", "kernels", "threads", "rollouts"):
        each = found.get(check, {"passed": 0, "failed": ["did not run"]})
        print(f"  {check}: {each['passed']} passed, {len(each['failed'])} failed", flush=True)
        for case in each["failed"]:
            fine = False
            print(f"    {case}")
    if "bits" in found:
        fused = found["machine"]["fma"]
        reference, mine = references[fused], found["bits"]["digests"]
        other = [case for case, digest in mine.items() if reference.get(case) != digest]
        against = "this machine" if fused else "this machine with PHALANX_CPU=sse2"
        if reference:
            print(f"  same bits as {against}: {len(mine) - len(other)} passed, {len(other)} failed")
            for case in other:
                fine = False
                print(f"    {case}")
        else:
            print(f"  same bits as {against}: skipped (it has no such processor)")
    if tests:
        said, passed = native_tests(machine, minutes)
        fine &= passed
        print(f"  tests/backends/native: {said}", flush=True)
    return fine


def main() -> int:
    """Exit status 0 if nothing failed on any machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("machines", nargs="*", choices=[*MACHINES, []], help="default: all")
    parser.add_argument("--minutes", type=float, default=60.0, help="for each step of a machine, at most")
    parser.add_argument("--no-tests", action="store_true", help="leave tests/backends/native out")
    args = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    references = {True: here(), False: here("sse2")}
    names = args.machines or list(MACHINES)
    results = [tried(name, references, args.minutes, not args.no_tests) for name in names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
