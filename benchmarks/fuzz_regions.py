"""Compiles random networks with dispatch regions and without: equal results, and never a larger slab.

    python benchmarks/fuzz_regions.py --count 200 --seed 1 [--only 17]

Each network is compiled in a process forked from a warm one, under each objective in turn. Results are those
of the network without regions: to the bit where it is quantised, to 1e-5 of the largest where of floats.
What differs, is larger, or fails only with regions is listed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from fuzz_process import forked
from region_networks import network

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import Compiled, CompileOptions, compile_model
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.verify import random_inputs, run_compiled

_SECONDS = 3.0
"""For the choice."""
_FLOATS = 1e-5


def trial(number: int, folder: Path) -> dict[str, Any]:
    """Compile one network with and without regions; the record of it."""
    path = folder / "net.onnx"
    model = network(number)
    onnx.save(model, path)
    plain = RewriteOptions(ops=number % 3 == 0, regions=False, time_limit=_SECONDS)
    chosen = RewriteOptions(ops=plain.ops, balanced=number % 2 == 0, time_limit=_SECONDS)
    try:
        without = compile_model(path, CompileOptions(rewrite=plain))
    except SerenityError as error:
        return {"number": number, "outcome": "refused", "text": str(error)}
    made = compile_model(path, CompileOptions(rewrite=chosen))
    slabs = _slab(without), _slab(made)
    quantised = any(node.op_type == "QuantizeLinear" for node in model.graph.node)
    worst = _difference(without, made)
    right = worst == 0 if quantised else worst <= _FLOATS
    taken = [] if made.report is None else sorted({item.pattern for item in made.report.rewrites})
    outcome = "differs" if not right else "larger" if slabs[1] > slabs[0] else "equal"
    return {"number": number, "outcome": outcome, "slabs": slabs, "difference": worst, "patterns": taken}


def _slab(compiled: Compiled) -> int:
    if compiled.report is None or compiled.report.memory.slab is None:
        raise ValueError("no constant size")
    return compiled.report.memory.slab


def _difference(one: Compiled, other: Compiled) -> float:
    """The largest difference of results, as a share of the largest."""
    worst = 0.0
    expected, found = (_results(item.program.vm_bytecode(), item.source) for item in (one, other))
    for left, right in zip(expected, found, strict=True):
        scale = float(np.abs(left).max(initial=0.0)) or 1.0
        worst = max(worst, float(np.abs(left - right).max(initial=0.0)) / scale)
    return worst


def _results(artefact: bytes, source: SourceModel) -> list[Any]:
    return run_compiled(artefact, source.outputs, list(random_inputs(source.inputs).values()))


def _contained(number: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        record = folder / "record.json"

        def job() -> int:
            record.write_text(json.dumps(trial(number, folder)))
            return 0

        ended = forked(job, folder)
        if ended.status == 0:
            found: dict[str, Any] = json.loads(record.read_text())
            return found
        return {"number": number, "outcome": "fails", "text": f"{ended.status}: {ended.text[-1500:]}"}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="try one network and print its record")
    given = parser.parse_args()
    began = time.perf_counter()
    numbers = (
        [given.only]
        if given.only is not None
        else range(given.seed * 10_000, given.seed * 10_000 + given.count)
    )
    records = []
    for number in numbers:
        records.append(_contained(number))
        if given.only is not None or records[-1]["outcome"] != "equal":
            print(json.dumps(records[-1]), flush=True)
    outcomes = [record["outcome"] for record in records]
    slabs = [record["slabs"] for record in records if "slabs" in record]
    smaller = sum(after < before for before, after in slabs)
    before, after = (sum(pair[index] for pair in slabs) for index in range(2))
    counts = ", ".join(f"{outcomes.count(name)} {name}" for name in dict.fromkeys(outcomes))
    seconds = time.perf_counter() - began
    print(
        f"{len(records)} networks: {counts}; {smaller} smaller, "
        f"{before:,} to {after:,} bytes; {seconds:.0f} s"
    )
    return 1 if {"differs", "larger", "fails"} & set(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
