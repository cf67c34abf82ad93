"""What optimum imports of onnxruntime.transformers."""
