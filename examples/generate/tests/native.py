"""The importer's states by ctypes, for the tests beside this file. sys.argv[1]: the importer's library."""
import ctypes as c
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime as ort
except ImportError as missing:
    print(f"SKIPPED: {missing}; scripts/get_peers brings it")
    sys.exit(0)

lib = c.CDLL(sys.argv[1])
TYPES = {3: np.float32, 4: np.int32, 8: np.bool_, 16: np.int64}


class Tensor(c.Structure):
    _fields_ = [("ndims", c.c_int), ("dims", c.c_int64 * 12), ("type", c.c_int)]


class Arg(c.Structure):
    _fields_ = [("info", c.POINTER(Tensor)), ("data", c.c_void_p)]


class Opts(c.Structure):
    _fields_ = [("size", c.c_size_t), ("capacity", c.c_int64), ("npairs", c.c_int), ("pairs", c.c_void_p),
                ("by_joins", c.c_int)]


class Info(c.Structure):
    _fields_ = [("size", c.c_size_t), ("length", c.c_int64), ("capacity", c.c_int64), ("batch", c.c_int64),
                ("bytes", c.c_size_t), ("runs", c.c_uint64), ("in_place", c.c_uint64)]


class Stats(c.Structure):
    _fields_ = [("size", c.c_size_t), ("graphs", c.c_uint64), ("compilations", c.c_uint64), ("evictions", c.c_uint64),
                ("calls", c.c_int), ("imports", c.c_uint64), ("failed_guards", c.c_uint64)]


Room = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_int, c.POINTER(Tensor))
lib.dnnl_tp_last_error.restype = c.c_char_p


def check(status, what):
    assert status == 0, f"{what}: {status}, {lib.dnnl_tp_last_error().decode()}"


class State:
    def __init__(self, session, names, capacity=0):
        self.h, self.names = c.c_void_p(), names
        check(lib.dnnl_tp_onnx_state_create(c.byref(self.h), session, c.byref(Opts(c.sizeof(Opts), capacity))), "state")

    def run(self, fails=False, **feeds):
        feeds = {name: a for name, a in feeds.items() if name in self.names}
        infos, args = (Tensor * len(self.names))(), (Arg * len(self.names))()
        for i, name in enumerate(self.names):
            if name not in feeds:
                continue
            a = feeds[name] = np.asarray(feeds[name], order="C")
            infos[i].ndims, infos[i].type = a.ndim, next(n for n, t in TYPES.items() if t == a.dtype)
            infos[i].dims[: a.ndim] = a.shape
            args[i].info, args[i].data = c.pointer(infos[i]), a.ctypes.data
        out = {}

        def room(_, index, info):
            t = info.contents
            out[index] = np.empty(tuple(t.dims[: t.ndims]), TYPES[t.type])
            return out[index].ctypes.data

        status = lib.dnnl_tp_onnx_state_run(self.h, len(args), args, Room(room), None, None)
        if fails:
            assert status != 0
            return None
        check(status, "run")
        assert list(out) == [0], "an output of a pair was asked for"
        return out[0]

    def info(self):
        i = Info(c.sizeof(Info))
        check(lib.dnnl_tp_onnx_state_query(self.h, c.byref(i)), "query")
        return i

    def truncate(self, n):
        return lib.dnnl_tp_onnx_state_truncate(self.h, c.c_int64(n))

    def reorder(self, *rows):
        return lib.dnnl_tp_onnx_state_reorder(self.h, len(rows), (c.c_int64 * len(rows))(*rows))

    def close(self):
        check(lib.dnnl_tp_onnx_state_destroy(self.h), "destroy")


def session_of(path):
    """Sessions of this library and of ONNX Runtime."""
    model, engine, session = c.c_void_p(), c.c_void_p(), c.c_void_p()
    check(lib.dnnl_tp_onnx_open(c.byref(model), path.encode(), None), "open")
    check(lib.dnnl_tp_engine_create(c.byref(engine), 1, c.c_size_t(0)), "engine")
    check(lib.dnnl_tp_onnx_session_create(c.byref(session), model, engine, None), "session")
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    return session, ort.InferenceSession(path, options)


def compilations(session):
    s = Stats(c.sizeof(Stats))
    check(lib.dnnl_tp_onnx_session_query(session, c.byref(s)), "query")
    return s.compilations


def explained(session):
    """The lines of explain() about states."""
    text, size = c.create_string_buffer(1 << 16), c.c_size_t()
    check(lib.dnnl_tp_onnx_session_explain(session, text, c.c_size_t(len(text)), c.byref(size)), "explain")
    return [line for line in text.value.decode().splitlines() if line.startswith("states ")]


def close(session):
    check(lib.dnnl_tp_onnx_session_destroy(session), "destroy")


def near(got, want, what, nan=False):
    """nan: what is NaN there may be anything."""
    assert got.shape == want.shape, f"{what}: {got.shape}, not {want.shape}"
    if nan:
        got = np.where(np.isnan(want), 0, got)
        want = np.where(np.isnan(want), 0, want)
    assert np.abs(got - want).max() <= 2e-4 * (1 + np.abs(want).max()), f"{what}: differs by {np.abs(got - want).max()}"
