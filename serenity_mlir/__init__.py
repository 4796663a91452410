"""Make neural networks fit: memory-optimal order and arena, proven in what IREE compiles."""

__version__ = "0.1.0.dev0"
