# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The native tests with the oldest dependencies that pyproject.toml admits: `make test-minima`.

    python tests/minima.py FOLDER

An environment is made in FOLDER. Where no wheel of a minimum exists for this interpreter, nothing is tested
and the last line says why.
"""

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("pytest>=8", "pytest-xdist>=3.6", "hypothesis>=6.100")


def minima() -> list[str]:
    """The dependencies of the package, each at its least version."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    found = [re.fullmatch(r"([\w-]+)>=([\d.]+)", one) for one in declared]
    assert all(found), declared
    return [f"{m[1]}=={m[2]}.*" if m[2].count(".") < 2 else f"{m[1]}=={m[2]}" for m in found if m]


def main(folder: Path) -> int:
    venv.create(folder, clear=True, with_pip=True)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    got = subprocess.run([*pip, "--only-binary", ":all:", *minima()], capture_output=True, text=True)
    if got.returncode:
        print(
            f"not tested: no wheels of {', '.join(minima())} for this Python: {got.stderr.splitlines()[-1]}"
        )
        return 0
    subprocess.run([*pip, *TOOLS], check=True)
    subprocess.run([*pip, "--no-deps", "--editable", str(ROOT)], check=True)
    print("with", *minima(), flush=True)
    tests = ["tests/backends/native", "tests/robot", "tests/simulation/test_rollout.py"]
    return subprocess.run([python, "-m", "pytest", "-m", "not exhaustive", *tests], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
