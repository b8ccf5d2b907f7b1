# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How functions are called: parameters, signatures and docstrings, all from the registry.

A `CallStyle` is how functions are called somewhere: on `Robot`, a kernel, `robot.jax`, `robot.torch`.
`Parameters` are those of one function there; `declare` gives a class a method for each function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, Signature, cleandoc
from textwrap import wrap
from typing import Any, Final

from ..algorithms import ALGORITHMS, Function, default_algorithm
from ..algorithms.registry import VALUE
from ..errors import closest

INPUTS = {
    "q": "positions",
    "qd": "rates",
    "qdd": "accelerations",
    "tau": "joint forces (N m of turning joints, N of sliding ones)",
    "external": "wrenches [N m, N] on the links, each in its own link frame at its origin, or some of them "
    'by name as {"link": wrench} with (…, 6) each',
    "inertias": "ten inertial parameters of each link in place of the robot's own, which are "
    "`robot.inertial_parameters.reshape(-1, 10)`",
    "base_velocity": "twist of the base [rad/s, m/s], in its own coordinates",
    "base_acceleration": "the component-wise derivative of that twist",
}
SIZES = {"q": "nq", "v": "nv", "l": "n_links", "10l": "10 n_links"}
NAMED = ("inertias",)  # optional inputs that are given by name only
BATCH = "Any batch shape, by NumPy's rules of broadcasting."
THREADS = "at most `threads` threads share a large batch or a long state (None: `px.set_threads`)"
_WIDTH = 102  # of a line of a docstring

MISSING: Final = object()  # the value of a parameter that the call does not give


@dataclass(frozen=True)
class CallStyle:
    """The calling convention of one interface (robots, kernels, JAX, PyTorch): array types, options."""

    array: str  # of inputs
    result: str
    external: str
    options: Mapping[str, tuple[str, Any]]
    closing: Callable[[Function], str]  # the last paragraph of a docstring
    frames: bool = True  # whether calls take frames, choices, and optional inputs by position
    optional: bool = True  # whether there are optional inputs


def _of_robot(f: Function) -> str:
    value = f" With `value` also `{f.value}`, of the same pass." if f.value else ""
    backends = '`backend` is "auto", "native", "numpy" or "jax"'
    return f"{BATCH} {_filled(f)}; {_algorithms(f)}; {backends}; {THREADS}.{value}"


def _of_jax(f: Function) -> str:
    return (
        f'Any batch shape. {_algorithms(f)}; `schedule` is "sequential" or "doubling" (logarithmic depth); '
        "`parameters` from `robot.jax.parameters()` replace the robot's own; `derivatives` by JAX are those "
        'of the "analytic" algorithms, of "xla", or by default the first where there are any.'
    )


_ALGORITHM = {"algorithm": ("AlgorithmLike", "auto")}
_THREADS = {"threads": ("int | None", None)}
ROBOT = CallStyle(
    "ArrayLike",
    "Array",
    "External",
    {"out": ("Array | None", None), **_ALGORITHM, "backend": ("Backend", "auto"), **_THREADS},
    _of_robot,
)
KERNEL = CallStyle(
    "ArrayLike",
    "Array",
    "External",
    {"out": ("Array | None", None), **_THREADS},
    lambda f: f"{BATCH} {_filled(f)}; {THREADS}.",
    frames=False,
)
BINDING = CallStyle(
    "Array",
    "Bound",
    "Array",
    {"out": ("Array", MISSING), "threads": ("int | None", 1)},
    lambda f: (
        "For control loops: fill the inputs in place, call, read `out` in place. So many `threads` share a "
        "batch, or one state if `form` says that they can."
    ),
    frames=False,
)
JAX = CallStyle(
    "ArrayLike",
    "Array",
    "External",
    {
        **_ALGORITHM,
        "schedule": ("Schedule", "sequential"),
        "parameters": ("Mapping[str, ArrayLike] | None", None),
        "derivatives": ("Derivatives", "auto"),
    },
    _of_jax,
)
JAX_NATIVE = CallStyle(
    "ArrayLike",
    "Array",
    "",
    {},
    lambda f: "By the native kernel. Any batch shape.",
    frames=False,
    optional=False,
)
TORCH = CallStyle(
    "Tensor",
    "Tensor",
    "Tensor | Mapping[str, Tensor]",
    {**_ALGORITHM, **_THREADS},
    lambda f: f"Tensors on the CPU, any batch shape. {_algorithms(f)}; {THREADS}.",
)


