"""MLIR passes and rewrite patterns, one folder a dialect, one file a pass."""
