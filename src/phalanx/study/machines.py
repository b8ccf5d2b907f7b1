# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Models of parallel machines: their processors, operation times and links.

They are plain values; `phalanx.schedule` assigns tasks to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral
from operator import index
from typing import Any, ClassVar, Generic, TypeVar

from ..errors import PhalanxError, is_one_of, shown
from ..program.analyses.cost import Count

__all__ = [
    "MACHINES",
    "T800",
    "Cores",
    "JointProcessors",
    "LinkTimes",
    "Machine",
    "Pram",
    "ProcessorArray",
    "Systolic",
    "Times",
    "Transputers",
    "cores",
    "joint_processors",
    "pram",
    "processor_array",
    "systolic",
    "transputers",
]


_LONGEST = 1e100  # the longest time: sums and products of such times are finite


@dataclass(frozen=True)
class Times:
    """Time of one operation of each kind; by default the weights of `phalanx.cost`.

    Sines and cosines take none: the papers count them as given. Tasks that take no time and need
    only inputs are available on every processor from the start.
    """

    multiplication: float = 1.0
    addition: float = 1.0
    division: float = 1.0
    trigonometric: float = 0.0

    def __post_init__(self) -> None:
        require_times(self, "times")

    def of(self, count: Count) -> float:
        """The time of these operations in sequence."""
        return (
            count.multiplications * self.multiplication
            + count.additions * self.addition
            + count.divisions * self.division
            + count.trigonometric * self.trigonometric
        )


@dataclass(frozen=True)
class LinkTimes:
    """The time of a message on each link that it passes: a start-up time and a time per real number.

    A link carries one message at a time in each direction; processors need not wait for it.
    """

    start_up: float = 0.0
    per_word: float = 0.0

    def __post_init__(self) -> None:
        require_times(self, "links")

    def of(self, words: int) -> float:
        """Time of a message on one link."""
        return self.start_up + words * self.per_word


def require_times(owner: object, where: str) -> None:
    """Raise unless all fields of a dataclass are finite and not negative."""
    for f in fields(owner):  # type: ignore[arg-type]
        value = getattr(owner, f.name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= _LONGEST:
            raise PhalanxError(f"{where}: {f.name} is {shown(value)}, expected a time of at least 0.")


Value = TypeVar("Value")


class Many(Sequence[Value], Generic[Value]):
    """`count` values, the k-th being `of(k)`; equal to any sequence of the same values."""

    def __init__(self, count: int, of: Callable[[int], Value]) -> None:
        self._indices, self._of = range(count), of

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index_or_slice: Any) -> Any:
        if isinstance(index_or_slice, slice):
            return tuple(self._of(k) for k in self._indices[index_or_slice])
        return self._of(self._indices[index(index_or_slice)])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Many | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), *self[:8]))

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:8]))
        return f"({shown}, … {len(self) - 8:,} more)" if len(self) > 8 else f"({shown})"


def numbered(count: int) -> Many[str]:
    """The names P0, P1, … of `count` processors."""
    return Many(count, "P{}".format)


_MOST = 2**62  # processors: as many as a sequence may have entries
ASSIGNMENTS = ("paper", "list")  # a paper's own, or by our list scheduler


@dataclass(frozen=True)
class Machine:
    """Processors and the times of their operations, in `unit`.

    It defines its default tasks ("scalar", "vector", "equation"), whether a processor computes the
    coordinates of a vector at once, and for which function and algorithm it has a paper's own assignment.
    """

    granularity: ClassVar[str] = "equation"
    at_once: ClassVar[bool] = False
    paper: ClassVar[tuple[str, str] | None] = None

    times: Times = field(default_factory=Times)
    unit: str = "operations"

    def pairs(self) -> Iterable[tuple[int, int]]:
        """The pairs of processors that are linked, both ways: required of a machine of your own.

        Processors are numbered from 0. A field `links` (`LinkTimes`) holds what a message takes, nothing by
        default, `master` the number of a processor that has the inputs and wants the results, if any.
        """
        raise PhalanxError(
            f"schedule: a {type(self).__name__} has no links to place tasks on; give it a method pairs() "
            "that returns which processors are linked."
        )


