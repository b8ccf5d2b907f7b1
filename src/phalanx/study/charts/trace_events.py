# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Schedules as trace events, the format of chrome://tracing and ui.perfetto.dev."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..scheduling.placement import PlacedMessage, Schedule
from .gantt import write as write_text


def events(schedule: Schedule) -> list[dict[str, Any]]:
    """One event for each task, a pair of flow events for each message; a unit of time is a microsecond."""
    graph = schedule.graph
    found: list[dict[str, Any]] = [
        {
            "ph": "M",
            "pid": 1,
            "name": "process_name",
            "args": {"name": f"{graph.title} on {schedule.machine}"},
        }
    ]
    for p, name in enumerate(schedule.drawn):
        found.append({"ph": "M", "pid": 1, "tid": p, "name": "thread_name", "args": {"name": name}})
        found.append({"ph": "M", "pid": 1, "tid": p, "name": "thread_sort_index", "args": {"sort_index": p}})
    for t in schedule.tasks:
        work = graph.tasks[t.task].work
        found.append(
            {
                "ph": "X",
                "pid": 1,
                "tid": t.processor,
                "ts": t.start,
                "dur": t.end - t.start,
                "name": t.name,
                "cat": t.quantity,
                "args": {
                    "quantity": t.quantity,
                    "link": _link(schedule, t.link),
                    "multiplications": work.multiplications,
                    "additions": work.additions,
                    "task": t.task,
                },
            }
        )
    for k, m in enumerate(schedule.messages):
        found += _flow(k, m)
    return found


def _flow(number: int, m: PlacedMessage) -> list[dict[str, Any]]:
    common = {"pid": 1, "id": number, "cat": "message", "name": m.name}
    args = {"words": m.words, "task": m.task}
    return [
        {"ph": "s", "tid": m.sender, "ts": m.start, "args": args, **common},
        {"ph": "f", "bp": "e", "tid": m.receiver, "ts": m.arrival, "args": args, **common},
    ]


def _link(schedule: Schedule, link: int) -> str:
    names = schedule.graph.links
    return names[link] if 0 <= link < len(names) else "world" if link < 0 else f"body {link}"


def write(schedule: Schedule, path: Path) -> Path:
    """Write the events to a file."""
    other = {"unit": schedule.machine.unit, "makespan": schedule.makespan, "speedup": schedule.speedup}
    content = {"traceEvents": events(schedule), "displayTimeUnit": "ns", "otherData": other}
    write_text(path, json.dumps(content))
    return path
