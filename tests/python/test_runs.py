"""Runs of sessions: shapes that change, outputs that are asked for, tokens, futures, signals. As test_session.py."""
import asyncio
import collections
import concurrent.futures
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import types
import unittest

import dnnl_tp
import models
import numpy as np

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)


def long_product():
    """A session and inputs of a run that takes long enough to be interrupted: 3,000 products of 600 x 600."""
    m = np.ones((600, 600), np.float32)
    return dnnl_tp.Session(models.products(3000)), {"a": m}


class Shapes(unittest.TestCase):
    def test_many_shapes(self):
        """More shapes than are kept, in turn and at once, some by arrays that need a conversion."""
        s = dnnl_tp.Session(models.relu(), max_calls=3)
        wrong = []

        def work(seed):
            rng = np.random.default_rng(seed)
            for _ in range(200):
                x = rng.standard_normal((2, rng.integers(0, 7)), np.float32)
                x = (x, x.copy(order="F"), x[::-1])[rng.integers(3)]
                if not np.array_equal(s.run({"x": x})["y"], np.maximum(x, 0)):
                    wrong.append(x.shape)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        self.assertEqual(s.stats()["calls"], 3)

    def test_values_are_keys(self):
        """Inputs whose elements determine shapes: same shapes, other values."""
        s = dnnl_tp.Session(models.reshape())
        for shape in [3, 2], [2, 3], [3, 2], [6, 1], [2, 3]:
            value = np.array(shape, np.int64)
            for x in X, X + 1:
                y = s.run({"x": x, "shape": value})["y"]
                np.testing.assert_array_equal(y, x.reshape(shape))
            value[:] = [1, 6]  # the array is read in each run
            self.assertEqual(s.run({"x": X, "shape": value})["y"].shape, (1, 6))

    def test_results_are_new(self):
        s = dnnl_tp.Session(models.relu())
        a, b = s.run({"x": X})["y"], s.run({"x": X - 9})["y"]
        np.testing.assert_array_equal(a, np.maximum(X, 0))
        self.assertEqual(b.max(), 0)

    def test_inputs_are_not_kept(self):
        s = dnnl_tp.Session(models.relu())
        x = X.copy()
        before = sys.getrefcount(x)
        y = s.run({"x": x})["y"]
        for wrong in ["x", "z"], ["z"]:
            with self.assertRaises(ValueError):
                s.run({name: x for name in wrong})
        with self.assertRaises(ValueError):
            s.run({"x": x[0]})
        self.assertEqual(sys.getrefcount(x), before)
        self.assertEqual(sys.getrefcount(y), 2)

    def test_subclasses(self):
        class Mine(np.ndarray):
            pass

        s = dnnl_tp.Session(models.relu())
        y = s.run({"x": X.view(Mine)})["y"]
        self.assertIs(type(y), np.ndarray)
        np.testing.assert_array_equal(y, np.maximum(X, 0))

        class Names(dict):
            pass

        np.testing.assert_array_equal(s.run(Names(x=X))["y"], y)

    def test_many_ports(self):
        """More inputs and outputs than have room on the stack."""
        n = 40
        nodes = [models.node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(n)]
        ports = [models.value(11, f"x{i}", models.FLOAT, ["n"]) + models.value(12, f"y{i}", models.FLOAT, ["n"])
                 for i in range(n)]
        s = dnnl_tp.Session(models.model(*nodes, *ports))
        x = {f"x{i}": np.full(3, i - 9, np.float32) for i in range(n)}
        y = s.run(x)
        self.assertEqual(list(y), [f"y{i}" for i in range(n)])
        for i in range(n):
            np.testing.assert_array_equal(y[f"y{i}"], np.maximum(x[f"x{i}"], 0))

    def test_no_inputs(self):
        """All is known when the model is opened."""
        m = models.model(models.node("Relu", ["w"], ["y"]), models.node("Identity", ["w"], ["z"]),
                         models.tensor("w", models.FLOAT, [2, 3], X.tobytes()), models.value(12, "y", models.FLOAT, [2, 3]),
                         models.value(12, "z", models.FLOAT, [2, 3]))
        for s in dnnl_tp.Session(m), dnnl_tp.Session(m, threads=2):
            self.assertEqual(s.stats()["compilations"], 1)
            for _ in range(3):
                y = s.run({})
                np.testing.assert_array_equal(y["y"], np.maximum(X, 0))
                np.testing.assert_array_equal(y["z"], X)
            with self.assertRaisesRegex(ValueError, "no input 'x'"):
                s.run({"x": X})

    def test_mappings(self):
        """Whatever is a mapping, with names in any order, and a name that is None."""
        s = dnnl_tp.Session(models.product())
        a, b = X, X.T.copy()
        for feeds in {"b": b, "a": a}, collections.OrderedDict(b=b, a=a), types.MappingProxyType({"a": a, "b": b}):
            np.testing.assert_array_equal(s.run(feeds)["y"], a @ b)
        for wrong in {"a": a, "b": None}, {"a": a, None: b}, {"a": a, "b": b, "c": None}:
            with self.assertRaises((TypeError, ValueError)):
                s.run(wrong)

    def test_changed_while_running(self):
        """Another thread takes the arrays out of the dict while they are in use."""
        s, feeds = long_product()
        feeds = dict(feeds)
        token = dnnl_tp.CancelToken()
        ended = []

        def work():
            try:
                s.run(feeds, cancel=token)
            except dnnl_tp.Cancelled:
                ended.append(1)

        t = threading.Thread(target=work)
        t.start()
        time.sleep(0.2)
        feeds.clear()
        gc.collect()
        time.sleep(0.1)
        token.cancel()
        t.join()
        self.assertEqual(ended, [1])

    def test_too_many_dimensions(self):
        with self.assertRaisesRegex(ValueError, "input 'x' has 13 dimensions"):
            dnnl_tp.Session(models.relu()).run({"x": np.zeros((1,) * 13, np.float32)})


