/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "make/etm_any.h"
#include "make/etm_snapshot_make.h"

/* Usage: etm_any_snapshots DIR: a snapshot of random packets for each unit, DIR/any-NN. */

enum { NR_PACKETS = 2000 };

static bool write_snapshot(const char *top, unsigned int i)
{
	struct etm_config c = etm_any_config(i);
	struct etm_any a = {.config = &c, .random = i};
	struct buf trace = {0};
	char dir[4000];
	bool ok;

	snprintf(dir, sizeof(dir), "%s/any-%02u", top, i);
	etm_any_stream(&a, &trace, NR_PACKETS, false);
	ok = etm_snapshot_make(dir, &c, &trace, NULL, 0);
	buf_done(&trace);
	return ok;
}

int main(int argc, char **argv)
{
	bool ok = argc == 2;

	for (unsigned int i = 0; ok && i < NR_ETM_ANY_CONFIGS; i++)
		ok = write_snapshot(argv[1], i);
	return !ok;
}
