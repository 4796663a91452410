"""`--target`, whose help lists the targets that there are."""

from __future__ import annotations

from typing import Any

import click

from serenity_mlir.pipelines.targets import TARGETS


class TargetOption(click.Option):
    """An option that takes the name of a target; its help goes on with all names."""

    def __init__(self, *arguments: Any, firmware: bool = False, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._firmware = firmware

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The help with the names, which are read only now: firmware's lie in files."""
        given, names = self.help, ", ".join(TARGETS)
        if self._firmware:
            from serenity_mlir.pipelines.firmware.targets import firmware_target_names  # noqa: PLC0415

            boards = [name for name in firmware_target_names() if name not in TARGETS]
            names += f"; with --emit firmware host, {', '.join(boards)}, or a .toml file"
        self.help = f"{given}: {names}."
        try:
            return super().get_help_record(ctx)
        finally:
            self.help = given