@dataclass(frozen=True)
class Pram(Machine):
    """Processors with one shared memory: every value is available to all as soon as it is computed."""

    granularity = "scalar"

    count: int = 4
    assignment: str = "list"

    def __str__(self) -> str:
        assignment = f", assignment={self.assignment!r}" if self.assignment != "list" else ""
        return f"pram({self.count}{assignment})"


def pram(
    processors: int = 4,
    *,
    assignment: str = "list",
    multiplication: float = 1.0,
    addition: float = 1.0,
    division: float = 1.0,
    trigonometric: float = 0.0,
) -> Pram:
    """A machine of `processors` processors with a common memory.

    `assignment="segments"` cuts the links into runs of about equal work, one for each processor: one state
    takes no less time, but processors exchange only what passes a cut, and work on different states at once.
    """
    times = Times(multiplication, addition, division, trigonometric)
    chosen = one_of(assignment, ("list", "segments"), "pram: assignment")
    return Pram(times, count=whole(processors, "pram: processors"), assignment=chosen)


@dataclass(frozen=True)
class Cores(Machine):
    """Processors with a memory of their own, all of them linked: values of others arrive by messages."""

    count: int = 4
    links: LinkTimes = field(default_factory=LinkTimes)

    def __str__(self) -> str:
        return f"cores({self.count}, start_up={self.links.start_up:g}, per_word={self.links.per_word:g})"


def cores(
    processors: int = 4,
    *,
    start_up: float = 400.0,
    per_word: float = 1.0,
    multiplication: float = 1.0,
    addition: float = 1.0,
    division: float = 1.0,
    trigonometric: float = 0.0,
) -> Cores:
    """A machine of `processors` cores that exchange messages, a start-up time and a time for each number.

    The default start-up is about what a cache line takes between two cores of a server, in operations of
    one of them; `phalanx.speedup` measures it.
    """
    times = Times(multiplication, addition, division, trigonometric)
    return Cores(times, count=whole(processors, "cores: processors"), links=LinkTimes(start_up, per_word))


def whole(value: Any, where: str, least: int = 1) -> int:
    """The value as an integer of at least `least`; anything else raises an error."""
    number = int(value) if isinstance(value, Integral) and value is not True else least - 1
    if number < least:
        raise PhalanxError(f"{where} is {shown(value)}, expected an integer of at least {least}.")
    if number > _MOST:
        raise PhalanxError(f"{where} is {shown(value)}, expected at most 2**62.")
    return number


def one_of(value: Any, choices: tuple[str, ...], where: str) -> str:
    """The value if it is one of some words, else an error that lists them."""
    if not is_one_of(value, choices):
        raise PhalanxError(f"{where} is {shown(value)}, expected one of {', '.join(map(repr, choices))}.")
    return str(value)


NODES = ("per link", "one")


@dataclass(frozen=True)
class Systolic(Machine):
    """One processor for each vector operation, which computes the coordinates of a vector at once.

    `nodes="per link"` is the pipeline, in which every link has processors of its own, "one" the single
    device, through which the links pass one after another. A processor begins the next set when it is
    done with the one before; nothing inside it overlaps.
    """

    granularity = "vector"
    at_once = True

    nodes: str = "per link"

    def __str__(self) -> str:
        return f"systolic(nodes={self.nodes!r})"


def systolic(
    *,
    nodes: str = "per link",
    multiplication: float = 1.0,
    addition: float = 1.0,
    division: float = 1.0,
    trigonometric: float = 0.0,
) -> Systolic:
    """A processor for each vector operation of each link, or of one link that serves all."""
    times = Times(multiplication, addition, division, trigonometric)
    return Systolic(times, nodes=one_of(nodes, NODES, "systolic: nodes"))


