"""mlir-opt's pipeline text: how it is cut into runs, and where it is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serenity_mlir.dialect_passes.pipeline_text import NativeRun, OurRun, parse_pipeline
from serenity_mlir.dialect_passes.tensors.schedule_tensors import ScheduleTensorsPass
from serenity_mlir.errors import UsageError

OURS = "serenity-schedule-tensors"


def shape(text: str) -> list[object]:
    """The runs, with passes of ours as (options, anchors)."""
    return [
        run.text if isinstance(run, NativeRun) else (run.instance, run.anchors)
        for run in parse_pipeline(text)
    ]


def test_native_neighbours_stay_together() -> None:
    text = "builtin.module(cse, func.func(canonicalize{max-iterations=3}) ,inline)"
    assert shape(text) == ["builtin.module(cse,func.func(canonicalize{max-iterations=3}),inline)"]
    (run,) = parse_pipeline(text)
    assert isinstance(run, NativeRun)
    assert [text[column - 1 :][:3] for column in run.columns] == ["cse", "can", "inl"]
    assert run.parts[1] == "builtin.module(func.func(canonicalize{max-iterations=3}))"


def test_ours_split_a_nest() -> None:
    anchors = ("builtin.module", "util.func")
    assert shape(f"builtin.module(cse,util.func(a,{OURS}{{time-limit=1}},b),c)") == [
        "builtin.module(cse,util.func(a))",
        (ScheduleTensorsPass(time_limit=1.0), anchors),
        "builtin.module(util.func(b),c)",
    ]


def test_options_of_native_passes_are_left_as_they_are() -> None:
    text = "builtin.module(inline{default-pipeline=builtin.module(cse,x) b='}' c={d={e=1}}},cse)"
    assert shape(text) == [text]


def test_nothing_to_do() -> None:
    assert shape("builtin.module()") == []
    assert shape(" builtin.module ( func.func ( ) ) ") == []


def test_lines_are_joined() -> None:
    run = parse_pipeline(f"builtin.module(\n  {OURS}\n)")[0]
    assert isinstance(run, OurRun)
    assert run.anchors == ("builtin.module",)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", 1, "an anchor such as 'builtin.module(…)' wanted, not the end"),
        ("cse", 1, "'cse' stands alone"),
        ("builtin.module(cse", 15, "'(' is not closed"),
        ("builtin.module(cse))", 20, "nothing may follow"),
        ("builtin.module(cse,)", 20, "a pass name wanted, not ')'"),
        ("builtin.module(,cse)", 16, "a pass name wanted, not ','"),
        ("builtin.module(a b)", 18, "',' or ')' wanted, not 'b'"),
        ("builtin.module(a{b)", 17, "'{' is not closed"),
        ("builtin.module(a{b='}')", 17, "'{' is not closed"),
        (f"builtin.module({OURS}(cse))", 16, "is a pass and anchors nothing"),
        (f"builtin.module(any({OURS}))", 20, "needs an anchor with a name"),
        (f"builtin.module(cse,{OURS}{{x=1}})", 20, "no option 'x'"),
        ("builtin.module(serenity-nothing)", 16, "no pass 'serenity-nothing'"),
    ],
)
def test_errors_point_at_the_column(text: str, column: int, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_pipeline(text)
    assert message in caught.value.message
    assert caught.value.where == f"--pass-pipeline:{column}"
    assert caught.value.message.splitlines()[-1] == " " * (column + 1) + "^"


@given(st.text(alphabet="ab(){},=' ") | st.from_regex(r"m\((a|b|\(|\)|,|\{c=1\}|f\(a\))*\)", fullmatch=True))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        runs = parse_pipeline(text)
    except UsageError:
        return
    native = [run for run in runs if isinstance(run, NativeRun)]
    assert native == runs  # no name in the alphabet is one of ours
    again = [part for run in native for whole in parse_pipeline(run.text) for part in _parts(whole)]
    assert again == [part for run in native for part in run.parts]


def _parts(run: NativeRun | OurRun) -> tuple[str, ...]:
    assert isinstance(run, NativeRun)
    return run.parts
