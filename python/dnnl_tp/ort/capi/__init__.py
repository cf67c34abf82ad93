"""Modules from which programs import kinds of errors. Their imports are absolute: they may lie in `onnxruntime`."""
