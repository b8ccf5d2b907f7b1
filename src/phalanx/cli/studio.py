# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx studio`: a page on this machine with the robot, its dynamics and its schedules."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from ..errors import printable
from ..io.visuals import visuals
from .arguments import add_robot, load_robot
from .output import emit, emit_json

EXAMPLES = """
phalanx studio puma560
phalanx studio arm.urdf --packages ~/catkin_ws/src --control law.py
phalanx studio panda --port 8000 --no-browser --dark

the page is on this machine only (127.0.0.1) and asks for nothing
from anywhere else; Ctrl-C ends it.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    parser.add_argument("--port", type=_port, metavar="N", help="its port (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    parser.add_argument("--dark", action="store_true", help="begin with a dark page")
    parser.add_argument(
        "--control", metavar="FILE", help="a Python file with law(t, q, qd, u, robot), to simulate with"
    )
    parser.add_argument(
        "--packages", metavar="FOLDER", nargs="+", help="folders in which package:// meshes are looked for"
    )


def run(args: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C; exit status 0."""
    from ..studio.page import Page  # viser takes a while to import

    robot = load_robot(args)
    source = robot if args.robot == "-" else args.robot
    page = Page(
        visuals(source, robot, packages=args.packages), port=args.port, control=args.control, dark=args.dark
    )
    ended = threading.Event()
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), lambda *_: ended.set())
    try:
        if args.json:
            emit_json({"address": page.address, "robot": robot.name})
        else:
            emit(f"{printable(robot.name)} is at {page.address} – Ctrl-C ends it.")
        sys.stdout.flush()
        if not args.no_browser:
            import webbrowser

            webbrowser.open(page.address)
        while not ended.wait(0.5):  # in pieces, so that Windows hears Ctrl-C
            pass
    finally:
        page.close()
    return 0


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = 0
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a port from 1 to 65535")
    return port
