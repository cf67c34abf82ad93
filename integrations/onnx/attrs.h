/* Reads the attributes of the node. dtp_cv_all_read() refuses attributes that no converter has
 * read. */
#ifndef DTP_ONNX_ATTRS_H
#define DTP_ONNX_ATTRS_H

#include "onnx/context.h"

bool dtp_cv_has(cv_t *cv, const char *name);
int64_t dtp_cv_int(cv_t *cv, const char *name, int64_t value);
float dtp_cv_float(cv_t *cv, const char *name, float value);
/* *n: number of elements; -1 = the attribute is absent. */
const int64_t *dtp_cv_attr_ints(cv_t *cv, const char *name, int64_t *n);
const float *dtp_cv_attr_floats(cv_t *cv, const char *name, int64_t *n);
/* The graph type of the ONNX type whose number an attribute holds, by default `standard`; undef on
 * failure. */
dnnl_tp_data_type_t dtp_cv_type(cv_t *cv, const char *name, int standard);
/* Whether the text of the attribute, by default `value`, is equal to `word`. */
bool dtp_cv_word(cv_t *cv, const char *name, const char *value, const char *word);
/* The text of an attribute; NULL: it is absent. */
const char *dtp_cv_attr_text(cv_t *cv, const char *name);
/* The texts of a list, which are not terminated; *n: their number; -1 = the attribute is absent. */
const ProtobufCBinaryData *dtp_cv_attr_texts(cv_t *cv, const char *name, int64_t *n);
/* Text i of a list; NULL: the list is shorter. */
const char *dtp_cv_text(cv_t *cv, const char *name, int i);
/* The tensor of an attribute; NULL: it is absent. */
val_t *dtp_cv_tensor(cv_t *cv, const char *name);
/* The graph of a required attribute; NULL on failure. */
graph_proto_t *dtp_cv_graph(cv_t *cv, const char *name);
void dtp_cv_all_read(cv_t *cv);

/* Text of an attribute; NULL: it is absent. */
const ProtobufCBinaryData *dtp_cv_attr_bytes(cv_t *cv, const char *name);
/* Texts of a tensor; NULL: it is absent, or has no texts; then *n is -1. */
const ProtobufCBinaryData *dtp_cv_tensor_texts(cv_t *cv, const char *name, int64_t *n);

#endif
