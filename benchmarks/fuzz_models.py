"""Compiles mutated models: each must end in a right answer or in one clear message.

    python benchmarks/fuzz_models.py --count 1000 --seed 1 [--jobs 2] [--markdown FILE] [--only 17]

Seeds are the small models of ../shared and of the onnx package. Each mutant is compiled in a process
forked from a warm one, with a limit on memory and 60 seconds. What compiles is compared with onnxruntime
(MLIR: with stock IREE, to the bit). Crashes, and each fiftieth mutant, go through the real command line
too, which must end with the same status and with a message. Wrong answers, unexpected exceptions, hangs
and bare signals are failures: their files are kept, they are listed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fuzz_reference
import onnxruntime  # warm before the forks
from fuzz_mutations import mutate
from fuzz_process import MEMORY, SECONDS, Ended, command_line, forked

from serenity_mlir.pipelines.cli import commands, worker
from serenity_mlir.pipelines.importing import to_mlir
from serenity_mlir.pipelines.scratch import ended, fault

_WARM = (commands, to_mlir, onnxruntime)
_SHARED = Path(__file__).resolve().parents[2] / "shared"
_LARGEST_SEED = 50_000
_SAMPLE = 50
_MAIN = "serenity_mlir.pipelines.cli.main"
_FAILURES = (
    "wrong",
    "exception",
    "hang",
    "bare signal",
    "leftovers",
    "no message",
    "run crashed",
    "commands differ",
)


def seeds() -> list[Path]:
    """Small models: as many of ../shared as of the onnx package, by repetition."""
    spec = find_spec("onnx")
    if spec is None or spec.origin is None:
        raise RuntimeError("onnx is not installed")
    data = Path(spec.origin).parent / "backend" / "test" / "data"
    packaged = sorted(path for kind in ("simple", "pytorch-*") for path in data.glob(f"{kind}/*/model.onnx"))
    shared = sorted([*_SHARED.glob("cases/*/model.*"), *_SHARED.glob("models/*.onnx")])
    small = [path for path in shared if path.stat().st_size < _LARGEST_SEED]
    return packaged + small * (len(packaged) // len(small) if small else 0)


def trial(index: int, seed: int, found: Sequence[Path], keep: Path) -> dict[str, Any]:
    """Mutate, compile, compare; the record of one mutant, whose file is kept if it failed."""
    rng = random.Random(f"{seed}/{index}")  # noqa: S311  (to be repeated)
    origin = rng.choice(found)
    text = origin.suffix == ".mlir"
    name, data = mutate(origin.read_bytes(), text=text, rng=rng)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as work:
        model = Path(work, f"model{origin.suffix}")
        model.write_bytes(data)
        outcome, ended_as = _outcome(model, Path(work), sampled=index % _SAMPLE == 0)
        if outcome in _FAILURES or outcome == "contained crash":
            kept = keep / f"{seed}-{index}-{outcome.replace(' ', '-')}{origin.suffix}"
            shutil.copyfile(model, kept)
            kept.with_suffix(".txt").write_text(f"{origin}\n{name}\n{ended_as.text}\n")
    return {
        "index": index,
        "origin": f"{origin.parent.name}/{origin.name}",
        "mutation": name,
        "outcome": outcome,
        "seconds": round(ended_as.seconds, 2),
        "text": ended_as.text[-2000:],
    }


def _outcome(model: Path, work: Path, *, sampled: bool) -> tuple[str, Ended]:
    out, scratch = work / "out", work / "scratch"
    out.mkdir()
    scratch.mkdir()
    artefact = out / "model.vmfb"
    arguments = ["compile", str(model), "-o", str(artefact), "--time-limit", "0.5"]
    compiled = forked(lambda: worker.run(_MAIN, arguments), scratch)
    if compiled.status is None:
        return "hang", compiled
    if fault(scratch):
        return "exception", Ended(compiled.status, fault(scratch) + compiled.text, compiled.seconds)
    data = artefact.read_bytes() if artefact.exists() else b""
    artefact.unlink(missing_ok=True)
    if list(out.iterdir()) or (data and compiled.status):
        return "leftovers", compiled
    crashed = not ended(scratch)
    if crashed or sampled:
        real = command_line(arguments, work)
        problem = _problem(real, 1 if crashed else compiled.status, crashed=compiled.status < 0)
        if problem:
            return problem, Ended(real.status, f"{real.text}\n{compiled}", real.seconds)
        if crashed:
            return "contained crash", real
    return _refused(model, compiled) if compiled.status else _compared(model, data, work)


def _refused(model: Path, compiled: Ended) -> tuple[str, Ended]:
    # IREE prints some words of its own before the message.
    message = compiled.text.partition("error: ")[2]
    clean = message.startswith(str(model)) and "Traceback" not in compiled.text
    return ("clean error" if clean else "no message"), compiled


def _problem(real: Ended, status: int, *, crashed: bool) -> str:
    """What is wrong with the end of the real command, empty if nothing is."""
    if real.status is None or real.status < 0:
        return "bare signal"
    if real.status != status:
        return "commands differ"
    silent = status and "error: " not in real.text
    return "no message" if silent or (crashed and "what shows it again is in" not in real.text) else ""


def _compared(model: Path, artefact: bytes, work: Path) -> tuple[str, Ended]:
    scratch = work / "compare"
    scratch.mkdir()
    check = fuzz_reference.check_mlir if model.suffix == ".mlir" else fuzz_reference.check_onnx
    compared = forked(lambda: check(model, artefact), scratch)
    ran = "reference ran" in compared.text
    if compared.status == fuzz_reference.EQUAL:
        return "accepted, equal", compared
    if compared.status == fuzz_reference.WRONG:
        return "wrong", compared
    return ("run crashed" if ran else "accepted, the reference refuses"), compared


def _drive(indices: Sequence[int], seed: int, keep: Path, results: Path) -> None:
    found = seeds()
    with results.open("w") as file:
        for index in indices:
            file.write(json.dumps(trial(index, seed, found, keep)) + "\n")
            file.flush()


def _all(count: int, seed: int, jobs: int, keep: Path) -> list[dict[str, Any]]:
    """Every trial's record; each job is a process of its own."""
    children = []
    for job in range(jobs):
        child = os.fork()
        if not child:
            status = 1
            try:
                _drive(range(job, count, jobs), seed, keep, keep / f"results-{job}.jsonl")
                status = 0
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(status)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    lines = [line for job in range(jobs) for line in (keep / f"results-{job}.jsonl").read_text().splitlines()]
    return sorted((json.loads(line) for line in lines), key=lambda record: int(record["index"]))


