"""Stack and flash of libraries: read off linked programs, or left open with the reason."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from firmware_harness import compile_firmware, serenity, target_named
from small_networks import write_float, write_int8

from serenity_mlir.pipelines.firmware.link_map import flash_by_file
from serenity_mlir.pipelines.firmware.stack_use import UnknownStackUse, deepest
from serenity_mlir.sizes import size_text

BOARD = Path(__file__).parents[2] / "pipelines" / "firmware" / "boards" / "cortex-m7.toml"


def listing(**functions: str) -> str:
    """What objdump says of functions whose instructions are given as `push {r4, lr}; bl g`."""
    out = []
    for name, body in functions.items():
        out.append(f"00000000 <{name}>:")
        for number, instruction in enumerate(body.split("; ")):
            what, _, operands = instruction.partition(" ")
            out.append(f"   {number:x}:\t{what}\t{operands}")
    return "\n".join(out)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("push {r4, r5, r6, r7, lr}; stmdb sp!, {r8, r9, sl, fp}; sub sp, #44\t@ 0x2c; bx lr", 20 + 16 + 44),
        ("push {r7, lr}; vpush {d8-d15}; sub.w sp, sp, #512; pop {r7, pc}", 8 + 64 + 512),
        ("vpush {s16-s18}; vpush {d8}; bx lr", 12 + 8),
        ("str.w lr, [sp, #-4]!; strd r4, r5, [sp, #-16]!; ldr.w pc, [sp], #4", 4 + 16),
        ("movw ip, #4660; movt ip, #1; sub.w sp, sp, ip; add sp, ip; bx lr", 0x11234),
        ("push {r4, lr}; mov r4, sp; bfc r4, #0, #5; mov sp, r4; mov sp, r7; bx lr", 8 + 24),
        ("addi sp,sp,-48; sw ra,44(sp); addi sp,sp,48; ret", 48),
        ("addi sp,sp,-2032; lui a1,0x2; addi a1,a1,-96; sub sp,sp,a1; addi sp,s0,-80; ret", 2032 + 8192 - 96),
        ("lui t0,0xffffe; addi t0,t0,16; add sp,sp,t0; ret", 8192 - 16),
        ("addi sp,sp,-32; andi sp,sp,-64; ret", 32 + 48),
        ("add sp,sp,-32; and sp,sp,-64; ret", 32 + 48),
        ("push {r4, lr}; ldmia sp, {r0, r1, r2}; stmia sp, {r0, r1}; pop {r4, pc}", 8),
        ("ldr r0, [sp, #-4]; add r7, sp, #12; addi s0,sp,48; bx lr", 0),
    ],
)
def test_frames(body: str, expected: int) -> None:
    assert deepest(listing(f=body), ["f"], []) == expected


def test_the_deepest_chain_counts() -> None:
    text = listing(
        invoke="push {r4, lr}; bl 100 <small>; bl 200 <run>; pop {r4, pc}",
        small="sub sp, #400; cbz r0, 10 <small+0x8>; bx lr",
        run="push {r4, r5, lr}; blx r3; b.w 300 <tail>",
        first="sub sp, #100; bx lr",
        second="addi sp,sp,-32; jal ra,400 <leaf>; jalr 12(ra) # 400 <leaf>; ret",
        leaf="addi sp,sp,-480; ret",
        tail="sub sp, #16; bx lr",
        unrelated="sub sp, #4000; bx lr",
    )
    assert deepest(text, ["invoke", "small"], ["first", "second"]) == 8 + 12 + 32 + 480
    assert deepest(text, ["invoke", "small"], ["first"]) == 8 + 400


@pytest.mark.parametrize(
    ("functions", "why"),
    [
        ({"f": "sub.w sp, sp, r3; bx lr"}, "known only at run time"),
        ({"f": "add sp,sp,a0; ret"}, "known only at run time"),
        ({"f": "and sp,sp,a0; ret"}, "known only at run time"),
        ({"f": "bl 0 <g>; bx lr", "g": "bl 0 <f>; bx lr"}, "call itself"),
        ({"f": "bl 0 <h>; bx lr"}, "no function h"),
        ({"f": "blx r1; bx lr"}, "f may call itself"),
    ],
)
def test_no_bound_is_made_up(functions: dict[str, str], why: str) -> None:
    with pytest.raises(UnknownStackUse, match=why):
        deepest(listing(**functions), ["f"], ["f"])


MAP = """\
Discarded input sections

 .text.unused   0x00000000      0x100 source.o

Linker script and memory map

