/* Attributes of the node; those that nobody reads are refused. */
#ifndef DTP_ONNX_ATTRS_H
#define DTP_ONNX_ATTRS_H

#include "onnx/context.h"

bool dtp_cv_has(cv_t *cv, const char *name);
int64_t dtp_cv_int(cv_t *cv, const char *name, int64_t value);
float dtp_cv_float(cv_t *cv, const char *name, float value);
/* n: -1 = not given */
const int64_t *dtp_cv_attr_ints(cv_t *cv, const char *name, int64_t *n);
const float *dtp_cv_attr_floats(cv_t *cv, const char *name, int64_t *n);
/* The type in which graphs carry the one that an attribute numbers; undef on failure. */
dnnl_tp_data_type_t dtp_cv_type(cv_t *cv, const char *name, int standard);
/* Is the text of the attribute, by default `value`, equal to `word`? */
bool dtp_cv_word(cv_t *cv, const char *name, const char *value, const char *word);
/* A text; NULL: not given. */
const char *dtp_cv_attr_text(cv_t *cv, const char *name);
/* Text i of a list; NULL: there are fewer. */
const char *dtp_cv_text(cv_t *cv, const char *name, int i);
/* NULL: not given. */
val_t *dtp_cv_tensor(cv_t *cv, const char *name);
/* NULL on failure: it has to be given. */
graph_proto_t *dtp_cv_graph(cv_t *cv, const char *name);
void dtp_cv_all_read(cv_t *cv);

#endif
