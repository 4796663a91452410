"""The smallest peak by constraint programming: an answer that owes nothing to our search."""

from __future__ import annotations

from serenity_mlir.errors import SerenityError
from serenity_mlir.graph import MemoryGraph


def cp_sat_peak(graph: MemoryGraph, *, time_limit: float) -> int | None:
    """The peak that OR-tools' CP-SAT proves optimal, or None if it does not within the limit.

    Each op has a place in time; each buffer is live from its first user to its last, and the sum of
    those live never exceeds the peak. Takes two threads, and at least one op. Buffers that are
    live before or after all ops are not modelled, and `graph` must have none.

    Raises:
        SerenityError: ortools is not installed.
    """
    try:
        from ortools.sat.python import cp_model  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise SerenityError(
            "the comparison needs CP-SAT", hint="pip install ortools, or 'serenity-mlir[dev]'"
        ) from error
    model = cp_model.CpModel()
    count = len(graph.ops)
    at = [model.new_int_var(0, count - 1, f"at{op}") for op in range(count)]
    model.add_all_different(at)
    for op, preds in enumerate(graph.preds):
        for pred in preds:
            model.add(at[pred] < at[op])
    top = model.new_int_var(0, sum(buffer.size for buffer in graph.buffers), "peak")
    lives, sizes = [], []
    for index, buffer in enumerate(graph.buffers):
        users = [at[op] for op, item in enumerate(graph.ops) if index in item.touches]
        first, end = model.new_int_var(0, count, f"first{index}"), model.new_int_var(0, count, f"end{index}")
        length = model.new_int_var(0, count, f"length{index}")
        model.add_min_equality(first, users)
        model.add_max_equality(end, [user + 1 for user in users])
        lives.append(model.new_interval_var(first, length, end, f"live{index}"))
        sizes.append(buffer.size)
    model.add_cumulative(lives, sizes, top)
    model.minimize(top)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.max_time_in_seconds = time_limit
    return int(solver.objective_value) if solver.solve(model) == cp_model.OPTIMAL else None
