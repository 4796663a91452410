"""Resources need no PyTorch, and what does need it says so."""

from __future__ import annotations

import subprocess
import sys


def test_what_needs_no_training_needs_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None  # importing it fails from here on\n"
        "from serenity_mlir.errors import SerenityError\n"
        "from serenity_mlir.pipelines.bench.reform import measure\n"
        "options = dict(data=None, count=None, seeds=1, progress=lambda stage: None)\n"
        "try:\n    list(measure(['weights'], **options))\n"
        "except SerenityError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "the part 'weights' needs PyTorch" in run.stdout
    assert "serenity-mlir[train]" in run.stdout
