"""What is told apart on iree-compile's command line, and what is left to iree-compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.dropin.command_line import (
    DriverOptions,
    asks_for_help,
    driver_options,
    expand_response_files,
    passes_stream,
)
from serenity_mlir.pipelines.dropin.flags import SerenityFlags, help_text, split_serenity_flags
from serenity_mlir.pipelines.dropin.stock import flags_with_values

VALUED = frozenset({"iree-hal-target-device", "iree-llvmcpu-target-cpu"})


def parse(*arguments: str) -> DriverOptions | None:
    return driver_options(arguments, lambda: VALUED)


def parsed(*arguments: str) -> DriverOptions:
    options = parse(*arguments)
    assert options is not None
    return options


@pytest.mark.parametrize("output", [["-o", "x"], ["-o=x"], ["--o=x"], ["--o", "x"]])
def test_llvm_spellings_of_the_output(output: list[str]) -> None:
    assert parsed("in.mlir", *output).output == "x"
    assert parsed(*output, "in.mlir").input == "in.mlir"


def test_defaults_are_those_of_iree_compile() -> None:
    options = parsed("-")
    assert (options.input, options.output, options.output_format) == ("-", "-", "vm-bytecode")
    assert (options.compile_from, options.compile_to) == ("start", "end")
    assert options.verify
    assert not options.split
    assert not options.bytecode
    assert options.bytecode_version == -1
    assert options.flags == ()


def test_flags_of_llvm_pass_in_order_and_untouched() -> None:
    flags = ["-iree-a=1", "--iree-b", "--iree-llvmcpu-target-cpu", "generic", "--iree-c=x y"]
    assert list(parsed(*flags, "in.mlir", "-o", "-").flags) == flags


def test_which_argument_is_the_input_is_asked_only_where_that_is_ambiguous() -> None:
    def never() -> frozenset[str]:
        raise AssertionError("one candidate is no question")

    options = driver_options(["--iree-opt-strip-assertions", "in.mlir", "-o", "x"], never)
    assert options is not None
    assert options.input == "in.mlir"
    assert parsed("--iree-switch", "in.mlir", "--iree-llvmcpu-target-cpu", "generic").input == "in.mlir"
    assert parse("--iree-switch", "in.mlir", "--iree-other", "also.mlir") is None


@pytest.mark.parametrize(
    ("spelling", "value"),
    [("--verify", True), ("-verify=1", True), ("--verify=false", False), ("--verify=0", False)],
)
def test_truth_values(spelling: str, value: bool) -> None:
    assert parsed("in.mlir", spelling).verify is value


def test_the_last_of_two_values_counts() -> None:
    assert parsed("in.mlir", "-o", "x", "-o=y", "--compile-to=flow", "--compile-to", "hal").output == "y"
    assert parsed("in.mlir", "--compile-to=flow", "--compile-to", "hal").compile_to == "hal"


def test_after_two_dashes_all_is_positional() -> None:
    assert parsed("-o", "x", "--", "-in.mlir").input == "-in.mlir"
    assert parse("in.mlir", "--", "-o") is None


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a.mlir", "b.mlir"],
        ["in.mlir", "-o"],
        ["in.mlir", "--output-format=elf"],
        ["in.mlir", "--compile-to=nowhere"],
        ["in.mlir", "--compile-to=flow", "--compile-from=stream"],
        ["in.mlir", "--compile-mode=hal-executable"],
        ["in.mlir", "--compile-mode=precompile"],
        ["in.mlir", "--verify=perhaps"],
        ["in.mlir", "--emit-mlir-bytecode-version=-2"],
        ["--help"],
        ["in.mlir", "-version"],
        ["--iree-hal-list-target-backends"],
    ],
)
def test_what_is_left_to_iree_compile(arguments: list[str]) -> None:
    assert parse(*arguments) is None


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], True),
        (["--compile-to=stream"], True),
        (["--compile-to=flow"], False),
        (["--compile-from=flow"], True),
        (["--compile-from=stream"], False),
        (["--compile-from=flow", "--compile-to=stream"], True),
    ],
)
def test_where_phase_stream_is_on_the_way(arguments: list[str], expected: bool) -> None:
    assert passes_stream(parsed("in.mlir", *arguments)) is expected


def test_response_files(tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", tmp_path / "outer"
    inner.write_text("-o 'a b'\n--flag\n")
    outer.write_text(f"in.mlir @{inner}")
    assert expand_response_files([f"@{outer}", "@nowhere"]) == ["in.mlir", "-o", "a b", "--flag", "@nowhere"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a \xff", "byte 2 is not UTF-8"),
        (b"-o 'a", "no closing quotation"),
        (b"a @file", "holds itself"),
    ],
)
def test_response_files_that_cannot_be_read(
    data: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(data)
    with pytest.raises(UsageError, match=f"file: {said}\n  hint: "):
        expand_response_files(["@file"])


def test_flags_of_ours() -> None:
    given = ["--serenity-no-schedule", "-serenity-time-limit", "0.5", "--serenity-report=r.json"]
    flags, rest = split_serenity_flags(["in.mlir", *given, "-o", "x"])
    assert flags == SerenityFlags(time_limit=0.5, schedule=False, report=Path("r.json"))
    assert rest == ["in.mlir", "-o", "x"]
    assert split_serenity_flags(flags.arguments())[0] == flags
    assert split_serenity_flags(["--serenity-disable=false"])[0] == SerenityFlags()
    assert split_serenity_flags(["--", "--serenity-disable"]) == (
        SerenityFlags(),
        ["--", "--serenity-disable"],
    )


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--serenity-no-scedule", "did you mean 'serenity-no-schedule'?"),
        ("--serenity-time-limit=soon", "number of seconds"),
        ("--serenity-time-limit=-1", "number of seconds"),
        ("--serenity-time-limit", "number of seconds"),
        ("--serenity-disable=perhaps", "neither true nor false"),
        ("--serenity-report", "needs a file"),
    ],
)
def test_wrong_flags_of_ours(flag: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        split_serenity_flags([flag])
    assert words in str(caught.value)


def test_every_flag_of_ours_is_in_the_help() -> None:
    listed = help_text()
    every = SerenityFlags(schedule=False, arena=False, compare_stock=True, report=Path("r"), disable=True)
    assert all(argument.split("=")[0] in listed for argument in every.arguments())
    assert asks_for_help(["-help-hidden"])


def test_stock_says_which_flags_need_a_value() -> None:
    found = flags_with_values()
    assert {"o", "iree-llvmcpu-target-cpu", "compile-to", "mlir-print-ir-after"} <= found
    assert not {"verify", "iree-opt-const-eval", "mlir-timing"} & found
