# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The page without a browser: it starts for all kinds of robots, on loopback, and lets nobody else in."""

import contextlib
import http.client
import io
import json
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.studio.page import Page
from phalanx.studio.server import HOST, script
from phalanx.studio.stage import hover_texts

pytest.importorskip("viser", reason="the page is viser's")
pytest.importorskip("trimesh", reason="meshes are read with trimesh")

EMPTY = """<robot name="bare"><link name="a"/><link name="b"><inertial><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>"""
MJCF = """<mujoco><worldbody><body name="pole"><freejoint/><geom type="capsule" size="0.1 0.3"/>
  <body name="tip" pos="0 0 0.4"><joint name="j" type="ball"/><geom size="0.1"/></body></body>
  </worldbody></mujoco>"""
DH = '[[row]]\na = 0.4\nmass = 1\n[[row]]\ntype = "prismatic"\nmass = 1\nlower = 0\nupper = 0.5\n'


@contextlib.contextmanager
def opened(source, **options) -> Iterator[Page]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a file's masses
        scene = px.visuals(source)
    page = Page(scene, **options)
    try:
        yield page
    finally:
        page.close()


def example(name: str) -> Path:
    cmeel = pytest.importorskip("cmeel", reason="example-robot-data comes with it")
    for folder in Path(cmeel.__path__[0]).parent.glob("*.prefix"):
        path = folder / "share" / "example-robot-data" / "robots" / name
        if path.is_file():
            return path
    pytest.skip("the package example-robot-data is not installed")


@pytest.mark.parametrize(
    "source",
    [
        "puma560",
        EMPTY,
        pytest.param(MJCF, id="mjcf"),
        DH,
        px.chain(200),
        "ur_description/urdf/ur5_robot.urdf",
        "panda_description/urdf/panda.urdf",
        "talos_data/robots/talos_reduced.urdf",
        "anymal_b_simple_description/robots/anymal.urdf",
    ],
    ids=lambda s: s.name if isinstance(s, px.Robot) else s.strip().splitlines()[0][:20],
)
def test_the_page_starts_for_every_kind_of_robot(source) -> None:
    if isinstance(source, str) and source.endswith(".urdf"):
        source = example(source)
    if source is MJCF:
        pytest.importorskip("mujoco", reason="reads MJCF")
    with opened(source) as page:
        slider, handle = page.robot_view.sliders[-1]
        before = [(node.wxyz.tolist(), node.position.tolist()) for node in page.stage.links]
        page.session.move(slider, 0.4 * slider.upper + 0.1 * slider.lower)
        page.refresh()
        assert [(node.wxyz.tolist(), node.position.tolist()) for node in page.stage.links] != before
        page.stage.show("names", True)
        page.stage.show("centres", True)
        page.stage.show("ellipsoids", True)
        assert answer(page, "/")[0] == 200
        assert handle.max >= handle.min


class Drag:
    """What a browser's drag looks like to the page."""

    client = "a browser"


def test_a_dragged_handle_moves_the_robot_and_its_sliders() -> None:
    with opened("puma560") as page:
        handle, session = page.robot_view.handle, page.session
        handle.on.value = True
        handle.choose()
        grip = handle.grip
        assert np.allclose(grip.position, session.frame_pose(handle.name)[:3, 3])
        shown = [slider.value for _, slider in page.robot_view.sliders]
        grip.position = grip.position + np.array([0.03, -0.02, 0.04])
        handle.drag(Drag())
        assert np.allclose(session.frame_pose(handle.name)[:3, 3], grip.position, atol=1e-5)
        assert [slider.value for _, slider in page.robot_view.sliders] != shown
        assert not handle.message.content
        page.refresh()
        held = np.array(grip.position)
        grip.position = held + 9.0
        handle.drag(Drag())
        assert "out of reach" in handle.message.content
        page.refresh()
        assert np.allclose(grip.position, held + 9.0)  # it stays in the hand that drags it
        page.session.reset()
        page.refresh()
        assert np.allclose(grip.position, session.frame_pose(handle.name)[:3, 3])
        handle.on.value = False
        handle.choose()
        assert not grip.visible


def answer(page: Page, path: str, **headers: str) -> tuple[int, dict[str, str]]:
    """Status and headers of a request."""
    connection = http.client.HTTPConnection(HOST, page.port, timeout=5)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    response.read()
    return response.status, {name.lower(): value for name, value in response.getheaders()}


