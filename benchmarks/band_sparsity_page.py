# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the times of band_sparsity.py say about the paper's claims, written into its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from phalanx.study.papers.band_sparsity.rankings import LEVEL

PUBLISHED = ("JSIIA", "hybrid ABIA", "CFA, odd-even")
MANY = 1024  # processors whose gain is in the table


def claims(times: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Each claim of the figures: what it says, the times here, whether it holds, and if not, why."""
    jsiia, abia, cfa = PUBLISHED

    def level(row: dict[str, float], a: str, b: str) -> bool:
        return max(row[a], row[b]) <= LEVEL * min(row[a], row[b])

    def checked(figure: str, keep: Callable[[int], bool], test: Callable[[dict[str, float]], bool]) -> Any:
        rows = {int(k): row for k, row in times[figure].items() if keep(int(k))}
        holds = [k for k, row in rows.items() if test(row)]
        shown = dict.fromkeys([min(rows), max(rows)])
        what = "links" if figure == "2" else "chains"
        here = "; ".join(f"{k} {what if k > 1 else what[:-1]}: {_times(rows[k])}" for k in shown)
        if len(holds) == len(rows):
            return here, "holds"
        return here, f"holds for {', '.join(map(str, holds))} {what} only" if holds else "does not hold"

    small = lambda row: row[jsiia] <= min(row.values()) * 1.001 and level(row, abia, cfa)  # noqa: E731
    longest = max(map(int, times["2"]))
    rows = [
        ("Fig. 2, 10 links: JSIIA fastest, ABIA and CFA level", "2", lambda k: k == 10, small,
         "The distance between ABIA and CFA at ten links is that of fixed costs of a step, which a GPU has others of."),
        ("Fig. 2, long chains: CFA, then ABIA, then JSIIA", "2", lambda k: k == longest,
         lambda row: row[cfa] < row[abia] < row[jsiia], "The longest chain measured is too short for it."),
        ("Fig. 3a, above 100 chains: JSIIA and CFA level, ABIA slower", "3a", lambda k: k > 100,
         lambda row: level(row, jsiia, cfa) and row[abia] > max(row[jsiia], row[cfa]),
         "A CPU cannot confirm it: a hundred chains keep it busy, so that work decides and not the number of "
         "steps, and ABIA moves nothing between two processors here."),
        ("Fig. 3b: CFA always fastest, JSIIA slowest", "3b", lambda k: True,
         lambda row: row[cfa] < row[abia] < row[jsiia],
         "A CPU cannot confirm it for many chains: some of 200 links keep it busy, and from there on ABIA, "
         "which has less work, is faster; a GPU with thousands of cores gets there later."),
    ]  # fmt: skip
    made = []
    for claim, figure, keep, test, why in rows:
        published = {k: {a: row[a] for a in PUBLISHED if a in row} for k, row in times[figure].items()}
        times = {**times, figure: {k: row for k, row in published.items() if len(row) == len(PUBLISHED)}}
        if any(keep(int(k)) for k in times[figure]):
            here, verdict = checked(figure, keep, test)
            made.append((claim, here, verdict, "" if verdict == "holds" else why))
    return made


def page(results: dict[str, Any]) -> str:
    """The part of docs/band_sparsity.md that measurements fill."""
    load = f", load {results['load']}" if "load" in results else ""
    about = (
        f"Measured on one machine: {results['machine']}, one thread, float64, {results['date']}{load}; best of several "
        f"runs. Times within a factor of {LEVEL} are called level."
    )
    made = claims(results["times"])
    lines = [about, "", "| claim | here, NumPy | verdict |", "|---|---|---|"]
    lines += [f"| {claim} | {here} | {verdict} |" for claim, here, verdict, _ in made]
    if reasons := [f"- {claim.partition(':')[0]}: {why}" for claim, _, _, why in made if why]:
        lines += ["", *reasons]
    found = results.get("crossovers")
    if found:
        what = {"2": "links", "3a": "chains of 10 links", "3b": "chains of 200 links"}
        lines += [
            "",
            "Where one overtakes another, found by bisection:",
            "",
            "| figure | faster up to | faster from |",
        ]
        lines += ["|---|---|---|"]
        for figure, rows in found.items():
            for row in rows:
                low, high = row["between"]
                lines.append(f"| {figure} | {row['before']}: {low} {what[figure]} | {row['after']}: {high} |")
        none = [f"Fig. {figure}" for figure, rows in found.items() if not rows]
        lines += ["", f"None within the sizes of {', '.join(none)}."] if none else []
    return "\n".join([*lines, "", serial(results["times"]["2"])])


def serial(rows: dict[str, dict[str, float]]) -> str:
    """What the figures leave out."""
    short, long = min(rows, key=int), max(rows, key=int)
    both = f"{_time(rows[short]['ABA, native'])} for {short} links, {_time(rows[long]['ABA, native'])} for {long}"
    cut = rows[long].get("partition, native")
    more = f" Cut into segments (`partition`) one chain of {long} links takes {_time(cut)}." if cut else ""
    return (
        "What the figures leave out is the serial recursion, compiled, one chain per lane of a register (dashed "
        f"black): {both}.{more}"
    )


def prediction(results: dict[str, Any]) -> str:
    """The table of what p processors would change; p are powers of two."""
    processors, tables = results["processors"], results["predicted"]
    lines = ["| | " + " | ".join(f"{n} links" for n in tables) + " |", "|---" * (len(tables) + 1) + "|"]

    def row(what: str, cell: Callable[[dict[str, Any]], str]) -> None:
        lines.append(f"| {what} | " + " | ".join(cell(table) for table in tables.values()) + " |")

    def fastest(table: dict[str, Any]) -> str:
        first: dict[str, int] = {}  # of each algorithm the first p where it is the fastest
        for k, p in enumerate(processors):
            first.setdefault(min(table["steps"], key=lambda name: table["steps"][name][k]), p)
        return "; ".join(f"{name} from {p}" for name, p in first.items())

    def gain(table: dict[str, Any]) -> str:
        k = processors.index(MANY)
        name = min(table["steps"], key=lambda name: table["steps"][name][k])
        return f"{table['serial'] / table['steps'][name][k]:.0f} ({name})"

    row("fastest on p processors", fastest)
    row(f"gain over serial ABA with {MANY} processors", gain)
    for name in next(iter(tables.values()))["wins_from"]:
        row(
            f"{name} beats serial ABA from", lambda table, name=name: str(table["wins_from"][name] or "never")
        )
    return "\n".join(lines)


def write_page(results: dict[str, Any], file: Path) -> None:
    """Fill in the places that the page has for measurements and predictions."""
    if not file.exists():
        return
    text = file.read_text(encoding="utf-8")
    for name, made in (("measured", page(results)), ("predicted", prediction(results))):
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        if begin in text:
            text = f"{text.split(begin)[0]}{begin}\n\n{made}\n\n{end}{text.split(end)[1]}"
    file.write_text(text, encoding="utf-8")


def _times(row: dict[str, float]) -> str:
    return ", ".join(f"{name.partition(',')[0]} {_time(t)}" for name, t in row.items())


def _time(seconds: float) -> str:
    unit, size = next(
        (u, k) for u, k in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if seconds >= k or u == "us"
    )
    return f"{float(f'{seconds / size:.2g}'):g} {unit}"
