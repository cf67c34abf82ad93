"""dnnl_tp inside jax programs: jax_test.py PROBE.so. NPROC sets the number of XLA's threads."""
import concurrent.futures
import ctypes
import math
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np

import dnnl_tp_jax

probe = dnnl_tp_jax.load(sys.argv[1])
probe.jax_probe_helper.restype = ctypes.c_char_p
for name in ("met_mlp", "latch", "helped", "check"):
    jax.ffi.register_ffi_target("probe_" + name, jax.ffi.pycapsule(getattr(probe, "dnnl_tp_jax_" + name)), platform="cpu")


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, np.float32)


def call(name, shape, *args):
    return jax.ffi.ffi_call("probe_" + name, f32(*shape))(*args)


rng = np.random.default_rng(1)


def array(*shape):
    return jnp.asarray(rng.standard_normal(shape), dtype=jnp.float32)


def close(got, want, what):
    error = float(np.max(np.abs(np.asarray(got) - want)) / (1e-6 + np.max(np.abs(want))))
    assert error < 2e-5, f"{what}: relative error {error}"


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def reference(*arrays):  # NumPy: jax would compile each operator for each shape
    x, w1, w2 = (np.asarray(a, dtype=np.float64) for a in arrays)
    h = x @ w1
    return softmax(h / 2 * (1 + np.vectorize(math.erf)(h / math.sqrt(2))) @ w2)


def values():
    x, w1, w2 = array(200, 300), array(300, 400) / 20, array(400, 100) / 20
    close(jax.jit(dnnl_tp_jax.matmul)(x, w1), np.asarray(x) @ np.asarray(w1), "matmul")
    close(jax.jit(dnnl_tp_jax.softmax)(x), softmax(np.asarray(x)), "softmax")
    mlp = jax.jit(dnnl_tp_jax.mlp)
    for rows in (1, 7, 500):
        x = array(rows, 300)
        close(mlp(x, w1, w2), reference(x, w1, w2), f"mlp of {rows} rows")

    @jax.jit  # between operators of XLA's own
    def mixed(x, w1):
        return dnnl_tp_jax.softmax(jnp.tanh(dnnl_tp_jax.matmul(x, w1)) * 3) + 1

    close(mixed(x, w1), softmax(np.tanh(np.asarray(x) @ np.asarray(w1)) * 3) + 1, "mixed")


def refused(what, kind, says, run):
    try:
        jax.block_until_ready(run())
    except kind as error:
        assert says in str(error), f"{what}: {error}"
        return
    raise AssertionError(f"{what} was accepted")


def refusals():
    x, w1, w2 = array(20, 30), array(30, 40), array(41, 10)
    refused("mlp", ValueError, "dnnl_tp_jax.mlp: w1 is float32[30, 40] and w2 is float32[41, 10]: 40 columns meet 41 rows",
            lambda: jax.jit(dnnl_tp_jax.mlp)(x, w1, w2))
    refused("matmul", ValueError, "20 columns meet 30 rows", lambda: dnnl_tp_jax.matmul(x.T, w1))
    refused("rank", ValueError, "dnnl_tp_jax.matmul: w is float32[3]; needed are 2 dimensions",
            lambda: dnnl_tp_jax.matmul(x, array(3)))
    refused("type", TypeError, "dnnl_tp_jax.softmax: x is int32[4]; only float32 is served",
            lambda: dnnl_tp_jax.softmax(jnp.arange(4)))
    refused("list", TypeError, "dnnl_tp_jax.softmax: x is list, not an array", lambda: dnnl_tp_jax.softmax([1.0]))
    for name, run in (("matmul", lambda x: dnnl_tp_jax.matmul(x, w1)), ("softmax", dnnl_tp_jax.softmax),
                      ("mlp", lambda x: dnnl_tp_jax.mlp(x, w1, w2[:40]))):
        refused("vmap", NotImplementedError, f"dnnl_tp_jax.{name} cannot be vmapped",
                lambda: jax.jit(jax.vmap(run))(array(3, 20, 30)))
        refused("grad", NotImplementedError, f"dnnl_tp_jax.{name} has no derivative",
                lambda: jax.jit(jax.grad(lambda x: run(x).sum()))(x))
    # Who calls the handlers without these functions is refused by them, with texts of theirs.
    error = jax.errors.JaxRuntimeError
    ffi = lambda name, shape, *args: jax.jit(lambda *a: jax.ffi.ffi_call("dnnl_tp_" + name, f32(*shape))(*a))(*args)
    refused("product", error, "dnnl_tp_mlp: f32[30,40] times f32[41,10]", lambda: ffi("mlp", (20, 10), x, w1, w2))
    refused("result", error, "dnnl_tp_matmul: f32[20,30] times f32[30,40] does not give f32[20,41]",
            lambda: ffi("matmul", (20, 41), x, w1))
    refused("arrays", error, "dnnl_tp_softmax: 2 arrays give 1; needed are 1 and 1", lambda: ffi("softmax", (20, 30), x, x))


