"""Passes on tensor programs of any imported dialect."""
