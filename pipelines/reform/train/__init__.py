"""Pruning with retraining (ReForm's static scheme) on PyTorch: all of it needs the `train` extra."""
