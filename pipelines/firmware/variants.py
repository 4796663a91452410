"""The table of a family's variants in C, and the function that picks one within a budget."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from serenity_mlir import __version__
from serenity_mlir.errors import UsageError
from serenity_mlir.pipelines.firmware.emit_c import environment
from serenity_mlir.reform.budgets import KINDS, UNITS, Kind
from serenity_mlir.reform.family import Variant

_NOT_MEASURED = -1.0
_REAL = ("energy", "latency")


def chooser_files(name: str, variants: Sequence[Variant], *, external: bool) -> dict[str, bytes]:
    """`include/NAME_variants.h` and `src/NAME_variants.c`, to be written beside a family's firmware library.

    Args:
        name: What the library was called.
        variants: The largest first, named like the functions of the module that the library was made of.
        external: Whether the caller owns inputs and outputs.

    Raises:
        UsageError: A name makes no identifier of its own, or variants were measured differently.
    """
    prefixes = [_prefix(name, variant, len(variants)) for variant in variants]
    if len(set(prefixes)) != len(variants):
        raise UsageError("two variants have names that C cannot tell apart")
    kinds = [kind for kind in KINDS if kind in variants[0].measured]
    if any(set(variant.measured) != set(kinds) for variant in variants):
        raise UsageError("every variant of a family has the same kinds of costs")
    values = {
        "name": name,
        "version": __version__,
        "external": external,
        "kinds": [
            {"name": kind, "unit": UNITS[kind], "type": "float" if kind in _REAL else "uint64_t"}
            for kind in kinds
        ],
        "variants": [
            {
                "name": re.sub(r'[\\"\n]', "_", variant.name),
                "prefix": prefix,
                "accuracy": _real(_NOT_MEASURED if variant.accuracy is None else variant.accuracy),
                "costs": [_cost(kind, variant.measured[kind]) for kind in kinds] or ["0"],
            }
            for variant, prefix in zip(variants, prefixes, strict=True)
        ],
    }
    templates = environment()
    return {
        path: templates.get_template(template).render(values).encode()
        for path, template in (
            (f"include/{name}_variants.h", "variants.h.j2"),
            (f"src/{name}_variants.c", "variants.c.j2"),
        )
    }


def _prefix(name: str, variant: Variant, count: int) -> str:
    return name if count == 1 else f"{name}_{re.sub('[^A-Za-z0-9_]', '_', variant.name)}"


def _cost(kind: Kind, value: float) -> str:
    """A cost, never less than it is."""
    return _real(value, up=True) if kind in _REAL else f"UINT64_C({math.ceil(value)})"


def _real(value: float, *, up: bool = False) -> str:
    single = np.float32(value)
    if up and float(single) < value:
        single = np.nextafter(single, np.float32(np.inf))
    return f"{float(single)!r}f"
