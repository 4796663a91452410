"""Descriptions in TOML files that have names: those that come with the package, and files of the user."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from serenity_mlir.errors import UsageError
from serenity_mlir.suggest import did_you_mean

_SUFFIX = ".toml"


class _Named(Protocol):
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)


@dataclass(frozen=True)
class NamedFiles(Generic[T]):
    """All descriptions of one kind.

    Attributes:
        kind: What a file holds.
        what: What messages call it: "profile".
        option: Which takes its name: "--profile".
        package: That holds those that come with it, in `folder`.
        folder: See `package`.
    """

    kind: type[T]
    what: str
    option: str
    package: str
    folder: str

    @cached_property
    def shipped(self) -> dict[str, T]:
        """Those that come with the package, by name, in the order of their files."""
        found = [
            item for item in (files(self.package) / self.folder).iterdir() if item.name.endswith(_SUFFIX)
        ]
        read = [self._parsed(item.read_bytes(), item.name) for item in sorted(found, key=lambda it: it.name)]
        return {item.name: item for item in read}

    def find(self, name: str) -> T:
        """The one of that name, or of that file if it ends in `.toml`.

        Raises:
            UsageError: There is none, or the file does not describe one.
        """
        if name.endswith(_SUFFIX):
            try:
                data = Path(name).read_bytes()
            except OSError as error:
                raise UsageError(f"cannot be read: {error.strerror}", file=name, hint=self.choice) from error
            return self._parsed(data, name)
        if name in self.shipped:
            return self.shipped[name]
        near = did_you_mean(name, self.shipped)
        raise UsageError(f"no {self.what} '{name}'", hint=f"{near} {self.choice}" if near else self.choice)

    @property
    def choice(self) -> str:
        """What the option takes, in one line."""
        return (
            f"{self.option} is one of {', '.join(self.shipped)}, or a {_SUFFIX} file that describes another"
        )

    def _parsed(self, data: bytes, file: str) -> T:
        try:
            return msgspec.convert(tomllib.loads(data.decode("utf-8")), self.kind)
        except UnicodeDecodeError as error:
            raise UsageError(
                f"no {self.what}: byte {error.start} is not UTF-8",
                file=file,
                hint="TOML is UTF-8 text: save it as such",
            ) from error
        except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
            raise UsageError(
                f"no {self.what}: {error}",
                file=file,
                hint=f"see {self.folder}/*{_SUFFIX} of the package {self.package} for what it holds",
            ) from error
