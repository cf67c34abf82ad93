/* The way of a run from Python into the library: arrays of a dict become pointers, their shapes
 * choose a call, and results become arrays. Python code (dnnl_tp/_session.py) converts what is no
 * plain array before it comes here.
 *
 * The module uses Python's stable ABI, and reads numpy's arrays through `__array_struct__`, whose
 * struct numpy documents: one binary serves every CPython from 3.9 on with every numpy.
 * doc/decisions/0015-python-extension.md tells why. */
#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "onnx/dnnl_tp_onnx_session.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

/* What the capsule `__array_struct__` holds. */
typedef struct {
    int two, nd;
    char kind;
    int itemsize, flags;
    Py_ssize_t *shape, *strides;
    void *data;
    PyObject *descr;
} interface_t;

enum {
    CONTIGUOUS = 0x1,
    ALIGNED = 0x100,
    NATIVE = 0x200,
    WRITEABLE = 0x400,
    PLAIN = CONTIGUOUS | ALIGNED | NATIVE
};

/* Elements of a type, as numpy names them. */
typedef struct {
    char kind;
    int itemsize;
} elements_t;

typedef struct {
    PyObject *name;
    /* Dict of the sizes that the program fixed, by axis. */
    PyObject *fixed;
    elements_t elements;
    dnnl_tp_data_type_t type;
    /* Its elements are a part of the key: a call serves these values only. */
    bool by_value;
} input_t;

typedef struct {
    PyObject *name;
    /* Type that results are converted to; NULL: they stay as the library carries them. */
    PyObject *dtype;
} output_t;

/* The model, compiled for certain inputs; owned by a capsule. */
typedef struct {
    dnnl_tp_onnx_call_t handle;
    /* The last run took long, or there was none yet. */
    bool is_long;
    int nout;
    struct {
        dnnl_tp_tensor_info_t info;
        elements_t elements;
        /* Arguments of numpy.empty. */
        PyObject *empty;
    } out[];
} call_t;

typedef struct {
    PyObject_HEAD
        /* NULL: closed. */
        dnnl_tp_onnx_session_t session;
    /* Runs in progress; the last one of a closed door ends the session. */
    int active;
    bool is_closed;
    int nin, nout;
    input_t *in;
    output_t *out;
    /* numpy.ndarray and numpy.empty; numpy's types by number; what raises the error of a status. */
    PyObject *ndarray, *empty, *dtypes, *fail;
    PyObject *array_struct, *astype; /* names */
    PyObject *calls;                 /* keys, which are bytes, and capsules; oldest first */
    Py_ssize_t max_calls;
    unsigned long main_thread;
} door_t;

/* An array whose memory is in use. */
typedef struct {
    PyObject *capsule;
    const interface_t *a;
} view_t;

/* What one run needs. */
typedef struct {
    view_t *in, *out;
    const void **from;
    void **to;
    PyObject **results;
} frame_t;

/* What a caller may ask for beside the plain run. */
typedef struct {
    /* Tuple of numbers of outputs, which become a list; NULL: a dict of all. */
    PyObject *order;
    /* Tuple of arrays, or None where one shall be made, by output; NULL: all are made. */
    PyObject *given;
    int64_t deadline_ns;
    dnnl_tp_cancel_t cancel;
    /* It may take long in the main thread, too. */
    bool anywhere;
    /* The call is made, but not run. */
    bool only_prepare;
} request_t;

/* ---- Arrays ---------------------------------------------------------------------------------- */

/* 1: an array of numpy; 0: something else; -1: an exception. */
static int view_open(const door_t *d, PyObject *array, view_t *v) {
    if ((PyObject *)Py_TYPE(array) != d->ndarray) return 0;
    v->capsule = PyObject_GetAttr(array, d->array_struct);
    v->a = v->capsule ? PyCapsule_GetPointer(v->capsule, NULL) : NULL;
    return v->a ? 1 : -1;
}

