"""Commands whose workers crash, break or are interrupted at a moment that the test chooses.

What happens to a worker at an odd moment is seeded from outside, by a `sitecustomize` on PYTHONPATH that
waits for the worker to do something and then kills, breaks or stops it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness import Done, command, entry_point

PATIENCE = 120
# Moments: an audit event, and what its first argument holds.
READING = ("import", "serenity_mlir.pipelines.importing.load_onnx")
RENAMING = ("os.rename", "/out/.")
NEXT_STAGE = ("open", "/stage")
SEEDED = """\
import os, sys, time
from pathlib import Path
left = {times} if "SERENITY_SCRATCH" in os.environ else 0  # in workers only
def hook(event, arguments):
    global left
    if left and event == {event!r} and {text!r} in str(arguments[0]):
        left -= 1
        if not left:
            {action}
sys.addaudithook(hook)
"""
PATCHED = """\
import os
if "SERENITY_SCRATCH" in os.environ:  # in workers only
    import {module} as patched
    real = patched.{name}
    patched.{name} = {text}
"""


@dataclass(frozen=True)
class Place:
    """Folders of one run of a command."""

    inputs: Path
    out: Path
    tmp: Path
    seeds: Path

    def environment(self) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.tmp), "PYTHONPATH": str(self.seeds)}

    def seed(self, moment: tuple[str, str], action: str, times: int = 1) -> None:
        """Let a worker do `action` when `moment` comes for the given time."""
        text = SEEDED.format(event=moment[0], text=moment[1], action=action, times=times)
        (self.seeds / "sitecustomize.py").write_text(text)

    def patch(self, module: str, name: str, text: str) -> None:
        """Put what `text` makes of the function `real` in the place of a module's function, in workers."""
        (self.seeds / "sitecustomize.py").write_text(PATCHED.format(module=module, name=name, text=text))

    def run(self, tool: str, *arguments: str | Path, data: str | None = None) -> Done:
        return command(tool, *arguments, cwd=self.inputs, env=self.environment(), input=data)

    def assert_nothing_left(self) -> None:
        assert not list(self.out.iterdir())
        assert not list(self.tmp.iterdir())

    def kept(self) -> Path:
        """The one thing that is left among temporary files."""
        found = list(self.tmp.iterdir())
        assert len(found) == 1, found
        assert found[0].name.startswith("serenity-crash-")
        return found[0]


@dataclass
class Started:
    """A command that runs in a session of its own."""

    process: subprocess.Popen[str]
    place: Place

    def others(self) -> list[int]:
        """Processes that it started and that still run."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            pid = int(stat.parent.name)
            if int(fields[3]) == self.process.pid != pid and fields[0] != "Z":
                found.append(pid)
        return found

    def wait_for(self, reached: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not reached():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def stage(self) -> str:
        found = list(self.place.tmp.glob("serenity-*/stage"))
        return found[0].read_text() if found else ""

    def end(self, how: str) -> None:
        if how == "terminal":
            os.killpg(self.process.pid, signal.SIGINT)
        else:
            self.process.send_signal(signal.Signals[how])


def start(place: Place, tool: str, *arguments: str | Path) -> Started:
    process = subprocess.Popen(
        [*entry_point(tool), *map(str, arguments)],
        cwd=place.inputs,
        env=place.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return Started(process, place)


def assert_interrupted(started: Started) -> None:
    stdout, stderr = started.process.communicate(timeout=PATIENCE)
    assert (started.process.returncode, stdout, stderr) == (130, "", "")
    assert not started.others()
