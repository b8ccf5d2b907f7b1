# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Markup whose text cannot become markup."""

import json
import math
from html.parser import HTMLParser

from phalanx.study.markup import embedded, join, table, tag

HOSTILE = "</script><script>alert(1)</script><!-- \" ' & \u202e \u2028 \ud800 ]]> ${x} `"


class Seen(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(name)
        self.attributes += attributes

    def handle_data(self, data: str) -> None:
        self.text += data


def test_text_and_attributes_are_escaped_and_read_back_the_same() -> None:
    seen = Seen(tag("p", HOSTILE, title=HOSTILE, data_x=3))
    assert seen.elements == ["p"]
    assert [name for name, _ in seen.attributes] == ["title", "data-x"]
    assert "</script><script>alert(1)</script>" in seen.text
    assert "\\u202e" in seen.text  # what would turn the line around is told instead
    assert "\\ud800" in seen.text


def test_markup_inside_markup_stays() -> None:
    assert tag("p", tag("b", "<"), " & ") + "<" == "<p><b>&lt;</b> &amp; </p>&lt;"
    assert join([None, "a", tag("br")]) == "a<br>"


def test_data_in_a_script_cannot_end_it_and_reads_back() -> None:
    data = {HOSTILE: [1.5, math.inf, None, HOSTILE]}
    text = embedded(data)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {HOSTILE: [1.5, None, None, HOSTILE]}


def test_tables_sort_numbers_by_their_value() -> None:
    seen = Seen(table([("a", ""), ("b", "more")], [["x", (1234.5, "1,234.5")], ["<", math.nan]], label="t"))
    assert [value for name, value in seen.attributes if name == "data-value"] == ["1234.5", ""]
    assert "1,234.5" in seen.text
    assert "–" in seen.text
