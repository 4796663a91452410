"""Run a compiled module twice in a fresh process, its slab poisoned: `run_once.py MODULE IN OUT SLAB`.

IN is an .npz with the arguments in order; OUT gets `<invocation>_<result>` arrays. A line of JSON
on stdout holds the allocator's peak after the first invocation and the bytes poisoned. Allocator
peaks add up over a process, hence the fresh one; `poison.c` is preloaded where that can be built.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

import numpy as np
from iree import runtime

# IREE asks for its own header and alignment on top of a buffer's bytes.
_OVERHEAD = 4096


def _poison(slab: int) -> ctypes.c_size_t | None:
    library = ctypes.CDLL(None)
    if not hasattr(library, "poison_low"):
        return None
    ctypes.c_size_t.in_dll(library, "poison_low").value = max(slab, 1)
    ctypes.c_size_t.in_dll(library, "poison_high").value = slab + _OVERHEAD
    return ctypes.c_size_t.in_dll(library, "poisoned_bytes")


def main(artefact: str, inputs: str, outputs: str, slab: str) -> None:
    device = runtime.get_driver("local-sync").create_default_device()
    config = runtime.Config(device=device)
    data = Path(artefact).read_bytes()
    module = runtime.load_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, data), config)
    names = [name for name in module.vm_module.function_names if "$" not in name and name[:2] != "__"]
    before = device.allocator.statistics["device_bytes_allocated"] - _freed(device)
    with np.load(inputs) as loaded:
        arguments = [loaded[name] for name in loaded.files]
    poisoned = _poison(int(slab))
    found: dict[str, np.ndarray] = {}
    peaks = []
    for invocation in range(2):
        results = module[names[0]](*arguments)
        kept = results if isinstance(results, tuple | list) else (results,)
        for index, item in enumerate(kept):
            found[f"{invocation}_{index}"] = item.to_host().copy()
        peaks.append(device.allocator.statistics["device_bytes_peak"])
    np.savez(outputs, **found)  # type: ignore[arg-type]  # the stub takes the names for its own flag
    total = poisoned.value if poisoned is not None else None
    sys.stdout.write(json.dumps({"peak": peaks[0], "loaded": before, "poisoned": total}))


def _freed(device: runtime.HalDevice) -> int:
    return int(device.allocator.statistics["device_bytes_freed"])


if __name__ == "__main__":
    main(*sys.argv[1:])