static bool has(const interface_t *a, elements_t e, int flags) {
    return a->kind == e.kind && a->itemsize == e.itemsize && (a->flags & flags) == flags &&
           a->nd <= DNNL_TP_MAX_NDIMS;
}

static size_t bytes_of(const interface_t *a) {
    size_t bytes = (size_t)a->itemsize;
    for (int i = 0; i < a->nd; ++i) bytes *= (size_t)a->shape[i];
    return bytes;
}

/* Takes the arrays of a dict that has nothing else. 1: done; 0: Python has to look at it; -1: an
 * exception. */
static int views_of(const door_t *d, PyObject *feeds, frame_t *f) {
    if (!PyDict_CheckExact(feeds)) return 0;
    Py_ssize_t n = 0;
    for (int i = 0; i < d->nin; ++i) {
        PyObject *array = PyDict_GetItemWithError(feeds, d->in[i].name);
        if (!array && PyErr_Occurred()) return -1;
        if (!array || array == Py_None) continue;
        const int is = view_open(d, array, &f->in[i]);
        if (is <= 0) return is;
        if (!has(f->in[i].a, d->in[i].elements, PLAIN)) return 0;
        f->from[i] = f->in[i].a->data;
        ++n;
    }
    return PyDict_Size(feeds) == n;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

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

static PyObject *failed(const door_t *d, dnnl_tp_status_t status) {
    PyObject *never = PyObject_CallFunction(d->fail, "i", (int)status);
    if (never) PyErr_SetString(PyExc_SystemError, "a failure without an exception");
    Py_XDECREF(never);
    return NULL;
}

static void call_free(call_t *c) {
    for (int i = 0; i < c->nout; ++i) Py_XDECREF(c->out[i].empty);
    (void)dnnl_tp_onnx_call_destroy(c->handle);
    PyMem_Free(c);
}

static void capsule_free(PyObject *capsule) { call_free(PyCapsule_GetPointer(capsule, NULL)); }

static dnnl_tp_status_t get_call(const door_t *d, const frame_t *f, dnnl_tp_onnx_call_t *handle) {
    const size_t room = (size_t)(d->nin + 1);
    dnnl_tp_onnx_arg_t *args = PyMem_Calloc(room, sizeof *args);
    dnnl_tp_tensor_info_t *infos = PyMem_Calloc(room, sizeof *infos);
    dnnl_tp_status_t status = dnnl_tp_out_of_memory;
    for (int i = 0; args && infos && i < d->nin; ++i) {
        const interface_t *a = f->in[i].a;
        if (!a) continue;
        infos[i].ndims = a->nd;
        for (int k = 0; k < a->nd; ++k) infos[i].dims[k] = a->shape[k];
        infos[i].data_type = d->in[i].type;
        args[i] = (dnnl_tp_onnx_arg_t){&infos[i], a->data};
    }
    if (args && infos) {
        PyThreadState *const thread = PyEval_SaveThread();
        status = dnnl_tp_onnx_session_get_call(handle, d->session, d->nin, args);
        PyEval_RestoreThread(thread);
    }
    PyMem_Free(infos);
    PyMem_Free(args);
    return status;
}

/* Shape and type of an output, and how an array for it is made. 0, or -1 and an exception. */
static int call_output(const door_t *d, call_t *c, int i) {
    dnnl_tp_tensor_info_t *info = &c->out[i].info;
    const dnnl_tp_status_t status = dnnl_tp_onnx_call_output(c->handle, i, info);
    if (status) {
        (void)failed(d, status);
        return -1;
    }
    PyObject *number = PyLong_FromLong((long)info->data_type);
    PyObject *dtype = number ? PyDict_GetItemWithError(d->dtypes, number) : NULL;
    Py_XDECREF(number);
    if (!dtype) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_SystemError, "no array has the type %d", (int)info->data_type);
        return -1;
    }
    PyObject *shape = PyTuple_New(info->ndims);
    for (int k = 0; shape && k < info->ndims; ++k) {
        PyObject *size = PyLong_FromLongLong(info->dims[k]);
        if (!size || PyTuple_SetItem(shape, k, size)) Py_CLEAR(shape);
    }
    c->out[i].empty = shape ? PyTuple_Pack(2, shape, dtype) : NULL;
    Py_XDECREF(shape);
    if (!c->out[i].empty) return -1;
    view_t v = {0};
    PyObject *sample = PyObject_CallFunction(d->empty, "iO", 0, dtype);
    const int is = sample ? view_open(d, sample, &v) : -1;
    if (is > 0) c->out[i].elements = (elements_t){v.a->kind, v.a->itemsize};
    Py_XDECREF(v.capsule);
    Py_XDECREF(sample);
    return is > 0 ? 0 : -1;
}

