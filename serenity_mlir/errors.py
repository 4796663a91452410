"""The errors that users see, and the exit status of each.

Every error names the file, the node or op, and a way out, because the reader is
often a build log with nothing else in it.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_ERROR = 1
EXIT_USAGE = 2
EXIT_OVER_BUDGET = 3
EXIT_INTERRUPTED = 130


class SerenityError(Exception):
    """A fault that the user can act on.

    Args:
        message: What is wrong, in one sentence.
        file: The file that it is about, if any.
        where: The node, op or location inside that file, if any.
        hint: A way out, if there is one.
    """

    exit_status: ClassVar[int] = EXIT_ERROR

    def __init__(
        self, message: str, *, file: str | None = None, where: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.file, self.where) if part)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class UsageError(SerenityError):
    """The command line, a pass name or a pass option is wrong."""

    exit_status: ClassVar[int] = EXIT_USAGE


class BudgetExceeded(SerenityError):
    """What was made is correct but larger than the budget given, and so is not written."""

    exit_status: ClassVar[int] = EXIT_OVER_BUDGET


class CheckFailed(SerenityError):
    """An independent check disproved a schedule or a plan: a fault of ours, never of the user's."""
