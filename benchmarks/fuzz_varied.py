"""Compiles networks of all kinds of layers under each objective: right, and never more bytes than without.

    python benchmarks/fuzz_varied.py --count 100 --seed 1 [--only 17] [--seconds 2]

Each network is compiled as it is (without rewrites and regions), by default, and with the objective memory,
in a process forked from a warm one. Results are those of the network as it is: to the bit where it is
quantised in 8 bits, to 1e-5 of the largest elsewhere, where a step of quantisation more counts as rounding.
And they are onnxruntime's, but for as many steps as IREE itself is off. What differs, takes more bytes, or
fails where the network as it is does not, is listed, and the exit status is 1. Where `--seconds` cut the
choice short, the objective memory may take more bytes than the default: try such a network with more.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from fuzz_process import forked
from varied_networks import varied_network

from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import CompileOptions, compile_model
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.reference import run_reference
from serenity_mlir.pipelines.verify import random_inputs, run_compiled

_FLOATS = 1e-5
_REFERENCE = 1e-4
"""Of the largest value, what floats may be off from onnxruntime's."""
_STEP = 0.02
"""Of the largest value: a step of 8 bits, or of 16, is less."""
_WORDS = 400
_HANG = 300.0
"""Seconds: three compilations, two with a choice of rewrites, on a machine that may be busy."""
_GOOD = ("equal", "refused")

Arrays = list[npt.NDArray[Any]]


def trial(number: int, folder: Path, seconds: float) -> dict[str, Any]:
    """The record of one network."""
    model = varied_network(number)
    path = folder / "net.onnx"
    onnx.save(model, path)
    record: dict[str, Any] = {"number": number, "network": model.graph.name}
    chosen = RewriteOptions(time_limit=seconds)
    asked = {
        "as it is": RewriteOptions(ops=False, regions=False),
        "default": chosen,
        "memory": replace(chosen, balanced=False),
    }
    results: dict[str, Arrays] = {}
    slabs: dict[str, int] = {}
    refused: dict[str, str] = {}
    taken: set[str] = set()
    for name, options in asked.items():
        try:
            made = compile_model(path, CompileOptions(rewrite=options))
        except SerenityError as error:
            refused[name] = str(error)[:_WORDS]
            continue
        inputs = random_inputs(made.source.inputs)
        results[name] = run_compiled(made.program.vm_bytecode(), made.source.outputs, list(inputs.values()))
        if made.report is None or made.report.memory.slab is None:
            raise ValueError("no constant size")
        slabs[name] = made.report.memory.slab
        taken |= {item.pattern for item in made.report.rewrites}
    record |= {"slabs": slabs, "patterns": sorted(taken)}
    if refused:
        outcome = "refused" if "as it is" in refused else "fails"
        return {**record, "outcome": outcome, "text": refused}
    onnx.save(varied_network(number, single=True), path)
    source = load_model(path)
    inputs = {
        name: value.astype(np.float32)  # of f64, which onnxruntime has no convolutions of
        for name, value in inputs.items()
    }
    expected = run_reference(source, inputs)
    exact = model.graph.name.endswith("int8")
    return {**record, **_judged(results, slabs, expected, exact=exact, quantised="int" in model.graph.name)}


def _judged(
    results: dict[str, Arrays], slabs: dict[str, int], expected: Arrays, *, exact: bool, quantised: bool
) -> dict[str, Any]:
    own = {name: _worst(results["as it is"], found) for name, found in results.items()}
    theirs = {name: _worst(expected, found) for name, found in results.items()}
    allowed = 0 if exact else _STEP if quantised else _FLOATS
    reference = _STEP if quantised else _REFERENCE
    reference = max(reference, theirs["as it is"] * (1 + _STEP))
    outcome = "equal"
    if max(own.values()) > allowed or max(theirs.values()) > reference:
        outcome = "differs"
    elif slabs["default"] > slabs["as it is"] or slabs["memory"] > slabs["default"]:
        outcome = "larger"
    elif theirs["as it is"] > (_STEP if quantised else _REFERENCE):
        outcome = "IREE differs"
    return {"outcome": outcome, "from IREE": own, "from onnxruntime": theirs}


def _worst(expected: Arrays, found: Arrays) -> float:
    """The largest difference of results, as a share of the largest."""
    worst = 0.0
    for left, right in zip(expected, found, strict=True):
        if left.shape != right.shape:
            return float("inf")
        scale = float(np.abs(left).max(initial=0.0)) or 1.0
        difference = np.abs(left.astype(np.float64) - right.astype(np.float64)) / scale
        worst = max(worst, float(np.nan_to_num(difference, nan=np.inf).max(initial=0.0)))
    return worst


def _contained(number: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        record = folder / "record.json"

        def job() -> int:
            record.write_text(json.dumps(trial(number, folder, seconds)))
            return 0

        ended = forked(job, folder, _HANG)
        if ended.status == 0:
            found: dict[str, Any] = json.loads(record.read_text())
            return found
        outcome = "takes too long" if ended.status is None else "fails"
        return {"number": number, "outcome": outcome, "text": f"{ended.status}: {ended.text[-1500:]}"}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="try one network and print its record")
    parser.add_argument("--seconds", type=float, default=2.0, help="of processor time for each choice")
    given = parser.parse_args()
    began = time.perf_counter()
    first = given.seed * 10_000
    numbers = [given.only] if given.only is not None else range(first, first + given.count)
    outcomes: Counter[str] = Counter()
    patterns: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for number in numbers:
        record = _contained(number, given.seconds)
        outcomes[record["outcome"]] += 1
        patterns.update(record.get("patterns", ()))
        if record["outcome"] == "equal":
            total.update(record["slabs"])
        if given.only is not None or record["outcome"] != "equal":
            print(json.dumps(record), flush=True)
    print(f"{sum(outcomes.values())} networks in {time.perf_counter() - began:.0f} s: {dict(outcomes)}")
    print(f"bytes of the equal: {dict(total)}; networks by pattern: {dict(patterns)}")
    return 1 if {"differs", "larger", "fails"} & set(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
