"""The package dnnl_tp, as it is installed. Its arguments are those of unittest; ml_dtypes is used where it is there."""
import copy
import gc
import inspect
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import dnnl_tp
import models
import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


class Results(unittest.TestCase):
    def test_ports(self):
        s = dnnl_tp.Session(models.relu())
        (x,), (y,) = s.inputs, s.outputs
        self.assertEqual((x.name, x.dtype, x.shape, x.has_default), ("x", np.float32, (2, "n"), False))
        self.assertEqual((y.name, s.opset, s.ir_version), ("y", 17, 8))

    def test_run(self):
        for threads in 1, 2:
            with dnnl_tp.Session(models.relu(), threads=threads) as s:
                np.testing.assert_array_equal(s.run({"x": X})["y"], np.maximum(X, 0))
                np.testing.assert_array_equal(s.run({"x": X[:, ::2]})["y"], np.maximum(X[:, ::2], 0))
                np.testing.assert_array_equal(s.run({"x": X.tolist()})["y"], np.maximum(X, 0))
                self.assertEqual(s.run({"x": X[:, :0]})["y"].shape, (2, 0))
                stats = s.stats()
                self.assertEqual((stats["graphs"], stats["imports"], stats["failed_guards"]), (1, 1, 0))
                self.assertEqual(s.explain(), ["a graph for all sizes"])

    def test_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "é.onnx")
            with open(path, "wb") as f:
                f.write(models.relu())
            np.testing.assert_array_equal(dnnl_tp.Session(path)({"x": X})["y"], np.maximum(X, 0))

    def test_out(self):
        s = dnnl_tp.Session(models.relu())
        y = np.full((2, 3), 7, np.float32)
        self.assertIs(s.run({"x": X}, out={"y": y})["y"], y)
        np.testing.assert_array_equal(y, np.maximum(X, 0))
        for wrong in np.empty((2, 4), np.float32), np.empty((2, 3)), np.empty((3, 2), np.float32).T:
            with self.assertRaises(ValueError):
                s.run({"x": X}, out={"y": wrong})

    def test_layouts(self):
        s = dnnl_tp.Session(models.relu())
        unaligned = np.frombuffer(b"_" + X.tobytes(), np.float32, offset=1).reshape(X.shape)
        frozen = X.copy()
        frozen.setflags(write=False)
        for x in unaligned, frozen, np.asfortranarray(X), X[:, ::-1], np.broadcast_to(X[:, :1], X.shape), X[:, :0]:
            np.testing.assert_array_equal(s.run({"x": x})["y"], np.maximum(x, 0))
        room = np.frombuffer(bytearray(X.nbytes + 1), np.float32, offset=1, count=X.size).reshape(X.shape)
        for wrong in room, frozen:
            with self.assertRaisesRegex(ValueError, "writeable, aligned"):
                s.run({"x": X}, out={"y": wrong})

    def test_dlpack(self):
        class Foreign:
            def __dlpack__(self, **options):
                return X.__dlpack__(**options)

            def __dlpack_device__(self):
                return X.__dlpack_device__()

        y = dnnl_tp.Session(models.relu()).run({"x": Foreign()})["y"]
        np.testing.assert_array_equal(np.from_dlpack(y), np.maximum(X, 0))

    def test_values(self):
        s = dnnl_tp.Session(models.reshape())
        for shape in [3, 2], [6, 1], [3, 2], [1, 6]:
            y = s.run({"x": X, "shape": np.array(shape, np.int64)})["y"]
            np.testing.assert_array_equal(y, X.reshape(shape))
        self.assertEqual(s.stats()["compilations"], 3)

    def test_default(self):
        s = dnnl_tp.Session(models.add_default())
        self.assertTrue(s.inputs[1].has_default)
        one = np.ones(3, np.float32)
        np.testing.assert_array_equal(s.run({"x": one})["y"], [2, 3, 4])
        np.testing.assert_array_equal(s.run({"x": one, "w": one})["y"], [2, 2, 2])

    def test_small_types(self):
        s = dnnl_tp.Session(models.relu(models.FLOAT16))
        self.assertEqual(s.inputs[0].dtype, np.float16)
        for x in X.astype(np.float16), X:
            y = s.run({"x": x})["y"]
            self.assertEqual(y.dtype, np.float16)
            np.testing.assert_array_equal(y, np.maximum(X, 0))
        s = dnnl_tp.Session(models.relu(models.BFLOAT16, models.FLOAT))
        self.assertEqual(s.inputs[0].dtype, ml_dtypes.bfloat16 if ml_dtypes else np.float32)
        if ml_dtypes:  # results are rounded
            y = dnnl_tp.Session(models.relu(models.FLOAT, models.BFLOAT16)).run({"x": X + np.float32(1 / 3)})["y"]
            np.testing.assert_array_equal(y, np.maximum(X + np.float32(1 / 3), 0).astype(ml_dtypes.bfloat16))

    def test_narrow_integers(self):
        for number, dtype in (4, np.uint16), (5, np.int16), (12, np.uint32):
            s = dnnl_tp.Session(models.identity(number))
            x = np.array([np.iinfo(dtype).min, 1, np.iinfo(dtype).max], dtype)
            y = s.run({"x": x})["y"]
            self.assertEqual((s.inputs[0].dtype, s.outputs[0].dtype, y.dtype), (dtype,) * 3)
            np.testing.assert_array_equal(y, x)
            with self.assertRaises(OverflowError):
                s.run({"x": [np.iinfo(dtype).max + 1]})

    def test_random(self):
        x = np.zeros(5, np.float32)

        def two_runs(**options):
            s = dnnl_tp.Session(models.one("RandomUniformLike"), **options)
            return np.concatenate([s.run({"x": x})["y0"] for _ in range(2)])
        a = two_runs()
        self.assertEqual(len(set(a)), 10)
        np.testing.assert_array_equal(two_runs(seed=0), a)
        self.assertFalse(set(two_runs(seed=1)) & set(a))
        with self.assertRaises(ValueError):
            two_runs(seed=-1)


