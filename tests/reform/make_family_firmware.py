"""Writes a family as a firmware library for the host; some of IREE's flags want a process of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx

from serenity_mlir.pipelines.compile import CompileOptions
from serenity_mlir.pipelines.firmware.write import write_folder
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.reform.family import family_firmware, nest
from serenity_mlir.pipelines.reform.onnx_network import network_of
from serenity_mlir.reform.family import Variant
from serenity_mlir.reform.groups import channel_groups


def main(model: Path, folder: Path) -> None:
    proto = onnx.load(model)
    groups = [group for group in channel_groups(network_of(proto)) if group.prunable]
    masks = [{group.id: np.arange(group.size) % 4 < kept for group in groups} for kept in (4, 3, 1)]
    family = nest(proto, masks, ["large", "medium", "small"])
    costs = [Variant(name, {"macs": macs}) for name, macs in (("large", 9), ("medium", 6), ("small", 1))]
    options = CompileOptions(
        target="host", rewrite=RewriteOptions(ops=False, regions=False), stream=StreamOptions(io="arena")
    )
    write_folder(folder, family_firmware(family, costs, "net", options).files)
    for member in family.members:
        onnx.save(member.model, folder.parent / f"{member.name}.onnx")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
