# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The view "Compare": two algorithms on two copies of the robot, on a common time axis."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from . import markup
from .parallel import Playback, begins_drawn, choices, functions, playback, rivals
from .parallel_view import SECONDS
from .stage import RobotView3D, label_text

if TYPE_CHECKING:
    from .page import Page

_ROWS = 12


class CompareView:
    """Two algorithms side by side; the second has a robot of its own while it plays."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.playing = False
        self._plays: list[Playback] = []
        self._second: RobotView3D | None = None
        self._begun = self._part = 0.0
        self._quiet = False  # while choices follow another one
        gui, robot = page.server.gui, page.session.robot
        self._function = gui.add_dropdown("Function", functions())
        names = choices(robot, functions()[0])
        self._names = [
            gui.add_dropdown(label, names, initial_value=name)
            for label, name in zip(("First", "Second"), rivals(robot, functions()[0]), strict=True)
        ]
        self._count = gui.add_slider("Processors p", 1, 64, 1, 8)
        self._buttons = gui.add_button_group("Schedules", ("Play", "Pause", "Draw"))
        self.told = gui.add_html(markup.note("Scheduling …"))
        self._titles, self._charts, self._legends = [], [], []
        for _ in range(2):
            self._titles.append(gui.add_html(""))
            self._charts.append((gui.add_html(""), gui.add_html("")))
            self._legends.append(gui.add_html(""))
        self._table = gui.add_html("")
        self._links = gui.add_html("")
        self._function.on_update(self._other_function)
        for handle in (*self._names, self._count):
            handle.on_update(lambda _: None if self._quiet else self._changed())
        self._buttons.on_click(self._pressed)

    def _other_function(self, _: Any) -> None:
        function = self._function.value
        names = choices(self.page.session.robot, function)
        self._quiet = True
        try:
            for handle, name in zip(self._names, rivals(self.page.session.robot, function), strict=True):
                handle.options = names
                handle.value = name
        finally:
            self._quiet = False
        self._changed()

    def begin(self) -> None:
        """Draw the first two schedules, for whoever comes to this view."""
        if not begins_drawn(self.page.session.robot):
            self.told.content = markup.note("Schedules of so many links take a while: draw or play them.")
        elif not self._plays:
            self.page.safely(lambda: self._start(False), self.told)

    def _changed(self) -> None:
        """Another choice: what is drawn is always what is chosen."""
        self.playing, self._plays, self._part = False, [], 0.0
        self.page.safely(lambda: self._start(False), self.told)

    def _pressed(self, event: Any) -> None:
        word = event.target.value
        if word == "Pause":
            self.playing = False
        else:
            self.page.safely(lambda: self._start(word == "Play"), self.told)

    def _start(self, play: bool) -> None:
        if not self._plays:
            self.told.content = markup.note("Scheduling …")
            self.page.server.flush()
            robot, function = self.page.session.robot, self._function.value
            self._plays = [
                playback(robot, function, handle.value, "p processors", int(self._count.value))
                for handle in self._names
            ]
            self._part = 0.0
            self._draw()
        self.told.content = ""
        if play:
            if self._second is None:
                low, high = self.page.session.bounds()
                aside = max(1.25 * float(high[1] - low[1]), 0.6 * self.page.session.size)
                self._second = RobotView3D(self.page.server, self.page.session, "/second", (0.0, aside, 0.0))
            self._part = 0.0 if self._part >= 1.0 else self._part
            self._begun = time.perf_counter() - self._part * SECONDS
            self.playing = True

    def _draw(self) -> None:
        labels = [f"{k}. {h.value}" for k, h in enumerate(self._names, 1)]
        longest = max(p.schedule.makespan for p in self._plays)
        for play, (chart, head) in zip(self._plays, self._charts, strict=True):
            chart.content = markup.gantt(
                play.rows,
                play.spans(),
                longest,
                play.schedule.machine.unit,
                name=f"schedule {play.schedule.graph.title}",
            )
            head.content = markup.playhead(0.0, len(play.rows))
        for k, play in enumerate(self._plays):
            self._titles[k].content = markup.note(labels[k])
            self._legends[k].content = markup.swatches(play.legend())
        rows = [(what, *told) for what, told in self._compared()]
        self._table.content = markup.table(("", *labels), rows, name="compared")
        counts = [p.by_link() for p in self._plays]
        names = list(dict.fromkeys(name for c in counts for name in c))[:_ROWS]
        self._links.content = markup.table(
            ("operations by link", *labels),
            [(label_text(name), *(f"{c.get(name, 0):,}" for c in counts)) for name in names],
            name="links compared",
        )
        if (more := max(map(len, counts)) - _ROWS) > 0:
            self._links.content += markup.note(f"and {more:,} more links")

    def _compared(self) -> list[tuple[str, list[str]]]:
        """What is compared, for each of the two."""
        found: list[tuple[str, list[str]]] = []
        costs = [p.cost for p in self._plays]
        if all(c is not None for c in costs):
            for what in ("multiplications", "additions", "divisions", "trigonometric"):
                found.append((what, [f"{getattr(c, what):,}" for c in costs]))
        for k, (what, _) in enumerate(self._plays[0].facts()):
            found.append((what, [p.facts()[k][1] if k < len(p.facts()) else "–" for p in self._plays]))
        return found

    def tick(self) -> None:
        """One picture later, at the same moment of both."""
        if not self._plays or self._second is None:
            self.playing = False
            return
        self._part = (time.perf_counter() - self._begun) / SECONDS
        longest = max(p.schedule.makespan for p in self._plays)
        with self.page.server.atomic():
            done = self._part >= 1.0
            for play, stage, (_, head) in zip(
                self._plays, (self.page.stage, self._second), self._charts, strict=True
            ):
                own = self._part * longest / (play.schedule.makespan or 1.0)
                stage.light({} if done or own > 1.0 else play.at(own))
                head.content = markup.playhead(self._part, len(play.rows))
            if done:
                self.playing = False
                self._second.remove()
                self._second = None
        self.page.server.flush()
