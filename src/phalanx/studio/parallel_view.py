# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The view "Parallelism": a schedule as a chart that plays, what processors gain, what costs where."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..study.recommend import recommend
from . import markup
from .parallel import MACHINES, PROCESSORS, Playback, begins_drawn, choices, functions, playback, speedups
from .stage import label_text

if TYPE_CHECKING:
    from .page import Page

SECONDS = 8.0  # that a schedule plays
_SHADES = ("#D6E6F2", "#9CC6E3", "#56A5D3", "#0072B2", "#00466E")  # few to many operations
_ROWS = 16


class ParallelView:
    """One algorithm on one machine."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.playing = False
        self.play: Playback | None = None
        self._begun = 0.0
        self._part = 0.0
        self._dirty = True
        self._quiet = False  # while choices follow another one
        gui, robot = page.server.gui, page.session.robot
        self._function = gui.add_dropdown("Function", functions())
        self._algorithm = gui.add_dropdown("Algorithm", choices(robot, functions()[0]))
        self._machine = gui.add_dropdown("Machine", MACHINES)
        self._count = gui.add_slider("Processors p", 1, 64, 1, 4)
        self._buttons = gui.add_button_group("Schedule", ("Play", "Pause", "Draw"))
        self.told = gui.add_html(markup.note("Scheduling …"))
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
        self._function.on_update(self._other_function)
        for handle in (self._algorithm, self._machine, self._count):
            handle.on_update(lambda _: None if self._quiet else self._changed())
        self._buttons.on_click(self._pressed)
        self._paint.on_update(lambda _: self.page.safely(self._coloured, self.told))
        self._more.on_click(lambda _: self.page.safely(self._gain, self._speed))
        self._ask.on_click(lambda _: self.page.safely(self._recommend, self._advice))

    def begin(self) -> None:
        """Draw the first schedule, for whoever comes to this view."""
        if not begins_drawn(self.page.session.robot):
            self.told.content = markup.note("A schedule of so many links takes a while: draw or play it.")
        elif self.play is None:
            self.page.safely(lambda: self._start(False), self.told)

    def _auto(self) -> str:
        name = choices(self.page.session.robot, self._function.value)[0]
        return f'"auto" takes {name} for {self._function.value} of this robot.'

    def _other_function(self, _: Any) -> None:
        names = choices(self.page.session.robot, self._function.value)
        self._quiet = True
        try:
            self._algorithm.options = names
            self._algorithm.value = names[0]
        finally:
            self._quiet = False
        self._advice.content = markup.note(self._auto())
        self._speed.content = ""
        self._changed()

    def _changed(self) -> None:
        was, self.playing, self._dirty = self.playing, False, True
        if was or self.play is not None:
            self.page.safely(lambda: self._start(was), self.told)

    def _pressed(self, event: Any) -> None:
        word = event.target.value
        if word == "Pause":
            self.playing = False
        else:
            self.page.safely(lambda: self._start(word == "Play"), self.told)

    def _start(self, play: bool) -> None:
        if self._dirty or self.play is None:
            self.told.content = markup.note("Scheduling …")
            self.page.server.flush()
            for handle in (self._chart, self._head, self._facts):
                handle.content = ""  # of another choice
            self.play = playback(
                self.page.session.robot,
                self._function.value,
                self._algorithm.value,
                self._machine.value,
                int(self._count.value),
            )
            self._dirty, self._part = False, 0.0
            self._draw()
        self.told.content = ""
        if play:
            self._part = 0.0 if self._part >= 1.0 else self._part
            self._begun = time.perf_counter() - self._part * SECONDS
            self.playing = True
            self._paint.value = False

    def _draw(self) -> None:
        assert self.play is not None
        s = self.play.schedule
        self._chart.content = markup.gantt(
            self.play.rows, self.play.spans(), s.makespan, s.machine.unit, name="schedule"
        )
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
        more = len(rows) - _ROWS
        return markup.bars(rows[:_ROWS], name="by link", unit="Operations by link") + (
            markup.note(f"and {more:,} more links") if more > 0 else ""
        )

    def tick(self) -> None:
        """One picture later: the line moves on, and links at work have the colour of what they compute."""
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
        """Links in shades of how many operations are theirs."""
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
        ) + markup.note("over one processor that takes the algorithm with the least work")

    def _recommend(self) -> None:
        self._advice.content = markup.note("Predicting times on this machine …")
        self.page.server.flush()
        found = recommend(self.page.session.robot, self._function.value, int(self._batch.value))
        self._advice.content = markup.note(self._auto()) + markup.note(str(found))
