/* The module, see door.h: the type. */
#include "door.h"

#include <string.h>

/* ---- Runs ------------------------------------------------------------------------------------ */

/* None: Python has to look at the inputs, or to let another thread run, because it may take long. */
static PyObject *run_in(door_t *d, PyObject *feeds, const request_t *r, frame_t *f) {
    const int is = dtp_door_take(d, feeds, f);
    if (is < 0) return NULL;
    if (!is) Py_RETURN_NONE;
    return d->in_parts || r->in_parts || r->state ? dtp_door_run_parts(d, f, r) : dtp_door_run_call(d, f, r);
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
    unsigned long long cancel = 0, state = 0;
    int anywhere = 0, in_parts = 0;
    if (!PyArg_ParseTuple(args, "O|OOLKppK", &feeds, &order, &given, &deadline, &cancel, &anywhere, &in_parts,
                          &state))
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
                         .state = (dnnl_tp_onnx_state_t)(uintptr_t)state,
                         .anywhere = anywhere != 0,
                         .in_parts = in_parts != 0};
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
    d->parts_are_long = true;
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
    {"fetch", door_fetch, METH_VARARGS,
     "fetch(feeds, order, given, deadline_ns, cancel, anywhere, in_parts, state)"},
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
