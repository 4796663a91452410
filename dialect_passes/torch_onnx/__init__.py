"""Passes on what IREE imports of ONNX: `torch.operator "onnx.…"` ops."""
