"""A pass from Python: parse MLIR, run `serenity-schedule-tensors`, read what it found, print.

    python examples/run_a_pass.py [FILE.mlir]

Figures go to stderr, IR to stdout. The same from a shell:

    serenity-opt FILE.mlir --pass-pipeline='builtin.module(serenity-schedule-tensors{annotate=true})'
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from serenity_mlir.dialect_passes.mlir import ir, make_context
from serenity_mlir.dialect_passes.tensors.schedule_tensors import ScheduleTensorsPass
from serenity_mlir.sizes import counted

# Two branches that each reduce a large tensor: one after the other, one large tensor is enough.
BRANCHES = """
func.func @branches(%x: tensor<4096xf32>) -> tensor<1xf32> {
  %a = tosa.abs %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %b = tosa.exp %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %least = tosa.reduce_min %a axis(0) : (tensor<4096xf32>) -> tensor<1xf32>
  %most = tosa.reduce_max %b axis(0) : (tensor<4096xf32>) -> tensor<1xf32>
  %sum = tosa.add %least, %most : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %sum : tensor<1xf32>
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE.mlir", help="by default two branches")
    file = parser.parse_args().file
    try:
        text = BRANCHES if file is None else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        parser.error(f"{file} cannot be read: {error}")
    module = ir.Module.parse(text, make_context())
    for function in ScheduleTensorsPass(time_limit=2.0, annotate=True).apply(module.operation):
        if function.refusal is not None:
            print(f"@{function.function} is left alone: {function.refusal}", file=sys.stderr)
            continue
        proof = "minimal" if function.optimal else f"no order is below {function.lower_bound:,}"
        print(
            f"@{function.function}: {counted(function.ops, 'op')}, {counted(function.file_peak, 'byte')} "
            f"live at the peak in file order, {function.final_peak:,} now ({proof})",
            file=sys.stderr,
        )
    module.operation.verify()
    print(module)


if __name__ == "__main__":
    main()
