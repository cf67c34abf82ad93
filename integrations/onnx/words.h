/* Texts. Graphs carry none: a tensor of texts is one of s64, the numbers of words. Words are the texts
 * that attributes of encoders have, numbered from 0 in the order of the file; any other text of an
 * input is -1. So encoders compare numbers, and a result that an encoder makes has words. */
#ifndef DTP_ONNX_WORDS_H
#define DTP_ONNX_WORDS_H

#include "onnx/context.h"

enum { DTP_NO_WORD = -1 };

/* Collects the words of a model. */
dnnl_tp_status_t dtp_words_find(dnnl_tp_onnx_model_t m);
/* The number of a text; DTP_NO_WORD: no encoder has it. */
int64_t dtp_words_number(const_dnnl_tp_onnx_model_t m, const void *text, size_t bytes);
/* Does an attribute have texts that are words? */
bool dtp_words_has(const node_proto_t *n, const attr_proto_t *a);

/* val_t::stored of tensors of words: all are words, or some may be unknown texts of inputs. */
extern const char dtp_words_made[], dtp_words_read[];
static inline bool dtp_words_is(const val_t *x) {
    return x && (x->stored == dtp_words_made || x->stored == dtp_words_read);
}
/* Before a node is converted: refuses inputs of texts that its operator neither reads nor passes on.
 * Those that it passes on become plain numbers, and the result is what they were. */
const char *dtp_words_take(cv_t *cv);
/* After that: the results are words again. */
void dtp_words_give(cv_t *cv, const char *words);

#endif