/* Whether the inputs have the sizes that the program fixed. 0, or -1 and an exception. */
static int check_fixed(const door_t *d, const frame_t *f) {
    for (int i = 0; i < d->nin; ++i) {
        const interface_t *a = f->in[i].a;
        PyObject *axis, *size;
        Py_ssize_t at = 0;
        while (a && PyDict_Next(d->in[i].fixed, &at, &axis, &size)) {
            const long k = PyLong_AsLong(axis);
            const long long wanted = PyLong_AsLongLong(size);
            if (PyErr_Occurred()) return -1;
            if (k >= 0 && k < a->nd && a->shape[k] == wanted) continue;
            PyObject *text =
                PyUnicode_FromFormat("input '%U': the size of axis %ld is not %lld, to which dims fixed it",
                                     d->in[i].name, k, wanted);
            Py_XDECREF(text ? PyObject_CallFunction(d->fail, "iO", (int)dnnl_tp_invalid_arguments, text)
                            : NULL);
            Py_XDECREF(text);
            return -1;
        }
    }
    return 0;
}

/* A capsule with the call for these inputs, which the door then has under the key. */
static PyObject *call_make(door_t *d, const frame_t *f, PyObject *key) {
    if (check_fixed(d, f)) return NULL;
    call_t *c = PyMem_Calloc(1, sizeof *c + (size_t)d->nout * sizeof *c->out);
    if (!c) return PyErr_NoMemory();
    c->nout = d->nout;
    c->is_long = true;
    const dnnl_tp_status_t status = get_call(d, f, &c->handle);
    bool is_good = !status;
    if (status) (void)failed(d, status);
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

/* ---- Runs ------------------------------------------------------------------------------------ */

/* The array that an output is written to. 0, or -1 and an exception. */
static int result_open(const door_t *d, const call_t *c, int i, PyObject *given, frame_t *f) {
    view_t *v = &f->out[i];
    const bool is_given = given && given != Py_None;
    if (is_given) Py_INCREF(given);
    f->results[i] = is_given ? given : PyObject_Call(d->empty, c->out[i].empty, NULL);
    const int is = f->results[i] ? view_open(d, f->results[i], v) : -1;
    if (is < 0) return -1;
    const dnnl_tp_tensor_info_t *info = &c->out[i].info;
    bool fits = is && has(v->a, c->out[i].elements, PLAIN | WRITEABLE) && v->a->nd == info->ndims;
    for (int k = 0; fits && k < info->ndims; ++k) fits = v->a->shape[k] == info->dims[k];
    if (!fits) {
        PyObject *args = c->out[i].empty;
        PyErr_Format(PyExc_ValueError,
                     "what is given for output '%U' must be a writeable, aligned, contiguous array of %S %S",
                     d->out[i].name, PyTuple_GetItem(args, 1), PyTuple_GetItem(args, 0));
        return -1;
    }
    f->to[i] = v->a->data;
    return 0;
}

static int64_t now_ns(void) {
    enum { NS = 1000000000 };
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS + t.tv_nsec;
}

static dnnl_tp_status_t call_run(call_t *c, const frame_t *f, const request_t *r) {
    enum { LONG_NS = 50000000 };
    dnnl_tp_run_opts_t opts = {
        .struct_size = sizeof opts, .deadline_ns = r->deadline_ns, .cancel = r->cancel};
    PyThreadState *const thread = PyEval_SaveThread();
    const int64_t begin = now_ns();
    const dnnl_tp_status_t status = dnnl_tp_onnx_call_run(c->handle, f->from, f->to, &opts);
    const int64_t ns = now_ns() - begin;
    PyEval_RestoreThread(thread);
    c->is_long = ns > LONG_NS;
    return status;
}

/* The results as the caller wants them. */
static PyObject *answer(const door_t *d, frame_t *f, const request_t *r) {
    for (int i = 0; i < d->nout; ++i) {
        PyObject *given = r->given ? PyTuple_GetItem(r->given, i) : Py_None;
        if (!d->out[i].dtype || given != Py_None) continue;
        PyObject *converted = PyObject_CallMethodObjArgs(f->results[i], d->astype, d->out[i].dtype, NULL);
        if (!converted) return NULL;
        Py_DECREF(f->results[i]);
        f->results[i] = converted;
    }
    if (!r->order) {
        PyObject *all = PyDict_New();
        for (int i = 0; all && i < d->nout; ++i)
            if (PyDict_SetItem(all, d->out[i].name, f->results[i])) Py_CLEAR(all);
        return all;
    }
    const Py_ssize_t n = PyTuple_Size(r->order);
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list && i < n; ++i) {
        const long at = PyLong_AsLong(PyTuple_GetItem(r->order, i));
        if (at < 0 || at >= d->nout) {
            if (!PyErr_Occurred()) PyErr_Format(PyExc_IndexError, "output %ld of %d", at, d->nout);
            Py_CLEAR(list);
        } else {
            Py_INCREF(f->results[at]);
            (void)PyList_SetItem(list, i, f->results[at]);
        }
    }
    return list;
}

