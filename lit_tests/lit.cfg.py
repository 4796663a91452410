"""lit's settings: `lit -v lit_tests` from the checkout, with the Python that the project is installed in.

`--param python=…` names another Python, `--param filecheck=…` another FileCheck.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import lit.formats  # type: ignore[import-untyped]  # lit ships neither stubs nor py.typed

config = globals()["config"]  # lit runs this file with both names defined
lit_config = globals()["lit_config"]

python = lit_config.params.get("python", sys.executable)
installed = Path(python).parent


def tool(param: str, *names: str) -> str:
    """The first of `names` that is installed, the Python's own folder included."""
    if param in lit_config.params:
        return str(lit_config.params[param])
    for name in names:
        found = shutil.which(name) or shutil.which(name, path=str(installed))
        if found:
            return found
    lit_config.fatal(f"none of {', '.join(names)} is installed: pip install -e '.[dev]' brings filecheck")
    raise SystemExit(2)


config.name = "serenity-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".py"]
config.excludes = ["lit.cfg.py", "Inputs"]
config.test_source_root = str(Path(__file__).parent)
config.test_exec_root = str(Path(__file__).parent.parent / "build" / "lit_tests")
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
if "PYTHONPATH" in os.environ:  # lit hides it, and with it a tree that is tested without being installed
    config.environment["PYTHONPATH"] = os.environ["PYTHONPATH"]

config.substitutions += [
    ("%{python}", python),
    (r"(?<![-\w/.])serenity-opt(?![-\w])", f"{python} -m serenity_mlir.pipelines.opt"),
    (
        r"\bFileCheck\b",
        tool("filecheck", "FileCheck", "FileCheck-21", "FileCheck-20", "FileCheck-19", "filecheck"),
    ),
]
