"""Options as dataclass fields: parsing, printing, and what is said of wrong ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serenity_mlir.dialect_passes.option_text import split_options
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.errors import UsageError


@dataclass(frozen=True)
class Example(Pass[None]):
    """Does nothing at
    all.

    More than the summary.
    """

    name: ClassVar[str] = "serenity-example"
    time_limit: Annotated[float, "seconds"] = 10.0
    count: int = 3
    exact: bool = False
    label: str | None = None

    def apply(self, module: Any) -> None:
        del module


@dataclass(frozen=True)
class Demanding(Pass[int]):
    name: ClassVar[str] = "serenity-demanding"
    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError("option 'size' is at least 1")

    def apply(self, module: Any) -> int:
        del module
        return self.size


def test_options_come_from_the_fields() -> None:
    assert [(option.key, option.field, option.kind) for option in Example.options()] == [
        ("time-limit", "time_limit", float),
        ("count", "count", int),
        ("exact", "exact", bool),
        ("label", "label", str),
    ]
    assert [option.optional for option in Example.options()] == [False, False, False, True]
    assert Example.options()[0].help == "seconds"
    assert Example.summary() == "Does nothing at all."
    assert [option.required for option in Demanding.options()] == [True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Example()),
        ("time-limit=2", Example(time_limit=2.0)),
        ("  count=-4\ttime-limit=1e-3 ", Example(time_limit=0.001, count=-4)),
        ("exact", Example(exact=True)),
        ("exact=true", Example(exact=True)),
        ("exact=1", Example(exact=True)),
        ("exact=false", Example()),
        ("label=", Example(label="")),
        ("label='two words' count=1", Example(count=1, label="two words")),
        ('label="a=b"', Example(label="a=b")),
        ("label={x={y=1}} exact", Example(exact=True, label="x={y=1}")),
    ],
)
def test_text_becomes_options(text: str, expected: Example) -> None:
    assert Example.from_options(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_limit=2", "did you mean 'time-limit'? its options are count, exact, label, time-limit"),
        ("zzz", "its options are count, exact, label, time-limit"),
        ("count=1.5", "option 'count' wants a whole number, not '1.5'"),
        ("count", "option 'count' wants a value: count=…, not nothing"),
        ("count=", "option 'count' wants a whole number, not ''"),
        ("time-limit=soon", "option 'time-limit' wants a number, not 'soon'"),
        ("exact=yes", "option 'exact' wants true or false, not 'yes'"),
        ("count=1 count=1", "option 'count' is given twice"),
        ("=3", "an option has no name before '='"),
        ("label='open", "' is not closed"),
        ("label={a{b}", "{ is not closed"),
    ],
)
def test_wrong_text_is_a_usage_error(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Example.from_options(text)
    assert message in str(caught.value)
    assert caught.value.where == "serenity-example"


def test_required_and_checked_options() -> None:
    assert Demanding.from_options("size=2") == Demanding(2)
    with pytest.raises(UsageError, match="option 'size' must be given"):
        Demanding.from_options("")
    with pytest.raises(UsageError, match="option 'size' is at least 1"):
        Demanding.from_options("size=0")
    with pytest.raises(UsageError, match="no option 'sise'"):
        Demanding.from_options("sise=1")


@dataclass(frozen=True)
class Wrong(Pass[None]):
    name: ClassVar[str] = "serenity-wrong"
    sizes: tuple[int, ...] = ()

    def apply(self, module: Any) -> None:
        del module


@dataclass(frozen=True)
class Bare(Pass[None]):
    name: ClassVar[str] = "serenity-bare"

    def apply(self, module: Any) -> None:
        del module


def test_a_field_of_another_type_is_a_fault_of_the_pass() -> None:
    with pytest.raises(TypeError, match="an option is int, float, bool or str"):
        Wrong.options()


LABELS = st.none() | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\"'"))


@given(st.floats(allow_nan=False), st.integers(), st.booleans(), LABELS)
def test_printed_options_parse_back(limit: float, count: int, exact: bool, label: str | None) -> None:
    instance = Example(limit, count, exact, label)
    text = str(instance)
    assert text.startswith("serenity-example{")
    assert Example.from_options(text.removeprefix("serenity-example{").removesuffix("}")) == instance


def test_a_pass_without_options_prints_as_its_name() -> None:
    assert str(Bare()) == "serenity-bare"
    with pytest.raises(UsageError, match="it has no options"):
        Bare.from_options("size=1")


@given(st.text(alphabet="ab=' \"{}\t"))
def test_any_text_is_split_or_refused(text: str) -> None:
    try:
        options = split_options(text, where="here")
    except UsageError:
        return
    assert all(key for key, _ in options)
