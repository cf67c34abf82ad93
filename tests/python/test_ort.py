"""The names of onnxruntime (dnnl_tp.ort): one program for both modules. Where onnxruntime is installed, both run and have to
agree; else dnnl_tp's results are compared with numpy's alone. As test_session.py."""
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
import warnings

import dnnl_tp
import dnnl_tp.ort
import models
import numpy as np

try:
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None

X = np.array([[-1, 2, -3], [4, -5, 6]], np.float32)
MODULES = [m for m in (dnnl_tp.ort, dnnl_tp, onnxruntime) if m]
REAL_MODELS = os.environ.get("DNNL_TP_REAL_MODELS") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "shared", "models")


def two():
    """a = Relu(x), b = MatMul(x, w), w a constant; a model with all texts."""
    body = models.model(models.node("Relu", ["x"], ["a"]), models.node("MatMul", ["x", "w"], ["b"]),
                        models.tensor("w", models.FLOAT, [3, 2], np.arange(6, dtype=np.float32).tobytes()),
                        models.value(11, "x", models.FLOAT, ["rows", 3]), models.value(12, "a", models.FLOAT, ["rows", 3]),
                        models.value(12, "b", models.FLOAT, ["rows", 2]))
    entry = models.text(14, models.text(1, "character") + models.text(2, "é\nb"))
    return (body + models.text(2, "maker") + models.text(4, "org.example") + models.number(5, 7)
            + models.text(6, "what it does") + entry + models.text(14, models.text(1, "empty") + models.text(2, "")))


def kind_of(function):
    """The name of the error, or the result."""
    try:
        return function()
    except Exception as e:  # all kinds
        return type(e).__name__


