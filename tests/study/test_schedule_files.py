# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Schedules as pictures, pages, traces and plain data."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import phalanx as px
from phalanx.study.charts.chart import OTHERS, PALETTE, colours_of, ink_on
from phalanx.study.scheduling.placement import Schedule

M = px.machines


@pytest.fixture(scope="module")
def schedule() -> Schedule:
    return px.schedule(px.load("puma560"), "inverse_dynamics", machine=M.transputers(unit="microseconds"))


def test_a_page_holds_everything_it_needs(schedule: Schedule, tmp_path: Path) -> None:
    page = schedule.plot(tmp_path / "gantt.html").read_text(encoding="utf-8")
    assert "http" not in page, "no network"
    found = re.search(r"const D=(\{.*\});\n", page)
    assert found
    data = json.loads(found.group(1))
    assert data["processors"] == ["P0", "P1", "P2", "P3"]
    assert len(data["messages"]) == 63
    assert len(data["tasks"]) == sum(t.end > t.start for t in schedule.tasks)
    assert "1999.82 microseconds" in page
    assert sum(t[5] for t in data["tasks"]) > 0, "the critical chain is marked"


def test_names_from_files_cannot_leave_the_script(tmp_path: Path) -> None:
    robot = px.load("two_link").replace(name="</script><b>")
    page = px.schedule(robot, "inverse_dynamics").plot(tmp_path / "g.html").read_text(encoding="utf-8")
    assert "</script><b>" not in page
    assert page.count("</script>") == 1


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_drawn(schedule: Schedule, tmp_path: Path, ending: str) -> None:
    path = schedule.plot(tmp_path / f"gantt.{ending}")
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(start)
    if ending == "svg":
        text = path.read_text(encoding="utf-8")
        for word in ("quantity", "processor", "time in microseconds", "P3", "vd[5]", "63 messages"):
            assert word in text


def test_every_machine_can_be_drawn(tmp_path: Path) -> None:
    robot = px.load("puma560")
    for k, machine in enumerate((M.pram(3), M.systolic(), M.processor_array(assignment="list"))):
        s = px.schedule(robot, "inverse_dynamics", machine=machine)
        assert s.plot(tmp_path / f"{k}.png").stat().st_size > 10_000
        assert s.plot(tmp_path / f"{k}.html").stat().st_size > 5_000


def test_other_endings_and_folders_are_refused(schedule: Schedule, tmp_path: Path) -> None:
    with pytest.raises(px.PhalanxError, match=r'"gantt.txt" ends in \'.txt\', expected .html, .png'):
        schedule.plot(tmp_path / "gantt.txt")
    for write in (schedule.plot, schedule.to_trace):
        with pytest.raises(px.PhalanxError, match="cannot write"):
            write(tmp_path / "no" / "such.html")


def test_traces_hold_tasks_as_slices_and_messages_as_flows(schedule: Schedule, tmp_path: Path) -> None:
    trace = json.loads(schedule.to_trace(tmp_path / "trace.json").read_text(encoding="utf-8"))
    events = trace["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    assert len(slices) == len(schedule.tasks)
    assert max(e["ts"] + e["dur"] for e in slices) <= schedule.makespan
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {0: "P0", 1: "P1", 2: "P2", 3: "P3"}
    starts, ends = ({e["id"]: e for e in events if e["ph"] == ph} for ph in "sf")
    assert starts.keys() == ends.keys()
    assert len(starts) == 63
    for k, m in enumerate(schedule.messages):
        assert (starts[k]["ts"], ends[k]["ts"]) == (m.start, m.arrival)
        assert (starts[k]["tid"], ends[k]["tid"]) == (m.sender, m.receiver)


def test_plain_data_survives_json(schedule: Schedule) -> None:
    data = json.loads(json.dumps(schedule.to_dict()))
    assert data["makespan"] == schedule.makespan
    assert {"start", "end", "processor", "quantity", "link"} <= data["tasks"][0].keys()
    assert {"sender", "receiver", "start", "arrival", "words"} <= data["messages"][0].keys()


def test_colours_go_to_the_weightiest_and_ink_is_readable() -> None:
    names = [f"q{k}" for k in range(20)]
    colours = colours_of(names, range(20))
    assert colours["q19"] == PALETTE[0]
    assert colours["q0"] == OTHERS
    assert len(set(PALETTE)) == len(PALETTE)
    assert (ink_on("#332288"), ink_on("#F0E442")) == ("#ffffff", "#000000")