/* None: Python has to look at the inputs, or to let another thread run, because it may take long. */
static PyObject *run_in(door_t *d, PyObject *feeds, const request_t *r, frame_t *f) {
    const int is = views_of(d, feeds, f);
    if (is < 0) return NULL;
    if (!is) Py_RETURN_NONE;
    PyObject *capsule = call_find(d, f);
    if (!capsule) return NULL;
    call_t *c = PyCapsule_GetPointer(capsule, NULL);
    PyObject *result = NULL;
    if (r->only_prepare || (c->is_long && !r->anywhere && PyThread_get_thread_ident() == d->main_thread)) {
        Py_INCREF(Py_None);
        result = Py_None;
    } else {
        int bad = 0;
        for (int i = 0; !bad && i < d->nout; ++i)
            bad = result_open(d, c, i, r->given ? PyTuple_GetItem(r->given, i) : NULL, f);
        const dnnl_tp_status_t status = bad ? dnnl_tp_success : call_run(c, f, r);
        if (status) (void)failed(d, status);
        else if (!bad) result = answer(d, f, r);
    }
    Py_DECREF(capsule);
    return result;
}

static void end_session(door_t *d) {
    PyDict_Clear(d->calls);
    dnnl_tp_onnx_session_t session = d->session;
    d->session = NULL;
    (void)dnnl_tp_onnx_session_destroy(session);
}

