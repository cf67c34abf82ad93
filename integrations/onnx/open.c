/* Opening models, and files of single tensors. */
#define _GNU_SOURCE /* realpath */
#include "onnx/check.h"
#include "onnx/model.h"
#include "onnx/ops/table.h"
#include "onnx/scan.h"
#include "onnx/wanted.h"
#include "onnx/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IR_FIRST = 3, IR_LAST = 14, OPSET_LAST = DTP_ONNX_LAST };

static dnnl_tp_status_t check(dnnl_tp_onnx_model_t m, const dnnl_tp_onnx_open_opts_t *opts) {
    const model_proto_t *p = m->proto;
    if (!p->has_ir_version)
        return dtp_onnx_fail(dnnl_tp_invalid_graph, "it has no IR version, so it is no model");
    if (p->ir_version < IR_FIRST || p->ir_version > IR_LAST)
        return dtp_onnx_fail(dnnl_tp_unimplemented, "the file has IR version %lld, %d to %d are known",
                             (long long)p->ir_version, IR_FIRST, IR_LAST);
    if (!p->graph) return dtp_onnx_fail(dnnl_tp_invalid_graph, "the model has no graph");
    const int64_t opset = dtp_onnx_opset(p->n_opset_import, p->opset_import, "");
    if (opset < 0 || opset > OPSET_LAST)
        return dtp_onnx_fail(dnnl_tp_unimplemented,
                             "the file has operators of version %lld, 1 to %d are known", (long long)opset,
                             OPSET_LAST);
    for (size_t i = 0; i < p->n_functions; ++i)
        DTP_ONNX_TRY(dtp_onnx_read_nodes(m, p->functions[i]->n_node, p->functions[i]->node));
    DTP_ONNX_TRY(dtp_onnx_read_graph(m, p->graph));
    DTP_ONNX_TRY(dtp_words_find(m));
    DTP_ONNX_TRY(dtp_onnx_check(m, opts));
    return dtp_onnx_mark_shapes(m);
}

/* Whether the bytes are a model at all. What is none gets a text that says so, before what the scan finds in it. */
static dnnl_tp_status_t scan(const uint8_t *data, size_t size, uint64_t max_bytes) {
    enum { VERSION_TAG = 0x08, TEXT = 256 }; /* with the IR version models of all exporters begin */
    static const char lfs[] = "version https://git-lfs.github.com/spec/";
    if (size >= sizeof lfs && !memcmp(data, lfs, sizeof lfs - 1))
        return dtp_onnx_fail(dnnl_tp_invalid_graph,
                             "the file is a git-lfs pointer, not the model: git lfs pull brings that");
    const dnnl_tp_status_t status = dtp_onnx_scan(data, size, &dtp_onnx__model_proto__descriptor, max_bytes);
    if (status != dnnl_tp_invalid_graph || *data == VERSION_TAG) return status;
    char text[TEXT]; /* "onnx: byte ..." */
    (void)snprintf(text, sizeof text, "%s", dnnl_tp_last_error());
    return dtp_onnx_fail(status, "this is not an ONNX file (%s)", text + strlen("onnx: "));
}

/* is_mapped: data are pages of a file. path: the model's file, whose store may hold external data; NULL: none may. */
static dnnl_tp_status_t make(dnnl_tp_onnx_model_t *out, const char *folder,
                             const dnnl_tp_onnx_open_opts_t *opts, const uint8_t *data, size_t size,
                             bool is_mapped, const char *path) {
    enum {
        MIB64 = 64 << 20,
        FIFTH = 5,
        LISTS = 32
    }; /* short elements of lists take many times their bytes */
    if (!size) return dtp_onnx_fail(dnnl_tp_invalid_graph, "the model is empty");
    const size_t max_bytes = opts->max_bytes
                                 ? opts->max_bytes
                                 : size + size / FIFTH + MIB64 + LISTS * (size < MIB64 ? size : MIB64);
    DTP_ONNX_TRY(scan(data, size, max_bytes));
    dnnl_tp_onnx_model_t m = dtp_onnx_allocator.alloc(NULL, sizeof *m);
    if (!m) return dtp_onnx_fail(dnnl_tp_out_of_memory, "out of memory");
    *m = (struct dnnl_tp_onnx_model){.allocator = dtp_onnx_allocator, .seed = opts->seed};
    atomic_init(&m->refs, 1);
    dtp_import_memory_init(&m->memory);
    dtp_onnx_names_init(&m->tensors, &m->memory, 1);
    dnnl_tp_status_t status = dnnl_tp_success;
    if (folder) {
        char *real = realpath(folder, NULL);
        char *copy = real ? dtp_import_alloc(&m->memory, strlen(real) + 1) : NULL;
        if (!real)
            status = dtp_onnx_fail(dnnl_tp_runtime_error, "the base folder %s: %s", folder, strerror(errno));
        else if (!copy) status = dnnl_tp_out_of_memory;
        else m->base_folder = strcpy(copy, real);
        free(real);
    }
    char *file = path && !status ? realpath(path, NULL) : NULL;
    if (file) {
        char *copy = dtp_import_alloc(&m->memory, strlen(file) + 1);
        if (copy) {
            m->store = strcpy(copy, file);
            *strrchr(copy, '/') = 0;
        } else status = dnnl_tp_out_of_memory;
        free(file);
    }
    if (!status) {
        m->proto = dtp_onnx__model_proto__unpack(&m->allocator, size, data);
        /* What the scan let pass is a message; only memory can be missing. */
        if (!m->proto) status = dtp_onnx_fail(dnnl_tp_out_of_memory, "out of memory for the message");
    }
    /* The message is a copy: the pages go before its weights are converted. */
    if (is_mapped) (void)madvise((void *)(uintptr_t)data, size, MADV_DONTNEED);
    if (!status) status = check(m, opts);
    if (status) dtp_onnx_model_unref(m);
    else *out = m;
    return status;
}

