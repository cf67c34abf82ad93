"""python -m dnnl_tp.ort PROGRAM.py [arguments], or -m MODULE [arguments]: runs a program that imports onnxruntime."""
import runpy
import sys

import dnnl_tp.ort


def main() -> None:
    arguments = sys.argv[1:]
    is_module = arguments[:1] == ["-m"]
    arguments = arguments[1:] if is_module else arguments
    if not arguments:
        sys.exit("usage: python -m dnnl_tp.ort PROGRAM.py [arguments], or -m MODULE [arguments]")
    sys.modules["onnxruntime"] = dnnl_tp.ort
    sys.argv[:] = arguments
    if is_module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = arguments[0].rpartition("/")[0] or "."
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
