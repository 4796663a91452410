"""Everything of a library's folder beside header, source and object: builds, metadata, how to use it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from serenity_mlir import __version__
from serenity_mlir.pipelines.firmware.emit_c import (
    Library,
    described,
    environment,
    prefix,
)
from serenity_mlir.pipelines.firmware.linked import Measured
from serenity_mlir.pipelines.firmware.metadata import FILE, metadata
from serenity_mlir.pipelines.firmware.targets import FirmwareTarget
from serenity_mlir.pipelines.lower_stream import StreamResult
from serenity_mlir.report import Report
from serenity_mlir.sizes import size_text

_NEEDS = "one C99 file, one object, `memcpy` and `memset`"


def library_files(  # noqa: PLR0913  (each is a part of what the files say)
    library: Library,
    target: FirmwareTarget,
    own: Mapping[str, bytes],
    *,
    measured: Measured,
    report: Report,
    stream: StreamResult,
) -> dict[str, bytes]:
    """Contents of a library's folder by path.

    Args:
        library: What it is made of.
        target: For what.
        own: Header, source and object, by path.
        measured: What it takes.
        report: Figures of the compilation.
        stream: Where the buffers of the arena lie.
    """
    texts = _templates(library, target, measured)
    files = {**own, **{path: text.encode() for path, text in texts.items()}}
    described_by = metadata(library, measured, report, stream, files)
    files[FILE] = msgspec.json.format(msgspec.json.encode(described_by), indent=2) + b"\n"
    return files


def _templates(library: Library, target: FirmwareTarget, measured: Measured) -> Mapping[str, str]:
    name, found = library.name, library.object
    entry = library.program.entries[0]
    needs = [symbol for symbol in found.needed if symbol not in ("memcpy", "memmove", "memset")]
    libraries = target.linkage.libraries if needs else []
    values = {
        "name": name,
        "model": library.model,
        "target": target,
        "version": __version__,
        "external": library.external,
        "program": library.program,
        "entry": {
            "prefix": prefix(library, entry),
            "inputs": entry.inputs,
            "outputs": entry.outputs,
        },
        "libraries": libraries,
        "weights_bytes": sum(map(len, library.program.weights)),
        "code": sum(found.sections.values()),
        "measured": measured,
        "hard_float": target.board is not None and target.linkage.float_abi != "soft",
        "unused": sorted(set(found.undefined) - set(found.needed)),
        "source_needs": ", ".join((_NEEDS, *(f"`{symbol}`" for symbol in needs))),
    }
    templates = environment()
    templates.filters |= {"described": described, "sized": size_text}
    paths = {
        "CMakeLists.txt": "CMakeLists.txt.j2",
        f"cmake/{name}Config.cmake": "Config.cmake.j2",
        "zephyr/module.yml": "module.yml.j2",
        "zephyr/CMakeLists.txt": "zephyr_CMakeLists.txt.j2",
        "zephyr/Kconfig": "Kconfig.j2",
        "README.md": "README.md.j2",
    }
    return {path: templates.get_template(source).render(values) for path, source in paths.items()}
