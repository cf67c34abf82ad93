/* The table of operators: ops.inc. */
#ifndef DTP_ONNX_OPS_TABLE_H
#define DTP_ONNX_OPS_TABLE_H

#include "onnx/context.h"

/* The row that serves an operator of the domain "" in a version of the operator set; NULL: none. *since: the version of the
 * operator. */
const row_t *dtp_onnx_row(const char *op, int64_t version, int *since);
/* Rows in the order of ops.inc. */
const row_t *dtp_onnx_rows(int *n);

#endif
