"""The most stack that functions of a linked program take, read off its disassembly.

Compilers give the frames of C (`-fstack-usage`), but not those of an object that comes ready-made, nor of a C
library's. All of them are in the program: what each function takes off the stack pointer, and whom it
calls. The deepest chain of calls is a bound that no run exceeds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

_HEADER = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
_INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\t(\S+)\s*(.*)$")
_REFERENCE = re.compile(r"<([^>+]+)(?:\+0x[0-9a-f]+)?>")
_NO_BRANCHES = ("bic", "bfc", "bfi", "bkpt")
_COMMENT = re.compile(r"\s[@;#] ")
_RANGE = re.compile(r"([a-z])(\d+)(?:-[a-z](\d+))?")
_REGISTER_BYTES = {"d": 8, "q": 16}  # of what vpush takes; 4 of all others
_AT_ENTRY = {"bfc": 8, "andi": 16, "and": 16}  # alignment of the stack pointer, by what raises it


class UnknownStackUse(Exception):
    """The bound cannot be read off: says where and why."""


@dataclass
class _Function:
    frame: int = 0
    calls: set[str] = field(default_factory=set)
    calls_pointers: bool = False


def deepest(listing: str, roots: Iterable[str], pointed_to: Collection[str]) -> int:
    """Bytes of stack that the deepest chain of calls takes.

    Args:
        listing: What `objdump -d --no-show-raw-insn` says of the program, for Arm (Thumb) or RISC-V.
        roots: Where chains begin.
        pointed_to: The functions that calls through pointers may reach.

    Raises:
        UnknownStackUse: Functions call each other in a circle, or a frame has no constant size.
    """
    functions = _functions(listing)
    known: dict[str, int] = {}

    def below(name: str, chain: tuple[str, ...]) -> int:
        if name in chain:
            raise UnknownStackUse(f"{name} may call itself")
        if name not in known:
            function = functions.get(name)
            if function is None:
                raise UnknownStackUse(f"the program holds no function {name}")
            called = function.calls | (set(pointed_to) if function.calls_pointers else set())
            known[name] = function.frame + max((below(item, (*chain, name)) for item in called), default=0)
        return known[name]

    return max(below(root, ()) for root in roots)


def _functions(listing: str) -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    reader: _Reader | None = None
    for line in listing.splitlines():
        header = _HEADER.match(line)
        if header and not header[1].startswith((".L", "$")):
            reader = _Reader(header[1], found.setdefault(header[1], _Function()))
            continue
        instruction = _INSTRUCTION.match(line)
        if reader is not None and instruction:
            reader.read(instruction[1].removesuffix(".w").removesuffix(".n"), instruction[2])
    return found


class _Reader:
    """Follows one function's instructions in the order of their addresses.

    Compilers take a frame off once, at the start, so that what is taken off anywhere adds up to it.
    """

    def __init__(self, name: str, function: _Function) -> None:
        self.name, self.function = name, function
        self.constants: dict[str, int] = {}
        self.aligned: dict[str, int] = {}

    def read(self, what: str, operands: str) -> None:
        """Take note of one instruction."""
        self._call(what, operands)
        parts = [part.strip() for part in _COMMENT.split(operands)[0].split(",")]
        if what in ("push", "vpush") or (what in ("stmdb", "vstmdb") and parts[0] == "sp!"):
            self.function.frame += _listed_bytes(operands)
        elif stored := re.search(r"\[sp, #-(\d+)\]!", operands):
            self.function.frame += int(stored[1])
        elif parts[0] == "sp" and not what.startswith(("ldm", "stm")):  # which move it as `sp!` only
            self._to_stack_pointer(what, parts[1:])
        else:
            self._constant(what, parts)

    def _call(self, what: str, operands: str) -> None:
        named = _REFERENCE.search(operands)
        is_branch = what[0] in "bj" and not what.startswith(_NO_BRANCHES)
        if (is_branch or what in ("cbz", "cbnz", "call", "tail")) and named:
            if named[1] != self.name and not named[1].startswith((".L", "$")):
                self.function.calls.add(named[1])
        elif what in ("blx", "jalr"):  # `jr` and `bx` return, or go on in a switch of the same function
            self.function.calls_pointers = True

    def _to_stack_pointer(self, what: str, parts: list[str]) -> None:
        """An instruction whose result is the stack pointer: `parts` are its other operands."""
        last = parts[-1].lstrip("#")
        by = int(last, 0) if re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", last) else self.constants.get(last)
        if what in ("andi", "and") and by is not None:
            self.function.frame += max(-by - _AT_ENTRY[what], 0)
        elif what in ("mov", "mv") or (what in ("add", "addi", "addw") and parts[0] not in ("sp", last)):
            self.function.frame += self.aligned.get(last, 0)  # back to a frame's end, or to what was aligned
        elif what in ("sub", "subw") and by is not None:
            self.function.frame += max(by, 0)
        elif what in ("add", "addi", "addw") and by is not None:
            self.function.frame += max(-by, 0)
        else:
            raise UnknownStackUse(f"{self.name} moves the stack by what is known only at run time: {what}")

    def _constant(self, what: str, parts: list[str]) -> None:
        """Remember a register's value where it is a constant, and how far it was aligned."""
        register, values = parts[0], [part.lstrip("#") for part in parts[1:]]
        self.aligned.pop(register, None)
        before = self.constants.pop(register, None)
        if what == "bfc" and values[0] == "0":
            self.aligned[register] = max((1 << int(values[1])) - _AT_ENTRY[what], 0)
            return
        if not values or not re.fullmatch(r"-?(0x[0-9a-f]+|\d+)", values[-1]):
            return
        value = int(values[-1], 0)
        if what in ("mov", "movw", "li") and len(values) == 1:
            self.constants[register] = value
        elif what == "movt" and before is not None:
            self.constants[register] = before & 0xFFFF | value << 16
        elif what == "lui":
            self.constants[register] = (value << 12 ^ 1 << 31) - (1 << 31)
        elif what in ("add", "addi") and before is not None and values[0] in (register, values[-1]):
            self.constants[register] = before + value


def _listed_bytes(operands: str) -> int:
    """Bytes of the registers in braces."""
    inside = operands.partition("{")[2].partition("}")[0]
    total = 0
    for item in inside.split(","):
        found = _RANGE.fullmatch(item.strip())
        count = int(found[3]) - int(found[2]) + 1 if found and found[3] else 1
        total += count * (_REGISTER_BYTES.get(found[1], 4) if found else 4)
    return total
