/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "base/escape.h"
#include "format/report/report_text_impl.h"

static const char red[] = "\033[31m", green[] = "\033[32m", normal[] = "\033[m";

void report_put_share(struct report_writer *w, uint64_t part, uint64_t whole, unsigned int width)
{
	double share = whole ? 100.0 * (double)part / (double)whole : 0;
	const char *color = !w->opts->is_colored ? NULL
			  : share >= 5           ? red
			  : share >= 0.5         ? green
						 : NULL;
	char text[32];
	int n = snprintf(text, sizeof(text), "%.2f%%", share);

	if (n > 0 && (unsigned int)n < width)
		buf_fill(&w->out, ' ', width - (unsigned int)n);
	if (color)
		buf_str(&w->out, color);
	buf_str(&w->out, text);
	if (color)
		buf_str(&w->out, normal);
}

size_t report_put_cell(struct report_writer *w, size_t width)
{
	size_t at = w->out.nr;

	escape_add(&w->out, w->cell.data, w->cell.nr);
	return report_cut_cell(w, at, width);
}
