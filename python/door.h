/* What the files of the module share, through which runs pass from Python into the library: arrays of
 * a dict become pointers (arrays.c), their shapes choose a call (calls.c), and results become arrays;
 * a model in parts, or a state, runs as a whole (parts.c). door.c is the type. Python code
 * (dnnl_tp/_session.py) converts what is no plain array before it comes here.
 *
 * The module uses Python's stable ABI, and reads numpy's arrays through `__array_struct__`, whose
 * struct numpy documents: one binary serves every CPython from 3.9 on with every numpy.
 * doc/decisions/0015-python-extension.md tells why. All functions need the interpreter's lock. */
#ifndef DTP_PYTHON_DOOR_H
#define DTP_PYTHON_DOOR_H

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "onnx/dnnl_tp_onnx_session.h"
#include "onnx/dnnl_tp_onnx_state.h"

#include <stdbool.h>

/* What the capsule `__array_struct__` holds. */
typedef struct {
    int two, nd;
    char kind;
    int itemsize, flags;
    Py_ssize_t *shape, *strides;
    void *data;
    PyObject *descr;
} interface_t;

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

typedef struct {
    PyObject_HEAD
        /* NULL: closed. */
        dnnl_tp_onnx_session_t session;
    /* Runs in progress; the last one of a closed door ends the session. */
    int active;
    bool is_closed;
    /* The model runs in parts. The last run of all parts took long, or there was none yet. */
    bool in_parts, parts_are_long;
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
    PyObject **results; /* NULL: a state got it */
} frame_t;

/* What a caller may ask for beside the plain run. */
typedef struct {
    /* Tuple of numbers of outputs, which become a list; NULL: a dict of all. */
    PyObject *order;
    /* Tuple of arrays, or None where one shall be made, by output; NULL: all are made. */
    PyObject *given;
    int64_t deadline_ns;
    dnnl_tp_cancel_t cancel;
    /* NULL: the run is of the session. */
    dnnl_tp_onnx_state_t state;
    /* It may take long in the main thread, too. */
    bool anywhere;
    /* The model could not be compiled as a whole. */
    bool in_parts;
    /* The call is made, but not run. */
    bool only_prepare;
} request_t;

/* What an array for an output has to be. */
typedef struct {
    dnnl_tp_tensor_info_t info;
    elements_t elements;
    /* Arguments of numpy.empty. */
    PyObject *empty;
} result_t;

/* ---- arrays.c -------------------------------------------------------------------------------- */

/* Takes the arrays of a dict that has nothing else. 1: done; 0: Python has to look at it; -1: an
 * exception. */
int dtp_door_take(const door_t *d, PyObject *feeds, frame_t *f);
/* The inputs for the library, which PyMem_Free() frees; NULL: no memory, without an exception. */
dnnl_tp_onnx_arg_t *dtp_door_args(const door_t *d, const frame_t *f);
/* Whether the inputs have the sizes that the program fixed. 0, or -1 and an exception. */
int dtp_door_check_fixed(const door_t *d, const frame_t *f);
/* r->empty for an output of r->info, and the elements if arrays may be given for it. 0, or -1 and an
 * exception. */
int dtp_door_result(const door_t *d, result_t *r, bool may_be_given);
/* The array that output i is written to. 0, or -1 and an exception. */
int dtp_door_open_result(const door_t *d, const result_t *r, int i, PyObject *given, frame_t *f);
/* The results as the caller wants them. */
PyObject *dtp_door_answer(const door_t *d, frame_t *f, const request_t *r);
/* NULL and the exception of a failure. */
PyObject *dtp_door_failed(const door_t *d, dnnl_tp_status_t status);
PyObject *dtp_door_failed_as(const door_t *d, dnnl_tp_status_t status, PyObject *text);

/* ---- calls.c, parts.c ------------------------------------------------------------------------ */

/* A run; where it may take long in the main thread, None, and nothing has happened. */
PyObject *dtp_door_run_call(door_t *d, frame_t *f, const request_t *r);
PyObject *dtp_door_run_parts(door_t *d, frame_t *f, const request_t *r);

static inline bool dtp_door_must_wait(const door_t *d, const request_t *r) {
    return !r->anywhere && PyThread_get_thread_ident() == d->main_thread;
}
int64_t dtp_door_now_ns(void);
enum { DTP_DOOR_LONG_NS = 50000000 };

#endif
