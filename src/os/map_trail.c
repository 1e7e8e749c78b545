/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/map_trail.h"

bool os_map_trail_next(struct os_map_trail *t, const struct os_map *m, size_t pos)
{
	size_t nr = t->nr + 1, back = 2 * (nr & -nr);

	if (pos / t->step < nr)
		return false;
	t->nr = nr;
	os_map_release(m, back < nr ? (nr - back) * t->step : 0, nr * t->step);
	return true;
}