def table(records: Sequence[dict[str, Any]]) -> str:
    """Counts by outcome, as Markdown."""
    counts = Counter(record["outcome"] for record in records)
    order = [
        "accepted, equal",
        "accepted, the reference refuses",
        "clean error",
        "contained crash",
        *_FAILURES,
    ]
    rows = [f"| {outcome} | {counts[outcome]} |" for outcome in order]
    return "\n".join(["| outcome | mutants |", "|---|---|", *rows, f"| all | {len(records)} |"])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", type=int, help="run one mutant and print its record")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="where failures and records go")
    parser.add_argument("--markdown", type=Path, help="write the counts there")
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    if given.only is not None:
        print(json.dumps(trial(given.only, given.seed, seeds(), given.keep), indent=2))
        return 0
    began = time.perf_counter()
    records = _all(given.count, given.seed, given.jobs, given.keep)
    failed = [record for record in records if record["outcome"] in _FAILURES]
    summary = table(records)
    print(summary)
    for record in failed:
        print("{index}: {outcome}: {origin}, {mutation}: {text:.300}".format(**record))
    if given.markdown:
        seconds = time.perf_counter() - began
        command = (
            f"python benchmarks/fuzz_models.py --count {given.count} --seed {given.seed} --jobs {given.jobs}"
        )
        given.markdown.write_text(
            f"# Mutated models\n\n    {command}\n\n{seconds:.0f} s; a mutant may use {SECONDS:.0f} s and "
            f"{MEMORY >> 30} GiB of address space.\n\n{summary}\n"
        )
    return 1 if failed or len(records) < given.count else 0


if __name__ == "__main__":
    sys.exit(main())
