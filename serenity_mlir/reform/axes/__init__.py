"""Axis maps: for each op which positions of its operands and results belong together."""
