"""Passes on IREE's stream dialect: what the compiled artefact allocates."""
