"""What the compiled object says of itself: ABI version, exports, machine, what it needs."""

from __future__ import annotations

import io
import struct
from collections import defaultdict
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import ARMAttributesSection, Symbol, SymbolTableSection

from serenity_mlir.errors import SerenityError

LIBRARY_VERSION = 6
"""Of the ABI that the generated C speaks, as the object's header has it."""

_ATTRIBUTES = 64  # bytes for each export in the table of attributes
_ARM_HARD_FLOAT = 1  # Tag_ABI_VFP_args


@dataclass(frozen=True, slots=True)
class Export:
    """A function of the object.

    Attributes:
        name: As the compiler calls it.
        ordinal: Its place in the table.
        local_memory: Bytes of memory that each workgroup wants.
        constants: How many 32-bit words it takes.
        bindings: How many memories it takes.
    """

    name: str
    ordinal: int
    local_memory: int
    constants: int
    bindings: int


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """An ELF object with a static library in it.

    Attributes:
        machine: ELF's name of it, `EM_ARM`.
        bits: 32 or 64.
        float_abi: "hard", "single", "double" or "soft", as the object is marked.
        query: The symbol of the query function.
        exports: By name.
        undefined: Symbols that others must define, sorted: what a linker asks for.
        needed: Those that the library's functions call; the others go with `--gc-sections`.
        sections: Bytes by kind: text, rodata, data, bss.
    """

    machine: str
    bits: int
    float_abi: str
    query: str
    exports: dict[str, Export]
    undefined: tuple[str, ...]
    needed: tuple[str, ...]
    sections: dict[str, int]


def read_object(data: bytes, *, file: str) -> ObjectFile:
    """Read an object that IREE made.

    Raises:
        SerenityError: It is no such object, or its ABI is another than the one that is known.
    """
    elf = ELFFile(io.BytesIO(data))
    symbols = elf.get_section_by_name(".symtab")
    if not isinstance(symbols, SymbolTableSection):
        raise SerenityError("the object has no symbols", file=file)
    defined = [item for item in symbols.iter_symbols() if item.name and item["st_shndx"] != "SHN_UNDEF"]
    undefined = [item for item in symbols.iter_symbols() if item.name and item["st_shndx"] == "SHN_UNDEF"]
    query = [item.name for item in defined if item["st_info"]["bind"] == "STB_GLOBAL"]
    if len(query) != 1 or not query[0].endswith("_library_query"):
        raise SerenityError(f"the object exports {', '.join(query) or 'nothing'}, not one library", file=file)
    tables = _Tables(elf, symbols, query[0])
    version = tables.word("_v0_header")
    if version != LIBRARY_VERSION:
        raise SerenityError(
            f"this compiler makes static libraries of version {version}; version {LIBRARY_VERSION} is known",
            file=file,
            hint="install iree-base-compiler 3.13",
        )
    return ObjectFile(
        machine=str(elf["e_machine"]),
        bits=elf.elfclass,
        float_abi=_float_abi(elf),
        query=query[0],
        exports={item.name: item for item in tables.exports()},
        undefined=tuple(sorted(item.name for item in undefined)),
        needed=tuple(sorted(_needed(elf, symbols, query[0]))),
        sections=_sizes(elf),
    )


