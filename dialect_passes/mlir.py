"""The one door to the MLIR Python bindings.

They are those inside `iree-base-compiler`. A build of upstream's bindings can stand in for
the dialects that both have: point these imports at it, nothing else imports bindings.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import ModuleType

from iree.compiler import ir, passmanager

__all__ = ["indexing_maps", "ir", "make_context", "passmanager"]

# For each op that they show, bindings import the Python module of its dialect, and where there is none they
# look for it again for the next one, which takes longer than most of what is done with ops.
for _name in (f"iree.compiler.dialects.{dialect}" for dialect in ("iree_linalg_ext", "torch")):
    if find_spec(_name) is None:
        sys.modules[_name] = ModuleType(_name)


def make_context(*, allow_unregistered: bool = False) -> ir.Context:
    """A context with every dialect of the bindings, threads off.

    Printing IR while threads are on aborts the process, and parse and print are all that
    such a context is for; turn threads on for long native pipelines only.

    Args:
        allow_unregistered: Whether ops of dialects that nobody registered parse.
    """
    context = ir.Context()
    context.enable_multithreading(False)
    context.load_all_available_dialects()
    context.allow_unregistered_dialects = allow_unregistered
    return context


def indexing_maps(op: ir.Operation) -> list[ir.AffineMap] | None:
    """The indexing map of each operand of a linalg op; None where it has none."""
    from iree.compiler.dialects import linalg  # noqa: PLC0415  (slow to load, and few passes need it)

    maps = linalg.get_indexing_maps(op)
    return None if maps is None else [item.value for item in maps]
