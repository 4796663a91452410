"""mlir-opt's pipeline text with passes of ours among MLIR's.

`builtin.module(canonicalize,util.func(cse,serenity-x{a=1}))` becomes a list of runs: MLIR's
neighbours are handed to its pass manager together, ours run on each op that their anchors
name. A nested pipeline is split at ours, phase by phase over all anchored ops rather than
anchor by anchor: passes see one isolated op at a time, so the outcome is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from serenity_mlir.dialect_passes.option_text import CLOSERS
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.registry import is_ours, pass_class
from serenity_mlir.errors import UsageError


@dataclass(frozen=True, slots=True)
class NativeRun:
    """MLIR passes that run one after the other.

    Attributes:
        text: A whole pipeline, anchor included, as `PassManager.parse` takes it.
        columns: Where each pass stands in the text that was parsed, from 1.
        parts: Each pass on its own, with its anchors, in the order of `columns`.
    """

    text: str
    columns: tuple[int, ...]
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OurRun:
    """A pass of ours.

    Attributes:
        instance: With its options.
        anchors: Op names from the root down; it runs on each op at the end of that path.
    """

    instance: Pass[Any]
    anchors: tuple[str, ...]


Run = NativeRun | OurRun


@dataclass(frozen=True, slots=True)
class _Element:
    name: str
    options: str
    column: int
    anchors: tuple[str, ...]

    def text(self) -> str:
        own = f"{self.name}{{{self.options}}}" if self.options else self.name
        return _wrap(own, self.anchors)


def parse_pipeline(text: str, *, source: str = "--pass-pipeline") -> list[Run]:
    """The runs that `text` asks for, in order; MLIR's passes are not looked up yet.

    Args:
        text: `builtin.module(…)`; another anchor is fine where the root op has that name.
        source: What errors call the text.

    Raises:
        UsageError: The text is no pipeline, or a pass of ours or an option of it is wrong;
            names the column and shows it.
    """
    text = " ".join(text.splitlines()) if "\n" in text else text  # one line, so that a caret can point
    elements = _Parser(text, source).parse()
    runs: list[Run] = []
    group: list[_Element] = []

    def flush() -> None:
        if group:
            runs.append(_native_run(group))
            group.clear()

    for element in elements:
        if is_ours(element.name):
            flush()
            runs.append(OurRun(_instance(element, text, source), element.anchors))
        else:
            group.append(element)
    flush()
    return runs


def fail_at(text: str, column: int, message: str, *, source: str, hint: str | None = None) -> NoReturn:
    """Raise a usage error that shows `text` with a caret under `column` (from 1)."""
    shown = f"{message}\n  {text}\n  {' ' * (column - 1)}^"
    raise UsageError(shown, where=f"{source}:{column}", hint=hint)


def _instance(element: _Element, text: str, source: str) -> Pass[Any]:
    try:
        return pass_class(element.name).from_options(element.options)
    except UsageError as error:
        message = f"{error.where}: {error.message}" if error.where else error.message
        fail_at(text, element.column, message, source=source, hint=error.hint)


def _wrap(text: str, anchors: tuple[str, ...]) -> str:
    for anchor in reversed(anchors):
        text = f"{anchor}({text})"
    return text


def _native_run(group: list[_Element]) -> NativeRun:
    root = group[0].anchors[0]
    inner = ",".join(_Element(e.name, e.options, e.column, e.anchors[1:]).text() for e in group)
    return NativeRun(
        text=f"{root}({inner})",
        columns=tuple(element.column for element in group),
        parts=tuple(element.text() for element in group),
    )


class _Parser:
    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.at = 0
        self.elements: list[_Element] = []

    def parse(self) -> list[_Element]:
        name, column = self._name("an anchor such as 'builtin.module(…)'")
        if self._peek() != "(":
            self._fail(
                f"'{name}' stands alone where a pipeline begins with its anchor",
                column,
                hint=f"write builtin.module({self.text.strip()})",
            )
        self._nest((name,))
        if self.at < len(self.text):
            self._fail("nothing may follow the pipeline's last ')'", self.at + 1)
        return self.elements

    def _nest(self, anchors: tuple[str, ...]) -> None:
        opened = self.at + 1
        self.at += 1
        if self._peek() == ")":
            self.at += 1
            self._skip()
            return
        while True:
            self._element(anchors)
            end = self._peek()
            if end == "":
                self._fail("'(' is not closed", opened)
            if end not in ",)":
                self._fail(f"',' or ')' wanted, not '{end}'", self.at + 1)
            self.at += 1
            if end == ")":
                self._skip()
                return

    def _element(self, anchors: tuple[str, ...]) -> None:
        name, column = self._name("a pass name")
        if self._peek() == "(":
            if is_ours(name):
                self._fail(
                    f"'{name}' is a pass and anchors nothing", column, hint="options go between { and }"
                )
            self._nest((*anchors, name))
            return
        options = self._braces() if self._peek() == "{" else ""
        if is_ours(name) and "any" in anchors[1:]:
            self._fail(f"'{name}' needs an anchor with a name, not 'any'", column)
        self.elements.append(_Element(name, options, column, anchors))

    def _name(self, wanted: str) -> tuple[str, int]:
        self._skip()
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in "(){}, \t\n":
            self.at += 1
        if start == self.at:
            got = f"'{self.text[start]}'" if start < len(self.text) else "the end"
            self._fail(f"{wanted} wanted, not {got}", start + 1)
        return self.text[start : self.at], start + 1

    def _braces(self) -> str:
        opened = self.at
        stack = ["}"]
        self.at += 1
        while self.at < len(self.text) and stack:
            char = self.text[self.at]
            quoted = stack[-1] in "\"'"
            if char == stack[-1]:
                stack.pop()
            elif not quoted and char in CLOSERS:
                stack.append(CLOSERS[char])
            self.at += 1
        if stack:
            self._fail("'{' is not closed", opened + 1)
        return self.text[opened + 1 : self.at - 1].strip()

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def _peek(self) -> str:
        self._skip()
        return self.text[self.at : self.at + 1]

    def _fail(self, message: str, column: int, *, hint: str | None = None) -> NoReturn:
        fail_at(self.text, column, message, source=self.source, hint=hint)
