"""States: what a model hands from run to run."""
import unittest

import dnnl_tp
import models
import numpy as np


class States(unittest.TestCase):
    def test_rows(self):
        """past {1, n, 2} and new rows; out: the sum of all rows. Joins, since it is no attention."""
        with dnnl_tp.Session(models.accumulating(), threads=2) as s:
            x = np.arange(24, dtype=np.float32).reshape(1, 12, 2)
            with s.state() as state:
                for at, n in (0, 3), (3, 1), (4, 8):
                    y = s.run({"x": x[:, at:at + n]}, state=state)
                    self.assertEqual(list(y), ["sum"])
                    np.testing.assert_array_equal(y["sum"], x[:, :at + n].sum(axis=1))
                self.assertEqual(state.length, 12)
                self.assertEqual((state.stats()["runs"], state.stats()["in_place"]), (3, 0))
                state.truncate(2)
                self.assertEqual(repr(state), "<dnnl_tp.State: 2 rows, room for 12>")
                y = s.run({"x": x[:, 2:3]}, outputs=["sum"], state=state)
                np.testing.assert_array_equal(y["sum"], x[:, :3].sum(axis=1))
                state.reorder([0, 0])
                y = s.run({"x": np.concatenate([x[:, 3:4], x[:, 5:6]])}, state=state)
                np.testing.assert_array_equal(y["sum"][1], x[0, [0, 1, 2, 5]].sum(axis=0))

    def test_pairs_by_name(self):
        with dnnl_tp.Session(models.accumulating()) as s:
            state = s.state(capacity=8, pairs={"past": "present"}, by_joins=True)
            np.testing.assert_array_equal(s.run({"x": np.ones((1, 1, 2), np.float32)}, state=state)["sum"], [[1, 1]])
            with self.assertRaisesRegex(ValueError, "no input 'nothing'"):
                s.state(pairs={"nothing": "present"})

    def test_arguments(self):
        x = np.ones((1, 1, 2), np.float32)
        with dnnl_tp.Session(models.accumulating()) as s, dnnl_tp.Session(models.accumulating()) as other:
            state = s.state()
            with self.assertRaisesRegex(ValueError, "another session"):
                other.run({"x": x}, state=state)
            with self.assertRaisesRegex(ValueError, "cannot be given"):
                s.run({"x": x, "past": x}, state=state)
            for wanted in {"outputs": ["present"]}, {"outputs": iter(["sum", "present"])}, {"out": {"present": x}}:
                with self.assertRaisesRegex(ValueError, "the state gets output 'present'"):
                    s.run({"x": x}, state=state, **wanted)
            with self.assertRaisesRegex(ValueError, "no output 'nothing'"):
                s.run({"x": x}, outputs=["nothing"], state=state)
            self.assertEqual(state.stats()["runs"], 0)
            for length in 5, -1, 2**64:  # the last one is 0 in 64 bits
                with self.assertRaises(ValueError):
                    state.truncate(length)
            for wrong in "1", 1.5, None:
                with self.assertRaises(TypeError):
                    state.truncate(wrong)
            s.run({"x": x}, state=state)
            for sequences in [1], [-1], [2**64], []:
                with self.assertRaises(ValueError):
                    state.reorder(sequences)
            with self.assertRaises(TypeError):
                state.reorder([.5])
            with self.assertRaisesRegex(TypeError, "pairs are a dict"):
                s.state(pairs=[("past", "present")])
            with self.assertRaisesRegex(TypeError, "not a dnnl_tp.State"):
                s.run({"x": x}, state=3)
            self.assertEqual(state.length, 1)
            state.close()
            state.close()
            self.assertEqual(repr(state), "<dnnl_tp.State, closed>")
            for use in (lambda: s.run({"x": x}, state=state), lambda: state.length, state.stats, lambda: state.truncate(0),
                        lambda: state.reorder([0])):
                with self.assertRaisesRegex(ValueError, "the state is closed"):
                    use()


if __name__ == "__main__":
    unittest.main()
