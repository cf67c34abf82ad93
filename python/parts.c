/* Runs that make their sizes on the way: of models in parts, and of states. The library asks for the
 * room of each output when it knows its size. */
#include "door.h"

typedef struct {
    const door_t *door;
    frame_t *frame;
    const request_t *request;
    /* Holds the interpreter's lock again while arrays are made. */
    PyThreadState *thread;
} run_t;

/* NULL: an exception is set. */
static void *room_for(void *ctx, int i, const dnnl_tp_tensor_info_t *info) {
    run_t *run = ctx;
    PyEval_RestoreThread(run->thread);
    PyObject *given = run->request->given ? PyTuple_GetItem(run->request->given, i) : Py_None;
    result_t result = {.info = *info};
    Py_CLEAR(run->frame->results[i]); /* of an attempt before */
    Py_CLEAR(run->frame->out[i].capsule);
    int bad = dtp_door_result(run->door, &result, given != Py_None);
    if (!bad) bad = dtp_door_open_result(run->door, &result, i, given, run->frame);
    Py_XDECREF(result.empty);
    run->thread = PyEval_SaveThread();
    return bad ? NULL : run->frame->to[i];
}

PyObject *dtp_door_run_parts(door_t *d, frame_t *f, const request_t *r) {
    if (dtp_door_check_fixed(d, f)) return NULL;
    if (d->parts_are_long && dtp_door_must_wait(d, r)) Py_RETURN_NONE;
    dnnl_tp_onnx_arg_t *args = dtp_door_args(d, f);
    if (!args) return PyErr_NoMemory();
    const dnnl_tp_run_opts_t opts = {
        .struct_size = sizeof opts, .deadline_ns = r->deadline_ns, .cancel = r->cancel};
    run_t run = {.door = d, .frame = f, .request = r, .thread = PyEval_SaveThread()};
    const int64_t begin = dtp_door_now_ns();
    const dnnl_tp_status_t status =
        r->state ? dnnl_tp_onnx_state_run(r->state, d->nin, args, room_for, &run, &opts)
                 : dnnl_tp_onnx_session_run(d->session, d->nin, args, room_for, &run, &opts);
    const int64_t ns = dtp_door_now_ns() - begin;
    PyEval_RestoreThread(run.thread);
    d->parts_are_long = ns > DTP_DOOR_LONG_NS;
    PyMem_Free(args);
    if (PyErr_Occurred()) return NULL; /* of an array */
    if (status) return dtp_door_failed(d, status);
    d->in_parts |= !r->state;
    return dtp_door_answer(d, f, r);
}
