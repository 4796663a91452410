"""Reading IREE's diagnostics back: which ONNX node it could not compile."""

from __future__ import annotations

import re

# The name of a node, or a place in a file, which has `:line:column` after it.
_NAME = re.compile(r'"((?:[^"\\]|\\.)*)"(:\d+)?')
_ONNX_OPERATOR = re.compile(r'\bname = "onnx\.(\w+)"')
_FAULTY_OPERATION = re.compile(r"failed to legalize operation '([\w.]+)'|^'([\w.]+)' op ")
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|\\)")


def explain_legalization_failure(diagnostic_text: str) -> tuple[str, str] | None:
    """Finds the node and the operator that a diagnostic of IREE is about.

    Args:
        diagnostic_text: A diagnostic as the compiler prints it: `loc("node"): message`, with or without
            the op that is being compiled after it.

    Returns:
        The name of the ONNX node, and the ONNX operator if the diagnostic shows it, else the operation that
        it was turned into. None where the diagnostic is about no operation that stems from a node.
    """
    text = diagnostic_text.strip()
    if not text.startswith("loc("):
        return None
    location, _, message = text.partition("): ")
    name = next((match[1] for match in _NAME.finditer(location) if match[1] and not match[2]), None)
    faulty = _FAULTY_OPERATION.search(message)
    if name is None or faulty is None:
        return None
    operator = _ONNX_OPERATOR.search(message)
    return _unescaped(name), operator[1] if operator else faulty[1] or faulty[2]


def _unescaped(name: str) -> str:
    """Undoes MLIR's escapes: a backslash doubled, any byte that is no printable ASCII as two hex digits."""

    def byte(match: re.Match[bytes]) -> bytes:
        return b"\\" if match[1] == b"\\" else bytes.fromhex(match[1].decode())

    return _ESCAPE.sub(byte, name.encode()).decode("utf-8", errors="replace")
