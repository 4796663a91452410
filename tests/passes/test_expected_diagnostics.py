"""`expected-…` comments: which line they speak of, and what counts as a match."""

from __future__ import annotations

import pytest

from serenity_mlir.dialect_passes.diagnostics import Diagnostic, Place, Severity
from serenity_mlir.pipelines.expected_diagnostics import mismatches, parse_expected


def error(line: int, message: str, *notes: Diagnostic) -> Diagnostic:
    return Diagnostic(Severity.ERROR, message, Place("f", line, 3), notes)


def note(line: int, message: str) -> Diagnostic:
    return Diagnostic(Severity.NOTE, message, Place("f", line, 3))


def wrong(text: str, *got: Diagnostic, first_line: int = 1) -> list[str]:
    found = mismatches(parse_expected(text, first_line), got, file="f")
    return [f"{item.place}: {item.message}" for item in found]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("op // expected-error {{bad}}", 1),
        ("// expected-error@+1 {{bad}}\nop", 2),
        ("// expected-error @+2 {{bad}}", 3),
        ("\n\n// expected-error @-1 {{bad}}", 2),
        ("op\n// expected-error @above {{bad}}", 1),
        ("op\n// expected-note @above {{x}}\n// expected-error @above {{bad}}", 1),
        ("// expected-error @below {{bad}}\n// expected-note @below {{x}}\nop", 3),
        ("// expected-error-re {{b{{[a-z]}}d}}", 1),
        ("// expected-error {{a}} b}}", 1),
    ],
)
def test_line_of_a_comment(text: str, line: int) -> None:
    announced = parse_expected(text)
    assert [item.line for item in announced if item.severity == Severity.ERROR] == [line]
    got = [error(line, "so bad a}} b"), *(note(line, "x") for item in announced if item.severity == "note")]
    assert wrong(text, *got) == []
    moved = wrong(text, error(line + 1, "so bad a}} b"))
    assert any("unexpected error" in item for item in moved)
    assert any("was not produced" in item for item in moved)


def test_lines_count_in_the_whole_file() -> None:
    assert wrong("// expected-error @+1 {{bad}}", error(12, "bad"), first_line=11) == []


def test_unknown_location() -> None:
    nowhere = Diagnostic(Severity.ERROR, "bad")
    assert wrong("// expected-error @unknown {{bad}}", nowhere) == []
    assert wrong("// expected-error {{bad}}", nowhere) != []
    assert wrong("// expected-error @unknown {{bad}}", error(1, "bad")) != []


def test_brackets_in_plain_text_are_no_pattern() -> None:
    assert wrong("// expected-error {{a[0] (b)}}", error(1, "see a[0] (b)")) == []
    assert wrong("// expected-error {{a.c}}", error(1, "abc")) != []


def test_each_comment_takes_one_message() -> None:
    assert wrong("// expected-error {{bad}}", error(1, "bad"), error(1, "bad")) == [
        "f:1:3: unexpected error: bad"
    ]
    assert wrong("// expected-error {{bad}}") == ['f:1:1: expected error "bad" was not produced']


def test_notes_count_but_not_the_copy_of_the_op() -> None:
    with_notes = error(1, "bad", note(1, 'see current operation: "x"()'), note(2, "because"))
    assert wrong("// expected-error {{bad}}", with_notes) == ["f:2:3: unexpected note: because"]
    assert wrong("// expected-error {{bad}}\n// expected-note {{because}}", with_notes) == []


def test_only_expected() -> None:
    expected = parse_expected("// expected-error {{bad}}")
    assert mismatches(expected, [error(1, "bad"), error(5, "more")], file="f", only_expected=True) == []
    assert mismatches(expected, [error(5, "more")], file="f", only_expected=True) != []
