"""Pictures, pages and traces of one analysis, all made of the report and the random orders."""

from serenity_mlir.views.shown import RandomOrders, Shown

__all__ = ["RandomOrders", "Shown"]
