/* Arrays of numpy: those of a run's inputs, those that get its results. */
#include "door.h"

#include <string.h>

enum {
    CONTIGUOUS = 0x1,
    ALIGNED = 0x100,
    NATIVE = 0x200,
    WRITEABLE = 0x400,
    PLAIN = CONTIGUOUS | ALIGNED | NATIVE
};

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

PyObject *dtp_door_failed(const door_t *d, dnnl_tp_status_t status) {
    PyObject *never = PyObject_CallFunction(d->fail, "i", (int)status);
    if (never) PyErr_SetString(PyExc_SystemError, "a failure without an exception");
    Py_XDECREF(never);
    return NULL;
}

PyObject *dtp_door_failed_as(const door_t *d, dnnl_tp_status_t status, PyObject *text) {
    Py_XDECREF(text ? PyObject_CallFunction(d->fail, "iO", (int)status, text) : NULL);
    Py_XDECREF(text);
    return NULL;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

int dtp_door_take(const door_t *d, PyObject *feeds, frame_t *f) {
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

dnnl_tp_onnx_arg_t *dtp_door_args(const door_t *d, const frame_t *f) {
    const size_t room = (size_t)d->nin + 1;
    dnnl_tp_onnx_arg_t *args = PyMem_Malloc(room * (sizeof *args + sizeof(dnnl_tp_tensor_info_t)));
    dnnl_tp_tensor_info_t *infos = args ? (dnnl_tp_tensor_info_t *)(void *)(args + room) : NULL;
    for (int i = 0; args && i < d->nin; ++i) {
        const interface_t *a = f->in[i].a;
        args[i] = (dnnl_tp_onnx_arg_t){a ? &infos[i] : NULL, a ? a->data : NULL};
        if (!a) continue;
        infos[i] = (dnnl_tp_tensor_info_t){.ndims = a->nd, .data_type = d->in[i].type};
        for (int k = 0; k < a->nd; ++k) infos[i].dims[k] = a->shape[k];
    }
    return args;
}

int dtp_door_check_fixed(const door_t *d, const frame_t *f) {
    for (int i = 0; i < d->nin; ++i) {
        const interface_t *a = f->in[i].a;
        PyObject *axis, *size;
        Py_ssize_t at = 0;
        while (a && PyDict_Next(d->in[i].fixed, &at, &axis, &size)) {
            const long k = PyLong_AsLong(axis);
            const long long wanted = PyLong_AsLongLong(size);
            if (PyErr_Occurred()) return -1;
            if (k >= 0 && k < a->nd && a->shape[k] == wanted) continue;
            (void)dtp_door_failed_as(
                d, dnnl_tp_invalid_arguments,
                PyUnicode_FromFormat("input '%U': the size of axis %ld is not %lld, to which dims fixed it",
                                     d->in[i].name, k, wanted));
            return -1;
        }
    }
    return 0;
}

/* ---- Results --------------------------------------------------------------------------------- */

int dtp_door_result(const door_t *d, result_t *r, bool may_be_given) {
    const dnnl_tp_tensor_info_t *info = &r->info;
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
    r->empty = shape ? PyTuple_Pack(2, shape, dtype) : NULL;
    Py_XDECREF(shape);
    if (!r->empty || !may_be_given) return r->empty ? 0 : -1;
    view_t v = {0};
    PyObject *sample = PyObject_CallFunction(d->empty, "iO", 0, dtype);
    const int is = sample ? view_open(d, sample, &v) : -1;
    if (is > 0) r->elements = (elements_t){v.a->kind, v.a->itemsize};
    Py_XDECREF(v.capsule);
    Py_XDECREF(sample);
    return is > 0 ? 0 : -1;
}

static bool fits(const result_t *r, const interface_t *a) {
    bool is = has(a, r->elements, PLAIN | WRITEABLE) && a->nd == r->info.ndims;
    for (int k = 0; is && k < r->info.ndims; ++k) is = a->shape[k] == r->info.dims[k];
    return is;
}

int dtp_door_open_result(const door_t *d, const result_t *r, int i, PyObject *given, frame_t *f) {
    view_t *v = &f->out[i];
    const bool is_given = given && given != Py_None;
    if (is_given) Py_INCREF(given);
    f->results[i] = is_given ? given : PyObject_Call(d->empty, r->empty, NULL);
    int is = f->results[i] ? view_open(d, f->results[i], v) : -1;
    if (is > 0 && is_given) is = fits(r, v->a);
    if (is > 0) f->to[i] = v->a->data;
    if (!is)
        (void)dtp_door_failed_as(
            d, dnnl_tp_invalid_arguments,
            PyUnicode_FromFormat(
                "what is given for output '%U' must be a writeable, aligned, contiguous array of %S %S",
                d->out[i].name, PyTuple_GetItem(r->empty, 1), PyTuple_GetItem(r->empty, 0)));
    return is > 0 ? 0 : -1;
}

PyObject *dtp_door_answer(const door_t *d, frame_t *f, const request_t *r) {
    for (int i = 0; i < d->nout; ++i) {
        PyObject *given = r->given ? PyTuple_GetItem(r->given, i) : Py_None;
        if (!d->out[i].dtype || given != Py_None || !f->results[i]) continue;
        PyObject *converted = PyObject_CallMethodObjArgs(f->results[i], d->astype, d->out[i].dtype, NULL);
        if (!converted) return NULL;
        Py_DECREF(f->results[i]);
        f->results[i] = converted;
    }
    if (!r->order) {
        PyObject *all = PyDict_New();
        for (int i = 0; all && i < d->nout; ++i)
            if (f->results[i] && PyDict_SetItem(all, d->out[i].name, f->results[i])) Py_CLEAR(all);
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
            PyObject *x = f->results[at] ? f->results[at] : Py_None;
            Py_INCREF(x);
            (void)PyList_SetItem(list, i, x);
        }
    }
    return list;
}
