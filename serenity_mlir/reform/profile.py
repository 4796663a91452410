"""Resource profiles: what an operation and a bit cost on a device; TOML files, ours and those of the user."""

from __future__ import annotations

import difflib
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import msgspec

from serenity_mlir.errors import UsageError

DEFAULT_PROFILE = "horowitz45"

_SUFFIX = ".toml"
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


@cache
def profiles() -> dict[str, Profile]:
    """The profiles that come with the package, by name."""
    found = files("serenity_mlir.reform") / "profiles"
    texts = [(item.name, item.read_text("utf-8")) for item in found.iterdir() if item.name.endswith(_SUFFIX)]
    return {item.name: item for item in (_parsed(text, name) for name, text in sorted(texts))}


def profile(name: str) -> Profile:
    """The profile of that name, or of that file if it ends in `.toml`.

    Raises:
        UsageError: There is none, or the file does not describe one.
    """
    if name.endswith(_SUFFIX):
        try:
            return _parsed(Path(name).read_text("utf-8"), name)
        except OSError as error:
            raise UsageError(f"cannot be read: {error.strerror}", file=name) from error
        except UnicodeDecodeError as error:
            raise UsageError(f"cannot be read: {error}", file=name) from error
    known = profiles()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise UsageError(
        f"no profile '{name}'",
        hint=f"{hint}--profile is one of {', '.join(known)}, or a .toml file that describes another",
    )


def _parsed(text: str, file: str) -> Profile:
    try:
        return msgspec.convert(tomllib.loads(text), Profile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageError(f"no profile: {error}", file=file) from error