.text           0x00000000       0x60
 .text.run      0x00000000       0x20 source.o
 .text.a_name_that_takes_the_whole_of_a_line
                0x00000020       0x30 dispatches.o
 *fill*         0x00000050        0x2
 .text.memcpy   0x00000052        0xe /lib/libc.a(memcpy.o)
.rodata         0x00000060       0x10
 .rodata.weights 0x00000060       0x10 source.o
.bss            0x00000070      0x400
 .bss.state     0x00000070      0x400 source.o
 .debug_info    0x00000000      0x999 source.o
"""


def test_flash_is_what_the_map_keeps() -> None:
    assert flash_by_file(MAP) == {"source.o": 0x30, "dispatches.o": 0x30, "/lib/libc.a(memcpy.o)": 0xE}


def test_report_and_readme_say_what_was_measured(tmp_path: Path) -> None:
    target_named("cortex-m7")
    library, report = tmp_path / "lib", tmp_path / "r.json"
    arguments = ("--emit", "firmware", "--target", "cortex-m7", "-o", library, "--report", report)
    done = serenity("compile", write_int8(tmp_path / "m.onnx"), *arguments)
    assert done.returncode == 0
    memory = json.loads((library / "metadata.json").read_text("utf-8"))["memory"]
    said = json.loads(report.read_text("utf-8"))["memory"]
    assert (said["stack"], said["flash"], said["ram"]) == (memory["stack"], memory["rom"], memory["arena"])
    assert "CPU-features" not in done.stderr  # IREE's note on processors that it is given by name
    for what, size in (("stack of a call", memory["stack"]), ("flash, linked", memory["rom"])):
        assert re.search(rf"^{what} +{size:,} ", done.stderr, re.MULTILINE)
    readme = (library / "README.md").read_text("utf-8")
    for size in (memory["arena"], memory["stack"], memory["weights"], memory["rom"] - memory["weights"]):
        assert f"| {size_text(size)} |" in readme


def test_budgets_hold_what_was_linked(tmp_path: Path) -> None:
    target_named("cortex-m7")
    model = write_int8(tmp_path / "m.onnx")
    library = compile_firmware(model, "cortex-m7", tmp_path / "lib")
    rom = json.loads((library / "metadata.json").read_text("utf-8"))["memory"]["rom"]
    arguments = ("compile", model, "--emit", "firmware", "--target", "cortex-m7", "--name", "net")
    assert serenity(*arguments, "-o", tmp_path / "a", "--budget-rom", str(rom)).returncode == 0
    done = serenity(*arguments, "-o", tmp_path / "b", "--budget-rom", str(rom - 1))
    assert done.returncode == 3
    assert f"{rom:,} bytes" in done.stderr


def test_without_a_toolchain_figures_are_left_open(tmp_path: Path) -> None:
    board = tmp_path / "mine.toml"
    board.write_text(BOARD.read_text("utf-8").replace('"arm-none-eabi-gcc"', '"no-such-gcc"'), "utf-8")
    model = write_float(tmp_path / "m.onnx")
    done = serenity("compile", model, "--emit", "firmware", "--target", board, "-o", tmp_path / "lib")
    assert done.returncode == 0
    assert "no-such-gcc is not installed (apt-get install gcc-arm-none-eabi" in done.stderr
    memory = json.loads((tmp_path / "lib" / "metadata.json").read_text("utf-8"))["memory"]
    assert [memory[key] for key in ("ram", "rom", "stack", "linked")] == [None] * 4
    assert "no-such-gcc is not installed" in memory["not_measured"]
    assert memory["arena"] > 0
    assert "no-such-gcc is not installed" in (tmp_path / "lib" / "README.md").read_text("utf-8")


def test_boards_that_are_too_small_are_named(tmp_path: Path) -> None:
    target_named("cortex-m7")
    board = tmp_path / "mine.toml"
    text = (
        BOARD.read_text("utf-8")
        .replace("ram = 4194304", "ram = 2000")
        .replace("flash = 4194304", "flash = 9")
    )
    board.write_text(text, "utf-8")
    model = write_float(tmp_path / "m.onnx")
    done = serenity("compile", model, "--emit", "firmware", "--target", board, "-o", tmp_path / "lib")
    assert done.returncode == 0
    memory = json.loads((tmp_path / "lib" / "metadata.json").read_text("utf-8"))["memory"]
    assert (
        f"arena and stack take {size_text(memory['ram'])}, the board mps2-an500 has 2,000 bytes"
        in done.stderr
    )
    assert f"flash takes {size_text(memory['rom'])}, the board mps2-an500 has 9 bytes" in done.stderr