class Arguments(unittest.TestCase):
    def test_outputs(self):
        model = models.model(models.node("Relu", ["x"], ["a"]), models.node("Neg", ["x"], ["b"]),
                             models.value(11, "x", models.FLOAT, ["n"]), models.value(12, "a", models.FLOAT, ["n"]),
                             models.value(12, "b", models.FLOAT, ["n"]))
        s = dnnl_tp.Session(model)
        x = np.array([-1, 2], np.float32)
        for wanted in ["b"], ["b", "a"], ["a"], ("b",), []:
            y = s.run({"x": x}, outputs=wanted)
            self.assertEqual(list(y), list(wanted))
            for name in wanted:
                np.testing.assert_array_equal(y[name], {"a": np.maximum(x, 0), "b": -x}[name])
        np.testing.assert_array_equal(s.run({"x": [-1.0, 2.0]}, outputs=["b"])["b"], -x)
        room = np.zeros(2, np.float32)
        self.assertIs(s.run({"x": x}, outputs=["b"], out={"b": room})["b"], room)
        with self.assertRaisesRegex(ValueError, "no output 'c'; it has \\['a', 'b'\\]"):
            s.run({"x": x}, outputs=["c"])
        with self.assertRaisesRegex(TypeError, "outputs are a list of names"):
            s.run({"x": x}, outputs="a")

    def test_dims(self):
        s = dnnl_tp.Session(models.relu(), dims={"n": 3})
        self.assertEqual((s.inputs[0].shape, s.outputs[0].shape), ((2, 3), (2, 3)))
        self.assertEqual(s.stats()["compilations"], 1)  # all sizes are known, so it is compiled
        np.testing.assert_array_equal(s.run({"x": X})["y"], np.maximum(X, 0))
        with self.assertRaisesRegex(ValueError, "input 'x': the size of axis 1 is not 3, to which dims fixed it"):
            s.run({"x": X[:, :2]})
        s = dnnl_tp.Session(models.product(), dims={"a:0": 2, "k": 3})
        self.assertEqual([p.shape for p in s.inputs], [(2, 3), (3, "n")])
        self.assertEqual(s.stats()["compilations"], 0)
        with self.assertRaisesRegex(ValueError, "input 'a': the size of axis 0"):
            s.run({"a": X.T, "b": X})
        for wrong in {"m2": 1}, {"a:2": 1}, {"q:0": 1}, {"a:x": 1}, {"k": -1}, {"a:": 1}:
            with self.assertRaises(ValueError, msg=wrong):
                dnnl_tp.Session(models.product(), dims=wrong)
        with self.assertRaisesRegex(ValueError, "dims\\['x:0'\\] is 3, but the model has 2"):
            dnnl_tp.Session(models.relu(), dims={"x:0": 3})
        for wrong in {"n": 1.5}, [1], "n":
            with self.assertRaises(TypeError, msg=wrong):
                dnnl_tp.Session(models.relu(), dims=wrong)

    def test_errors_at_load(self):
        """A model whose sizes are known, and do not fit."""
        model = models.model(models.node("Add", ["x", "x2"], ["y"]), models.value(11, "x", models.FLOAT, [3]),
                             models.value(11, "x2", models.FLOAT, ["n"]), models.value(12, "y", models.FLOAT, ["m"]))
        dnnl_tp.Session(model)
        with self.assertRaises(ValueError):
            dnnl_tp.Session(model, dims={"n": 2})

    def test_repr(self):
        s = dnnl_tp.Session(models.relu(), threads=2)
        self.assertRegex(repr(s), r"^<dnnl_tp.Session of \d+ bytes: x: float32\[2, n\] -> y: float32\[2, n\]; threads=2>$")
        self.assertEqual(repr(s.pool), "<dnnl_tp.Pool of 2 threads>")
        s.close()
        self.assertIn("closed", repr(s))
        self.assertEqual(repr(dnnl_tp.CancelToken()), "<dnnl_tp.CancelToken, not cancelled>")