class Threads(unittest.TestCase):
    def test_pool(self):
        pool = dnnl_tp.Pool(2)
        a, b = dnnl_tp.Session(models.relu(), pool=pool), dnnl_tp.Session(models.product(), pool=pool)
        wrong = []

        def work(seed):
            rng = np.random.default_rng(seed)
            for i in range(40):
                x = rng.standard_normal((2, 1 + i % 7), np.float32)
                if not np.array_equal(a.run({"x": x})["y"], np.maximum(x, 0)):
                    wrong.append(seed)
                m = rng.standard_normal((16, 16), np.float32)
                if not np.allclose(b.run({"a": m, "b": m})["y"], m @ m, atol=1e-4):
                    wrong.append(seed)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_lock_is_released(self):
        s = dnnl_tp.Session(models.product())
        m = np.ones((1200, 1200), np.float32)
        s.run({"a": m, "b": m})
        done = threading.Event()
        turns = 0

        def work():
            for _ in range(50):  # the other thread may lose its processor for some
                s.run({"a": m, "b": m})
                if turns > 3:
                    break
            done.set()

        before = sys.getswitchinterval()
        sys.setswitchinterval(60)  # a thread that keeps the interpreter's lock keeps it for a minute
        try:
            t = threading.Thread(target=work)
            t.start()
            while not done.is_set():
                turns += 1
                time.sleep(0.0005)
            t.join()
        finally:
            sys.setswitchinterval(before)
        self.assertGreater(turns, 3)