class Programs(unittest.TestCase):
    def same(self, program):
        """Runs it with each module; lists of arrays and plain values have to be equal."""
        results = [program(m) for m in MODULES]
        for m, r in zip(MODULES[1:], results[1:]):
            np.testing.assert_equal(r, results[0], m.__name__)
        return results[0]

    def test_ports(self):
        def program(ort):
            s = ort.InferenceSession(two(), providers=["CPUExecutionProvider"])
            return [(p.name, p.type, p.shape, str(p)) for p in s.get_inputs() + s.get_outputs()], s.get_providers(), \
                s.get_provider_options(), [p.name for p in s.get_overridable_initializers()]

        ports, *_ = self.same(program)
        self.assertEqual(ports[0][:3], ("x", "tensor(float)", ["rows", 3]))

    def test_types(self):
        def program(ort):
            result = []
            for number in 1, 2, 3, 6, 7, 9, 10, 11:
                s = ort.InferenceSession(models.identity(number))
                result += [p.type for p in s.get_inputs() + s.get_outputs()]
            return result

        self.assertEqual(self.same(program)[0], "tensor(float)")

    def test_runs(self):
        def program(ort):
            s = ort.InferenceSession(two(), None, ["CPUExecutionProvider"])
            one, = s.run(["b"], {"x": X})
            rows = [s.run(None, {"x": np.repeat(X, n, 0)}) for n in (1, 3, 2, 0)]
            odd = s.run([], {"x": X[:, ::-1]}) + s.run(["b", "a", "b"], input_feed={"x": X[::-1]})
            lists = s.run(("a",), {"x": X.tolist()}) + s.run(["a"], {"x": [[1, 2, 3]]})
            values = s.run(None, {"x": ort.OrtValue.ortvalue_from_numpy(X)}, ort.RunOptions())
            return [one], rows, odd, lists, values

        one, *_ = self.same(program)
        np.testing.assert_array_equal(one[0], X @ np.arange(6, dtype=np.float32).reshape(3, 2))

    def test_results_are_lists(self):
        for m in MODULES:
            s = m.InferenceSession(two())
            y = s.run(["a"], {"x": X})
            self.assertIs(type(y), list)
            y[0][:] = 0  # writeable, and the caller's own
            np.testing.assert_array_equal(s.run(["a"], {"x": X})[0], np.maximum(X, 0))

    def test_metadata(self):
        def program(ort):
            m = ort.InferenceSession(two()).get_modelmeta()
            bare = ort.InferenceSession(models.relu()).get_modelmeta()
            return [[getattr(x, n) for n in ("producer_name", "graph_name", "domain", "description", "graph_description",
                                             "version", "custom_metadata_map")] for x in (m, bare)]

        full, bare = self.same(program)
        self.assertEqual(full, ["maker", "g", "org.example", "what it does", "", 7, {"character": "é\nb", "empty": ""}])

    def test_defaults(self):
        def program(ort):
            s = ort.InferenceSession(models.add_default())
            one = np.ones(3, np.float32)
            return s.run(None, {"x": one}), s.run(None, {"x": one, "w": one}), [p.name for p in s.get_inputs()], \
                [p.name for p in s.get_overridable_initializers()]

        self.assertEqual(self.same(program)[2:], (["x"], ["w"]))

    def test_errors(self):
        def program(ort):
            s = ort.InferenceSession(two())
            return [kind_of(f) for f in (
                lambda: s.run(None, {"x": X, "z": X}), lambda: s.run(["q"], {"x": X}),
                lambda: s.run(None, {"x": X.astype(np.float64)}), lambda: s.run(None, {"x": X[0]}),
                lambda: s.run(None, {"x": X.T}), lambda: s.run(None, {"x": X.T.copy()}), lambda: s.run(None, {"z": X}),
                lambda: s.run("a", {"x": X}), lambda: ort.InferenceSession(3),
                lambda: setattr(ort.SessionOptions(), "nonsense", 1),
                lambda: setattr(ort.SessionOptions(), "intra_op_num_threads", "2"),
                lambda: ort.SessionOptions().get_session_config_entry("none"))]

        self.assertEqual(self.same(program), ["InvalidArgument"] * 6 + ["ValueError", "TypeError", "TypeError",
                                                                        "AttributeError", "TypeError", "RuntimeError"])
        s = dnnl_tp.ort.InferenceSession(two())
        with self.assertRaises(ValueError):
            s.run(None, {})
        with self.assertRaises(FileNotFoundError):
            dnnl_tp.ort.InferenceSession("/none.onnx")
        with self.assertRaises(dnnl_tp.InvalidArgument):
            dnnl_tp.ort.InferenceSession(b"")
        with self.assertRaisesRegex(TypeError, "not a dict"):
            s.run(None, [X])
        with self.assertRaisesRegex(ValueError, "is None"):
            s.run(None, {"x": None})

    def test_kinds_of_errors(self):
        """The places from which programs import them."""
        code = """
            import sys, dnnl_tp.ort
            sys.modules["onnxruntime"] = dnnl_tp.ort
            import onnxruntime
            from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidGraph, NoSuchFile
            from onnxruntime.capi import _pybind_state as C
            from onnxruntime.capi.onnxruntime_inference_collection import IOBinding
            from onnxruntime.transformers.io_binding_helper import TypeHelper
            assert IOBinding is onnxruntime.IOBinding and C.InvalidArgument is InvalidArgument is dnnl_tp.InvalidArgument
            assert TypeHelper.ort_type_to_numpy_type("tensor(float)").__name__ == "float32"
            assert TypeHelper.ort_type_to_numpy_type("tensor(bool)") is bool
            for wrong, kind in (("none.onnx", NoSuchFile), (b"x", InvalidGraph), (b"x", Fail)):
                try:
                    onnxruntime.InferenceSession(wrong)
                except kind:
                    continue
                raise SystemExit("no error")
        """
        run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_options(self):
        def program(ort):
            o = ort.SessionOptions()
            before = [getattr(o, n) for n in (
                "intra_op_num_threads", "inter_op_num_threads", "use_per_session_threads", "enable_profiling",
                "profile_file_prefix", "use_deterministic_compute", "enable_cpu_mem_arena", "enable_mem_pattern",
                "enable_mem_reuse", "log_severity_level", "log_verbosity_level", "logid", "optimized_model_filepath")]
            o.intra_op_num_threads, o.inter_op_num_threads = 2, 1
            o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
            o.execution_mode = ort.ExecutionMode.ORT_PARALLEL
            o.log_severity_level, o.enable_cpu_mem_arena = 4, False
            o.add_session_config_entry("session.intra_op.allow_spinning", "0")
            o.add_free_dimension_override_by_name("rows", 2)
            o.add_free_dimension_override_by_name("unheard", 2)
            s = ort.InferenceSession(two(), sess_options=o, providers=[("CPUExecutionProvider", {"a": "b"})])
            r = ort.RunOptions()
            r.log_severity_level = 4
            r.add_run_config_entry("disable_synchronize_execution_providers", "1")
            return before, s.get_inputs()[0].shape, s.run(None, {"x": X}, r), kind_of(lambda: s.run(None, {"x": X[:1]})), \
                s.get_session_options().intra_op_num_threads, sorted(ort.GraphOptimizationLevel.__members__), \
                o.get_session_config_entry("session.intra_op.allow_spinning"), ort.get_device()

        result = self.same(program)
        self.assertEqual((result[1], result[3]), ([2, 3], "InvalidArgument"))
        o = dnnl_tp.SessionOptions()
        for refused in (lambda: setattr(o, "optimized_model_filepath", "m.onnx"), lambda: o.add_initializer("w", None),
                        lambda: o.register_custom_ops_library("lib.so"),
                        lambda: o.add_session_config_entry("session.load_model_format", "ORT")):
            with self.assertRaises(NotImplementedError):
                refused()
        self.assertEqual(repr(o), "SessionOptions()")
        o.intra_op_num_threads = 3
        self.assertEqual(repr(o), "SessionOptions(intra_op_num_threads=3)")
        self.assertEqual(dnnl_tp.InferenceSession(two(), o)._session.threads, 3)

    def test_threads(self):
        """Sessions that ask for no number share one pool."""
        a, b = dnnl_tp.InferenceSession(two()), dnnl_tp.InferenceSession(models.relu())
        self.assertIs(a._session.pool, b._session.pool)
        self.assertEqual(a._session.threads, min(len(os.sched_getaffinity(0)), 256))
        o = dnnl_tp.SessionOptions()
        o.intra_op_num_threads = 1
        self.assertIsNone(dnnl_tp.InferenceSession(two(), o)._session.pool)

    def test_providers(self):
        def program(ort):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                s = ort.InferenceSession(two(), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
            return s.get_providers(), [w.category for w in caught], "CPUExecutionProvider" in ort.get_available_providers()

        self.assertEqual(self.same(program)[:2], (["CPUExecutionProvider"], [UserWarning]))
        with self.assertRaises(ValueError):
            dnnl_tp.InferenceSession(two(), providers=["CPUExecutionProvider"], provider_options=[])

    def test_binding(self):
        def program(ort):
            s = ort.InferenceSession(two())
            b = s.io_binding()
            b.bind_cpu_input("x", X)
            b.bind_output("b")
            b.bind_output("a", "cpu")
            s.run_with_iobinding(b)
            first = b.copy_outputs_to_cpu()
            room = np.full((2, 3), 7, np.float32)
            b.clear_binding_outputs()
            b.bind_output("a", "cpu", 0, np.float32, room.shape, room.ctypes.data)
            s.run_with_iobinding(b, ort.RunOptions())
            x = ort.OrtValue.ortvalue_from_numpy(X[:1] + 1)
            y = ort.OrtValue.ortvalue_from_shape_and_type([1, 2], np.float32)
            b = s.io_binding()
            b.bind_ortvalue_input("x", x)
            b.bind_ortvalue_output("b", y)
            s.run_with_iobinding(b)
            x.update_inplace(X[1:].copy())
            before = y.numpy().copy()
            s.run_with_iobinding(b)
            c = s.io_binding()
            c.bind_input("x", "cpu", 0, np.float32, X.shape, X.ctypes.data)
            c.bind_output("b")
            s.run_with_iobinding(c)
            value = c.get_outputs()[0]
            facts = [value.shape(), value.data_type(), value.element_type(), value.device_name(), value.is_tensor(),
                     value.has_value(), value.tensor_size_in_bytes()]
            return first, room, before, y.numpy().copy(), value.numpy(), facts, kind_of(
                lambda: b.bind_output("z")) != "", s.run_with_ort_values(["a"], {"x": x})[0].numpy()

        first, room, *_ = self.same(program)
        np.testing.assert_array_equal(room, np.maximum(X, 0))
        s = dnnl_tp.InferenceSession(two())
        b = s.io_binding()
        for wrong in (lambda: b.bind_cpu_input("z", X), lambda: b.bind_output("z"), lambda: b.bind_output("a", "cuda"),
                      lambda: dnnl_tp.OrtValue.ortvalue_from_numpy(X, "cuda"), lambda: b.bind_output("a", buffer_ptr=8)):
            with self.assertRaises((ValueError, NotImplementedError)):
                wrong()
        b.bind_cpu_input("x", X)
        small = dnnl_tp.OrtValue.ortvalue_from_shape_and_type([1, 3])
        b.bind_ortvalue_output("a", small)
        with self.assertRaises(ValueError):
            s.run_with_iobinding(b)

    def test_half(self):
        def program(ort):
            s = ort.InferenceSession(models.relu(models.FLOAT16))
            b = s.io_binding()
            b.bind_cpu_input("x", X.astype(np.float16))
            y = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float16)
            b.bind_ortvalue_output("y", y)
            s.run_with_iobinding(b)
            return s.run(None, {"x": X.astype(np.float16)}), y.numpy(), s.get_inputs()[0].type

        self.same(program)

    def test_maps(self):
        """Classifiers of scikit-learn: an output of theirs is a list of dicts."""
        for labels in [4, 7], ["no", "é"]:
            def program(ort):
                s = ort.InferenceSession(models.classes(labels))
                label, maps = s.run(None, {"x": X})
                self.assertIs(type(maps), list)
                only, = s.run(["maps"], {"x": X.tolist()})
                port = s.get_outputs()[1]
                return label, [list(m) for m in maps], [list(m.values()) for m in maps + only], port.type, port.shape

            results = [program(m) for m in MODULES]
            for r in results:
                self.assertEqual((r[1], r[3:]), ([labels] * 2, results[0][3:]))
                np.testing.assert_array_equal(r[0], results[0][0])
                np.testing.assert_allclose(r[2], results[0][2], atol=1e-6)
            self.assertEqual(dnnl_tp.Session(models.classes(labels)).run({"x": X})["maps"].shape, (2, 2))

    def test_text_labels(self):
        """Labels that are texts in the file."""
        def program(ort):
            s = ort.InferenceSession(models.classes(["no", "é"], text_labels=True))
            label, maps = s.run(None, {"x": X})
            only, = s.run(["label"], {"x": X})
            port = s.get_outputs()[0]
            return label.dtype, label.tolist(), only.tolist(), port.type, port.shape

        results = [program(m) for m in MODULES]
        for r in results:
            self.assertEqual(r, results[0])
        self.assertIn(results[0][1][0], ("no", "é"))

    def test_texts(self):
        words = ["é", "b", "", "nothing", "B"]
        for kind in (object, str):
            fed = {"words": np.array(words, kind)}
            for ort in MODULES:
                s = ort.InferenceSession(models.encoder(["b", "é", ""], ["one", "", "ü"]))
                self.assertEqual((s.get_inputs()[0].type, s.get_outputs()[0].type), ("tensor(string)", "tensor(string)"))
                self.assertEqual(s.run(None, fed)[0].tolist(), ["", "one", "ü", "_Unused", "_Unused"])
                s = ort.InferenceSession(models.encoder(["b", "é", ""], [5, 6, 7]))
                self.assertEqual(s.run(None, fed)[0].tolist(), [6, 5, 7, -1, -1])
                with self.assertRaises(Exception):
                    s.run(None, {"words": np.arange(3)})
        with dnnl_tp.Session(models.encoder(["b", "é", ""], [5, 6, 7])) as s:
            self.assertEqual(s({"words": words})["y"].tolist(), [6, 5, 7, -1, -1])
            self.assertEqual(s({"words": ["é".encode()]})["y"].tolist(), [6])
            for bad in ([1, 2], np.zeros(2), np.array(["a", None], object)):
                with self.assertRaises(TypeError):
                    s({"words": bad})
        with self.assertRaisesRegex(dnnl_tp.Unimplemented, "'z' may be any text"):
            dnnl_tp.Session(models.encoder(["b"], [5], passes=True))({"words": words})

    def test_sizes_by_elements(self):
        """A model that runs in parts."""
        def program(ort):
            s = ort.InferenceSession(models.positive())
            b = s.io_binding()
            b.bind_cpu_input("x", X)
            b.bind_output("p")
            s.run_with_iobinding(b)
            return s.run(["p", "z"], {"x": X}), s.run(None, {"x": -X}), s.run(["z"], {"x": X}, ort.RunOptions()), \
                b.copy_outputs_to_cpu()

        self.same(program)

    def test_async(self):
        def program(ort):
            s = ort.InferenceSession(two())
            told, done = [], threading.Event()

            def callback(results, data, error):
                told.append((results, data, error))
                done.set()

            s.run_async(["a"], {"x": X}, callback, 5)
            self.assertTrue(done.wait(60))
            return told

        self.same(program)

    def test_terminate(self):
        for m in MODULES:
            s, r = m.InferenceSession(two()), m.RunOptions()
            r.terminate = True
            with self.assertRaisesRegex(Exception, "terminate flag"):
                s.run(None, {"x": X}, r)
            r.terminate = False
            self.assertEqual(len(s.run(None, {"x": X}, r)), 2)
        s, r = dnnl_tp.InferenceSession(models.products(3000)), dnnl_tp.RunOptions()
        threading.Timer(0.2, setattr, (r, "terminate", True)).start()
        with self.assertRaises(dnnl_tp.Cancelled):
            s.run(None, {"a": np.ones((600, 600), np.float32)}, r)

    def test_profile(self):
        with tempfile.TemporaryDirectory() as folder:
            for m in MODULES:
                o = m.SessionOptions()
                o.enable_profiling, o.profile_file_prefix = True, os.path.join(folder, m.__name__)
                s = m.InferenceSession(two(), o)
                s.run(None, {"x": X})
                name = s.end_profiling()
                self.assertTrue(name.startswith(o.profile_file_prefix) and name.endswith(".json"), name)
                with open(name) as f:
                    self.assertTrue(json.load(f))
                s.run(None, {"x": X})
            self.assertEqual(dnnl_tp.InferenceSession(two()).end_profiling(), "")

    def test_unchanged_program(self):
        """python -m dnnl_tp.ort runs a program that imports onnxruntime."""
        with tempfile.TemporaryDirectory() as folder:
            for name, data in ("m.onnx", two()), ("p.py", textwrap.dedent("""
                    import sys, numpy as np, onnxruntime as ort, beside
                    from onnxruntime import InferenceSession
                    s = InferenceSession(sys.argv[1])
                    print(type(s).__module__.split(".")[0], s.run(["b"], {"x": np.ones((1, 3), np.float32)})[0], beside.N)
                    """).encode()), ("beside.py", b"N = 4\n"):
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(data)
            program, model = os.path.join(folder, "p.py"), os.path.join(folder, "m.onnx")
            run = subprocess.run([sys.executable, "-m", "dnnl_tp.ort", program, model], capture_output=True, text=True)
            self.assertEqual((run.stdout, run.stderr), ("dnnl_tp [[6. 9.]] 4\n", ""))

    @unittest.skipUnless(os.path.isdir(REAL_MODELS), "no real models")
    def test_silero(self):
        """The calls of silero-vad's OnnxWrapper: a state that goes from run to run."""
        rng = np.random.default_rng(3)
        sound = rng.standard_normal((40, 512)).astype(np.float32) * .1

        def program(ort):
            options = ort.SessionOptions()
            options.inter_op_num_threads = options.intra_op_num_threads = 1
            s = ort.InferenceSession(os.path.join(REAL_MODELS, "silero_vad_op18_ifless.onnx"),
                                     providers=["CPUExecutionProvider"], sess_options=options)
            state, context, speech = np.zeros((2, 1, 128), np.float32), np.zeros((1, 64), np.float32), []
            for chunk in sound:
                x = np.concatenate([context, chunk[None]], 1)
                out, state = s.run(None, {"input": x, "state": state, "sr": np.array(16000, dtype="int64")})
                context = x[:, -64:]
                speech.append(out[0, 0])
            return np.array(speech)

        results = [program(m) for m in MODULES]
        for r in results[1:]:
            np.testing.assert_allclose(r, results[0], atol=1e-4)


