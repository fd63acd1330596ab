"""edgecc: compile PyTorch and ONNX models to small quantized programs for edge chips."""

__version__ = "0.1.0"
