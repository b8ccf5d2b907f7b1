# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Hostile files, calls and messages by the thousand: each exception is a PhalanxError, none hangs or stays.

    python tests/fuzz/run.py --cases 200000 --processes 2
    python tests/fuzz/run.py --kind urdf --seed 1234 --cases 1 --show   # one case again

A case is its kind and its seed. Each process judges some hundred cases (`judge.py`); one that dies or
hangs is a finding, and the next process goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from fuzz.robot_files import FORMATS, robot_file  # noqa: E402

NEW = ("recording", "data", "law", "export", "product", "studio")
KINDS = (*FORMATS, "call", "jax", *NEW)
# Parts of all cases: formats with more to go wrong get more.
SHARES = {"urdf": 0.2, "mjcf": 0.15, "dh": 0.1, "table": 0.08, "saved": 0.08, "sdf": 0.04, "call": 0.345}
SHARES |= {
    "jax": 0.005,
    "recording": 0.3,
    "data": 0.1,
    "law": 0.1,
    "export": 0.15,
    "product": 0.25,
    "studio": 0.1,
}
PORTION = 500  # cases of a process


@dataclass
class Report:
    """What became of the cases."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[tuple[str, int, str]] = field(default_factory=list)  # kind, seed, what
    slowest: list[tuple[float, str, int]] = field(default_factory=list)  # seconds, kind, seed
    seconds: float = 0.0  # of processor time in cases

    def add(self, kind: str, seed: int, told: str, seconds: float) -> None:
        """Note a case."""
        fine = told in ("fine", "refused")
        self.counts[told if fine else "wrong"] += 1
        self.seconds += seconds
        self.slowest = sorted([*self.slowest, (seconds, kind, seed)], reverse=True)[:5]
        if not fine:
            self.findings.append((kind, seed, told))

    def merge(self, other: Report) -> None:
        """Note what another one has."""
        self.counts += other.counts
        self.findings += other.findings
        self.slowest = sorted(self.slowest + other.slowest, reverse=True)[:5]
        self.seconds += other.seconds

    def __str__(self) -> str:
        total = sum(self.counts.values())
        lines = [f"{total:,} cases, {self.seconds:.0f} s of processor time: {dict(self.counts)}"]
        lines.append("slowest: " + ", ".join(f"{s:.1f} s ({k} {n})" for s, k, n in self.slowest))
        seen: Counter[str] = Counter()
        for kind, seed, told in self.findings:
            last = told.strip().splitlines()[-1][:160]
            seen[last] += 1
            if seen[last] <= 2:
                lines += [
                    "",
                    f"--- {kind} seed {seed}: python tests/fuzz/run.py --kind {kind} --seed {seed} --cases 1",
                ]
                lines.append(told.strip()[-2500:])
        if seen:
            lines += ["", *(f"{count:6}  {last}" for last, count in seen.most_common())]
        return "\n".join(lines)


def judged(kind: str, start: int, stop: int, *, seconds: float = 120.0) -> Report:
    """The report on the cases of a kind from `start` to `stop`, in as many processes as they end."""
    report = Report()
    while start < stop:
        with tempfile.TemporaryDirectory(prefix="phalanx-fuzz-") as root:
            command = [sys.executable, "-X", "faulthandler", str(HERE / "judge.py")]
            command += [kind, str(start), str(stop), str(seconds), root]
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            out, err = process.communicate()
        last, open_case = start - 1, False
        for line in out.splitlines():
            if not line.startswith('{"seed"'):
                report.findings.append((kind, last, f"printed on standard output: {line:.200}"))
                continue
            facts = json.loads(line)
            last, open_case = facts["seed"], "told" not in facts
            if not open_case:
                report.add(kind, last, facts["told"], facts["seconds"])
        if process.returncode or open_case or last < start:
            told = f"{err[-3000:]}\nthe process ended with status {process.returncode}"
            report.add(kind, max(last, start), told, 0.0)
            last = max(last, start)
        start = last + 1
    return report


def main() -> int:
    """Run the cases, print the report; exit status 1 if there are findings."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--kind", choices=KINDS, action="append", help="one or more; by default all")
    parser.add_argument("--seed", type=int, default=0, help="the first one of each kind (default: 0)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", action="store_true", help="print the first file itself and stop")
    args = parser.parse_args()
    kinds = args.kind or KINDS
    if args.show:
        print(robot_file(kinds[0], args.seed))
        return 0
    whole = sum(SHARES[k] for k in kinds)
    portions: list[tuple[str, int, int]] = []
    for kind in kinds:
        end = args.seed + max(1, round(args.cases * SHARES[kind] / whole))
        portions += [(kind, a, min(a + PORTION, end)) for a in range(args.seed, end, PORTION)]
    report, begun = Report(), time.time()
    with ThreadPoolExecutor(args.processes) as pool:
        for done, part in enumerate(pool.map(lambda p: judged(*p), portions), 1):
            report.merge(part)
            if sys.stderr.isatty():
                print(f"\r{done}/{len(portions)} portions, {report.counts}", end="", file=sys.stderr)
    print(f"{report}\n{time.time() - begun:.0f} s on the clock, seeds from {args.seed}")
    return 1 if report.findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