class Ends(unittest.TestCase):
    def test_cancel(self):
        s, feeds = long_product()
        token = dnnl_tp.CancelToken()
        threading.Timer(0.2, token.cancel).start()
        begin = time.monotonic()
        with self.assertRaises(dnnl_tp.Cancelled):
            s.run(feeds, cancel=token)
        self.assertLess(time.monotonic() - begin, 5)
        self.assertTrue(token.cancelled)
        with self.assertRaises(dnnl_tp.Cancelled):
            s.run(feeds, cancel=token)
        other = dnnl_tp.Session(models.relu())
        self.assertEqual(other.run({"x": X}, cancel=dnnl_tp.CancelToken())["y"].shape, X.shape)

    def test_cancel_elsewhere(self):
        s, feeds = long_product()
        token = dnnl_tp.CancelToken()
        kinds = []

        def work():
            try:
                s.run(feeds, cancel=token)
            except dnnl_tp.Cancelled as e:
                kinds.append(type(e))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        time.sleep(0.2)
        token.cancel()
        for t in threads:
            t.join()
        self.assertEqual(kinds, [dnnl_tp.Cancelled] * 3)

    def test_close_while_running(self):
        s, feeds = long_product()
        future = s.run_async(feeds)
        time.sleep(0.2)
        s.close()
        del s
        gc.collect()
        future.cancel()
        with self.assertRaises(concurrent.futures.CancelledError):
            future.result()

    def test_interrupt(self):
        """Ctrl-C during a long run of the main thread, the first one and a later one."""
        code = """
            import os, signal, threading, time
            import dnnl_tp, models, numpy as np
            def interrupt_after(seconds):
                threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()
            s = dnnl_tp.Session(models.products(3000))
            m = np.ones((600, 600), np.float32)
            for _ in range(2):
                interrupt_after(0.3)
                begin = time.monotonic()
                try:
                    s.run({"a": m})
                    print("it ended")
                except KeyboardInterrupt:
                    assert time.monotonic() - begin < 5
            handled = []
            signal.signal(signal.SIGINT, lambda *_: handled.append(1))
            small = dnnl_tp.Session(models.products(200))
            interrupt_after(0.05)
            y = small.run({"a": m})  # a handler that does not raise lets the run go on
            time.sleep(0.1)
            assert handled and y["y"].shape == (600, 600)
            print("done")
        """
        run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=100)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "done\n", ""))

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_fork(self):
        """The child makes sessions of its own, although the parent's threads are not in it."""
        s = dnnl_tp.Session(models.relu())
        s.run({"x": X})
        s.run_async({"x": X}).result()
        child = os.fork()
        if not child:
            mine = dnnl_tp.Session(models.relu())
            good = np.array_equal(mine.run({"x": X})["y"], np.maximum(X, 0))
            good = good and np.array_equal(mine.run_async({"x": X}).result()["y"], np.maximum(X, 0))
            os._exit(0 if good else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Futures(unittest.TestCase):
    def test_results(self):
        for s in dnnl_tp.Session(models.relu()), dnnl_tp.Session(models.relu(), threads=2):
            futures = [s.run_async({"x": X + i}) for i in range(20)]
            for i, future in enumerate(futures):
                np.testing.assert_array_equal(future.result(60)["y"], np.maximum(X + i, 0))
            self.assertEqual(list(s.run_async({"x": X}, outputs=["y"]).result()), ["y"])
        self.assertEqual(list(concurrent.futures.as_completed(futures))[0].done(), True)

    def test_errors(self):
        s = dnnl_tp.Session(models.relu())
        with self.assertRaisesRegex(ValueError, "no input 'z'"):
            s.run_async({"z": X}).result()
        s.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            s.run_async({"x": X})

    def test_cancel(self):
        s, feeds = long_product()
        running, waiting = s.run_async(feeds), s.run_async(feeds)
        while not running.running():
            time.sleep(0.01)
        self.assertTrue(waiting.cancel())
        self.assertTrue(running.cancel())
        for future in waiting, running:
            with self.assertRaises(concurrent.futures.CancelledError):
                future.result(60)
            self.assertTrue(future.cancelled())
            self.assertTrue(future.done())
        done = dnnl_tp.Session(models.relu()).run_async({"x": X})
        done.result()
        self.assertFalse(done.cancel())
        self.assertFalse(done.cancelled())

    def test_asyncio(self):
        s = dnnl_tp.Session(models.relu())
        slow, feeds = long_product()

        async def main():
            y = await s.run_async({"x": X})
            np.testing.assert_array_equal(y["y"], np.maximum(X, 0))
            many = await asyncio.gather(*(s.run_async({"x": X + i}) for i in range(5)))
            np.testing.assert_array_equal(many[3]["y"], np.maximum(X + 3, 0))
            future = slow.run_async(feeds)
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(future, 0.2)
            while not future.done():
                await asyncio.sleep(0.01)
            self.assertTrue(future.cancelled())

        begin = time.monotonic()
        asyncio.run(main())
        self.assertLess(time.monotonic() - begin, 10)


if __name__ == "__main__":
    unittest.main()
