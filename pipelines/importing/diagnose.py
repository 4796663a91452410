"""Reading IREE's diagnostics back: which ONNX node it could not compile."""

from __future__ import annotations

import re

# IREE shows an imported op's location as a place in a file: `to_mlir` gives each op its node's name there.
_AT_NODE = re.compile(r"(.*?):\d+:\d+: (?:failed to legalize operation '([\w.]+)'|'([\w.]+)' op )", re.DOTALL)
_ONNX_OPERATOR = re.compile(r'\bname = "onnx\.(\w+)"')


def explain_legalization_failure(diagnostic_text: str) -> tuple[str, str] | None:
    """Finds the node and the operator that a diagnostic of IREE is about.

    Args:
        diagnostic_text: A diagnostic about an imported ONNX model as the compiler prints it,
            `node:line:column: message`, with or without the op that is being compiled after it.

    Returns:
        The name of the ONNX node, and the ONNX operator if the diagnostic shows it, else the operation that
        it was turned into. None where the diagnostic is about no operation that stems from a node.
    """
    found = _AT_NODE.match(diagnostic_text)
    if found is None:
        return None
    operator = _ONNX_OPERATOR.search(diagnostic_text, found.end())
    return found[1], operator[1] if operator else found[2] or found[3]
