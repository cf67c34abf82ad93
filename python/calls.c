/* Runs of models that are compiled as a whole: the door keeps their calls by the shapes of inputs. */
#include "door.h"

#include <string.h>
#include <time.h>

/* The model, compiled for certain inputs; owned by a capsule. */
typedef struct {
    dnnl_tp_onnx_call_t handle;
    /* The last run took long, or there was none yet. */
    bool is_long;
    int nout;
    result_t out[];
} call_t;

static size_t bytes_of(const interface_t *a) {
    size_t bytes = (size_t)a->itemsize;
    for (int i = 0; i < a->nd; ++i) bytes *= (size_t)a->shape[i];
    return bytes;
}

/* The key: shapes of the inputs, then elements of those that count by value. Gives its size; writes
 * it if there is room. */
static size_t key_write(const door_t *d, const frame_t *f, char *to) {
    size_t n = 0;
    for (int i = 0; i < d->nin; ++i) {
        const interface_t *a = f->in[i].a;
        int64_t shape[DNNL_TP_MAX_NDIMS + 1] = {a ? a->nd : -1};
        for (int k = 0; a && k < a->nd; ++k) shape[k + 1] = a->shape[k];
        const size_t bytes = (size_t)(a ? a->nd + 1 : 1) * sizeof *shape;
        if (to) memcpy(to + n, shape, bytes);
        n += bytes;
    }
    for (int i = 0; i < d->nin; ++i) {
        const interface_t *a = f->in[i].a;
        const size_t bytes = a && d->in[i].by_value ? bytes_of(a) : 0;
        if (to && bytes) memcpy(to + n, a->data, bytes);
        n += bytes;
    }
    return n;
}

static void call_free(call_t *c) {
    for (int i = 0; i < c->nout; ++i) Py_XDECREF(c->out[i].empty);
    (void)dnnl_tp_onnx_call_destroy(c->handle);
    PyMem_Free(c);
}

static void capsule_free(PyObject *capsule) { call_free(PyCapsule_GetPointer(capsule, NULL)); }

static dnnl_tp_status_t get_call(const door_t *d, const frame_t *f, dnnl_tp_onnx_call_t *handle) {
    dnnl_tp_onnx_arg_t *args = dtp_door_args(d, f);
    if (!args) return dnnl_tp_out_of_memory;
    PyThreadState *const thread = PyEval_SaveThread();
    const dnnl_tp_status_t status = dnnl_tp_onnx_session_get_call(handle, d->session, d->nin, args);
    PyEval_RestoreThread(thread);
    PyMem_Free(args);
    return status;
}

/* Shape and type of an output, and how an array for it is made. 0, or -1 and an exception. */
static int call_output(const door_t *d, call_t *c, int i) {
    const dnnl_tp_status_t status = dnnl_tp_onnx_call_output(c->handle, i, &c->out[i].info);
    if (!status) return dtp_door_result(d, &c->out[i], true);
    (void)dtp_door_failed(d, status);
    return -1;
}

/* A capsule with the call for these inputs, which the door then has under the key. */
static PyObject *call_make(door_t *d, const frame_t *f, PyObject *key) {
    if (dtp_door_check_fixed(d, f)) return NULL;
    call_t *c = PyMem_Calloc(1, sizeof *c + (size_t)d->nout * sizeof *c->out);
    if (!c) return PyErr_NoMemory();
    c->nout = d->nout;
    c->is_long = true;
    const dnnl_tp_status_t status = get_call(d, f, &c->handle);
    bool is_good = !status;
    if (status) (void)dtp_door_failed(d, status);
    for (int i = 0; is_good && i < d->nout; ++i) is_good = !call_output(d, c, i);
    PyObject *capsule = is_good ? PyCapsule_New(c, NULL, capsule_free) : NULL;
    if (!capsule) {
        call_free(c);
        return NULL;
    }
    if (d->is_closed) return capsule;
    while (PyDict_Size(d->calls) >= d->max_calls) {
        PyObject *oldest;
        Py_ssize_t at = 0;
        if (!PyDict_Next(d->calls, &at, &oldest, NULL)) break;
        Py_INCREF(oldest);
        const int gone = PyDict_DelItem(d->calls, oldest);
        Py_DECREF(oldest);
        if (gone) break;
    }
    if (PyErr_Occurred() || PyDict_SetItem(d->calls, key, capsule)) Py_CLEAR(capsule);
    return capsule;
}

static PyObject *call_find(door_t *d, const frame_t *f) {
    PyObject *key = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)key_write(d, f, NULL));
    if (!key) return NULL;
    (void)key_write(d, f, PyBytes_AsString(key));
    PyObject *capsule = PyDict_GetItemWithError(d->calls, key);
    if (capsule) Py_INCREF(capsule);
    else if (!PyErr_Occurred()) capsule = call_make(d, f, key);
    Py_DECREF(key);
    return capsule;
}

int64_t dtp_door_now_ns(void) {
    enum { NS = 1000000000 };
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static dnnl_tp_status_t run_call(call_t *c, const frame_t *f, const request_t *r) {
    dnnl_tp_run_opts_t opts = {
        .struct_size = sizeof opts, .deadline_ns = r->deadline_ns, .cancel = r->cancel};
    PyThreadState *const thread = PyEval_SaveThread();
    const int64_t begin = dtp_door_now_ns();
    const dnnl_tp_status_t status = dnnl_tp_onnx_call_run(c->handle, f->from, f->to, &opts);
    const int64_t ns = dtp_door_now_ns() - begin;
    PyEval_RestoreThread(thread);
    c->is_long = ns > DTP_DOOR_LONG_NS;
    return status;
}

PyObject *dtp_door_run_call(door_t *d, frame_t *f, const request_t *r) {
    PyObject *capsule = call_find(d, f);
    if (!capsule) return NULL;
    call_t *c = PyCapsule_GetPointer(capsule, NULL);
    PyObject *result = NULL;
    if (r->only_prepare || (c->is_long && dtp_door_must_wait(d, r))) {
        Py_INCREF(Py_None);
        result = Py_None;
    } else {
        int bad = 0;
        for (int i = 0; !bad && i < d->nout; ++i)
            bad = dtp_door_open_result(d, &c->out[i], i, r->given ? PyTuple_GetItem(r->given, i) : NULL, f);
        const dnnl_tp_status_t status = bad ? dnnl_tp_success : run_call(c, f, r);
        if (status) (void)dtp_door_failed(d, status);
        else if (!bad) result = dtp_door_answer(d, f, r);
    }
    Py_DECREF(capsule);
    return result;
}
