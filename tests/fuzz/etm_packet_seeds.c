/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "make/etm_any.h"

/* Usage: etm_packet_seeds DIR: one stream for each unit. */
static int write_seed(const char *dir, unsigned int i)
{
	struct etm_config c = etm_any_config(i);
	struct etm_any a = {.config = &c, .random = i};
	struct buf b = {0};
	char path[4096];
	FILE *f;
	int status = 1;

	buf_char(&b, (char)i);
	buf_char(&b, (char)(i % 20));
	etm_any_stream(&a, &b, 60, i & 1);
	snprintf(path, sizeof(path), "%s/%02u", dir, i);
	f = fopen(path, "wb");
	if (f && fwrite(b.data, 1, b.nr, f) == b.nr)
		status = 0;
	if (f && fclose(f))
		status = 1;
	buf_done(&b);
	return status;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc != 2)
		return 2;
	for (unsigned int i = 0; i < NR_ETM_ANY_CONFIGS; i++)
		status |= write_seed(argv[1], i);
	return status;
}
