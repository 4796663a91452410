"""Slabs beside stock's, for real networks: compiled, run twice in a poisoned arena, compared.

    python benchmarks/models.py [--set shared light networks] [NAMES…]

Models come from ../shared/models ("shared"), from the onnx package ("light", which get random
weights) and from examples/networks.py ("networks"). For each: what stock allocates in its three
modes and their best; what we allocate with the ops and dispatches as they are ("order alone"), and with
rewrites and regions chosen, read back from the compiled module; how long an inference takes beside
stock's (medians of paired runs on one core); whether the slab is proven optimal for the dispatches
that IREE forms; whether live peak and arena are the same;
how much more the runtime's allocator held than the slab, the inputs and the outputs (outputs that
share an allocation are aligned in it: up to 63 bytes after each but the last); and how far
results of two invocations are from onnxruntime's, relative to the largest value of each output,
and absolute.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from circumstances import REPO, SETS, models, with_weights, write
from harness import compile_model, run_twice
from latency import latency_ratio, stock_artefact

from serenity_mlir.pipelines.bench.result_file import table
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import restore_dtype
from serenity_mlir.pipelines.reference import reference_name, run_reference
from serenity_mlir.pipelines.verify import compare, random_inputs

HEADS = (
    *("model", "stock max-concurrency", "stock min-peak-memory", "stock debug", "best of stock"),
    *("order alone", "slab", "best / slab", "latency / stock's", "optimal", "peak = arena"),
    "allocator - slab - in - out",
    *("max. rel. error", "max. abs. error", "agrees"),
)


def measured(model: Path, folder: Path) -> list[str]:
    """A row of the table."""
    _, plain = compile_model(model, folder, "--no-rewrite", "--no-regions")
    artefact, report = compile_model(model, folder, "--compare-stock", "--rewrite-limit", "20")
    memory = report.memory
    if memory.stock is None:
        raise ValueError("--compare-stock left no figures of stock")
    source = load_model(model)
    inputs = random_inputs(source.inputs)
    run = run_twice(artefact, inputs, memory.slab or 0, folder)
    expected = run_reference(source, inputs)
    found = [
        [restore_dtype(array, item) for array, item in zip(results, source.outputs, strict=True)]
        for results in (run.first, run.second)
    ]
    errors = [compare(results, expected, reference_name()) for results in found]
    stock = memory.stock
    ratio = f"{stock.best / memory.slab:.2f}" if stock.best and memory.slab else "-"
    sizes = (
        stock.max_concurrency,
        stock.min_peak_memory,
        stock.debug,
        stock.best,
        plain.memory.slab,
        memory.slab,
    )
    return [
        model.stem,
        *("no constant size" if size is None else f"{size:,}" for size in sizes),
        ratio,
        f"{latency_ratio(artefact, stock_artefact(model, folder), list(inputs.values())):.2f}",
        "yes" if memory.optimal else f"within {memory.gap:.1%}" if memory.gap is not None else "no",
        _yes(memory.final.peak == memory.final.arena),
        "-" if memory.ram is None else f"{run.allocator_peak - memory.ram:+,}",
        f"{max(error.max_rel for error in errors):.1e}",
        f"{max(error.max_abs for error in errors):.1e}",
        _yes(all(error.passed for error in errors)),
    ]


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("names", nargs="*", help="only models of which one is a part of the name")
    parser.add_argument("--set", nargs="+", choices=SETS, default=list(SETS), dest="sets")
    parser.add_argument("--output", type=Path, default=REPO / "benchmarks" / "results" / "models.md")
    options = parser.parse_args()
    rows, failed = [], []
    for path in models(options.sets, options.names):
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows.append(measured(with_weights(path, Path(folder)), Path(folder)))
                said = "  ".join(rows[-1])
            except AssertionError as error:  # what the harness says of a command that failed
                failed.append(f"- {path.stem}: {error}")
                said = failed[-1]
        print(said, file=sys.stderr, flush=True)
    ending = "\n".join(["Left out:", *failed]) if failed else "No model was left out."
    agrees = (
        "Agrees: to 1e-4 of an output's largest value or to 1e-6, which is what float32 sigmoids are rounded "
        "to (yunet has one whose largest value is 1e-5); integers to the bit."
    )
    write(options.output, "Slabs beside stock IREE's", f"{table(HEADS, rows)}\n\n{agrees} {ending}")


if __name__ == "__main__":
    main()
