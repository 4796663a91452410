"""Wall time of `serenity compile MODEL -o OUT` beside stock IREE's, whole processes in pairs.

    python benchmarks/overhead.py [--set shared light] [--repeats 3] [--weights] [NAMES…]

Stock imports once (`python -m iree.compiler.tools.import_onnx`) and compiles what that made
(`iree-compile`) with the flags of our target. The goal: ours takes at most 15% or 2 s more than
`iree-compile` alone, although ours reads ONNX and imports it. Ratios and differences are medians
over pairs A B A B; CPU seconds are the medians of the processes', which other work on the
machine disturbs less.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from circumstances import REPO, SETS, models, with_weights, write
from iree.compiler.tools.binaries import find_tool

from serenity_mlir.pipelines.bench.result_file import table
from serenity_mlir.pipelines.targets import DEFAULT_TARGET, compiler_flags

SCRIPTS = Path(sysconfig.get_path("scripts"))
STOCK_OPSET = "17"
SHARE, SECONDS = 0.15, 2.0
HEADS = (
    *("model", "import s", "iree-compile s", "serenity s", "ratio", "more s", "of import + compile"),
    *("CPU s stock", "CPU s serenity", "within"),
)


@dataclass(frozen=True)
class Took:
    """Seconds that one process took."""

    wall: float
    cpu: float


def timed(command: Sequence[str | Path]) -> Took:
    """Run a command to its end; what it says appears only where it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    wall = time.perf_counter() - began
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measured(model: Path, folder: Path, repeats: int) -> list[str]:
    """A row of the table."""
    mlir, vmfb = folder / "stock.mlir", folder / "out.vmfb"
    importer: list[str | Path] = [
        sys.executable,
        "-m",
        "iree.compiler.tools.import_onnx",
        "--opset-version",
        STOCK_OPSET,
    ]
    stock: list[str | Path] = [compiler(), mlir, *compiler_flags(DEFAULT_TARGET, ()), "-o", vmfb]
    ours: list[str | Path] = [
        SCRIPTS / "serenity",
        "compile",
        model,
        "-o",
        vmfb,
        "--no-rewrite",
        "--no-regions",
    ]
    imports, pairs = [], []
    for _ in range(repeats):
        imports.append(timed([*importer, model, "-o", mlir]).wall)
        pairs.append((timed(stock), timed(ours)))
    ratio = median(b.wall / a.wall for a, b in pairs)
    more = median(b.wall - a.wall for a, b in pairs)
    whole = median(b.wall / (a.wall + c) for (a, b), c in zip(pairs, imports, strict=True))
    seconds = [median(imports), median(a.wall for a, _ in pairs), median(b.wall for _, b in pairs)]
    cpu = [median(a.cpu for a, _ in pairs), median(b.cpu for _, b in pairs)]
    within = "yes" if ratio <= 1 + SHARE or more <= SECONDS else "no"
    return [
        model.stem,
        *(f"{value:.2f}" for value in seconds),
        f"{ratio:.2f}",
        f"{more:+.2f}",
        f"{whole:.2f}",
        *(f"{value:.2f}" for value in cpu),
        within,
    ]


def compiler() -> Path:
    """Stock's compiler itself: the script of that name is Python, which ours starts too."""
    return Path(find_tool("iree-compile"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("names", nargs="*", help="only models of which one is a part of the name")
    parser.add_argument("--set", nargs="+", choices=SETS, default=["shared", "light"], dest="sets")
    parser.add_argument("--weights", action="store_true", help="put random weights into light models first")
    parser.add_argument("--repeats", type=int, default=3, help="pairs for each model")
    parser.add_argument("--output", type=Path, default=REPO / "benchmarks" / "results" / "overhead.md")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in models(options.sets, options.names):
            model = with_weights(path, Path(folder)) if options.weights else path
            rows.append(measured(model, Path(folder), options.repeats))
            print("  ".join(rows[-1]), flush=True)
    goal = f"Within: at most {SHARE:.0%} or {SECONDS:.0f} s more than `iree-compile` alone."
    write(options.output, "Compile time beside stock IREE", f"{table(HEADS, rows)}\n\n{goal}")


if __name__ == "__main__":
    main()
