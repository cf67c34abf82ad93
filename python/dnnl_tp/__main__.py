"""python -m dnnl_tp MODEL [options], and the script onnx_run: the program that the package carries."""
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native", "onnx_run")
    os.execv(program, ["onnx_run", *sys.argv[1:]])


if __name__ == "__main__":
    main()
