"""How many bytes of machine code an artefact holds."""

from __future__ import annotations

import io
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile


def code_bytes(folder: Path) -> int:
    """Bytes in the executable sections of the objects that IREE left in a folder.

    Args:
        folder: What `--iree-hal-dump-executable-binaries-to` named.
    """
    total = 0
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        if data.startswith(b"\x7fELF"):
            sections = ELFFile(io.BytesIO(data)).iter_sections()
            total += sum(item["sh_size"] for item in sections if item["sh_flags"] & SH_FLAGS.SHF_EXECINSTR)
    return total
