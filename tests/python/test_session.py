"""The package dnnl_tp, as it is installed. Its arguments are those of unittest; ml_dtypes is used where it is there."""
import gc
import json
import os
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
        with self.assertRaisesRegex(dnnl_tp.InvalidArgument, "input 'x' is not given"):
            s.run({})
        with self.assertRaisesRegex(ValueError, "dimension 0 is 3, the model has 2"):
            s.run({"x": X.T})
        s.close()
        s.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            s.run({"x": X})

    def test_models(self):
        with self.assertRaises(dnnl_tp.Error) as caught:
            dnnl_tp.Session("/does/not/exist.onnx")
        self.assertIn("exist.onnx", str(caught.exception))
        with self.assertRaises(ValueError):
            dnnl_tp.Session(b"\xff\xff\xff")
        unknown = models.model(models.node("Unheard", ["x"], ["y"]), models.value(11, "x", 1, [2]),
                               models.value(12, "y", 1, [2]))
        with self.assertRaisesRegex(NotImplementedError, "Unheard"):
            dnnl_tp.Session(unknown).run({"x": X[:, 0].copy()})
        with self.assertRaises(ValueError):
            dnnl_tp.Pool(-1)

    def test_timeout(self):
        s = dnnl_tp.Session(models.product())
        m = np.ones((1500, 1500), np.float32)
        s.run({"a": m, "b": m}, timeout=600)
        with self.assertRaises(TimeoutError):
            s.run({"a": m, "b": m}, timeout=1e-6)


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
