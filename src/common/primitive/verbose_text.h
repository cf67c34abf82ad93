/* Verbose lines about primitives, in oneDNN's field order. */
#ifndef DTP_COMMON_PRIMITIVE_VERBOSE_TEXT_H
#define DTP_COMMON_PRIMITIVE_VERBOSE_TEXT_H

#include "common/primitive/primitive_desc.h"

/* "primitive,<what>,<engine>,<kind>,<impl>,<prop>,<mds>,<attrs>,<aux>,<problem>,<ms>" */
void dtp_verbose_primitive(const char *what, const dtp_pd_t *pd, double ms);
/* "64x128:128x32": the problem in short. */
void dtp_verbose_dims(const dtp_pd_t *pd, char *text, size_t size);
/* "<prop>,<mds>,<attrs>,<aux>,<problem>"; returns text. */
enum { DTP_PROBLEM_TEXT = 600 };
const char *dtp_verbose_problem(const dtp_pd_t *pd, char text[DTP_PROBLEM_TEXT]);
/* A line about a reference that executes a large problem: "primitive,exec:dispatch,...,<why>". */
void dtp_verbose_reference(const dtp_pd_t *pd, const dtp_op_work_t *work);
/* "primitive,create:dispatch,<kind>,<impl>,<reason>,<mds>,..." */
void dtp_verbose_dispatch(const dtp_pd_t *pd, const dtp_impl_t *impl, const char *reason);

#endif
