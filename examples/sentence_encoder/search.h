/* The command `search`: the lines, or the rows that `embed` wrote, that are nearest to a query. */
#ifndef SE_SEARCH_H
#define SE_SEARCH_H

#include "options.h"

/* Prints cosine, number from 1 and text (if there is any) of the nearest, best first. */
int se_search(const se_model_t *model, const se_options_t *options, se_error_t *error);

#endif
