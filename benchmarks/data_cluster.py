# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What limits runs over recordings on up to a hundred machines? The task graph, simulated with measured tasks.

python benchmarks/data_cluster.py [--frames 4e6] [--save docs/scale.png]

Measured: reading (decoding), computing, encoding and appending a part; bytes of a part in and out; what Dask takes
to hand out a task; what a worker takes to start. Simulated: workers that ask a scheduler for a task, fetch its input
from a store, work and put the part back; the process that appends reads every part. Scheduler, store and the network
card of each machine are queues.
"""

from __future__ import annotations

import argparse
import heapq
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from data_scale import make
from machine import conditions

import phalanx as px
from phalanx.data.engine import planned
from phalanx.data.job import Options
from phalanx.data.store import UnfinishedRun

GROUP = 1 << 20
_NOTE = 2e-4  # seconds to note a file that a worker has written


@dataclass(frozen=True)
class Task:
    """What a task takes: seconds of a core, seconds of the process that appends, bytes of the network."""

    frames: int
    read: float
    compute: float
    encode: float
    append: float
    bytes_in: float
    bytes_out: float
    dispatch: float  # seconds of the scheduler
    start: float  # seconds until a worker is ready

    @property
    def work(self) -> float:
        return self.read + self.compute + self.encode


@dataclass(frozen=True)
class Cluster:
    """Machines, and what they share."""

    machines: int
    cores: int = 16
    card: float = 25e9 / 8  # bytes a second of one machine
    store: float = 10e9  # of the object store or file server, for all
    scheduler: bool = True  # shares of an array of batch jobs ask nobody
    one_file: bool = True  # whether one process appends all parts; files of a folder are written by workers


def measured(folder: Path, robot: px.Robot, frames: int) -> Task:
    """Task times on this machine, one core: CPU time, which other programs disturb least."""
    px.set_threads(1)
    source = folder / "in.parquet"
    make(source, robot, frames, group=GROUP)
    job = planned(
        px.data.open(source, robot), "inverse_dynamics", folder / "out.parquet", Options(rows=GROUP)
    )
    store = UnfinishedRun(job)
    store.begin()
    assert store.lock()
    times: dict[str, list[float]] = {"read": [], "compute": [], "encode": [], "append": []}
    size = 0
    for task in job.tasks:
        marks = [time.process_time()]
        state, kept, starts = job.frames(job.recording.sources[0], task.start, task.stop)
        marks.append(time.process_time())
        found = job.computed(state)
        marks.append(time.process_time())
        part = job.writer.part({**kept, **found}, job.note(task, starts))
        marks.append(time.process_time())
        store.put(task, part)
        kept_part = store.get(task)
        assert kept_part is not None
        begin = time.process_time()
        store.append(task, kept_part)
        times["append"].append(time.process_time() - begin)
        size += len(part.body)
        for name, a, b in zip(times, marks, marks[1:], strict=False):
            times[name].append(b - a)
    store.abandon()
    count = len(job.tasks)
    middle = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
    rows = job.tasks[0].stop - job.tasks[0].start
    bytes_in = source.stat().st_size / count
    return Task(
        rows,
        **middle,
        bytes_in=bytes_in,
        bytes_out=size / count,
        dispatch=dispatch_seconds(),
        start=start_seconds(robot),
    )


def dispatch_seconds(tasks: int = 2000) -> float:
    """CPU seconds of Dask's scheduler and client, which are this process, for a task that does nothing."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.gather([client.submit(abs, k, pure=False) for k in range(200)])
        begin = time.process_time()
        client.gather([client.submit(abs, k, pure=False) for k in range(tasks)])
        return (time.process_time() - begin) / tasks


def start_seconds(robot: px.Robot) -> float:
    """Seconds for a new process to import everything and load a kernel from the cache."""
    code = f"import pyarrow.parquet, phalanx as px; px.load({robot.name!r}).kernel('inverse_dynamics')"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# ------------------------------------------------------------------------ the simulation


