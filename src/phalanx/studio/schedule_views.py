# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The views "Parallelism" and "Compare": schedules as charts that play, of one algorithm or of two."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..study.recommend import recommend
from ..study.speedup import best_curve
from . import markup
from .playback import (
    MACHINES,
    PROCESSORS,
    Playback,
    begins_drawn,
    choices,
    functions,
    playback,
    rivals,
    speedups,
)
from .stage import RobotView3D, label_text

if TYPE_CHECKING:
    from .page import Page

SECONDS = 8.0  # duration of the playback of a schedule
_SHADES = ("#D6E6F2", "#9CC6E3", "#56A5D3", "#0072B2", "#00466E")  # few to many operations
_MOST_LINKS, _MOST_COMPARED = 16, 12  # links whose operations are listed, of one algorithm and of two


class _ScheduleView:
    """A function and algorithms to choose, and buttons that draw and play their schedules."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.playing = False
        self._begun = self._part = 0.0
        self._quiet = False  # True while choices are updated by the program
        self._function = page.server.gui.add_dropdown("Function", functions())

    # Each view implements: whether its schedules exist, making them, drawing them, and a change of choice.

    _names: list[Any]

    def _is_drawn(self) -> bool:
        raise NotImplementedError

    def _schedule(self) -> None:
        raise NotImplementedError

    def _draw(self) -> None:
        raise NotImplementedError

    def _changed(self) -> None:
        raise NotImplementedError

    def _add_buttons(self, title: str, handles: Iterable[Any]) -> None:
        """Add the buttons and a line for messages, and connect the callbacks of the choices."""
        gui = self.page.server.gui
        buttons = gui.add_button_group(title, ("Play", "Pause", "Draw"))
        buttons.on_click(self._pressed)
        self.message = gui.add_html(markup.note("Scheduling …"))
        self._function.on_update(self._other_function)
        for handle in handles:
            handle.on_update(lambda _: None if self._quiet else self._changed())

    def begin(self) -> None:
        """Draw the first schedule, unless the robot is so long that this takes a while."""
        if not begins_drawn(self.page.session.robot):
            self.message.content = markup.note("Schedules of so many links take a while: draw or play them.")
        elif not self._is_drawn():
            self._show(False)

    def _pressed(self, event: Any) -> None:
        word = event.target.value
        if word == "Pause":
            self.playing = False
        else:
            self._show(word == "Play")

    def _show(self, play: bool) -> None:
        self.page.safely(lambda: self._start(play), self.message)

    def _start(self, play: bool) -> None:
        if not self._is_drawn():
            self.message.content = markup.note("Scheduling …")
            self.page.server.flush()
            self._schedule()
            self._part = 0.0
            self._draw()
        self.message.content = ""
        if play:
            self._part = 0.0 if self._part >= 1.0 else self._part
            self._begun = time.perf_counter() - self._part * SECONDS
            self.playing = True

    def _other_function(self, _: Any) -> None:
        """Offer the algorithms of another function."""
        robot, function = self.page.session.robot, self._function.value
        names = choices(robot, function)
        self._quiet = True
        try:
            for handle, name in zip(self._names, rivals(robot, function), strict=False):
                handle.options = names
                handle.value = name
        finally:
            self._quiet = False
        self._changed()


class ParallelView(_ScheduleView):
    """One algorithm on one machine."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.play: Playback | None = None
        self._dirty = True
        gui, robot = page.server.gui, page.session.robot
        self._algorithm = gui.add_dropdown("Algorithm", choices(robot, functions()[0]))
        self._names = [self._algorithm]
        self._machine = gui.add_dropdown("Machine", MACHINES)
        self._count = gui.add_slider("Processors p", 1, 64, 1, 4)
        self._add_buttons("Schedule", (self._algorithm, self._machine, self._count))
        self._chart = gui.add_html("")
        self._head = gui.add_html("")
        self._facts = gui.add_html("")
        self._paint = gui.add_checkbox("Colour by operations", False)
        with gui.add_folder("More processors", expand_by_default=False):
            self._more = gui.add_button("Compute speed-ups of all algorithms")
            self._speed = gui.add_html("")
        with gui.add_folder("Which algorithm?", expand_by_default=True):
            self._batch = gui.add_number("Batch", 4096, min=1, max=1_000_000, step=1)
            self._ask = gui.add_button("Recommend")
            self._advice = gui.add_html(markup.note(self._auto()))
        self._paint.on_update(lambda _: self.page.safely(self._coloured, self.message))
        self._more.on_click(lambda _: self.page.safely(self._gain, self._speed))
        self._ask.on_click(lambda _: self.page.safely(self._recommend, self._advice))

    def _is_drawn(self) -> bool:
        return self.play is not None and not self._dirty

    def _auto(self) -> str:
        name = choices(self.page.session.robot, self._function.value)[0]
        return f'"auto" takes {name} for {self._function.value} of this robot.'

    def _other_function(self, event: Any) -> None:
        self._advice.content = markup.note(self._auto())
        self._speed.content = ""
        super()._other_function(event)

    def _changed(self) -> None:
        was, self.playing, self._dirty = self.playing, False, True
        if was or self.play is not None:
            self._show(was)

    def _schedule(self) -> None:
        for handle in (self._chart, self._head, self._facts):
            handle.content = ""  # of another choice
        self.play = playback(
            self.page.session.robot,
            self._function.value,
            self._algorithm.value,
            self._machine.value,
            int(self._count.value),
        )
        self._dirty = False

    def _start(self, play: bool) -> None:
        super()._start(play)
        if play:
            self._paint.value = False

    def _draw(self) -> None:
        assert self.play is not None
        s = self.play.schedule
        self._chart.content = markup.gantt(self.play, name="schedule")
        self._head.content = markup.playhead(0.0, len(self.play.rows))
        chain = self.play.critical()
        path = " → ".join(chain[:4]) + (f" → … → {chain[-1]}" if len(chain) > 5 else "")
        self._facts.content = (
            markup.swatches(self.play.legend())
            + (markup.note(f"processors: {kinds}") if (kinds := self.play.kinds()) else "")
            + markup.table(("schedule", str(s.machine)), self.play.facts(), name="facts")
            + (markup.note(f"critical chain of {len(chain)} tasks: {path}") if chain else "")
            + self._by_link()
        )

    def _by_link(self) -> str:
        assert self.play is not None
        rows = [(label_text(name), float(n), f"{n:,}") for name, n in self.play.by_link().items()]
        if not rows:
            return ""
        more = len(rows) - _MOST_LINKS
        return markup.bars(rows[:_MOST_LINKS], name="by link", unit="Operations by link") + (
            markup.note(f"and {more:,} more links") if more > 0 else ""
        )

    def tick(self) -> None:
        """Advance the playback by one picture: move the playhead, colour the links at work by quantity."""
        play = self.play
        if play is None:
            self.playing = False
            return
        self._part = (time.perf_counter() - self._begun) / SECONDS
        with self.page.server.atomic():
            if self._part >= 1.0:
                self.playing = False
                self.page.stage.light({})
            else:
                self.page.stage.light(play.at(self._part))
            self._head.content = markup.playhead(self._part, len(play.rows))
        self.page.server.flush()

    def _coloured(self) -> None:
        """Shade each link by its number of operations."""
        if not self._paint.value:
            self.page.stage.light({})
            return
        self._start(False)
        self.playing = False
        assert self.play is not None
        counts = self.play.by_link()
        most = max(counts.values(), default=0) or 1
        last = len(_SHADES) - 1
        self.page.stage.light({name: _SHADES[round(last * n / most)] for name, n in counts.items()})

    def _gain(self) -> None:
        self._speed.content = markup.note("Scheduling every algorithm …")
        self.page.server.flush()
        robot, function = self.page.session.robot, self._function.value
        found = speedups(robot, function, choices(robot, function))
        ranked = dict(sorted(found.items(), key=lambda item: -max(item[1]))[:6])
        self._speed.content = markup.curves(
            PROCESSORS,
            ranked,
            name="speed-up",
            x_label="processors, p (common memory)",
            y_label="speed-up",
            log=True,
            dots=True,
        ) + markup.note(
            "over one processor that takes the algorithm with the least work; the knee, where speed-up times "
            f"efficiency is largest: {best_curve(PROCESSORS, found).at_knee()}"
        )

    def _recommend(self) -> None:
        self._advice.content = markup.note("Predicting times on this machine …")
        self.page.server.flush()
        found = recommend(self.page.session.robot, self._function.value, int(self._batch.value))
        self._advice.content = markup.note(self._auto()) + markup.note(str(found))


