# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Data sets of LeRobot, versions 2 and 3: Parquet files at the paths that `meta/info.json` lists."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import PhalanxError, listing, shown
from ..source import Column, Source
from .parquet import ParquetSource

INFO = Path("meta") / "info.json"
_FIELD = re.compile(r"\{(\w+)(?::0?(\d+)d)?\}")
_KNOWN = ("episode_chunk", "episode_index", "chunk_index", "file_index")


def is_lerobot(root: Path) -> bool:
    """Whether a folder is a LeRobot data set."""
    return (root / INFO).is_file()


def open_lerobot(root: Path) -> tuple[list[Source], dict[str, Any], float | None]:
    """The files of a data set as sources, its metadata, and its frames a second."""
    path = root / INFO
    info = _info(path)
    features = info["features"]
    shapes = {name: _shape(f, name, path) for name, f in features.items()}
    labels = {name: _labels(f, shapes[name]) for name, f in features.items()}
    files = _files(root, info, path)
    sources: list[Source] = [ParquetSource(file, shapes, labels) for file in files]
    for number, source in enumerate(sources):
        source.number = number
        missing = [
            n
            for n, f in features.items()
            if f.get("dtype") not in ("video", "image") and n not in source.columns
        ]
        if missing:
            raise PhalanxError(f"{source.path}: no column {listing(missing)}, which {path} lists.")
    rows, declared = sum(s.rows for s in sources), info.get("total_frames")
    if declared is not None and declared != rows:
        raise PhalanxError(
            f"{path}: total_frames is {shown(declared)}, but the files hold {rows} rows; one is torn or lost."
        )
    first = sources[0]
    assert isinstance(first, ParquetSource)
    return sources, {**first.properties(), "lerobot": info}, _rate(info, path)


def write_meta(
    root: Path, made: Path, columns: Sequence[Column], info: Mapping[str, Any], frames: int
) -> None:
    """Write the `meta` of a data set with these columns: the original's, with other features."""
    old = info["features"]
    features = {}
    for c in columns:
        if c.name in old:
            features[c.name] = old[c.name]
        else:
            features[c.name] = {"dtype": c.dtype.name, "shape": [c.width], "names": list(c.labels) or None}
    shutil.copytree(root / "meta", made / "meta", dirs_exist_ok=True)
    written = {**info, "features": features}
    written.pop("video_path", None)
    if "total_frames" in written:
        written["total_frames"] = frames
    if "total_videos" in written:
        written["total_videos"] = 0
    (made / INFO).write_text(json.dumps(written, indent=4), encoding="utf-8")
    stats = made / "meta" / "stats.json"
    if stats.is_file():
        try:
            known = {k: v for k, v in json.loads(stats.read_text(encoding="utf-8")).items() if k in features}
        except (ValueError, AttributeError):
            known = {}
        stats.write_text(json.dumps(known, indent=4), encoding="utf-8")


def _info(path: Path) -> dict[str, Any]:
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise PhalanxError(f"{path}: no JSON that can be read: {error}.") from None
    if not isinstance(info, dict) or not isinstance(info.get("features"), dict):
        raise PhalanxError(f'{path}: no "features"; expected the description of a LeRobot data set.')
    if not all(isinstance(f, dict) for f in info["features"].values()):
        raise PhalanxError(f'{path}: "features" holds something else than descriptions of columns.')
    version = str(info.get("codebase_version", ""))
    if not version.startswith(("v2", "v3")):
        raise PhalanxError(f"{path}: codebase_version is {shown(version)}, expected v2… or v3….")
    return info


def _files(root: Path, info: Mapping[str, Any], path: Path) -> list[Path]:
    """The Parquet files, all inside the data set, none missing."""
    template = info.get("data_path")
    names = [m[0] for m in _FIELD.findall(template)] if isinstance(template, str) else []
    rest = _FIELD.sub("", template) if isinstance(template, str) else ""
    if not names or "{" in rest or "}" in rest or not set(names) <= set(_KNOWN):
        raise PhalanxError(
            f"{path}: data_path is {shown(template)}, expected a path with {{episode_chunk}} and "
            f"{{episode_index}} "
            "(v2) or {chunk_index} and {file_index} (v3)."
        )
    assert isinstance(template, str)
    if Path(template).is_absolute() or ".." in Path(template.replace("\\", "/")).parts:
        raise PhalanxError(f"{path}: data_path {shown(template)} leaves the folder of the data set; refused.")
    if "episode_index" not in names:
        files = sorted(root.glob(_FIELD.sub("*", template)))
        if not files:
            raise PhalanxError(f"{path}: no file is at {template}.")
        return files
    total, size = info.get("total_episodes"), info.get("chunks_size", 1000)
    if type(total) is not int or type(size) is not int or total < 1 or size < 1:
        raise PhalanxError(
            f"{path}: total_episodes {shown(total)}, chunks_size {shown(size)}; expected integers above 0."
        )
    files = []
    for episode in range(total):
        file = root / _filled(template, {"episode_index": episode, "episode_chunk": episode // size})
        if not file.is_file():
            raise PhalanxError(f"{path}: episode {episode} of {total} is missing: there is no file {file}.")
        files.append(file)
    return files


def _filled(template: str, values: Mapping[str, int]) -> str:
    """A path template filled with numbers; templates are untrusted, so only these fields are replaced."""
    return _FIELD.sub(lambda m: format(values.get(m[1], 0), f"0{m[2] or 1}d"), template)


def _shape(feature: Mapping[str, Any], name: str, path: Path) -> tuple[int, ...]:
    shape = feature.get("shape")
    if not isinstance(shape, list) or not all(type(n) is int and n > 0 for n in shape):
        raise PhalanxError(f'{path}: feature "{name}" has shape {shown(shape)}, expected a list of integers.')
    return tuple(shape)


def _labels(feature: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the entries: a list, or one list under a title such as "motors"; often there are none."""
    names = feature.get("names")
    if isinstance(names, dict) and len(names) == 1:
        names = next(iter(names.values()))
    if isinstance(names, list) and len(names) == (shape[0] if len(shape) == 1 else -1):
        return tuple(map(str, names))
    return ()


def _rate(info: Mapping[str, Any], path: Path) -> float | None:
    rate = info.get("fps")
    if rate is None:
        return None
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < 1e9:
        raise PhalanxError(f"{path}: fps is {shown(rate)}, expected frames a second above 0.")
    return float(rate)
