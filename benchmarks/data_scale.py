# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What do recordings cost beside reading and writing them: one core, 100 million frames, workers, interruptions?

python benchmarks/data_scale.py ratio                       # beside pyarrow alone, in one process, interleaved
python benchmarks/data_scale.py scale --frames 1e6 1e7 1e8  # memory and throughput; 23 GB of disk for 1e8
python benchmarks/data_scale.py workers                     # one and two workers of Dask, and kill -9
python benchmarks/data_scale.py kills                       # killed at ten random moments and resumed
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from machine import conditions

import phalanx as px

GROUP = 1 << 17  # rows of a row group
COLUMNS = ("q", "qd", "qdd")
OPTIONS: dict[str, Any] = {"compression": "snappy", "use_dictionary": False}


def frames(robot: px.Robot, count: int, start: int, dtype: str) -> list[np.ndarray]:
    """q, qd and qdd of a robot that swings, from frame `start` on, a thousand frames a second."""
    rng = np.random.default_rng(0)
    speed, phase, size = (
        rng.uniform(0.5, 3.0, robot.nv),
        rng.uniform(0, 6, robot.nv),
        rng.uniform(0.2, 1, robot.nv),
    )
    angle = 1e-3 * np.arange(start, start + count)[:, None] * speed + phase
    noise = np.random.default_rng(start).normal(scale=1e-6, size=angle.shape)
    sine, cosine = size * np.sin(angle), size * np.cos(angle)
    return [x.astype(dtype) for x in (sine + noise, cosine * speed + noise, -sine * speed**2 + noise)]


def table(arrays: list[np.ndarray], wide: bool) -> pa.Table:
    """Columns as lists of fixed length, or each number a column."""
    if wide:
        return pa.table(
            {
                f"{n}_{k}": np.ascontiguousarray(x[:, k])
                for n, x in zip(COLUMNS, arrays, strict=True)
                for k in range(x.shape[1])
            }
        )
    lists = {
        n: pa.FixedSizeListArray.from_arrays(pa.array(x.reshape(-1)), x.shape[1])
        for n, x in zip(COLUMNS, arrays, strict=True)
    }
    return pa.table(lists)


def make(
    path: Path,
    robot: px.Robot,
    count: int,
    *,
    dtype: str = "float64",
    wide: bool = False,
    group: int = GROUP,
    different: int = 1000,
) -> None:
    """A Parquet file of so many frames, made row group by row group, of which so many are different."""
    first = table(frames(robot, 1, 0, dtype), wide)
    known: dict[int, pa.Table] = {}
    with pq.ParquetWriter(path, first.schema, **OPTIONS) as writer:
        for number, start in enumerate(range(0, count, group)):
            rows, kind = min(group, count - start), number % different
            if kind not in known or len(known[kind]) < rows:
                known = {
                    **(known if different < 10 else {}),
                    kind: table(frames(robot, rows, kind * group, dtype), wide),
                }
            writer.write_table(known[kind].slice(0, rows), row_group_size=group)