ARRAYS = ("n(n+1)/2", "n")
NETWORKS = ("shuffle-exchange", "nearest")
ROWS = ("driven by data", "clocked")


@dataclass(frozen=True)
class ProcessorArray(Machine):
    """Processor (j, i), j >= i, of a triangle with n rows, or one processor for each column.

    Neighbours in rows and columns are linked. With `network="shuffle-exchange"` each column has a
    perfect shuffle besides; rows need none. Columns run on one clock like a systolic array; what passes
    along rows is "driven by data", each processor beginning when its operands are there as in a wavefront
    array, or "clocked" as well.
    """

    paper = ("mass_matrix", "processor_array")

    processors: str = "n(n+1)/2"
    network: str = "shuffle-exchange"
    links: LinkTimes = field(default_factory=LinkTimes)
    assignment: str = "paper"
    rows: str = "driven by data"

    def count(self, n: int) -> int:
        """How many processors there are for a chain of n links."""
        return n if self.processors == "n" else n * (n + 1) // 2

    def __str__(self) -> str:
        rows = f", rows={self.rows!r}" if self.rows != "driven by data" else ""
        return f"processor_array({self.processors!r}, network={self.network!r}{rows})"


def processor_array(
    processors: str = "n(n+1)/2",
    *,
    network: str = "shuffle-exchange",
    assignment: str = "paper",
    rows: str = "driven by data",
    multiplication: float = 1.0,
    addition: float = 1.0,
    start_up: float = 1.0,
    per_word: float = 0.0,
) -> ProcessorArray:
    """The array of Fijany for a chain of n links; one step of communication takes `start_up` by default."""
    return ProcessorArray(
        Times(multiplication, addition),
        processors=one_of(processors, ARRAYS, "processor_array: processors"),
        network=one_of(network, NETWORKS, "processor_array: network"),
        links=LinkTimes(start_up, per_word),
        assignment=one_of(assignment, ASSIGNMENTS, "processor_array: assignment"),
        rows=one_of(rows, ROWS, "processor_array: rows"),
    )


@dataclass(frozen=True)
class JointProcessors(Machine):
    """One processor for each joint, which computes all that belongs to its joint; all are linked.

    A joint with several axes has one for each of them.
    """

    links: LinkTimes = field(default_factory=LinkTimes)

    def __str__(self) -> str:
        times = f"start_up={self.links.start_up:g}, per_word={self.links.per_word:g}"
        return f"joint_processors({times if self.links != LinkTimes() else ''})"


def joint_processors(
    *,
    start_up: float = 0.0,
    per_word: float = 0.0,
    multiplication: float = 1.0,
    addition: float = 1.0,
    division: float = 1.0,
    trigonometric: float = 0.0,
) -> JointProcessors:
    """A processor for each joint, as Luh and Lin (1982) have it: every task runs where its joint is.

    What comes from other joints arrives by messages, which take no time by default.
    """
    times = Times(multiplication, addition, division, trigonometric)
    return JointProcessors(times, links=LinkTimes(start_up, per_word))


UNITS = ("operations", "microseconds")
PROGRAMS = ("repaired", "delayed", "ahead")  # of the paper's assignment
TOPOLOGIES = ("all pairs", "tree")


@dataclass(frozen=True)
class T800:
    """Figures of the INMOS T800 as far as they are known; none of these times is printed in the paper.

    The time of an operation is inferred from the paper's own results: 2 ms, which it calls 58 % and 41 %
    less than one processor takes for 1596 and 1128 operations, make 2.98 and 3.01 microseconds. So run times
    in microseconds cannot confirm the printed 2 ms; only their ratios can. The link rate (20 Mbit/s less
    framing and acknowledgement) and the four bytes of a real are assumed, start-up is unknown.
    """

    microseconds_per_operation: float = 3.0
    bytes_per_microsecond: float = 1.7
    bytes_per_real: float = 4.0
    start_up_microseconds: float = 0.0
    links: int = 4  # one of the master's leads to the host

    def __post_init__(self) -> None:
        require_times(self, "T800")
        if self.bytes_per_microsecond == 0.0:
            raise PhalanxError("T800: bytes_per_microsecond is 0, expected more.")


