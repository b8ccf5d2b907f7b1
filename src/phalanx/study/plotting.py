# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One style for all pictures: fonts for print, colour-blind safe colours.

matplotlib is imported when the first picture is made. Nothing goes through `pyplot`, whose windows and
state belong to the user.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

from ..errors import PhalanxError, installing, shown

# Okabe and Ito, Color Universal Design (2008), without the yellow, which is too pale in print.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
COLOURS = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, BLACK)
GREY, PALE = "#767676", "#D9D9D9"
# Lines differ in shape too, for print without colour.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":")
FORMATS = ("png", "pdf", "svg")

_STYLE = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "text.parse_math": False,  # names are no formulas
}


@contextmanager
def styled() -> Iterator[None]:
    """A context in which figures have the common style."""
    with _matplotlib().rc_context(_STYLE):
        yield


def new_figure(width: float = 6.3, height: float = 3.8) -> tuple[Any, Any]:
    """A figure and its axes; sizes in inches, the width of a text column by default."""
    _matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def new_ticks() -> Any:
    """Ticks of a logarithmic axis at 1, 2 and 5 times powers of ten."""
    _matplotlib()
    from matplotlib.ticker import LogLocator

    return LogLocator(subs=(1.0, 2.0, 5.0))


def line_styles() -> Iterator[dict[str, Any]]:
    """Colour, marker and dashes for each of several lines, no two alike."""
    for number, (colour, marker) in enumerate(zip(cycle(COLOURS), cycle(MARKERS), strict=False)):
        yield {"color": colour, "marker": marker, "linestyle": DASHES[number // len(COLOURS) % len(DASHES)]}


def output_path(path: Any, where: str) -> Path:
    """The path of a file that is to be written; raises for a name that no file can have."""
    try:
        file = Path(os.fsdecode(path))
        os.fsencode(file)
    except (TypeError, ValueError):
        raise PhalanxError(f"{where}: got {shown(path)}, expected a path.") from None
    if "\0" in str(file):
        raise PhalanxError(f"{where}: the path {shown(path)} holds a null character, which no name can.")
    return file


def require_drawable(path: Any) -> Path:
    """The path of a picture; raises for a format that cannot be written, before long work begins."""
    _matplotlib()
    file = output_path(path, "plot")
    if file.suffix.lower().removeprefix(".") not in FORMATS:
        raise PhalanxError(f"plot: {file} ends in {file.suffix!r}, expected one of .png, .pdf, .svg.")
    return file


def saved(figure: Any, path: Any) -> Any:
    """The figure, written to a file unless `path` is None; its suffix says the format."""
    if path is None:
        return figure
    file = require_drawable(path)
    try:
        with styled():
            figure.savefig(file)
    except (OSError, ValueError) as error:  # a name that no file can have, or text that no font can draw
        reason = getattr(error, "strerror", None) or error
        raise PhalanxError(f"plot: cannot write {file}: {reason}.") from None
    return figure


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise PhalanxError(
            f"plot: pictures need the package matplotlib, which is not installed; {installing('viz')}."
        ) from None
    return matplotlib
