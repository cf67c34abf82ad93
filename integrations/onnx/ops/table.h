/* The table of operators: ops.inc. */
#ifndef DTP_ONNX_OPS_TABLE_H
#define DTP_ONNX_OPS_TABLE_H

#include "onnx/context.h"

/* The last version of the operator set of "", which opening a model checks. */
enum { DTP_ONNX_LAST = 28 };
/* The row that serves an operator of a domain (dtp_onnx_domain) in a version of its operator set;
 * NULL: none. *since: the version of the operator. */
const row_t *dtp_onnx_row(const char *domain, const char *op, int64_t version, int *since);
/* The last version of a domain that the table knows; 0: it has no operator of the domain. */
int dtp_onnx_last(const char *domain);
/* Rows in the order of ops.inc. */
const row_t *dtp_onnx_rows(int *n);

#endif
