"""A few of the mutated models that benchmarks/fuzz_models.py makes by the thousand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import corpus

COUNT = 60


def test_mutated_models_end_in_right_answers_or_messages(tmp_path: Path) -> None:
    script = corpus.REPO / "benchmarks" / "fuzz_models.py"
    done = subprocess.run(
        [sys.executable, script, "--count", str(COUNT), "--seed", "2020", "--jobs", "2", "--keep", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    records = [
        json.loads(line) for file in tmp_path.glob("*.jsonl") for line in file.read_text().splitlines()
    ]
    outcomes = [record["outcome"] for record in records]
    assert len(outcomes) == COUNT
    assert outcomes.count("accepted, equal") >= 5
    assert outcomes.count("clean error") >= 5
