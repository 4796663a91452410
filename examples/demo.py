"""Compile NASNet-A and say what it took before and what it takes now: `make demo`.

    python examples/demo.py [--output DIR]

DIR gets the network (model.onnx), the compiled module (model.vmfb) and the figures (report.json).
The network is NASNet-A "mobile" with one normal cell a stage instead of four, on 96x96 images.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

import onnx
from networks import nasnet

from serenity_mlir.report import Report, read_report


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--output", type=Path, default=Path("build/demo"), metavar="DIR")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    model, report = folder / "model.onnx", folder / "report.json"
    onnx.save(nasnet(), model)
    serenity = Path(sysconfig.get_path("scripts"), "serenity")
    options = ["--compare-stock", "--verify", "--report", str(report), "-o", str(folder / "model.vmfb")]
    command = ["compile", str(model), *options]
    print(f"$ serenity {shlex.join(command)}", flush=True)
    done = subprocess.run([str(serenity), *command], check=False)
    if done.returncode:
        return done.returncode
    print(f"\n{before_and_after(read_report(report))}")
    return 0


def before_and_after(report: Report) -> str:
    """Two sentences, from the figures of a report with stock's and with verification."""
    memory, verify = report.memory, report.verify
    if memory.slab is None or memory.stock is None or memory.stock.best is None or verify is None:
        raise ValueError("the report lacks a constant slab, figures of stock or a comparison")
    proof = (
        "no order and no packing needs less"
        if memory.optimal
        else f"at most {memory.gap or 0:.1%} above the least that any order needs"
    )
    return (
        f"Stock IREE compiles this network to a slab of {memory.stock.best:,} bytes in the best of its three "
        f"modes; reordered and packed it allocates {memory.slab:,} bytes, "
        f"{memory.stock.best / memory.slab:.2f} times less ({proof}).\n"
        f"That is the figure read back from the compiled module, whose results agree with "
        f"{verify.reference} to {verify.max_rel:.1e} of the largest value."
    )


if __name__ == "__main__":
    sys.exit(main())
