"""Models whose results have sizes that their elements decide."""
import sys
import threading
import time
import unittest

import dnnl_tp
import models
import numpy as np


class Parts(unittest.TestCase):
    def check(self, x, y):
        r = np.maximum(x, 0)
        np.testing.assert_array_equal(y["r"], r)
        np.testing.assert_array_equal(y["p"], np.array(np.nonzero(r)))
        np.testing.assert_array_equal(y["z"], 2 * r[np.nonzero(r)])
        self.assertEqual((y["p"].dtype, y["z"].dtype), (np.int64, np.float32))

    def test_run(self):
        rng = np.random.default_rng(0)
        for threads in 1, 2:
            with dnnl_tp.Session(models.positive(), threads=threads) as s:
                for n in 3, 0, 7, 3, 3:
                    x = rng.standard_normal((2, n)).astype(np.float32)
                    self.check(x, s.run({"x": x}))
                self.assertGreater(s.stats()["calls"], 2)

    def test_known_sizes(self):
        """Sizes of the inputs are known when the session is made, those of the results are not."""
        x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
        self.assertEqual(dnnl_tp.check(models.positive(), dims={"n": 3}), [])
        s = dnnl_tp.Session(models.positive(), dims={"n": 3})
        self.check(x, s.run({"x": x}))
        self.check(-x, s.run({"x": -x}))
        with self.assertRaisesRegex(ValueError, "the size of axis 1 is not 3"):
            s.run({"x": x[:, :2]})

    def test_arguments(self):
        s = dnnl_tp.Session(models.positive())
        x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
        self.assertEqual(list(s.run({"x": x}, outputs=["p"])), ["p"])
        z = np.zeros(3, np.float32)
        self.assertIs(s.run({"x": x}, out={"z": z})["z"], z)
        np.testing.assert_array_equal(z, [2, 6, 10])
        with self.assertRaisesRegex(dnnl_tp.InvalidArgument, "what is given for output 'z'"):
            s.run({"x": -x}, out={"z": np.zeros(4, np.float32)})
        r = np.full((2, 3), 7, np.float32)
        for wrong in np.zeros(6, np.float32)[::2], np.zeros(3), [0., 0., 0.], np.zeros((3, 1), np.float32):
            with self.assertRaisesRegex(ValueError, "what is given for output 'z'"):
                s.run({"x": x}, out={"r": r, "z": wrong})
        np.testing.assert_array_equal(r, 7)
        self.check(x, s.run({"x": x}, out={"r": r}))
        with self.assertRaisesRegex(ValueError, "the model has no input"):
            s.run({"x": x, "y": x})
        with self.assertRaises(dnnl_tp.InvalidArgument):
            s.run({"x": np.ones((3, 2), np.float32)})
        self.check(x, s.run_async({"x": x}).result())
        token = dnnl_tp.CancelToken()
        self.check(x, s.run({"x": x}, cancel=token, timeout=100))
        token.cancel()
        with self.assertRaises(dnnl_tp.Cancelled):
            s.run({"x": x}, cancel=token)
        s.close()
        with self.assertRaises(ValueError):
            s.run({"x": x})

    def test_nothing_is_left(self):
        """Neither a run nor a refused one keeps its arrays."""
        s = dnnl_tp.Session(models.positive())
        x = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
        z, bad, given = np.zeros(3, np.float32), np.zeros(4, np.float32), {"x": x}
        counts = [sys.getrefcount(a) for a in (x, z, bad, given, None)]
        for _ in range(100):
            results = s.run(given, out={"z": z})
            with self.assertRaises(ValueError):
                s.run(given, out={"z": bad})
        self.assertEqual({name: sys.getrefcount(results[name]) for name in results}, {"r": 2, "p": 2, "z": 3})
        del results
        after = [sys.getrefcount(a) for a in (x, z, bad, given, None)]
        self.assertEqual(after[:4], counts[:4])
        self.assertLess(abs(after[4] - counts[4]), 100)

    def test_threads(self):
        s = dnnl_tp.Session(models.positive(), max_calls=2)
        failed = []

        def work(seed):
            rng = np.random.default_rng(seed)
            try:
                for _ in range(30):
                    x = rng.standard_normal((2, 4)).astype(np.float32)
                    self.check(x, s.run({"x": x}))
            except BaseException as e:
                failed.append(e)

        threads = [threading.Thread(target=work, args=[i]) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])

    def test_close_while_running(self):
        s = dnnl_tp.Session(models.positive_of_products(40))
        a = np.eye(700, dtype=np.float32)
        future = s.run_async({"a": a})
        time.sleep(0.05)
        s.close()
        np.testing.assert_array_equal(future.result()["p"], np.array(np.nonzero(a)))

    def test_timeout(self):
        s = dnnl_tp.Session(models.positive_of_products(2000))
        with self.assertRaises(dnnl_tp.DeadlineExceeded):
            s.run({"a": np.eye(500, dtype=np.float32)}, timeout=0.1)


if __name__ == "__main__":
    unittest.main()
