/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/aux/aux_restart.h"

/* A driver stops when its next unit does not fit: the less room was left, the likelier. */
static bool was_full(const struct aux_restart *r)
{
	size_t margin = (r->watermark ? r->watermark : r->area / 2) / 4;

	if (margin < r->page)
		margin = r->page;
	return r->fill && (margin >= r->area || r->fill > r->area - margin);
}

static bool stands_still(const struct aux_restart *r)
{
	return r->has_times && r->enabled > r->enabled_before && r->ran <= r->ran_before;
}

bool aux_restart_is_due(const struct aux_restart *r)
{
	return r->has_truncated || r->has_lost || was_full(r) || stands_still(r);
}
