# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx run`: functions of a robot for every frame of a recording, written to files."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..algorithms import FUNCTIONS
from ..errors import PhalanxError, printable
from ..study.plotting import require_drawable
from .arguments import add_robot, load_robot, pairs, positive_integer, positive_number, refuse_without
from .output import emit, emit_json, table, terminal_width

if TYPE_CHECKING:
    from ..data.engine import RunReport
    from ..data.job import Job


EXAMPLES = """
phalanx run panda log.parquet -o tau.npz -f inverse_dynamics -f power
phalanx run ur5 log.mcap -o residual.npz -f residual --plot residual.png
phalanx run so100.urdf data/ -o out/ -f inverse_dynamics --units deg
phalanx run panda log.parquet -o e.parquet -f energy --dry-run
phalanx run panda big.parquet -o t.parquet -f torques --scheduler local:4
phalanx run panda big.parquet -o t.parquet -f torques --shard 3/16

FUNCTION: inverse_dynamics (or torques), power, energy, kinetic_energy,
potential_energy, limit_violations (or limits), residual (measured less
computed), frame_pose and other functions of frames with --frame, and
every function of a robot with one result. RECORDING and OUT: .npy,
.npz, .parquet, .h5, .hdf5, .zarr, .mcap, or a folder of them, such as
a LeRobot data set. A run that was interrupted goes on where it stopped
when it is started again, and gives the same bytes.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    parser.add_argument("recording", metavar="RECORDING", help="a file or a folder")
    parser.add_argument("others", nargs="*", help=argparse.SUPPRESS)  # refused with a hint
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="file or folder to write")
    parser.add_argument(
        "-f",
        "--function",
        dest="functions",
        action="append",
        default=[],
        metavar="FUNCTION",
        help="what to compute (see below); once for each function",
    )
    group = parser.add_argument_group("what the recording is")
    group.add_argument(
        "--joints", metavar="J,…", help='joints in the order of its entries, "-" for none; or robot'
    )
    group.add_argument("--units", metavar="U", help="of angles: rad, deg; or q=deg,elbow=-deg,tau=0.001")
    group.add_argument(
        "--rate", type=positive_number, metavar="HZ", help="frames a second, where rates are missing"
    )
    group.add_argument(
        "--columns", metavar="Q=C,…", help="which column is q, qd, qdd, tau: q=state,tau=effort"
    )
    group.add_argument("--groups", metavar="G,…", help="groups of an HDF5 file, or patterns: data/demo_1*")
    group = parser.add_argument_group("what is computed and copied")
    group.add_argument(
        "--frame", action="append", default=[], metavar="NAME", help="for frame_pose and the like"
    )
    group.add_argument(
        "--keep", default="index", metavar="C", help="columns of RECORDING: index (default), all, none, a,b"
    )
    group.add_argument("--window", type=int, metavar="N", help="frames of the fit that differentiates")
    group.add_argument("--polynomial", type=int, metavar="N", help="its degree (default: 3)")
    group.add_argument("--allow-nan", action="store_true", help="frames with NaN give NaN, not an error")
    group = parser.add_argument_group("how it runs")
    group.add_argument("--dry-run", action="store_true", help="print columns, sizes and time; write nothing")
    group.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler, or local:N for N processes here"
    )
    group.add_argument("--shard", metavar="I/N", help="do the I-th of N shares, for arrays of batch jobs")
    group.add_argument(
        "--skip-bad", action="store_true", help="leave out pieces that cannot be read or computed"
    )
    group.add_argument("--fresh", action="store_true", help="forget what an interrupted run has done")
    group.add_argument("--rows", type=positive_integer, metavar="N", help="frames of a task at most")
    group.add_argument("--threads", type=positive_integer, metavar="N", help="default: all")
    group.add_argument("--plot", metavar="FILE", help="save a picture (.png, .pdf or .svg)")


def run(args: argparse.Namespace) -> int:
    """Print what was done; exit status 0."""
    from .. import data
    from ..backends.base import set_threads
    from ..data.engine import execute, planned
    from ..data.job import Options

    _require_functions(args)
    if args.plot:
        require_drawable(args.plot)
    if args.threads:
        set_threads(args.threads)
    robot = load_robot(args)
    recording = data.open(
        args.recording,
        robot,
        _joints(args.joints),
        _units(args.units),
        args.rate,
        columns=_columns(args.columns),
        groups=args.groups.split(",") if args.groups else None,
    )
    keep = args.keep.split(",") if args.keep not in ("index", "all", "none") else args.keep
    if args.frame and not any(name in FUNCTIONS and FUNCTIONS[name].frame for name in args.functions):
        raise PhalanxError("--frame: needs a function of frames such as frame_pose; leave it out.")
    fit = {name: value for name in ("window", "polynomial") if (value := getattr(args, name)) is not None}
    options = Options(tuple(args.frame), keep, allow_nan=args.allow_nan, rows=args.rows, **fit)
    job = planned(recording, args.functions, Path(args.output), options)
    if not job.derived:
        refuse_without(args, "rates that are not recorded", "window", "polynomial")
    if args.dry_run:
        _print(args, _plan(job), _planned_lines)
        return 0
    report = execute(
        job, skip_bad=args.skip_bad, shard=_shard(args.shard), scheduler=args.scheduler, fresh=args.fresh
    )
    if args.plot:
        from ..study import figures

        figures.recorded(recording, args.plot)
    facts = _facts(job, report)
    if "residual" in facts["columns"] and report.frames:
        facts["agreement"] = _agreement(job)
    _print(args, facts, _done_lines)
    return 0


def _print(args: argparse.Namespace, facts: dict[str, Any], lines: Any) -> None:
    if args.json:
        emit_json(facts)
    else:
        emit("\n".join([*lines(facts), *([f"Saved {args.plot}."] if args.plot and not args.dry_run else [])]))


# ------------------------------------------------------------------------ arguments


def _require_functions(args: argparse.Namespace) -> None:
    """Raise unless -f names functions, and the only other words are the robot, then the recording."""
    from ..data.recording import format_of

    words: list[str] = [args.robot, args.recording, *args.others]
    *names, robot, recording = words
    is_swapped = bool(format_of(Path(robot)) and not format_of(Path(recording)))
    if is_swapped:
        robot, recording = recording, robot
    if names or is_swapped or not args.functions:
        functions = [*args.functions, *names] or ["inverse_dynamics"]
        wanted = " ".join([robot, recording, "-o", args.output, *(f"-f {name}" for name in functions)])
        raise PhalanxError(
            f"expected ROBOT RECORDING -o OUT -f FUNCTION, functions by -f only; such as phalanx run {wanted}"
        )


def _joints(text: str | None) -> Any:
    if text is None or text == "robot":
        return text
    if "=" in text:
        return pairs(text, "--joints")
    return [name.strip() for name in text.split(",")]


def _units(text: str | None) -> Any:
    if text is None or "=" not in text:
        return text
    return {name: _number(value) for name, value in pairs(text, "--units").items()}


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _columns(text: str | None) -> Any:
    """Columns by quantity; several columns of one are joined by +."""
    if text is None:
        return None
    return {k: v.split("+") if "+" in v else v for k, v in pairs(text, "--columns").items()}


def _shard(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, slash, second = text.partition("/")
    if not slash or not first.isdigit() or not second.isdigit() or not 1 <= int(first) <= int(second):
        raise PhalanxError(f"--shard: got {text!r}, expected I/N with I from 1 to N.")
    return int(first), int(second)


# ------------------------------------------------------------------------ in print


def _described(job: Job) -> dict[str, Any]:
    """The lines that `--plan` and a finished run share: inputs, columns and outputs."""
    r = job.recording
    from_file = {k: list(b.columns) for k, b in r.bindings.items() if k in job.read}
    return {
        "robot": r.robot.name,
        "input": str(r.layout.root),
        "format": r.layout.format,
        "frames": r.rows,
        "files": len({s.path for s in r.sources}),
        "rate": r.rate,
        "read": from_file,
        "differentiated": job.derived,
        "kept": job.kept,
        "dtype": job.dtype.name,
        "output": str(job.out),
        "tasks": len(job.tasks),
        "columns": {
            c.name: {"shape": list(c.shape), "dtype": c.dtype.name, "bytes": c.nbytes * r.rows}
            for c in job.columns
        },
    }


def _plan(job: Job) -> dict[str, Any]:
    from ..data.engine import trial

    measured = trial(job)
    share = job.recording.rows / measured["frames"]
    seconds = {key: measured[key] * share for key in ("read", "compute", "encode")}
    return {
        **_described(job),
        "seconds": {**seconds, "total": sum(seconds.values())},
        "output_bytes": measured["bytes"] * share,
    }


def _facts(job: Job, report: RunReport) -> dict[str, Any]:
    return {
        **_described(job),
        "shard_frames": report.frames,
        "complete": report.complete,
        "resumed": report.resumed,
        "seconds": report.seconds,
        "states_per_second": report.frames / report.seconds,
        "bytes_per_second": report.bytes_read / report.seconds,
        "skipped": report.skipped,
    }


def _agreement(job: Job) -> dict[str, Any] | None:
    """Lines that compare measured with computed forces, joint by joint."""
    from ..data.summary import agreement

    if (found := agreement(job)) is None:
        return None
    numbers = zip(found.names, found.rms, found.measured, found.correlation, strict=True)
    return {
        "frames": found.frames,
        "joints": {
            name: {"rms": float(rms), "measured": float(size), "correlation": None if c != c else float(c)}
            for name, rms, size, c in numbers
        },
        "share": found.before,
        "better": found.changes,
        "better_share": found.after,
    }


def _agreement_lines(facts: Mapping[str, Any]) -> list[str]:
    rows = [
        (
            name,
            f"{j['rms']:.3g}",
            f"{j['measured']:.3g}",
            "–" if (c := j["correlation"]) is None else f"{c:.3f}",
        )
        for name, j in facts["joints"].items()
    ]
    lines = [
        "",
        *table(
            ("joint", "rms residual", "measured", "correlation"), rows, align="<>>>", width=terminal_width()
        ),
        "",
        *_wrapped(
            f"residual  measured less computed in {facts['frames']:,} frames, N·m or N; correlation of "
            "measured and computed forces"
        ),
    ]
    if facts["better"]:
        lines += _wrapped(
            f"better    {'; '.join(facts['better'])}: residuals {facts['better_share']:.1%} of the measured "
            f"forces, mean over joints, where they are {facts['share']:.1%} now; see --joints, --units"
        )
    return lines


def _planned_lines(facts: Mapping[str, Any]) -> list[str]:
    seconds = facts["seconds"]
    rows = [
        (name, c["dtype"], "×".join(map(str, c["shape"])) or "1", _size(c["bytes"]))
        for name, c in facts["columns"].items()
    ]
    return [
        *_heading(facts),
        "",
        *table(("column", "type", "shape", "size"), rows, align="<<>>", width=terminal_width()),
        "",
        f"output    about {_size(facts['output_bytes'])} in {facts['tasks']} tasks",
        *_wrapped(
            f"time      about {seconds['total']:.3g} s on this machine: reading {seconds['read']:.3g}, "
            f"computing {seconds['compute']:.3g}, encoding {seconds['encode']:.3g}"
        ),
        "Nothing was written.",
    ]


def _heading(facts: Mapping[str, Any]) -> list[str]:
    read = ", ".join(f"{k} from {_several(v)}" for k, v in facts["read"].items())
    derived = ""
    if facts["differentiated"]:
        derived = f"; {' and '.join(facts['differentiated'])} by differentiating at {facts['rate']:g} Hz"
    lines = [
        f"input     {facts['input']}: {facts['frames']:,} frames in {facts['files']} file(s), "
        f"{facts['format']}",
        f"robot     {facts['robot']}, {facts['dtype']}; {read}{derived}",
    ]
    return [x for line in lines for x in _wrapped(line)]


def _several(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"


def _done_lines(facts: Mapping[str, Any]) -> list[str]:
    lines = _heading(facts)
    speed = f"{facts['states_per_second']:.3g} a second"
    done = f"{facts['shard_frames']:,} frames in {facts['seconds']:.3g} s: {speed}"
    if facts["resumed"]:
        done += f"; {facts['resumed']} of {facts['tasks']} parts were there already"
    lines.append(f"done      {done}")
    for reason in facts["skipped"]:
        lines.append(f"left out  {reason}")
    if facts["complete"]:
        lines.append(f"output    {facts['output']}: {', '.join(facts['columns'])}")
    else:
        lines.append("output    not complete: other shares are missing")
    made = [x for line in lines for x in _wrapped(line)]
    return [*made, *_agreement_lines(facts["agreement"])] if facts.get("agreement") else made


def _wrapped(line: str) -> list[str]:
    """A line with a label in lines that fit."""
    return textwrap.wrap(
        printable(line), terminal_width(), subsequent_indent=" " * 10, break_on_hyphens=False
    )


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000.0:
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return f"{count:.3g} TB"
