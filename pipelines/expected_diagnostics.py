"""`--verify-diagnostics`: comments that say what messages a piece of IR must give, and where.

    // expected-error @+1 {{substring of the message}}
    // expected-warning-re {{count is {{[0-9]+}}}}

Positions are `@+N`, `@-N`, `@above`, `@below` (past further comments of this kind) and
`@unknown`; without one the comment speaks of its own line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from serenity_mlir.dialect_passes.diagnostics import Diagnostic, Place, Severity

_COMMENT = re.compile(
    r"expected-(?P<severity>error|note|remark|warning)(?P<regex>-re)? *"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))? *\{\{(?P<message>.*)\}\}\s*$"
)
_SEE_OP = "see current operation"


@dataclass(frozen=True, slots=True)
class Expected:
    """One comment.

    Attributes:
        severity: Which kind must come.
        pattern: Found somewhere in the message.
        text: The pattern as people wrote it.
        line: Where the message must point, None for nowhere.
        comment: The line of the comment itself.
    """

    severity: Severity
    pattern: re.Pattern[str]
    text: str
    line: int | None
    comment: int

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Whether `diagnostic` is what the comment announces."""
        line = diagnostic.place.line if diagnostic.place else None
        return (
            diagnostic.severity == self.severity
            and line == self.line
            and self.pattern.search(diagnostic.message) is not None
        )


def parse_expected(text: str, first_line: int = 1) -> list[Expected]:
    """The comments in `text`, whose first line counts as `first_line`.

    Raises:
        ValueError: A comment holds a regular expression that does not compile.
    """
    lines = text.split("\n")
    found = [_COMMENT.search(line) for line in lines]
    out = []
    for index, match in enumerate(found):
        if match is None:
            continue
        message = match["message"]
        out.append(
            Expected(
                severity=Severity(match["severity"]),
                pattern=_pattern(message, is_regex=match["regex"] is not None),
                text=message,
                line=_line(index, match["where"], found, first_line),
                comment=index + first_line,
            )
        )
    return out


def _pattern(message: str, *, is_regex: bool) -> re.Pattern[str]:
    if not is_regex:
        return re.compile(re.escape(message))
    parts = re.split(r"\{\{(.*?)\}\}", message)
    return re.compile("".join(f"(?:{part})" if at % 2 else re.escape(part) for at, part in enumerate(parts)))


def _line(
    index: int, where: str | None, found: Sequence[re.Match[str] | None], first_line: int
) -> int | None:
    match where:
        case "unknown":
            return None
        case "above" | "below":
            step = 1 if where == "below" else -1
            at = index + step
            while 0 <= at < len(found) and found[at] is not None:
                at += step
            return at + first_line
        case None:
            return index + first_line
        case offset:
            return index + first_line + int(offset)


def mismatches(
    expected: Sequence[Expected], got: Sequence[Diagnostic], *, file: str, only_expected: bool = False
) -> list[Diagnostic]:
    """What is wrong: errors for messages that nobody announced, and for those that did not come.

    Each comment takes the first message that fits and that no other comment took. Notes count
    like messages, but for the copy of the op that MLIR attaches.

    Args:
        expected: From `parse_expected`.
        got: In the order in which they came.
        file: The name for places of comments.
        only_expected: Whether unannounced messages are fine.
    """
    waiting = list(expected)
    wrong = []
    flat = [part for item in got for part in (item, *item.notes) if not part.message.startswith(_SEE_OP)]
    for item in flat:
        fitting = next((comment for comment in waiting if comment.matches(item)), None)
        if fitting is not None:
            waiting.remove(fitting)
        elif not only_expected:
            wrong.append(
                Diagnostic(Severity.ERROR, f"unexpected {item.severity}: {item.message}", item.place)
            )
    for comment in waiting:
        message = f'expected {comment.severity} "{comment.text}" was not produced'
        wrong.append(Diagnostic(Severity.ERROR, message, Place(file, comment.comment, 1)))
    return wrong
