"""Resource profiles: what an operation and a bit cost on a device; TOML files, ours and those of the user."""

from __future__ import annotations

from typing import Annotated

import msgspec

from serenity_mlir.named_files import NamedFiles

DEFAULT_PROFILE = "horowitz45"

_Cost = Annotated[float, msgspec.Meta(ge=0)]
_Bits = Annotated[int, msgspec.Meta(ge=1)]


class Energy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Picojoules.

    Attributes:
        mac: Of a multiply-accumulate, by NumPy's name of the weights' element type (ε_c of Eq. 3).
        weight_bit: Of one bit of a weight, fetched once an inference (ε_f).
        activation_bit: Of one bit of an output map (ε_a).
    """

    mac: dict[str, _Cost]
    weight_bit: _Cost
    activation_bit: _Cost


class Processor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Its rate p, which makes a latency of multiply-accumulates."""

    macs_per_second: Annotated[float, msgspec.Meta(gt=0)]


class Bits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bit widths (B_f and B_a of Eq. 2); what is not given is as wide as the model stores it.

    Attributes:
        weights: Of every weight.
        activations: Of every output map.
        tensors: Of single tensors by name, which outweighs the above.
    """

    weights: _Bits | None = None
    activations: _Bits | None = None
    tensors: dict[str, _Bits] = {}


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a device makes of a network's multiply-accumulates and bits."""

    name: str
    summary: str
    energy: Energy
    processor: Processor
    bits: Bits = Bits()


_PROFILES = NamedFiles(Profile, "profile", "--profile", "serenity_mlir.reform", "profiles")


def profile(name: str) -> Profile:
    """The profile of that name, or of that file if it ends in `.toml`.

    Raises:
        UsageError: There is none, or the file does not describe one.
    """
    return _PROFILES.find(name)
