# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The examples and the code of the README run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
README_CODE = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_example_runs_and_prints(file: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("code", README_CODE)
def test_readme_code_runs_and_prints(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_readme_has_code() -> None:
    assert README_CODE
