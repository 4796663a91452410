"""Importing: read a model file, make ONNX acceptable, build the torch-onnx module."""