def simulate(task: Task, cluster: Cluster, count: int) -> tuple[float, str]:
    """Seconds until all tasks are done and appended, and what was busy most of the time."""
    scheduler = store = 0.0  # until when each queue is busy
    cards = [0.0] * cluster.machines
    busy = {"scheduler": 0.0, "store": 0.0, "network cards": 0.0, "appending": 0.0, "cores": 0.0}
    free = [(task.start, m) for m in range(cluster.machines) for _ in range(cluster.cores)]
    heapq.heapify(free)
    finished: list[float] = []

    def moved(now: float, machine: int, size: float) -> float:
        """When bytes have come through the card and the store, both first come first served."""
        nonlocal store
        cards[machine] = max(cards[machine], now) + size / cluster.card
        store = max(store, now) + size / cluster.store
        busy["network cards"] += size / cluster.card
        busy["store"] += size / cluster.store
        return max(cards[machine], store)

    # Fetching, working and putting back are events of their own, so that queues see them in the order of time.
    events: list[tuple[float, int, str, int]] = []
    number = 0
    waiting = count
    while free or events:
        if waiting and free and (not events or free[0][0] <= events[0][0]):
            now, machine = heapq.heappop(free)
            waiting -= 1
            dispatch = task.dispatch if cluster.scheduler else 0.0
            scheduler = max(scheduler, now) + dispatch
            busy["scheduler"] += dispatch
            heapq.heappush(events, (scheduler if cluster.scheduler else now, number, "fetch", machine))
            number += 1
        elif events:
            now, _, what, machine = heapq.heappop(events)
            number += 1
            if what == "fetch":
                heapq.heappush(events, (moved(now, machine, task.bytes_in), number, "work", machine))
            elif what == "work":
                busy["cores"] += task.work
                heapq.heappush(events, (now + task.work, number, "put", machine))
            else:
                done = moved(now, machine, task.bytes_out)
                finished.append(done)
                heapq.heappush(free, (done, machine))
        else:
            break
    end = 0.0
    each = max(task.append, task.bytes_out / cluster.card) if cluster.one_file else _NOTE
    for done in sorted(finished):
        end = max(end, done) + each
    busy["appending"] = each * count
    total = max(end, task.start)
    busy["network cards"] /= cluster.machines
    busy["cores"] /= cluster.machines * cluster.cores
    return total, max(busy, key=lambda name: busy[name])


def report(task: Task, save: Path | None) -> None:
    frames = 10_000_000_000
    count = frames // task.frames
    base = Cluster(1)
    variants = {
        "one file, store of 10 GB/s": base,
        "one file, store of 100 GB/s": replace(base, store=100e9),
        "a folder, store of 100 GB/s": replace(base, store=100e9, one_file=False),
        "the same in shares": replace(base, store=100e9, one_file=False, scheduler=False),
    }
    machines = (1, 2, 5, 10, 20, 50, 100)
    curves: dict[str, list[float]] = {}
    print(
        f"{frames:,} frames in {count:,} tasks, machines of {base.cores} cores with {base.card / 1e9:.3g} GB/s each"
    )
    for name, variant in variants.items():
        curves[name] = []
        for number in machines:
            seconds, limit = simulate(task, replace(variant, machines=number), count)
            curves[name].append(frames / seconds)
            print(
                f"{name:34} {number:4} machines {seconds:9.0f} s {frames / seconds / 1e6:9.0f} M frames/s, most busy: {limit}",
                flush=True,
            )
    small = replace(
        task,
        frames=300,
        **{
            k: getattr(task, k) * 300 / task.frames
            for k in ("read", "compute", "encode", "append", "bytes_in", "bytes_out")
        },
    )
    for number in (1, 10, 100):
        seconds, limit = simulate(small, replace(base, machines=number, store=100e9, one_file=False), 200_000)
        print(
            f"tasks of 300 frames                {number:4} machines {200_000 * 300 / seconds / 1e6:9.2f} M frames/s, most busy: {limit}",
            flush=True,
        )
    if save:
        draw(machines, curves, task, base, save)


def draw(machines: Any, curves: dict[str, list[float]], task: Task, base: Cluster, save: Path) -> None:
    from phalanx.study.plotting import GREY, line_styles, new_figure, saved, styled

    with styled():
        figure, axes = new_figure(height=3.4)
        one = task.frames / task.work * base.cores
        axes.plot(machines, [one * m / 1e6 for m in machines], color=GREY, linestyle=":", label="cores alone")
        for (name, values), style in zip(curves.items(), line_styles(), strict=False):
            axes.plot(machines, [v / 1e6 for v in values], label=name, **style)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel=f"machines of {base.cores} cores",
            ylabel="million frames a second",
        )
        axes.set_xticks(machines, [str(m) for m in machines])
        powers = (10, 30, 100, 300, 1000, 3000)
        axes.set_yticks(powers, [f"{p:,}" for p in powers])
        axes.minorticks_off()
        axes.set_title("Inverse dynamics of a Panda, Parquet to Parquet: simulated")
        axes.legend()
        saved(figure, save)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--frames", type=float, default=8 * GROUP)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    print(conditions())
    with tempfile.TemporaryDirectory(prefix="phalanx-data-") as folder:
        task = measured(Path(folder), px.load(options.robot), int(options.frames))
    print(json.dumps(asdict(task)))
    print(
        f"one core: {task.frames / task.work / 1e6:.2f} M frames/s; reading {task.read / task.work:.0%}, computing {task.compute / task.work:.0%}, encoding {task.encode / task.work:.0%}"
    )
    report(task, options.save)


if __name__ == "__main__":
    main()