def upgrade(page: Page, origin: str | None, host: str | None = None) -> int:
    """The status that a browser's page of some origin gets for a socket."""
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "x3JJHMbDL1EzLkh9GBhXDw==",
        "Sec-WebSocket-Protocol": "viser-v0",
    }
    if origin:
        headers["Origin"] = origin
    if host:
        headers["Host"] = host
    return answer(page, "/", **headers)[0]


def test_only_this_machines_own_page_is_let_in() -> None:
    with opened("two_link") as page:
        status, headers = answer(page, "/")
        assert status == 200
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert f"connect-src http://{HOST}:{page.port}" in policy
        assert "https:" not in policy
        assert upgrade(page, f"http://{HOST}:{page.port}") == 101
        assert upgrade(page, "http://evil.example") == 403
        assert upgrade(page, f"http://evil.example:{page.port}") == 403
        assert upgrade(page, f"http://{HOST}:{page.port}", host=f"evil.example:{page.port}") == 421
        assert answer(page, "/", Host="evil.example")[0] == 421
        for path in ("/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..\\..\\x", "/setup.py"):
            assert answer(page, path)[0] == 404
        others = [a[4][0] for a in socket.getaddrinfo(socket.gethostname(), None) if ":" not in a[4][0]]
        for address in set(others) - {HOST, "127.0.1.1"}:
            with pytest.raises(OSError, match=r"refused|timed out|unreachable"):
                socket.create_connection((address, page.port), timeout=1).close()


def test_names_under_the_pointer_are_text_that_cannot_end_the_script() -> None:
    names = ["</script><b>", "a\nframes: b", "\u2028'\"`${x}"]
    element = script(names).decode()
    assert element.count("</script") == 1
    assert json.loads(element[element.rindex("(") + 1 : element.rindex(")")]) == names
    with opened("two_link") as page:
        for packing in ("gzip", "identity"):
            connection = http.client.HTTPConnection(HOST, page.port, timeout=10)
            connection.request("GET", "/", headers={"Accept-Encoding": packing})
            body = connection.getresponse().read()
            assert script(hover_texts(page.session.robot)) in body.partition(b"</head>")[0][:20_000]


def test_the_page_cannot_make_the_server_ask_for_a_public_address() -> None:
    from viser import _messages

    with opened("two_link") as page:
        handlers = page.server._websock_server._incoming_handlers
        assert _messages.ShareUrlRequest not in handlers
        assert _messages.ShareUrlDisconnect not in handlers


def test_a_taken_port_is_an_error_and_a_free_one_is_used() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        number = taken.getsockname()[1]
        with pytest.raises(px.PhalanxError, match=f"port {number}"), opened("two_link", port=number):
            pass
    with opened("two_link", port=number) as page:
        assert page.port == number


def test_a_broken_law_leaves_the_page_up_and_tells_its_line(tmp_path) -> None:
    law = tmp_path / "law.py"
    law.write_text("def law(t, q, qd, u, robot):\n    return 1 / 0 + q\n")
    with opened("two_link", control=str(law)) as page:
        view = page.dynamics_view
        page.safely(view._start, view.message)
        assert "law.py" in view.message.content
        assert "2" in view.message.content
        assert not view.playing
        law.write_text("def law(t, q, qd, u, robot):\n    return -qd\n")
        page.safely(view._start, view.message)
        assert view.playing
        view.tick()
        assert page.session.qd.any()
        page.refresh()


def test_nothing_is_printed_and_no_thread_is_left() -> None:
    import threading

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        with opened("two_link"):
            pass
        time.sleep(0.1)
    assert said.getvalue() == ""
    assert not [t for t in threading.enumerate() if t.name == "phalanx studio"]


@pytest.mark.parametrize("word", ["SIGINT", "SIGTERM"])
def test_ctrl_c_ends_the_command_without_a_word(word: str) -> None:
    command = [sys.executable, "-m", "phalanx", "studio", "two_link", "--no-browser", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            said += process.stdout.readline()
        assert json.loads(said)["address"].startswith(f"http://{HOST}:")
        process.send_signal(getattr(signal, word))
        _, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 0
    assert error == ""