static PyObject *run(door_t *d, PyObject *feeds, const request_t *r) {
    enum { ROOM = 64 }; /* of pointers, for models with few inputs and outputs */
    if (d->is_closed) {
        PyErr_SetString(PyExc_ValueError, "the session is closed");
        return NULL;
    }
    const size_t nin = (size_t)d->nin, nout = (size_t)d->nout;
    const size_t views = (nin + nout) * (sizeof(view_t) / sizeof(void *)), pointers = views + nin + 2 * nout;
    void *small[ROOM], **at = pointers <= ROOM ? small : PyMem_Malloc(pointers * sizeof *at);
    if (!at) return PyErr_NoMemory();
    memset(at, 0, pointers * sizeof *at);
    frame_t f = {.in = (view_t *)(void *)at, .from = (const void **)at + views};
    f.out = f.in + nin;
    f.to = at + views + nin;
    f.results = (PyObject **)(void *)(f.to + nout);
    ++d->active;
    PyObject *result = run_in(d, feeds, r, &f);
    for (size_t i = 0; i < nin + nout; ++i) Py_XDECREF(f.in[i].capsule);
    for (size_t i = 0; i < nout; ++i) Py_XDECREF(f.results[i]);
    if (at != small) PyMem_Free(at);
    if (!--d->active && d->is_closed) end_session(d);
    return result;
}

/* ---- The type -------------------------------------------------------------------------------- */

static PyObject *door_run(PyObject *self, PyObject *feeds) {
    const request_t plain = {0};
    return run((door_t *)self, feeds, &plain);
}

static PyObject *door_prepare(PyObject *self, PyObject *feeds) {
    const request_t r = {.only_prepare = true};
    return run((door_t *)self, feeds, &r);
}

static PyObject *door_fetch(PyObject *self, PyObject *args) {
    door_t *d = (door_t *)self;
    PyObject *feeds, *order = Py_None, *given = Py_None;
    long long deadline = 0;
    unsigned long long cancel = 0;
    int anywhere = 0;
    if (!PyArg_ParseTuple(args, "O|OOLKp", &feeds, &order, &given, &deadline, &cancel, &anywhere))
        return NULL;
    if ((order != Py_None && !PyTuple_Check(order)) || (given != Py_None && !PyTuple_Check(given)) ||
        (given != Py_None && PyTuple_Size(given) != d->nout)) {
        PyErr_SetString(PyExc_TypeError, "order and given are tuples; given has one item for each output");
        return NULL;
    }
    const request_t r = {.order = order == Py_None ? NULL : order,
                         .given = given == Py_None ? NULL : given,
                         .deadline_ns = deadline,
                         .cancel = (dnnl_tp_cancel_t)(uintptr_t)cancel,
                         .anywhere = anywhere != 0};
    return run(d, feeds, &r);
}

static PyObject *door_close(PyObject *self, PyObject *none) {
    (void)none;
    door_t *d = (door_t *)self;
    d->is_closed = true;
    if (!d->active && d->session) end_session(d);
    Py_RETURN_NONE;
}

/* An input or output from its tuple. 0, or -1 and an exception. */
static int read_ports(door_t *d, PyObject *inputs, PyObject *outputs) {
    for (int i = 0; i < d->nin; ++i) {
        int kind, itemsize, type, by_value;
        PyObject *name, *fixed;
        if (!PyArg_ParseTuple(PyTuple_GetItem(inputs, i), "UCiipO", &name, &kind, &itemsize, &type, &by_value,
                              &fixed))
            return -1;
        Py_INCREF(name);
        Py_INCREF(fixed);
        d->in[i] = (input_t){name, fixed, {(char)kind, itemsize}, (dnnl_tp_data_type_t)type, by_value != 0};
    }
    for (int i = 0; i < d->nout; ++i) {
        output_t *x = &d->out[i];
        PyObject *name, *dtype;
        if (!PyArg_ParseTuple(PyTuple_GetItem(outputs, i), "UO", &name, &dtype)) return -1;
        Py_INCREF(name);
        x->name = name;
        if (dtype == Py_None) continue;
        Py_INCREF(dtype);
        x->dtype = dtype;
    }
    return 0;
}

