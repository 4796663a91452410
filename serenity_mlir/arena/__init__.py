"""Arena planners: offsets for slices that share one arena."""

from serenity_mlir.arena.check import check_plan
from serenity_mlir.arena.driver import plan
from serenity_mlir.arena.result import ArenaPlan

__all__ = ["ArenaPlan", "check_plan", "plan"]
