"""Schedulers: orders of a memory graph with minimal live peak."""