@dataclass(frozen=True)
class Transputers(Machine):
    """A master P0 that hands out the joint data and collects the results, and workers P1, P2, …

    All are linked with all others, or, in a "tree", workers with the master alone, which relays messages.
    """

    paper = ("inverse_dynamics", "zomaya_morris")

    count: int = 4
    links: LinkTimes = field(default_factory=LinkTimes)
    assignment: str = "paper"
    figures: T800 = field(default_factory=T800)
    program: str = "repaired"
    network: str = "all pairs"

    @property
    def names(self) -> Sequence[str]:
        """P0 and the workers."""
        return numbered(self.count)

    def __str__(self) -> str:
        program = f", program={self.program!r}" if self.program != "repaired" else ""
        network = f", network={self.network!r}" if self.network != "all pairs" else ""
        return f"transputers({self.count}, assignment={self.assignment!r}{program}{network})"


def transputers(
    processors: int = 4,
    *,
    assignment: str = "paper",
    program: str = "repaired",
    network: str = "all pairs",
    unit: str = "operations",
    figures: T800 | None = None,
    multiplication: float | None = None,
    addition: float | None = None,
    start_up: float | None = None,
    per_word: float | None = None,
) -> Transputers:
    """A master and `processors - 1` workers; every pair has a link, or, with `network="tree"`, as the paper
    calls its own, each worker has one to the master, which relays what workers send each other.

    `assignment="paper"` runs the program of Zomaya and Morris, "list" our own list schedule. The printed
    program reads values before they have arrived; `program` says how that is repaired: "repaired" exchanges
    them later in a pass, "delayed" does the work of a link one pass later, and "ahead", not in the paper,
    has buffered channels and lets each worker run through its own recursion first. In `unit="operations"`
    an operation takes one unit and messages none, as their count of operations assumes; in "microseconds"
    the `figures` of the T800 hold. Each time can be set by itself.
    """
    figures = T800() if figures is None else figures
    if not isinstance(figures, T800):
        raise PhalanxError(f"transputers: figures is {shown(figures)}, expected phalanx.machines.T800(…).")
    count = whole(processors, "transputers: processors", least=2)
    if one_of(assignment, ASSIGNMENTS, "transputers: assignment") == "paper" and count != 4:
        raise PhalanxError(
            f"transputers: the paper's assignment is for 4 processors, got {count}; "
            'use assignment="list" for other numbers.'
        )
    one_of(program, PROGRAMS, "transputers: program")
    if assignment == "list" and program != "repaired":
        raise PhalanxError(
            f"transputers: program={program!r} is one of the paper's assignment; leave it out with "
            'assignment="list".'
        )
    if count > figures.links:
        raise PhalanxError(
            f"transputers: {count} processors need {count - 1} links each beside the host's, "
            f"a T800 has {figures.links}; use at most {figures.links} processors or other figures."
        )
    if one_of(unit, UNITS, "transputers: unit") == "operations":
        times, links = Times(), LinkTimes()
    else:
        one = figures.microseconds_per_operation
        times = Times(one, one, one)
        links = LinkTimes(
            figures.start_up_microseconds, figures.bytes_per_real / figures.bytes_per_microsecond
        )
    given = {"multiplication": multiplication, "addition": addition}
    times = replace(times, **{k: v for k, v in given.items() if v is not None})
    given = {"start_up": start_up, "per_word": per_word}
    links = replace(links, **{k: v for k, v in given.items() if v is not None})
    one_of(network, TOPOLOGIES, "transputers: network")
    return Transputers(times, unit, count, links, assignment, figures, program, network)


# By their names in commands and in the studio.
MACHINES: dict[str, Callable[..., Machine]] = {
    "pram": pram,
    "cores": cores,
    "transputers": transputers,
    "systolic": systolic,
    "joints": joint_processors,
    "array": processor_array,
}