static dnnl_tp_status_t open_opts(const dnnl_tp_onnx_open_opts_t *opts, dnnl_tp_onnx_open_opts_t *out) {
    *out = (dnnl_tp_onnx_open_opts_t){0};
    if (!opts) return dnnl_tp_success;
    const size_t oldest = offsetof(dnnl_tp_onnx_open_opts_t, report),
                 older = offsetof(dnnl_tp_onnx_open_opts_t, seed);
    if (opts->struct_size != sizeof *opts && opts->struct_size != older && opts->struct_size != oldest)
        return dtp_onnx_fail(dnnl_tp_invalid_arguments, "struct_size is %zu, needed are %zu, %zu or %zu",
                             opts->struct_size, sizeof *opts, older, oldest);
    memcpy(out, opts, opts->struct_size);
    return dnnl_tp_success;
}

dnnl_tp_status_t dnnl_tp_onnx_open_memory(dnnl_tp_onnx_model_t *model, const void *data, size_t size,
                                          const dnnl_tp_onnx_open_opts_t *opts) {
    dnnl_tp_onnx_open_opts_t o;
    if (!model) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "model is NULL");
    *model = NULL;
    if (!data && size) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "data is NULL");
    DTP_ONNX_TRY(open_opts(opts, &o));
    return make(model, o.base_folder, &o, data, size, false, NULL);
}

dnnl_tp_status_t dnnl_tp_onnx_open(dnnl_tp_onnx_model_t *model, const char *path,
                                   const dnnl_tp_onnx_open_opts_t *opts) {
    dnnl_tp_onnx_open_opts_t o;
    if (!model) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "model is NULL");
    *model = NULL;
    if (!path) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "path is NULL");
    DTP_ONNX_TRY(open_opts(opts, &o));
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return dtp_onnx_fail(dnnl_tp_runtime_error, "%s: %s", path, strerror(errno));
    const uint8_t *data;
    size_t size;
    dnnl_tp_status_t status = dtp_onnx_map(path, fd, &data, &size);
    (void)close(fd);
    if (status) return status;
    const char *slash = strrchr(path, '/');
    char *folder = NULL;
    if (!o.base_folder) {
        const size_t n = slash ? (size_t)(slash - path) : 0;
        folder = dtp_onnx_allocator.alloc(NULL, n + 2);
        if (!folder) status = dtp_onnx_fail(dnnl_tp_out_of_memory, "out of memory");
        else if (!slash) strcpy(folder, ".");
        else if (n == 0) strcpy(folder, "/");
        else {
            memcpy(folder, path, n);
            folder[n] = 0;
        }
    }
    if (!status)
        status = make(model, o.base_folder ? o.base_folder : folder, &o, data, size, true,
                      o.base_folder ? NULL : path);
    dtp_onnx_allocator.free(NULL, folder);
    if (data) (void)munmap((void *)(uintptr_t)data, size);
    return status;
}

dnnl_tp_status_t dnnl_tp_onnx_read_tensor(dnnl_tp_tensor_info_t *info, char *name, void *buffer, size_t room,
                                          const void *data, size_t size) {
    enum { NAME = 256 };
    if (!info || (!data && size)) return dtp_onnx_fail(dnnl_tp_invalid_arguments, "a NULL argument");
    *info = (dnnl_tp_tensor_info_t){0};
    enum { TIMES = 4, MIB = 1 << 20 };
    DTP_ONNX_TRY(
        dtp_onnx_scan(data, size, &dtp_onnx__tensor_proto__descriptor, (uint64_t)size * TIMES + MIB));
    struct dnnl_tp_onnx_model m = {.allocator = dtp_onnx_allocator};
    dtp_import_memory_init(&m.memory);
    dtp_onnx_names_init(&m.tensors, &m.memory, 1);
    tensor_proto_t *x = dtp_onnx__tensor_proto__unpack(&m.allocator, size, data);
    dnnl_tp_status_t status =
        x ? dtp_onnx_read(&m, x) : dtp_onnx_fail(dnnl_tp_out_of_memory, "out of memory");
    if (!status) {
        const dtp_onnx_tensor_t *t = dtp_onnx_tensor(&m, x);
        if (t->status) {
            status = dtp_onnx_fail(t->status, "tensor '%s' of type %s: %s", x->name ? x->name : "",
                                   dtp_onnx_type_name(t->onnx_type), t->why);
        } else {
            const size_t bytes = (size_t)dtp_onnx_elems(&t->info) * dtp_onnx_type_size(t->info.data_type);
            if (buffer && room < bytes)
                status = dtp_onnx_fail(dnnl_tp_invalid_arguments, "the buffer has %zu bytes, needed are %zu",
                                       room, bytes);
            else if (buffer && bytes) memcpy(buffer, t->data, bytes);
            *info = t->info;
            if (name) {
                strncpy(name, x->name ? x->name : "", NAME - 1);
                name[NAME - 1] = 0;
            }
        }
    }
    if (x) dtp_onnx__tensor_proto__free_unpacked(x, &m.allocator);
    dtp_import_memory_free(&m.memory);
    return status;
}
