"""Choosing how dispatches are compiled, after IREE's `executable-configurations` phase."""
