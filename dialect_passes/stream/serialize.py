"""`serenity-serialize`: one op at a time, in the order of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from serenity_mlir.dialect_passes.mlir import ir
from serenity_mlir.dialect_passes.pass_base import Pass
from serenity_mlir.dialect_passes.stream.regions import functions

ATTRIBUTE = "stream.partitioning"
FAVORS = ("debug", "max-concurrency", "min-peak-memory")


@dataclass(frozen=True)
class SerializePass(Pass[None]):
    """Asks IREE to keep the order of a function's ops and to run them one after another.

    Belongs before `iree-stream-async-transformation-pipeline`. IREE's other favours group
    independent ops into concurrent waves and lose the order. Initializers, which run once at
    load, are left as they are. The attribute prints in a form that does not parse back, so
    `serenity-strip-serialize` must take it off again before the IR leaves the process.
    """

    name: ClassVar[str] = "serenity-serialize"
    favor: Annotated[str, "debug (serial), max-concurrency or min-peak-memory"] = "debug"

    def __post_init__(self) -> None:
        if self.favor not in FAVORS:
            raise ValueError(f"favor is one of {', '.join(FAVORS)}, not '{self.favor}'")

    def apply(self, module: ir.Operation) -> None:
        """Set the attribute on every function that is no initializer."""
        config = ir.Attribute.parse(f'#stream.partitioning_config<"{self.favor}">', module.context)
        for _, function in functions(module):
            if function.name != "util.initializer":
                function.attributes[ATTRIBUTE] = config


@dataclass(frozen=True)
class StripSerializePass(Pass[None]):
    """Takes the attribute of `serenity-serialize` off again, once the async pipeline has run."""

    name: ClassVar[str] = "serenity-strip-serialize"

    def apply(self, module: ir.Operation) -> None:
        """Remove the attribute from every function."""
        for _, function in functions(module):
            if ATTRIBUTE in function.attributes:
                del function.attributes[ATTRIBUTE]
