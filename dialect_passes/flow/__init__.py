"""Deciding what runs in one dispatch: on linalg, after IREE's `global-optimization` phase."""
