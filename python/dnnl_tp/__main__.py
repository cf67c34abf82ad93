"""python -m dnnl_tp MODEL [options]: the program onnx_run, which the package carries."""
import os
import sys

program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native", "onnx_run")
os.execv(program, [program, *sys.argv[1:]])