class Checks(unittest.TestCase):
    def test_problems(self):
        parts = [models.node("Unheard", ["x"], ["t"]), models.node("Relu", ["t"], ["u"]),
                 models.node("Unheard", ["u"], ["v"])]
        parts += [models.node(f"Unseen{i}", ["v"], [f"y{i}"]) for i in range(20)]
        m = models.model(*parts, models.value(11, "x", models.FLOAT, [2]), models.value(11, "s", models.STRING, [2]),
                         models.value(12, "y3", models.FLOAT, [2]))
        problems = dnnl_tp.check(m)
        self.assertEqual([(p.kind, p.name, p.op, p.count) for p in problems[:2]],
                         [("input", "s", "STRING", 1), ("node of", "t", "Unheard", 2)])
        self.assertEqual([p.op for p in problems[2:]], [f"Unseen{i}" for i in range(20)])
        self.assertRegex(str(problems[1]), r"^node of 't' \(Unheard\) and 1 more: .*version 17$")
        with self.assertRaises(NotImplementedError):
            dnnl_tp.Session(m)

    def test_good(self):
        self.assertEqual(dnnl_tp.check(models.relu()), [])
        self.assertEqual(dnnl_tp.check(models.relu(), dims={"n": 3}), [])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            with open(path, "wb") as f:
                f.write(two())
            self.assertEqual(dnnl_tp.check(path), [])

    def test_sizes(self):
        m = models.model(models.node("Add", ["x", "x2"], ["y"]), models.value(11, "x", models.FLOAT, [3]),
                         models.value(11, "x2", models.FLOAT, ["n"]), models.value(12, "y", models.FLOAT, ["m"]))
        self.assertEqual(dnnl_tp.check(m), [])
        problem, = dnnl_tp.check(m, dims={"n": 2})
        self.assertEqual((problem.kind, problem.count), ("model", 1))
        self.assertIn("Add", str(problem))

    def test_no_model(self):
        with self.assertRaises(FileNotFoundError):
            dnnl_tp.check("/none.onnx")
        with self.assertRaises(ValueError):
            dnnl_tp.check(b"none")

    def test_metadata(self):
        m = dnnl_tp.Session(two()).metadata()
        self.assertEqual((m.producer, m.version, m.properties["character"]), ("maker", 7, "é\nb"))
        self.assertIsNone(dnnl_tp.Session(models.relu()).metadata().version)


if __name__ == "__main__":
    unittest.main()
