"""What pictures, pages and traces show: a report with its timeline, and peaks of random orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

import msgspec

from serenity_mlir.errors import SerenityError
from serenity_mlir.report import RegionInfo, Report
from serenity_mlir.timeline import RegionTimeline


class RandomOrders(msgspec.Struct, frozen=True):
    """Peaks of random legal orders of a region's ops.

    Attributes:
        region: Its name.
        seed: Of the draws.
        peaks: Bytes, and how many of the orders peak there; rising.
    """

    region: str
    seed: int
    peaks: tuple[tuple[int, int], ...]

    @property
    def drawn(self) -> int:
        """How many orders there are."""
        return sum(count for _, count in self.peaks)


@dataclass(frozen=True)
class Shown:
    """One analysis.

    Attributes:
        report: Its timeline is what is drawn.
        orders: One a region that has been drawn from.
        graph: The model's own name of its graph.
        edges: For each region pairs of steps of the order as compiled: the first op must run before
            the second.
    """

    report: Report
    orders: tuple[RandomOrders, ...] = ()
    graph: str = ""
    edges: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The name of the model's file."""
        return PurePath(self.report.model.path).name

    @property
    def regions(self) -> list[RegionTimeline]:
        """The model's regions in which anything runs, in program order."""
        return [item for item in self.report.timeline if item.role == "model" and item.after.steps]

    def drawable(self) -> list[RegionTimeline]:
        """The regions, of which there is at least one.

        Raises:
            SerenityError: No region of the model has constant sizes.
        """
        if not self.regions:
            raise SerenityError(
                "there is nothing to draw: no region of the model has constant sizes",
                file=self.report.model.path,
                hint="give its dynamic dimensions sizes",
            )
        return self.regions

    def live_by_node(self) -> dict[str, int]:
        """For every node the most bytes that are live while an op that came from it runs, as compiled.

        Raises:
            SerenityError: No region of the model has constant sizes.
        """
        live: dict[str, int] = {}
        for region in self.drawable():
            for step in region.after.steps:
                for node in step.nodes:
                    live[node] = max(live.get(node, 0), step.live)
        return live

    def info(self, region: RegionTimeline) -> RegionInfo:
        """What the report says of a region."""
        return next(item for item in self.report.regions if item.name == region.name)

    def orders_of(self, region: RegionTimeline) -> RandomOrders | None:
        """Its random orders, if any were drawn."""
        return next((item for item in self.orders if item.region == region.name), None)
