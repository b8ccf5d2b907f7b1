# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Footers of Parquet files: what is decoded is encoded again to the same bytes, and joined files are read."""

from pathlib import Path

import numpy as np
import pytest

from phalanx.data.footer import MAGIC, decode, encode, joined, split

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def table(rows: int, seed: int) -> "pa.Table":
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "x": rng.normal(size=rows),
            "word": [f"w{k % 3}" for k in range(rows)],
            "flag": rng.random(rows) < 0.5,
            "few": pa.array([None if k % 5 == 0 else k for k in range(rows)], pa.int32()),
            "list": pa.FixedSizeListArray.from_arrays(pa.array(rng.normal(size=3 * rows)), 3),
        },
        metadata={"note": "kept"},
    )


def whole(rows: int, seed: int, **options: object) -> memoryview:
    sink = pa.BufferOutputStream()
    pq.write_table(table(rows, seed), sink, **options)
    return memoryview(sink.getvalue())


@pytest.mark.parametrize(
    "options", [{}, {"use_dictionary": False}, {"row_group_size": 7}, {"version": "1.0"}]
)
def test_a_footer_is_encoded_as_it_was(options: dict[str, object]) -> None:
    footer = split(whole(100, 0, **options))[1]
    assert encode(decode(footer)) == footer


@pytest.mark.parametrize("parts", [1, 2, 20])
def test_files_joined_without_decoding_are_read_as_one(parts: int, tmp_path: Path) -> None:
    files = [split(whole(50 + 3 * k, k, row_group_size=20)) for k in range(parts)]
    body, starts = bytearray(MAGIC), []
    for data, _ in files:
        starts.append(len(body))
        body += data
    tail = joined([footer for _, footer in files], [start - len(MAGIC) for start in starts])
    (tmp_path / "a.parquet").write_bytes(bytes(body) + tail)
    found = pq.read_table(tmp_path / "a.parquet")
    assert found.equals(pa.concat_tables([table(50 + 3 * k, k) for k in range(parts)]))
    assert found.schema.metadata[b"note"] == b"kept"
    file = pq.ParquetFile(tmp_path / "a.parquet")
    last = file.read_row_group(file.num_row_groups - 1)
    assert (
        last.column("x").to_pylist()
        == table(50 + 3 * parts - 3, parts - 1).column("x").to_pylist()[-last.num_rows :]
    )