def shapes_are_bounded():
    w1, w2 = array(8, 8), array(8, 8)
    for rows in range(1, 101):
        jax.block_until_ready(jax.ffi.ffi_call("dnnl_tp_mlp", f32(rows, 8))(array(rows, 8), w1, w2))
    graphs = probe.dnnl_tp_jax_graphs()
    assert graphs == 64, f"{graphs} compiled graphs are kept"
    close(dnnl_tp_jax.mlp(x := array(1, 8), w1, w2), reference(x, w1, w2), "mlp, compiled again")


def names_of_threads():
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            names.append(open(f"/proc/self/task/{task}/comm").read().strip())
        except OSError:
            pass
    return sorted(names)


def threads(workers):
    x = array(64, 64)
    jax.block_until_ready(jax.jit(lambda x: x @ x)(x))
    before = names_of_threads()
    if workers > 1:
        by_owner, by_others, count = jax.jit(lambda x: call("helped", (3,), x))(x)
        assert int(count) == workers, f"XLA says {int(count)} threads, NPROC is {workers}"
        assert by_owner > 0 and by_others > 0, "no thread of XLA helped"
        helper = probe.jax_probe_helper().decode()
        assert helper in before, f"the helper '{helper}' is no thread that XLA had"
        print(f"helper: {helper}")
    for _ in range(3):
        jax.block_until_ready(dnnl_tp_jax.mlp(array(500, 300), array(300, 400), array(400, 100)))
    after = names_of_threads()
    assert len(after) <= len(before), f"threads were started: {before} -> {after}"


def often(run, n):
    """n callers at once: XLA uses one thread less than it has for one of them, because the caller works, too."""
    with concurrent.futures.ThreadPoolExecutor(n) as callers:
        runs = [callers.submit(lambda: jax.block_until_ready(run())) for _ in range(n)]
        return [r.result() for r in runs]


def as_many_calls_as_workers(workers):
    w1, w2 = array(300, 200) / 20, array(200, 100) / 20
    xs = [array(60, 300) for _ in range(16)]  # few operators would run one after another

    @jax.jit
    def all_at_once(xs):
        return [jax.ffi.ffi_call("probe_met_mlp", f32(x.shape[0], 100))(x, w1, w2) for x in xs]

    wanted = [reference(x, w1, w2) for x in xs]
    met = 0
    for _ in range(20):
        if met >= workers:
            break
        probe.jax_probe_meet(workers)
        for ys in often(lambda: all_at_once(xs), workers + 1):
            for y, want in zip(ys, wanted):
                close(y, want, "mlp, all threads inside")
        met = max(met, probe.jax_probe_most())
    assert met >= workers, f"only {met} of {workers} threads of XLA were inside at once"
    # The same situation with a latch: this is what the library must not do.
    latches = jax.jit(lambda xs: [call("latch", (1,), x) for x in xs])
    stuck = 0
    for _ in range(20):
        if stuck or workers == 1:
            break
        probe.jax_probe_meet(workers)
        stuck = sum(float(s[0]) for ss in often(lambda: latches(xs), workers + 1) for s in ss)
    assert workers == 1 or stuck > 0, "the latch got through: the situation is not the one that hangs"
    print(f"all {workers} threads of XLA inside; a latch would have waited for {int(stuck)} tasks that nobody begins")


workers = int(os.environ["NPROC"])
values()
refusals()
threads(workers)
as_many_calls_as_workers(workers)
if workers > 1:
    status = float(jax.jit(lambda x: call("check", (1,), x))(array(4))[0])
    assert status == 0, f"pool_check answered {status}"
if workers == 1:
    shapes_are_bounded()
print("PASSED")
