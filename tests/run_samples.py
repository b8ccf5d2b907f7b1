# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Runs the samples of a page in one process, in order; a program of its own, started by `test_docs`.

Leaves with 77 and one line where a sample needs a package that is not installed.
"""

import json
import sys
import traceback
from pathlib import Path

MISSING = 77


def missing_package(error: BaseException | None) -> str | None:
    """The package whose absence is behind an error, if that is what it is."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("phalanx"):
            return error.name
        error = error.__cause__ or error.__context__
    return None


def main(file: str) -> int:
    page = json.loads(Path(file).read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "__main__"}
    for line, text in page["samples"]:
        try:
            # Lines count from the top of the page, so that a traceback points into it.
            exec(compile("\n" * (line - 1) + text, page["page"], "exec"), names)
        except Exception as error:
            if package := missing_package(error):
                print(f"{page['page']}:{line} needs the package {package}", file=sys.stderr)
                return MISSING
            traceback.print_exc()
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
