# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Data sets of LeRobot, versions 2 and 3: Parquet files in the places that `meta/info.json` tells."""

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
    """Whether a folder is such a data set."""
    return (root / INFO).is_file()


def open_lerobot(root: Path) -> tuple[list[Source], dict[str, Any], float | None]:
    """Its files as sources, what it says about itself, and its frames a second."""
    place = root / INFO
    info = _info(place)
    features = info["features"]
    shapes = {name: _shape(f, name, place) for name, f in features.items()}
    labels = {name: _labels(f, shapes[name]) for name, f in features.items()}
    files = _files(root, info, place)
    sources: list[Source] = [ParquetSource(file, shapes, labels) for file in files]
    for number, source in enumerate(sources):
        source.number = number
        missing = [
            n
            for n, f in features.items()
            if f.get("dtype") not in ("video", "image") and n not in source.columns
        ]
        if missing:
            raise PhalanxError(f"{source.path}: no column {listing(missing)}, of which {place} tells.")
    rows, told = sum(s.rows for s in sources), info.get("total_frames")
    if told is not None and told != rows:
        raise PhalanxError(
            f"{place}: total_frames is {shown(told)}, but the files hold {rows} rows; one is torn or missing."
        )
    first = sources[0]
    assert isinstance(first, ParquetSource)
    return sources, {**first.properties(), "lerobot": info}, _rate(info, place)


def write_meta(
    root: Path, made: Path, columns: Sequence[Column], info: Mapping[str, Any], frames: int
) -> None:
    """Describe a data set with these columns: the original's `meta`, with the features that are left."""
    old = info["features"]
    features = {}
    for c in columns:
        if c.name in old:
            features[c.name] = old[c.name]
        else:
            features[c.name] = {"dtype": c.dtype.name, "shape": [c.width], "names": list(c.labels) or None}
    shutil.copytree(root / "meta", made / "meta", dirs_exist_ok=True)
    told = {**info, "features": features}
    told.pop("video_path", None)
    if "total_frames" in told:
        told["total_frames"] = frames
    if "total_videos" in told:
        told["total_videos"] = 0
    (made / INFO).write_text(json.dumps(told, indent=4), encoding="utf-8")
    stats = made / "meta" / "stats.json"
    if stats.is_file():
        try:
            kept = {k: v for k, v in json.loads(stats.read_text(encoding="utf-8")).items() if k in features}
        except (ValueError, AttributeError):
            kept = {}
        stats.write_text(json.dumps(kept, indent=4), encoding="utf-8")


def _info(place: Path) -> dict[str, Any]:
    try:
        info = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise PhalanxError(f"{place}: no JSON that can be read: {error}.") from None
    if not isinstance(info, dict) or not isinstance(info.get("features"), dict):
        raise PhalanxError(f'{place}: no "features"; expected the description of a LeRobot data set.')
    if not all(isinstance(f, dict) for f in info["features"].values()):
        raise PhalanxError(f'{place}: "features" holds something else than descriptions of columns.')
    version = str(info.get("codebase_version", ""))
    if not version.startswith(("v2", "v3")):
        raise PhalanxError(f"{place}: codebase_version is {shown(version)}, expected v2… or v3….")
    return info


def _files(root: Path, info: Mapping[str, Any], place: Path) -> list[Path]:
    """The Parquet files, all inside the data set, none missing."""
    template = info.get("data_path")
    names = [m[0] for m in _FIELD.findall(template)] if isinstance(template, str) else []
    rest = _FIELD.sub("", template) if isinstance(template, str) else ""
    if not names or "{" in rest or "}" in rest or not set(names) <= set(_KNOWN):
        raise PhalanxError(
            f"{place}: data_path is {shown(template)}, expected a path with {{episode_chunk}} and "
            f"{{episode_index}} "
            "(v2) or {chunk_index} and {file_index} (v3)."
        )
    assert isinstance(template, str)
    if Path(template).is_absolute() or ".." in Path(template.replace("\\", "/")).parts:
        raise PhalanxError(
            f"{place}: data_path {shown(template)} leaves the folder of the data set; refused."
        )
    if "episode_index" not in names:
        files = sorted(root.glob(_FIELD.sub("*", template)))
        if not files:
            raise PhalanxError(f"{place}: no file is at {template}.")
        return files
    total, size = info.get("total_episodes"), info.get("chunks_size", 1000)
    if type(total) is not int or type(size) is not int or total < 1 or size < 1:
        raise PhalanxError(
            f"{place}: total_episodes {shown(total)}, chunks_size {shown(size)}; expected integers above 0."
        )
    files = []
    for episode in range(total):
        file = root / _filled(template, {"episode_index": episode, "episode_chunk": episode // size})
        if not file.is_file():
            raise PhalanxError(f"{place}: episode {episode} of {total} is missing: there is no file {file}.")
        files.append(file)
    return files


def _filled(template: str, values: Mapping[str, int]) -> str:
    """A path with numbers in it; templates are data, so nothing but these fields is understood."""
    return _FIELD.sub(lambda m: format(values.get(m[1], 0), f"0{m[2] or 1}d"), template)


def _shape(feature: Mapping[str, Any], name: str, place: Path) -> tuple[int, ...]:
    shape = feature.get("shape")
    if not isinstance(shape, list) or not all(type(n) is int and n > 0 for n in shape):
        raise PhalanxError(
            f'{place}: feature "{name}" has shape {shown(shape)}, expected a list of integers.'
        )
    return tuple(shape)


def _labels(feature: Mapping[str, Any], shape: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the entries: a list, or one list under a title such as "motors"; often there are none."""
    names = feature.get("names")
    if isinstance(names, dict) and len(names) == 1:
        names = next(iter(names.values()))
    if isinstance(names, list) and len(names) == (shape[0] if len(shape) == 1 else -1):
        return tuple(map(str, names))
    return ()


def _rate(info: Mapping[str, Any], place: Path) -> float | None:
    rate = info.get("fps")
    if rate is None:
        return None
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < 1e9:
        raise PhalanxError(f"{place}: fps is {shown(rate)}, expected frames a second above 0.")
    return float(rate)
