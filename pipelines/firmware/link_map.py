"""How many bytes of flash a program's parts take, from the map that GNU ld writes."""

from __future__ import annotations

import re
from collections import Counter

_LINE = re.compile(r"^ (\.\S+)\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S.*)$")
_FLASH = (".text", ".rodata", ".srodata", ".data", ".sdata", ".ARM.exidx", ".ARM.extab")


def flash_by_file(text: str) -> dict[str, int]:
    """Bytes in flash by the file that they are from, as the linker names it: `libm.a(roundf.o)`.

    Sections that were removed are above the map's second heading; they count for nothing. Initial values of
    variables are in flash, so they count.
    """
    kept = text.partition("Linker script and memory map")[2]
    joined = re.sub(r"^( \.\S+)\n\s+", r"\1 ", kept, flags=re.MULTILINE)
    sizes: Counter[str] = Counter()
    for line in joined.splitlines():
        found = _LINE.match(line)
        if found and found[1].startswith(_FLASH):
            sizes[found[4]] += int(found[3], 16)
    return {file: size for file, size in sizes.items() if size}