static void door_dealloc(PyObject *self) {
    door_t *d = (door_t *)self;
    if (d->session) end_session(d);
    for (int i = 0; d->in && i < d->nin; ++i) {
        Py_XDECREF(d->in[i].name);
        Py_XDECREF(d->in[i].fixed);
    }
    for (int i = 0; d->out && i < d->nout; ++i) {
        Py_XDECREF(d->out[i].name);
        Py_XDECREF(d->out[i].dtype);
    }
    PyMem_Free(d->in);
    PyMem_Free(d->out);
    PyObject *const owned[] = {d->ndarray,      d->empty,  d->dtypes, d->fail,
                               d->array_struct, d->astype, d->calls};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; ++i) Py_XDECREF(owned[i]);
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* Door(session, inputs, outputs, dtypes, numpy, fail, max_calls, main_thread); it owns the session
 * from then on. */
static PyObject *door_new(PyTypeObject *type, PyObject *args, PyObject *kw) {
    unsigned long long session;
    unsigned long main_thread;
    PyObject *inputs, *outputs, *dtypes, *numpy, *fail;
    Py_ssize_t max_calls;
    if (kw && PyDict_Size(kw)) return PyErr_Format(PyExc_TypeError, "a Door takes no names");
    if (!PyArg_ParseTuple(args, "KO!O!O!OOnk", &session, &PyTuple_Type, &inputs, &PyTuple_Type, &outputs,
                          &PyDict_Type, &dtypes, &numpy, &fail, &max_calls, &main_thread))
        return NULL;
    PyObject *self = PyType_GenericAlloc(type, 0);
    if (!self) return NULL;
    door_t *d = (door_t *)self;
    d->nin = (int)PyTuple_Size(inputs);
    d->nout = (int)PyTuple_Size(outputs);
    d->in = PyMem_Calloc((size_t)d->nin + 1, sizeof *d->in);
    d->out = PyMem_Calloc((size_t)d->nout + 1, sizeof *d->out);
    d->ndarray = PyObject_GetAttrString(numpy, "ndarray");
    d->empty = PyObject_GetAttrString(numpy, "empty");
    d->array_struct = PyUnicode_InternFromString("__array_struct__");
    d->astype = PyUnicode_InternFromString("astype");
    d->calls = PyDict_New();
    d->max_calls = max_calls;
    d->main_thread = main_thread;
    Py_INCREF(dtypes);
    d->dtypes = dtypes;
    Py_INCREF(fail);
    d->fail = fail;
    if (!d->in || !d->out) (void)PyErr_NoMemory();
    if (!d->in || !d->out || !d->ndarray || !d->empty || !d->array_struct || !d->astype || !d->calls ||
        read_ports(d, inputs, outputs)) {
        Py_DECREF(self);
        return NULL;
    }
    d->session = (dnnl_tp_onnx_session_t)(uintptr_t)session;
    return self;
}

static PyMethodDef methods[] = {
    {"run", door_run, METH_O, "A dict of the results; None: Python has to look at it."},
    {"prepare", door_prepare, METH_O, "Makes the call for arrays of these shapes."},
    {"fetch", door_fetch, METH_VARARGS, "fetch(feeds, order, given, deadline_ns, cancel, anywhere)"},
    {"close", door_close, METH_NOARGS, "Later runs are refused; the last one of now ends the session."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, (void *)door_new},
                              {Py_tp_dealloc, (void *)door_dealloc},
                              {Py_tp_methods, methods},
                              {0, NULL}};

static PyType_Spec spec = {
    .name = "dnnl_tp._door.Door", .basicsize = sizeof(door_t), .flags = Py_TPFLAGS_DEFAULT, .slots = slots};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "dnnl_tp._door", .m_size = -1};

PyMODINIT_FUNC PyInit__door(void);
PyMODINIT_FUNC PyInit__door(void) {
    PyObject *m = PyModule_Create(&module), *type = m ? PyType_FromSpec(&spec) : NULL;
    if (!type || PyModule_AddObject(m, "Door", type)) {
        Py_XDECREF(type);
        Py_CLEAR(m);
    }
    return m;
}
