# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exported WebAssembly called in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest


def node(script: str, folder: Path) -> str:
    """What a script prints as a module in a folder; the test is skipped where there is no Node."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    (folder / "script.mjs").write_text(script)
    done = subprocess.run(["node", "script.mjs"], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def called(folder: Path, name: str, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, Any]) -> Any:
    """Results of an exported function for rows of states: one by one, then all at once, by names."""
    first = next(iter(inputs.values()))
    count, dtype = len(first), first.dtype
    array = "Float64Array" if dtype == np.float64 else "Float32Array"
    for key, values in inputs.items():
        np.ascontiguousarray(values, dtype).tofile(folder / f"in_{key}.bin")
    script = f"""
import {{ readFileSync, writeFileSync }} from "node:fs";
import {{ load }} from "./arm.mjs";
const arm = await load();
const read = (key) => new {array}(Uint8Array.from(readFileSync(`in_${{key}}.bin`)).buffer);
const keys = {json.dumps(list(inputs))}, names = {json.dumps(list(outputs))}, count = {count};
const inputs = keys.map(read);
const byName = (result) => (names.length === 1 ? {{ [names[0]]: result }} : result);
const many = byName(arm.{name}(...inputs));
const rows = Array.from({{ length: count }}, (_, i) =>
  byName(arm.{name}(...inputs.map((x) => x.slice((i * x.length) / count, ((i + 1) * x.length) / count)))));
for (const key of names) {{
  writeFileSync(`many_${{key}}.bin`, new Uint8Array(many[key].buffer));
  writeFileSync(`alone_${{key}}.bin`, Buffer.concat(rows.map((r) => Buffer.from(r[key].buffer))));
}}
"""
    node(script, folder)
    return [
        {
            key: np.fromfile(folder / f"{way}_{key}.bin", dtype).reshape(count, *shape)
            for key, shape in outputs.items()
        }
        for way in ("alone", "many")
    ]