class Failures(unittest.TestCase):
    def test_arguments(self):
        s = dnnl_tp.Session(models.relu())
        with self.assertRaisesRegex(TypeError, "input 'x' has elements of type float64, the model has float32"):
            s.run({"x": X.astype(np.float64)})
        with self.assertRaisesRegex(TypeError, "elements of type >f4"):
            s.run({"x": X.astype(">f4")})
        with self.assertRaisesRegex(ValueError, "no input 'z'"):
            s.run({"z": X})
        with self.assertRaisesRegex(ValueError, "no output 'z'"):
            s.run({"x": X}, out={"z": X})
        with self.assertRaisesRegex(dnnl_tp.InvalidArgument, "^input 'x' is not given"):
            s.run({})
        with self.assertRaisesRegex(dnnl_tp.InvalidArgument, "^graph 'g': memories overlap"):
            x = X.copy()
            s.run({"x": x}, out={"y": x})
        with self.assertRaisesRegex(ValueError, "input 'x' has the rank 1, the model has 2"):
            s.run({"x": X[0]})
        with self.assertRaisesRegex(TypeError, "input 'x' is a masked array"):
            s.run({"x": np.ma.masked_less(X, 0)})
        with self.assertRaisesRegex(ValueError, "dimension 0 is 3, the model has 2"):
            s.run({"x": X.T})
        s.close()
        s.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            s.run({"x": X})

    def test_values_of_arguments(self):
        model = models.relu()
        for wrong in dict(threads=0), dict(threads=2**32 + 1), dict(max_calls=-1), dict(max_calls=2**32), \
                dict(base_folder="a\0b"), dict(profile=""), dict(fpmath="bf17"):
            with self.assertRaises(ValueError, msg=wrong):
                dnnl_tp.Session(model, **wrong)
        for wrong in dict(threads=1.5), dict(threads="2"), dict(pool=2), dict(max_calls=None):
            with self.assertRaises(TypeError, msg=wrong):
                dnnl_tp.Session(model, **wrong)
        with self.assertRaises(ValueError):
            dnnl_tp.Session("a\0b")
        s = dnnl_tp.Session(model)
        for wrong in X, [X], None, "x":
            with self.assertRaisesRegex(TypeError, "inputs are a dict, by name"):
                s.run(wrong)
        with self.assertRaisesRegex(TypeError, "outputs are a dict, by name"):
            s.run({"x": X}, out=[X])
        with self.assertRaisesRegex(ValueError, "what is given for output 'y'"):
            s.run({"x": X}, out={"y": X.tolist()})
        with self.assertRaisesRegex(ValueError, "overlaps"):
            x = X.copy()
            s.run({"x": x}, out={"y": x})
        self.assertEqual(s.run({"x": X}, timeout=float("inf"))["y"].shape, X.shape)
        with self.assertRaises(ValueError):
            s.run({"x": X}, timeout=float("nan"))
        s.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            s.stats()

    def test_nothing_is_cut_off(self):
        s = dnnl_tp.Session(models.reshape())
        for wrong in [3.5, 2], [None, 2], ["3", "2"], None, "3":
            with self.assertRaisesRegex(TypeError, "input 'shape' has elements of type"):
                s.run({"x": X, "shape": wrong})
        for right in [3, 2], (3, 2), [np.int32(3), np.int64(2)]:
            self.assertEqual(s.run({"x": X, "shape": right})["y"].shape, (3, 2))
        with self.assertRaisesRegex(TypeError, "elements of type int32"):
            s.run({"x": X, "shape": np.array([3, 2], np.int32)})
        with self.assertRaisesRegex(OverflowError, "input 'shape' has the value 18446744073709551614"):
            s.run({"x": X, "shape": [2**64 - 2, 2**64 - 3]})
        with self.assertRaisesRegex(OverflowError, "input 'x' has the value 1e\\+39, which float32 does not hold"):
            s.run({"x": [[1e39], [float("inf")]], "shape": [1, 2]})
        self.assertEqual(s.run({"x": [[1, 2], [float("inf"), 0]], "shape": [1, 4]})["y"].tolist(), [[1, 2, np.inf, 0]])
        for number, dtype, right, wrong in ((2, np.uint8, [0, 255], [256, -1]), (3, np.int8, [-128, 127], [128, -129]),
                                            (6, np.int32, [-2**31, 5], [2**31]), (9, np.bool_, [0, 1], [2, -1])):
            same = dnnl_tp.Session(models.identity(number))
            self.assertEqual(same.run({"x": right})["y"].tolist(), np.array(right).astype(dtype).tolist())
            for value in wrong:
                with self.assertRaisesRegex(OverflowError, f"value {value}, which {np.dtype(dtype)} does not hold"):
                    same.run({"x": [0, value]})

        class Table:
            def __array__(self, dtype=None, copy=None):
                return np.asarray(X.astype(np.float64), dtype)

        with self.assertRaisesRegex(TypeError, "elements of type float64"):
            s.run({"x": Table(), "shape": [3, 2]})
        self.assertEqual(s.run({"x": [[1, 2], [3, 4]], "shape": [4, 1]})["y"].tolist(), [[1], [2], [3], [4]])

    def test_stays_in_its_process(self):
        for mine in dnnl_tp.Session(models.relu()), dnnl_tp.Pool(2):
            for function in pickle.dumps, copy.copy, copy.deepcopy:
                with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
                    function(mine)

    def test_names(self):
        for name in set(dnnl_tp.__all__) - set(dnnl_tp.ort.__all__):
            self.assertEqual(getattr(dnnl_tp, name).__module__, "dnnl_tp", name)
        by_name = inspect.Parameter.KEYWORD_ONLY
        for function, given in (dnnl_tp.Session, ["model"]), (dnnl_tp.Session.run, ["self", "inputs"]):
            parameters = inspect.signature(function).parameters.values()
            self.assertEqual([p.name for p in parameters if p.kind != by_name], given)
            for p in parameters:
                if p.name != "self":
                    self.assertRegex(function.__doc__, rf"(?m)^ *{p.name}  +[\w\"]")

    def test_errors_travel(self):
        for kind in dnnl_tp.Error, dnnl_tp.InvalidArgument, dnnl_tp.OutOfMemory, dnnl_tp.Unimplemented, dnnl_tp.DeadlineExceeded:
            for error in pickle.loads(pickle.dumps(kind("why", 7))), copy.copy(kind("why", 7)):
                self.assertEqual((type(error), str(error), error.status), (kind, "why", 7))

    def test_no_model(self):
        with self.assertRaises(FileNotFoundError) as caught:
            dnnl_tp.Session("nowhere/m.onnx")
        self.assertEqual(caught.exception.filename, "nowhere/m.onnx")
        with self.assertRaisesRegex(dnnl_tp.InvalidArgument, "git-lfs pointer"):
            dnnl_tp.Session(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n")
        with self.assertRaisesRegex(dnnl_tp.InvalidArgument, "cut off at byte"):
            dnnl_tp.Session(models.relu()[:-30])

    def test_edges_of_the_range(self):
        x = np.array([3e38, -3e38, 1.5, -1.5, 0, np.inf, -np.inf, np.nan], np.float32)
        for alpha in .1, 1., 3.:
            y = dnnl_tp.Session(models.one("Celu", alpha=alpha)).run({"x": x})["y0"]
            wanted = np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0).astype(np.float64) / alpha))
            np.testing.assert_allclose(y, wanted, 1e-6)
        s = dnnl_tp.Session(models.one("DynamicQuantizeLinear", 3))
        y = s.run({"x": np.zeros(5, np.float32)})
        self.assertEqual((y["y0"].tolist(), y["y1"].tolist(), y["y2"].tolist()), ([0] * 5, 1, 0))
        y = s.run({"x": np.array([0, 255], np.float32)})
        self.assertEqual((y["y0"].tolist(), y["y1"].tolist(), y["y2"].tolist()), ([0, 255], 1, 0))

    def test_outputs_without_a_type(self):
        s = dnnl_tp.Session(models.untyped())
        x = np.array([2**53 + 1, 7], np.int64)
        y = s.run({"x": x})["y"]
        self.assertEqual((y.dtype, y.tolist()), (np.int64, x.tolist()))

    def test_strings(self):
        with self.assertRaisesRegex(NotImplementedError, "input 'x' of type STRING: graphs do not carry its type"):
            dnnl_tp.Session(models.relu(models.STRING))

    def test_files_of_profiles(self):
        with tempfile.TemporaryDirectory() as folder:
            path, link = os.path.join(folder, "m.onnx"), os.path.join(folder, "link")
            with open(path, "wb") as f:
                f.write(models.relu())
            os.symlink(path, link)
            for profile in path, link:
                with self.assertRaisesRegex(ValueError, "a file of the model"):
                    dnnl_tp.Session(path, profile=profile)
            for profile in folder, os.path.join(folder, "none", "run.json"):
                with self.assertRaisesRegex(ValueError, "cannot be written"):
                    dnnl_tp.Session(path, profile=profile)

    def test_end_of_the_program(self):
        code = """
import dnnl_tp, models, threading, numpy as np
s = dnnl_tp.Session(models.product(), threads=2)
m = np.ones((300, 300), np.float32)
running = threading.Semaphore(0)
def work():
    while True:
        s.run({"a": m, "b": m})
        running.release()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
for _ in range(10):
    running.acquire()
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_models(self):
        with self.assertRaises(FileNotFoundError) as caught:
            dnnl_tp.Session("/does/not/exist.onnx")
        self.assertIn("exist.onnx", str(caught.exception))
        with self.assertRaises(ValueError):
            dnnl_tp.Session(b"\xff\xff\xff")
        unknown = models.model(models.node("Unheard", ["x"], ["z"]), models.node("Unseen", ["z"], ["y"]),
                               models.value(11, "x", 1, [2]), models.value(12, "y", 1, [2]))
        with self.assertRaisesRegex(NotImplementedError, r"\(Unheard\), node of 'y' \(Unseen\): .*version 17"):
            dnnl_tp.Session(unknown)
        with self.assertRaises(ValueError):
            dnnl_tp.Pool(-1)

    def test_timeout(self):
        s = dnnl_tp.Session(models.product())
        m = np.ones((1500, 1500), np.float32)
        s.run({"a": m, "b": m}, timeout=600)
        with self.assertRaises(TimeoutError):
            s.run({"a": m, "b": m}, timeout=1e-6)


class Pages(unittest.TestCase):
    def test_python(self):
        """The programs of doc/python.md, one after another."""
        page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../doc/python.md")
        with open(page) as f:
            programs = re.findall(r"```python\n(.*?)```", f.read(), re.S)
        with tempfile.TemporaryDirectory() as folder:
            sizes = ["batch", 3, 224, 224]
            with open(os.path.join(folder, "model.onnx"), "wb") as f:
                f.write(models.model(models.node("Relu", ["x"], ["y"]), models.value(11, "x", models.FLOAT, sizes),
                                     models.value(12, "y", models.FLOAT, sizes)))
            last = "assert [r.sum() for r in results] == [3 * 224 * 224] * 4 and y.shape == (1, 3, 224, 224)"
            run = subprocess.run([sys.executable, "-W", "error", "-c", "\n".join([*programs, last])], cwd=folder,
                                 capture_output=True, text=True, timeout=100)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(run.stdout, "[Port('x', float32, ('batch', 3, 224, 224))]\n")


class Tools(unittest.TestCase):
    def test_profile(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            with dnnl_tp.Session(models.relu(), profile=path) as s:
                s.run({"x": X})
            with open(path) as f:
                events = json.load(f)
            self.assertIn("y", json.dumps(events))

    def test_program(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "relu.onnx")
            with open(path, "wb") as f:
                f.write(models.relu())
            run = subprocess.run([sys.executable, "-m", "dnnl_tp", path, "--dim", "n=3"], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("output 'y': f32[2, 3]", run.stdout)

    def test_memory(self):
        def use():
            for _ in range(50):
                s = dnnl_tp.Session(models.relu(), threads=2)
                s.run({"x": X})

        def resident():
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        use()
        gc.collect()
        before = resident()
        use()
        gc.collect()
        self.assertLess(resident() - before, 4 << 20)


if __name__ == "__main__":
    unittest.main()