@dataclass(frozen=True)
class Parameters:
    """The parameters of a function in a style, and what its docstring says."""

    function: Function
    style: CallStyle
    where: str = field(default="", compare=False)  # the name in errors, by default that of the function

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The inputs, and the frame, which a call must give."""
        return (*self.function.inputs, *["frame"] * (self.function.frame and self.style.frames))

    @cached_property
    def _optional(self) -> tuple[str, ...]:
        return tuple(self.function.optional) if self.style.optional else ()

    @cached_property
    def positional(self) -> tuple[str, ...]:
        """The parameters that may be positional, in order."""
        by_position = [n for n in self._optional if n not in NAMED] if self.style.frames else []
        return (*self.required, *by_position)

    @cached_property
    def keywords(self) -> dict[str, Any]:
        """Keyword-only parameters with their defaults; `MISSING` marks required ones."""
        f = self.function
        made: dict[str, Any] = {name: None for name in self._optional if name not in self.positional}
        if self.style.frames:
            made |= {name: known[0] for name, known in f.choices.items()}
        if f.value and self.style is ROBOT:
            made["value"] = False
        options = {name: default for name, (_, default) in self.style.options.items()}
        needed = {name: default for name, default in options.items() if default is MISSING}
        return needed | made | options

    @cached_property
    def optional(self) -> frozenset[str]:
        """The optional inputs."""
        return frozenset(self._optional)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The default of each optional parameter."""
        keywords = {name: default for name, default in self.keywords.items() if default is not MISSING}
        return dict.fromkeys(self.positional[len(self.required) :]) | keywords

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all parameters."""
        return frozenset((*self.positional, *self.keywords))

    @cached_property
    def default_choices(self) -> dict[str, str]:
        """The choices of the function with their defaults."""
        return {name: known[0] for name, known in self.function.choices.items()} if self.style.frames else {}

    def arguments(
        self, given: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Inputs by name, and how to compute: `frame`, `choices` and options; or an error as of `bind`.

        Optional inputs and options are missing where the call does not give them.
        """
        if not options and len(given) == len(self.required):
            inputs, how = dict(zip(self.required, given)), options  # noqa: B905
            if self.function.frame and self.style.frames:
                how["frame"] = inputs.pop("frame")
            if self.default_choices:
                how["choices"] = self.default_choices
            return inputs, how
        how = {**dict(zip(self.positional, given)), **options}  # noqa: B905
        if len(how) != len(given) + len(options) or not self._needed <= how.keys() <= self.names:
            return self.split(self.bind(given, options))
        inputs = {name: how.pop(name) for name in self._inputs if name in how}
        if self.default_choices:
            how["choices"] = {name: how.pop(name, x) for name, x in self.default_choices.items()}
        return inputs, how

    @cached_property
    def _inputs(self) -> tuple[str, ...]:
        return (*self.function.inputs, *self._optional)

    @cached_property
    def _needed(self) -> frozenset[str]:
        return frozenset((*self.required, *(name for name, x in self.keywords.items() if x is MISSING)))

    def bind(self, given: tuple[Any, ...], options: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each parameter by name, or a TypeError as Python words it; `MISSING` is not given."""
        bound = {n: x for n, x in zip(self.positional, given, strict=False) if x is not MISSING}
        bound = {n: x for n, x in bound.items() if x is not None or n not in options or n in self.required}
        named = {**self.defaults, **bound, **options}
        if (
            len(given) > len(self.positional)
            or not self.names.issuperset(options)
            or not bound.keys().isdisjoint(options)
            or len(named) < len(self.names)
        ):
            raise TypeError(f"{self.where or self.function.name}() {self._wrong(given, bound, options)}")
        return named

    def _wrong(self, given: tuple[Any, ...], bound: Mapping[str, Any], options: Mapping[str, Any]) -> str:
        """Python's message for wrong arguments, with the nearest known name."""
        for name in options:
            if name not in self.names:
                near = closest(name, sorted(self.names))
                hint = f". Did you mean '{near}'?" if near else ""
                return f"got an unexpected keyword argument '{name}'{hint}"
            if name in bound:
                return f"got multiple values for argument '{name}'"
        least, most = len(self.required) + 1, len(self.positional) + 1  # with self
        if len(given) >= most:
            count = f"from {least} to {most}" if least < most else f"{most}"
            return f"takes {count} positional arguments but {len(given) + 1} were given"
        missing = [f"'{name}'" for name in self.required if name not in bound and name not in options]
        kind = "positional" if missing else "keyword-only"
        missing = missing or [f"'{n}'" for n, x in self.keywords.items() if x is MISSING and n not in options]
        names = " and ".join(missing) if len(missing) < 3 else f"{', '.join(missing[:-1])}, and {missing[-1]}"
        return f"missing {len(missing)} required {kind} argument{'s' * (len(missing) > 1)}: {names}"

    def split(self, bound: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Inputs by name, optional ones last, and how to compute: `frame`, `choices`, options."""
        f = self.function
        inputs = {name: bound.pop(name) for name in (*f.inputs, *self._optional)}
        choices = {name: bound.pop(name) for name in f.choices if name in bound}
        return inputs, bound | ({"choices": choices} if choices else {})

    @property
    def signature(self) -> Signature:
        """The parameters as `inspect` and `help` show them, `self` first."""
        kind = Parameter.POSITIONAL_OR_KEYWORD
        rows = [Parameter("self", kind)]
        for name in self.positional:
            rows.append(Parameter(name, kind, default=self._default(name), annotation=self.type_of(name)))
        for name, x in self.keywords.items():
            default = Parameter.empty if x is MISSING else x
            rows.append(
                Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=self.type_of(name))
            )
        return Signature(rows, return_annotation=self.result)

    def _default(self, name: str) -> Any:
        return Parameter.empty if name in self.required else None

    def type_of(self, name: str) -> str:
        """The type of a parameter."""
        f = self.function
        if name == "out" and len(f.outputs) > 1:
            arrays = "tuple[Array, ...]" if "value" in self.keywords else outs(f)
            return arrays if self.keywords["out"] is MISSING else f"{arrays} | None"
        if name in self.style.options:
            return self.style.options[name][0]
        known = {
            "frame": "Frames" if self.style is ROBOT else "str",
            "value": "bool",
            **{choice: camel(choice) for choice in f.choices},
        }
        if name in known:
            return known[name]
        kind = self.style.external if name == "external" else self.style.array
        return kind if name in f.inputs else f"{kind} | None"

    @property
    def result(self) -> str:
        """The type of the result."""
        f, array = self.function, self.style.result
        if len(f.outputs) == 1 or self.style is BINDING:
            return array
        plain = f"results.{camel(f.name)}[{array}]"
        return f"{plain} | results.{camel(f.name + VALUE)}[{array}]" if "value" in self.keywords else plain

    @property
    def docstring(self) -> str:
        """What the function returns, its inputs with their shapes, and its options."""
        f = self.function
        if self.style is BINDING:
            return f"{_recomputes(f)}\n\n{self.style.closing(f)}\n"
        summary, *details = paragraphs(f)
        shown = {**f.inputs, **(f.optional if self.style.optional else {})}
        inputs = [f"`{n}` ({shape(s)}): {INPUTS[n]}." for n, s in shown.items()]
        parts = [*(details if f.frame and self.style.frames else []), *inputs, self.style.closing(f)]
        return "\n".join([summary, *_lines(parts), ""])


def declare(
    kind: type, style: CallStyle, functions: Iterable[Function], make: Callable[[Parameters], Any]
) -> None:
    """Give a class a method for each function, with the signature and the docstring of its declaration."""
    for f in functions:
        parameters = Parameters(f, style, f"{kind.__name__}.{f.name}")
        setattr(kind, f.name, declared(make(parameters), parameters, kind.__module__))


def declared(method: Any, parameters: Parameters, module: str) -> Any:
    """A method with the signature and docstring of its declaration."""
    method.__qualname__ = parameters.where
    method.__name__ = parameters.where.rpartition(".")[2]
    method.__module__ = module
    method.__signature__ = parameters.signature
    method.__doc__ = parameters.docstring
    return method


# ------------------------------------------------------------------------------------------- words


def summary(f: Function) -> str:
    """What a function returns, with its shape: the first line of its default algorithm."""
    return paragraphs(f)[0]


def paragraphs(f: Function) -> list[str]:
    """The docstring of the default algorithm, paragraph by paragraph."""
    first = default_algorithm(f.name.removesuffix(VALUE))
    summary, *others = cleandoc(first.run.__doc__ or "").split("\n", 1)
    return [summary, *(" ".join(part.split()) for part in "".join(others).split("\n\n") if part.strip())]


def outs(f: Function) -> str:
    """The type of the arrays that take the results."""
    return "Array" if len(f.outputs) == 1 else f"tuple[{', '.join(['Array'] * len(f.outputs))}]"


def shape(symbols: Iterable[str]) -> str:
    """Symbolic sizes of the axes behind the batch."""
    return ", ".join(["…", *(SIZES.get(s, s) for s in symbols)])


def camel(name: str) -> str:
    """The name of a class from that of a function."""
    return "".join(word.capitalize() for word in name.replace(".", "_").split("_"))


def _filled(f: Function) -> str:
    if len(f.outputs) == 1:
        return "`out` takes the result, an array of its shape"
    return f"`out` takes the results, {len(f.outputs)} arrays of their shapes"


def _recomputes(f: Function) -> str:
    shapes = f" {', '.join(f'({shape(sizes)})' for sizes in f.outputs.values())}"
    what = shapes if len(f.outputs) <= 3 else f", {len(f.outputs)} arrays,"
    return f"A function of no arguments that recomputes `out`{what} from these arrays, in place."


def _algorithms(f: Function) -> str:
    names = list(ALGORITHMS[f.name])
    return f'`algorithm` is one of `px.algorithms("{f.name}")`' + f" ({', '.join(names)})" * (len(names) > 1)


def _lines(parts: Iterable[str]) -> list[str]:
    """Paragraphs as lines; inputs make a list."""
    lines, was_input = list[str](), False
    for part in parts:
        is_input = re.match(r"`\w+` \(…", part) is not None
        lines += [] if is_input and was_input else [""]
        first, other = ("- ", "  ") if is_input else ("", "")
        lines += wrap(part, _WIDTH, initial_indent=first, subsequent_indent=other)
        was_input = is_input
    return lines
