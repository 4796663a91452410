"""The text between `{` and `}` after a pass name: `key=value other-key flag=true`."""

from __future__ import annotations

from serenity_mlir.errors import UsageError

OptionValue = str | int | float | bool
"""A value of an option: text before it is typed, True for a key without `=`."""

CLOSERS = {'"': '"', "'": "'", "{": "}"}
"""What opens a quoted value, and what closes it."""


def split_options(text: str, *, where: str) -> list[tuple[str, OptionValue]]:
    """Keys and their values, in order; a value is True for a key that stands alone.

    Values with spaces are quoted (`"…"`, `'…'` or `{…}`), as mlir-opt has it.

    Args:
        text: Without the surrounding braces.
        where: What the options belong to, for errors.

    Raises:
        UsageError: A key is empty, or a quote is not closed.
    """
    out: list[tuple[str, OptionValue]] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            return out
        start = at
        while at < len(text) and text[at] != "=" and not text[at].isspace():
            at += 1
        key = text[start:at]
        if not key:
            raise UsageError(f"an option has no name before '=' in '{text}'", where=where)
        if at == len(text) or text[at] != "=":
            out.append((key, True))
            continue
        value, at = _value(text, at + 1, where)
        out.append((key, value))


def _value(text: str, at: int, where: str) -> tuple[str, int]:
    if at < len(text) and text[at] in CLOSERS:
        opener, closer, start = text[at], CLOSERS[text[at]], at + 1
        depth, at = 1, at + 1
        while at < len(text) and depth:
            if text[at] == closer:
                depth -= 1
            elif text[at] == opener:
                depth += 1
            at += 1
        if depth:
            raise UsageError(f"{opener} is not closed in '{text}'", where=where)
        return text[start : at - 1], at
    start = at
    while at < len(text) and not text[at].isspace():
        at += 1
    return text[start:at], at


def unparse(value: OptionValue) -> str:
    """`value` as text that `split_options` gives back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if text and not any(char.isspace() or char in "{}\"'" for char in text):
        return text
    quote = next((quote for quote in "\"'" if quote not in text), None)
    if quote is None:
        raise ValueError(f"no quotes fit around {text!r}")
    return f"{quote}{text}{quote}"
