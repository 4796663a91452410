"""Rewriting on linalg, after IREE's `input` phase: the same function from ops that need less memory."""