class CompareView(_ScheduleView):
    """Two algorithms side by side; the second has a robot of its own while it plays."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self._plays: list[Playback] = []
        self._second: RobotView3D | None = None
        gui, robot = page.server.gui, page.session.robot
        names = choices(robot, functions()[0])
        self._names = [
            gui.add_dropdown(label, names, initial_value=name)
            for label, name in zip(("First", "Second"), rivals(robot, functions()[0]), strict=True)
        ]
        self._count = gui.add_slider("Processors p", 1, 64, 1, 8)
        self._add_buttons("Schedules", (*self._names, self._count))
        self._titles, self._charts, self._legends = [], [], []
        for _ in range(2):
            self._titles.append(gui.add_html(""))
            self._charts.append((gui.add_html(""), gui.add_html("")))
            self._legends.append(gui.add_html(""))
        self._table = gui.add_html("")
        self._links = gui.add_html("")

    def _is_drawn(self) -> bool:
        return bool(self._plays)

    def _changed(self) -> None:
        """Redraw after a change of choice."""
        self.playing, self._plays, self._part = False, [], 0.0
        self._show(False)

    def _schedule(self) -> None:
        robot, function = self.page.session.robot, self._function.value
        self._plays = [
            playback(robot, function, handle.value, "p processors", int(self._count.value))
            for handle in self._names
        ]

    def _start(self, play: bool) -> None:
        super()._start(play)
        if play and self._second is None:
            low, high = self.page.session.bounds()
            aside = max(1.25 * float(high[1] - low[1]), 0.6 * self.page.session.size)
            self._second = RobotView3D(self.page.server, self.page.session, "/second", (0.0, aside, 0.0))

    def _draw(self) -> None:
        labels = [f"{k}. {h.value}" for k, h in enumerate(self._names, 1)]
        longest = max(p.schedule.makespan for p in self._plays)
        for play, (chart, head) in zip(self._plays, self._charts, strict=True):
            chart.content = markup.gantt(play, name=f"schedule {play.schedule.graph.title}", longest=longest)
            head.content = markup.playhead(0.0, len(play.rows))
        for k, play in enumerate(self._plays):
            self._titles[k].content = markup.note(labels[k])
            self._legends[k].content = markup.swatches(play.legend())
        rows = [(what, *values) for what, values in self._compared()]
        self._table.content = markup.table(("", *labels), rows, name="compared")
        counts = [p.by_link() for p in self._plays]
        names = list(dict.fromkeys(name for c in counts for name in c))[:_MOST_COMPARED]
        self._links.content = markup.table(
            ("operations by link", *labels),
            [(label_text(name), *(f"{c.get(name, 0):,}" for c in counts)) for name in names],
            name="links compared",
        )
        if (more := max(map(len, counts)) - _MOST_COMPARED) > 0:
            self._links.content += markup.note(f"and {more:,} more links")

    def _compared(self) -> list[tuple[str, list[str]]]:
        """The compared figures of each of the two algorithms."""
        found: list[tuple[str, list[str]]] = []
        costs = [p.cost for p in self._plays]
        if all(c is not None for c in costs):
            for what in ("multiplications", "additions", "divisions", "trigonometric"):
                found.append((what, [f"{getattr(c, what):,}" for c in costs]))
        for k, (what, _) in enumerate(self._plays[0].facts()):
            found.append((what, [p.facts()[k][1] if k < len(p.facts()) else "–" for p in self._plays]))
        return found

    def tick(self) -> None:
        """Advance the playback of both by one picture, at the same time."""
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
