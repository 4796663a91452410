"""What the removal of channels makes of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from serenity_mlir.reform.network import Network


@dataclass(frozen=True, slots=True)
class Refusal:
    """Channels that are masked and stay where they are, with zeros in them.

    Attributes:
        tensor: The gated tensor.
        channels: Their positions in it, before anything is removed.
        reason: Which node keeps them there, and why.
    """

    tensor: str
    channels: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Surgery:
    """Channels removed from a network.

    Attributes:
        before: The network as it was.
        after: The network without them; nodes that did not change are the same objects.
        kept: By tensor and axis, the positions that are left, ascending; only where some were removed.
        refused: What was asked for and not done.
    """

    before: Network
    after: Network
    kept: Mapping[str, Mapping[int, npt.NDArray[np.int64]]]
    refused: tuple[Refusal, ...] = ()