class _Tables:
    """The library's tables, found by the symbols that they have in the object."""

    def __init__(self, elf: ELFFile, symbols: SymbolTableSection, query: str) -> None:
        self.elf, self.symbols, self.query = elf, symbols, query

    def _symbol(self, suffix: str) -> Symbol:
        found = self.symbols.get_symbol_by_name(self.query + suffix)
        if not found:
            raise SerenityError(
                f"the object holds no table {self.query}{suffix}", hint="install iree-base-compiler 3.13"
            )
        return found[0]

    def _data(self, suffix: str) -> bytes:
        symbol = self._symbol(suffix)
        data = bytes(self.elf.get_section(symbol["st_shndx"]).data())
        return data[symbol["st_value"] : symbol["st_value"] + symbol["st_size"]]

    def word(self, suffix: str) -> int:
        """The first word of a table."""
        value: int = struct.unpack_from("<I", self._data(suffix))[0]
        return value

    def exports(self) -> list[Export]:
        """The functions, in the order of the table that points to them."""
        names, attributes = self._pointed_to("_v0_funcs"), self._data("_v0_attrs")
        if len(attributes) != _ATTRIBUTES * len(names):
            raise SerenityError(
                f"{len(attributes)} bytes of attributes for {len(names)} functions: an unknown layout",
                hint="install iree-base-compiler 3.13",
            )
        out = []
        for ordinal, name in enumerate(names):
            pages, constants, bindings = struct.unpack_from("<HBB", attributes, _ATTRIBUTES * ordinal + 8)
            out.append(Export(name, ordinal, 4096 * pages, constants, bindings))
        return out

    def _pointed_to(self, suffix: str) -> list[str]:
        """Names of the functions that relocations put into a table of pointers.

        A function's relocation names it, or the section that it has to itself.
        """
        table = self._symbol(suffix)["st_shndx"]
        alone = {
            item["st_shndx"]: item.name
            for item in self.symbols.iter_symbols()
            if item["st_info"]["type"] == "STT_FUNC"
        }
        found: list[tuple[int, str]] = []
        for section in self.elf.iter_sections():
            if isinstance(section, RelocationSection) and section["sh_info"] == table:
                for item in section.iter_relocations():
                    symbol = self.symbols.get_symbol(item["r_info_sym"])
                    found.append((item["r_offset"], symbol.name or alone[symbol["st_shndx"]]))
        return [name for _, name in sorted(found)]


def _needed(elf: ELFFile, symbols: SymbolTableSection, root: str) -> set[str]:
    """Undefined symbols that sections refer to which `root` refers to, however indirectly."""
    references: dict[int, set[int]] = defaultdict(set)
    for section in elf.iter_sections():
        if isinstance(section, RelocationSection):
            references[section["sh_info"]].update(item["r_info_sym"] for item in section.iter_relocations())
    reached: set[int] = set()
    found: set[str] = set()
    ahead = [symbol["st_shndx"] for symbol in symbols.get_symbol_by_name(root) or ()]
    while ahead:
        number = ahead.pop()
        if number in reached:
            continue
        reached.add(number)
        for index in references[number]:
            symbol = symbols.get_symbol(index)
            if symbol["st_shndx"] == "SHN_UNDEF":
                found.add(symbol.name)
            elif isinstance(symbol["st_shndx"], int):
                ahead.append(symbol["st_shndx"])
    return found - {""}


def _float_abi(elf: ELFFile) -> str:
    if elf["e_machine"] == "EM_ARM":
        attributes = elf.get_section_by_name(".ARM.attributes")
        for part in attributes.iter_subsections() if isinstance(attributes, ARMAttributesSection) else ():
            for block in part.iter_subsubsections():
                for item in block.iter_attributes("TAG_ABI_VFP_ARGS"):
                    if item.value == _ARM_HARD_FLOAT:
                        return "hard"
        return "soft"
    if elf["e_machine"] == "EM_RISCV":
        return ("soft", "single", "double", "quad")[elf["e_flags"] >> 1 & 3]
    return "hard"


def _sizes(elf: ELFFile) -> dict[str, int]:
    """Bytes of what is loaded, by kind."""
    sizes = {"text": 0, "rodata": 0, "data": 0, "bss": 0}
    for section in elf.iter_sections():
        flags = section["sh_flags"]
        if not flags & 2:  # SHF_ALLOC
            continue
        if section["sh_type"] == "SHT_NOBITS":
            kind = "bss"
        elif flags & 4:  # SHF_EXECINSTR
            kind = "text"
        else:
            relocated = section.name.startswith(".data.rel.ro")
            kind = "data" if flags & 1 and not relocated else "rodata"
        sizes[kind] += section["sh_size"]
    return sizes