def digest(path: Path) -> str:
    """Of a file's bytes."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(1 << 24):
            found.update(data)
    return found.hexdigest()


# ------------------------------------------------------------------------ beside pyarrow


def alone(source: Path, target: Path, results: list[pa.Table]) -> None:
    """The same columns read and written with pyarrow, and nothing else."""
    file = pq.ParquetFile(source, memory_map=True)
    with pq.ParquetWriter(target, results[0].schema, **OPTIONS) as writer:
        for group, result in zip(range(file.num_row_groups), results, strict=True):
            file.read_row_group(group, use_threads=False)
            writer.write_table(result, row_group_size=GROUP)


def ratio(folder: Path, robot: px.Robot, count: int, repeats: int) -> None:
    """Time of a run over that of reading and writing alone, and the share of the kernel."""
    print(
        f"{'layout':24} {'alone':>9} {'run':>9} {'ratio':>6} {'kernel':>8} {'share':>6}   nanoseconds a frame"
    )
    for dtype, wide in (("float64", False), ("float32", False), ("float64", True)):
        source, target = folder / "in.parquet", folder / "out.parquet"
        make(source, robot, count, dtype=dtype, wide=wide)
        recording = px.data.open(source, robot)
        px.data.run(recording, "inverse_dynamics", target, rows=GROUP)
        done = pq.ParquetFile(target)
        results = [done.read_row_group(g) for g in range(done.num_row_groups)]
        if wide:
            results = [_split(r) for r in results]
        arrays, kernel = frames(robot, GROUP, 0, dtype), robot.kernel("inverse_dynamics", dtype=dtype)
        out = np.empty_like(arrays[1])
        jobs: dict[str, Callable[[], Any]] = {
            "alone": lambda s=source, t=folder / "alone.parquet", r=results: alone(s, t, r),
            "run": lambda r=recording, t=target: px.data.run(r, "inverse_dynamics", t, rows=GROUP),
            "kernel": lambda a=arrays, k=kernel, o=out: [k(*a, out=o) for _ in range(count // GROUP)],
        }
        seconds: dict[str, list[float]] = {name: [] for name in jobs}
        cpu: dict[str, list[float]] = {name: [] for name in jobs}
        for _ in range(repeats):
            for name, job in jobs.items():
                for old in (
                    "out.parquet",
                    "alone.parquet",
                ):  # file systems are slow to replace what they have
                    (folder / old).unlink(missing_ok=True)
                start, used = time.perf_counter(), time.process_time()
                job()
                seconds[name].append(time.perf_counter() - start)
                cpu[name].append(time.process_time() - used)
        for clock, times in (("wall", seconds), ("CPU", cpu)):
            ns = {name: 1e9 * statistics.median(values) / count for name, values in times.items()}
            pairs = statistics.median(b / a for a, b in zip(times["alone"], times["run"], strict=True))
            layout = f"{dtype}, {'columns' if wide else 'lists'}, {clock}"
            print(
                f"{layout:24} {ns['alone']:9.1f} {ns['run']:9.1f} {pairs:6.2f} {ns['kernel']:8.1f} {ns['kernel'] / ns['run']:6.0%}",
                flush=True,
            )


def _split(result: pa.Table) -> pa.Table:
    values = result.column(0).combine_chunks().flatten().to_numpy().reshape(len(result), -1)
    return pa.table({f"tau_{k}": np.ascontiguousarray(values[:, k]) for k in range(values.shape[1])})


# ------------------------------------------------------------------------ memory and throughput


def scale(folder: Path, robot: px.Robot, counts: list[int]) -> None:
    """Frames a second, of the wall and of the CPU, and the largest memory of a process, for more and more frames."""
    print(
        f"{'frames':>12} {'in GB':>6} {'seconds':>8} {'CPU s':>8} {'M frames/CPU s':>15} {'ns a frame':>11} {'peak MB':>8}"
    )
    for count in counts:
        source, target = folder / "in.parquet", folder / "out.parquet"
        make(source, robot, count, group=1 << 20, different=2)
        size = source.stat().st_size
        code = (
            "import json, resource, time; import phalanx as px\n"
            f"robot = px.load({robot.name!r}); px.set_threads(1); robot.kernel('inverse_dynamics'); used = time.process_time()\n"
            f"report = px.data.run(px.data.open({str(source)!r}, robot), 'inverse_dynamics', {str(target)!r})\n"
            "used = time.process_time() - used\n"
            "print(json.dumps([report.seconds, used, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        seconds, used, peak = json.loads(done.stdout)
        assert pq.ParquetFile(target).metadata.num_rows == count
        print(
            f"{count:12,} {size / 1e9:6.2f} {seconds:8.2f} {used:8.2f} {count / used / 1e6:15.2f} {1e9 * used / count:11.1f} {peak:8.0f}",
            flush=True,
        )
        source.unlink()
        target.unlink()


# ------------------------------------------------------------------------ workers


def workers(folder: Path, robot: px.Robot, count: int) -> None:
    """One process, one worker, two workers; and two of which one is killed."""
    from distributed import Client, LocalCluster

    source = folder / "in.parquet"
    make(source, robot, count)
    recording = px.data.open(source, robot)
    functions = ["inverse_dynamics", "mass_matrix"]
    serial = folder / "serial.parquet"
    start = time.perf_counter()
    px.data.run(recording, functions, serial, rows=GROUP)
    print(f"one process        {time.perf_counter() - start:6.2f} s", flush=True)
    wanted = digest(serial)
    for number in (1, 2):
        with (
            LocalCluster(n_workers=number, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            times = []
            for _ in range(3):
                target = folder / f"workers{number}.parquet"
                start = time.perf_counter()
                px.data.run(recording, functions, target, rows=GROUP, scheduler=client)
                times.append(time.perf_counter() - start)
            print(
                f"{number} worker(s)        {min(times):6.2f} s (first {times[0]:.2f}), equal bytes: {digest(target) == wanted}",
                flush=True,
            )
            if number == 2:
                threading.Timer(
                    min(times) / 2,
                    lambda c=client: os.kill(next(iter(c.run(os.getpid).values())), signal.SIGKILL),
                ).start()
                start = time.perf_counter()
                px.data.run(recording, functions, target, rows=GROUP, scheduler=client)
                print(
                    f"2, one killed      {time.perf_counter() - start:6.2f} s, equal bytes: {digest(target) == wanted}",
                    flush=True,
                )


# ------------------------------------------------------------------------ interruptions


def kills(folder: Path, robot: px.Robot, count: int, times: int) -> None:
    """Runs that are killed at random moments and started again until they are done."""
    source, wanted = folder / "in.parquet", folder / "wanted.parquet"
    make(source, robot, count, group=1 << 15)
    command = [
        sys.executable,
        "-m",
        "phalanx",
        "run",
        robot.name,
        str(source),
        "-f",
        "inverse_dynamics",
        "-f",
        "power",
        "--rows",
        "32768",
        "-o",
    ]
    start = time.perf_counter()
    subprocess.run([*command, str(wanted)], check=True, capture_output=True)
    whole = time.perf_counter() - start
    rng = np.random.default_rng(1)
    for number in range(times):
        target = folder / "killed.parquet"
        target.unlink(missing_ok=True)
        moment = rng.uniform(0.0, whole)
        process = subprocess.Popen(
            [*command, str(target)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(moment)
        process.kill()
        process.wait()
        early = target.exists()
        done = subprocess.run([*command, str(target), "--json"], check=True, capture_output=True, text=True)
        resumed = json.loads(done.stdout)["resumed"]
        print(
            f"{number + 1:2}: killed after {moment:5.2f} s{', complete' if early else ''}, {resumed:3} parts there, equal bytes: {digest(target) == digest(wanted)}",
            flush=True,
        )


def places(given: str | None) -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="phalanx-data-", dir=given))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("ratio", "scale", "workers", "kills"))
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--frames", type=float, nargs="+", default=[])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--folder", help="where the files are made (default: the system's folder for them)")
    options = parser.parse_args()
    print(conditions())
    robot = px.load(options.robot)
    counts = [int(x) for x in options.frames]
    for folder in places(options.folder):
        if options.what == "ratio":
            px.set_threads(1)
            ratio(folder, robot, counts[0] if counts else 16 * GROUP, options.repeats)
        elif options.what == "scale":
            scale(folder, robot, counts or [1_000_000, 10_000_000])
        elif options.what == "workers":
            workers(folder, robot, counts[0] if counts else 64 * GROUP)
        else:
            kills(folder, robot, counts[0] if counts else 4_000_000, 10)


if __name__ == "__main__":
    main()
