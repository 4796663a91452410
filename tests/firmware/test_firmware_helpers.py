"""Functions that the source defines where the toolchain may lack them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from firmware_harness import HERE, SANITIZERS, STRICT, call, target_named

from serenity_mlir.pipelines.firmware.helpers import HELPERS


def test_extrema_are_those_of_c23(tmp_path: Path) -> None:
    target_named("host")
    source = tmp_path / "helpers.c"
    text = "\n".join(["#include <stdint.h>", "#include <string.h>", *HELPERS.values()])
    source.write_text(f"{text}\n{(HERE / 'helpers.c').read_text('ascii')}")
    binary = tmp_path / "helpers"
    call(["gcc", *STRICT, *SANITIZERS, str(source), "-o", str(binary), "-lm"])
    done = subprocess.run([str(binary)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
