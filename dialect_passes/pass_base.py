"""What a pass is: a frozen dataclass whose fields are its options.

    @dataclass(frozen=True)
    class CountOps(Pass[int]):
        \"\"\"Counts the ops of the anchor.\"\"\"

        name: ClassVar[str] = "serenity-count-ops"
        time_limit: Annotated[float, "seconds to spend"] = 10.0

        def apply(self, module: ir.Operation) -> int: ...

prints as `serenity-count-ops{time-limit=10.0}` and parses back from it. A string in
`Annotated` is the option's help.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.option_text import OptionValue, split_options, unparse
from serenity_mlir.errors import UsageError
from serenity_mlir.suggest import hint_of

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class PassOption:
    """One option of a pass.

    Attributes:
        key: As written in a pipeline, `time-limit`.
        field: As written in Python, `time_limit`.
        kind: int, float, bool or str.
        optional: Whether the field also takes None, which no text stands for: leave it out.
        default: The default, or `dataclasses.MISSING` where the option must be given.
        help: What it does; empty where the pass does not say.
    """

    key: str
    field: str
    kind: type[int] | type[float] | type[bool] | type[str]
    optional: bool
    default: object
    help: str

    @property
    def required(self) -> bool:
        """Whether a pipeline must give it."""
        return self.default is dataclasses.MISSING

    def parse(self, value: OptionValue) -> OptionValue:
        """The typed value of the text after `=`; True stands for a key without `=`.

        Raises:
            ValueError: The text is no value of this option's type.
        """
        if self.kind is bool:
            if value is True or value in ("true", "1"):
                return True
            if value in ("false", "0"):
                return False
            raise ValueError("true or false")
        if not isinstance(value, str):
            raise ValueError(f"a value: {self.key}=…")
        if self.kind is str:
            return value
        try:
            return self.kind(value)
        except ValueError as error:
            raise ValueError("a whole number" if self.kind is int else "a number") from error


class Pass(ABC, Generic[R]):
    """One transformation or analysis of an op, usually of a `builtin.module`.

    Subclasses are frozen dataclasses; `R` is what `apply` reports, None where nothing.
    """

    name: ClassVar[str]

    @abstractmethod
    def apply(self, module: ir.Operation) -> R:
        """Run on the anchor op, and leave it valid.

        What people should know without failing goes out as a remark or warning on an op's
        location.

        Raises:
            SerenityError: The pass cannot do its work; the anchor is as it was before.
        """

    @classmethod
    def options(cls) -> tuple[PassOption, ...]:
        """The options in the order of the fields.

        Raises:
            TypeError: A field has a type that no option can have: a fault of the pass.
        """
        hints = typing.get_type_hints(cls, include_extras=True)
        fields = dataclasses.fields(cls)  # type: ignore[arg-type]  # subclasses are dataclasses
        return tuple(_option(cls, field, hints[field.name]) for field in fields)

    @classmethod
    def from_options(cls, text: str = "") -> Self:
        """The pass with the options that `text` gives, as between `{` and `}` in a pipeline.

        Raises:
            UsageError: A key is unknown, repeated or missing, or a value has the wrong type.
        """
        known = {option.key: option for option in cls.options()}
        values: dict[str, OptionValue] = {}
        for key, value in split_options(text, where=cls.name):
            if key not in known:
                raise UsageError(
                    f"no option '{key}'",
                    where=cls.name,
                    hint=hint_of(key, known, "its options are") if known else "it has no options",
                )
            option = known[key]
            if option.field in values:
                raise UsageError(f"option '{key}' is given twice", where=cls.name)
            try:
                values[option.field] = option.parse(value)
            except ValueError as error:
                given = "nothing" if value is True else f"'{value}'"
                raise UsageError(f"option '{key}' wants {error}, not {given}", where=cls.name) from error
        missing = [option.key for option in known.values() if option.required and option.field not in values]
        if missing:
            raise UsageError(f"option '{missing[0]}' must be given", where=cls.name)
        try:
            return cls(**values)
        except ValueError as error:  # a pass may check ranges in __post_init__
            raise UsageError(str(error), where=cls.name) from error

    def __str__(self) -> str:
        """The pass as text of a pipeline, with every option that is not None."""
        given = [(option.key, getattr(self, option.field)) for option in self.options()]
        text = " ".join(f"{key}={unparse(value)}" for key, value in given if value is not None)
        return f"{self.name}{{{text}}}" if text else self.name

    @classmethod
    def summary(cls) -> str:
        """The first paragraph of the docstring, in one line."""
        return " ".join(inspect.cleandoc(cls.__doc__ or "").split("\n\n")[0].split())


def _option(cls: type[Pass[Any]], field: dataclasses.Field[Any], hint: Any) -> PassOption:
    help_text = ""
    if typing.get_origin(hint) is Annotated:
        hint, *extras = typing.get_args(hint)
        help_text = next((extra for extra in extras if isinstance(extra, str)), "")
    kinds = [hint]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        kinds = [kind for kind in typing.get_args(hint) if kind is not type(None)]
    if len(kinds) != 1 or kinds[0] not in (int, float, bool, str):
        raise TypeError(f"{cls.__name__}.{field.name}: an option is int, float, bool or str, not {hint}")
    return PassOption(
        key=field.name.replace("_", "-"),
        field=field.name,
        kind=kinds[0],
        optional=kinds[0] is not hint,
        default=field.default,
        help=help_text,
    )
