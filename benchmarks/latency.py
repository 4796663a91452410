"""How long an inference takes beside stock IREE's: paired runs on one thread, by its processor time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import numpy.typing as npt
from harness import command
from iree import runtime

_PAIRS, _SECONDS = 101, 10.0
_RUNS = 5
"""Of each pair the best is taken of as many runs: one after a pre-emption starts with cold caches."""


def stock_artefact(model: Path, folder: Path) -> Path:
    """What stock IREE compiles a model to, for the same CPU.

    Raises:
        AssertionError: It does not.
    """
    made = folder / "stock.vmfb"
    flags = (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=generic",
    )
    done = command("serenity-iree-compile", model, "-o", made, *flags, "--serenity-disable")
    if done.returncode:
        raise AssertionError(done.stderr)
    return made


def latency_ratio(ours: Path, stock: Path, inputs: Sequence[npt.NDArray[Any]]) -> float:
    """The median over pairs of the best run of `ours` over that of `stock`; 101 pairs, or ten seconds."""
    one, other = (_callable(path) for path in (ours, stock))
    one(*inputs)
    other(*inputs)
    ratios: list[float] = []
    began = perf_counter()
    while len(ratios) < _PAIRS and (not ratios or perf_counter() - began < _SECONDS):
        ratios.append(_seconds(one, inputs) / _seconds(other, inputs))
    return median(ratios)


def _seconds(function: Callable[..., Any], inputs: Sequence[npt.NDArray[Any]]) -> float:
    best = float("inf")
    for _ in range(_RUNS):
        began = thread_time()
        function(*inputs)
        best = min(best, thread_time() - began)
    return best


def _callable(path: Path) -> Callable[..., Any]:
    config = runtime.Config(device=runtime.get_driver("local-sync").create_default_device())
    module = runtime.load_vm_module(
        runtime.VmModule.copy_buffer(config.vm_instance, path.read_bytes()), config
    )
    names = [name for name in module.vm_module.function_names if not name.startswith("__")]
    function: Callable[..., Any] = module[next(name for name in names if not name.endswith("$async"))]
    return function
