"""Compiles random networks with dispatch regions and without: equal results, and never a larger slab.

    python benchmarks/fuzz_regions.py --count 200 --seed 1 [--only 17] [--any] [--varied]

Each network is compiled in a process forked from a warm one, under each objective in turn. Results are those
of the network without regions: to the bit where it is quantised, to 1e-5 of the largest where of floats.
What differs, is larger, or fails only with regions is listed, and the exit status is 1. Stripes are among
what is chosen. With `--any`, random sets of all sites are applied instead of those that save memory: then
arenas may grow, and IREE may refuse. `--varied` draws the networks of varied_networks.py, those of 16 bits to
a step of theirs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from fuzz_process import forked
from region_networks import network
from varied_networks import varied_network

from serenity_mlir.dialect_passes.linalg.rewrite import Find, Site, apply_sites, keyed
from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.errors import SerenityError
from serenity_mlir.pipelines.compile import Compiled, CompileOptions, compile_model
from serenity_mlir.pipelines.importing.load import load_model
from serenity_mlir.pipelines.importing.source import SourceModel
from serenity_mlir.pipelines.importing.to_mlir import import_onnx
from serenity_mlir.pipelines.iree_api import Session
from serenity_mlir.pipelines.iree_types import CompilerError
from serenity_mlir.pipelines.lower import lower_to
from serenity_mlir.pipelines.lower_rewritten import RewriteOptions
from serenity_mlir.pipelines.lower_stream import StreamOptions
from serenity_mlir.pipelines.targets import compiler_flags
from serenity_mlir.pipelines.verify import random_inputs, run_compiled

_SECONDS = 3.0
"""For the choice."""
_FLOATS = 1e-5
_STEP_OF_16 = 1e-3
_SHARES = (0.5, 0.8, 1.0)
"""Of the sites of a phase, where any are applied."""
_WORDS = 300
_KEEP_F64 = "--iree-input-demote-f64-to-f32=false"
"""As `compile_model` asks for where inputs or outputs are of f64."""


def trial(number: int, folder: Path, *, of_any: bool = False, varied: bool = False) -> dict[str, Any]:
    """Compile one network with and without regions; the record of it."""
    path = folder / "net.onnx"
    model = varied_network(number) if varied else network(number)
    onnx.save(model, path)
    if of_any:
        return _trial_of_any(number, model, path)
    plain = RewriteOptions(ops=number % 3 == 0, regions=False, time_limit=_SECONDS)
    chosen = RewriteOptions(ops=plain.ops, balanced=number % 2 == 0, time_limit=_SECONDS)
    try:
        without = compile_model(path, CompileOptions(rewrite=plain))
    except SerenityError as error:
        return {"number": number, "outcome": "refused", "text": str(error)}
    made = compile_model(path, CompileOptions(rewrite=chosen))
    slabs = _slab(without), _slab(made)
    worst = _worst(*(_results(item.program.vm_bytecode(), item.source) for item in (without, made)))
    taken = [] if made.report is None else sorted({item.pattern for item in made.report.rewrites})
    outcome = "differs" if not _is_right(worst, model) else "larger" if slabs[1] > slabs[0] else "equal"
    return {"number": number, "outcome": outcome, "slabs": slabs, "difference": worst, "patterns": taken}


def _trial_of_any(number: int, model: onnx.ModelProto, path: Path) -> dict[str, Any]:
    """Compile a network with random sets of sites, and without any."""
    rng = random.Random(number)  # noqa: S311  (to be repeated)
    flags = (_KEEP_F64,) if model.graph.name.endswith("float64") else ()
    session, source = Session(compiler_flags("generic", flags)), load_model(path)
    found, slabs = [], []
    patterns: set[str] = set()
    for stages in ((), RewriteOptions(balanced=rng.random() < _SHARES[0]).stages):
        program = session.program(import_onnx(source, session.context))
        try:
            for stage in stages:
                program.to_phase(stage.phase)
                patterns |= _applied(program.module, (*stage.apart, *stage.patterns), rng)
            lowered = lower_to(program, "end", StreamOptions(time_limit=_SECONDS), lambda _stage: None)
        except CompilerError as error:
            text = error.message[:_WORDS]
            return {"number": number, "outcome": "refused", "text": text, "patterns": sorted(patterns)}
        found.append(_results(program.vm_bytecode(), source))
        slabs.append(0 if lowered is None else lowered.slab or 0)
    worst = _worst(*found)
    record = {"number": number, "slabs": slabs, "difference": worst, "patterns": sorted(patterns)}
    return {**record, "outcome": "equal" if _is_right(worst, model) else "differs"}


def _applied(module: ir.Operation, finds: Sequence[Find], rng: random.Random) -> set[str]:
    """Apply random sites of each pattern; the patterns of those applied."""
    share = rng.choice(_SHARES)
    applied: set[str] = set()
    for find in finds:
        sites = [key for key, item in keyed(find(module)) if isinstance(item, Site)]
        taken = apply_sites(module, find, {key for key in sites if rng.random() < share})
        applied |= {key.partition(" at ")[0] for key in taken}
    if not module.verify():
        raise ValueError("not valid any more")
    return applied


def _is_right(worst: float, model: onnx.ModelProto) -> bool:
    quantised = any(node.op_type == "QuantizeLinear" for node in model.graph.node)
    of_floats = model.graph.name.endswith("int16")  # IREE computes them so, and then rounds
    return worst <= (_STEP_OF_16 if of_floats else 0 if quantised else _FLOATS)


def _slab(compiled: Compiled) -> int:
    if compiled.report is None or compiled.report.memory.slab is None:
        raise ValueError("no constant size")
    return compiled.report.memory.slab


def _worst(expected: list[Any], found: list[Any]) -> float:
    """The largest difference of results, as a share of the largest."""
    worst = 0.0
    for left, right in zip(expected, found, strict=True):
        scale = float(np.abs(left).max(initial=0.0)) or 1.0
        worst = max(worst, float(np.abs(left - right).max(initial=0.0)) / scale)
    return worst


def _results(artefact: bytes, source: SourceModel) -> list[Any]:
    return run_compiled(artefact, source.outputs, list(random_inputs(source.inputs).values()))


def _contained(number: int, *, of_any: bool, varied: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        record = folder / "record.json"

        def job() -> int:
            record.write_text(json.dumps(trial(number, folder, of_any=of_any, varied=varied)))
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
    parser.add_argument("--any", action="store_true", help="apply random sites, not those that save memory")
    parser.add_argument("--varied", action="store_true", help="networks of all kinds of layers")
    given = parser.parse_args()
    began = time.perf_counter()
    numbers = (
        [given.only]
        if given.only is not None
        else range(given.seed * 10_000, given.seed * 10_000 + given.count)
    )
    records = []
    for number in numbers:
        records.append(_contained(number, of_any=given.any, varied=given.varied))
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
