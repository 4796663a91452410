"""Drivers: import, IREE phase stepping, compilation, verification."""
