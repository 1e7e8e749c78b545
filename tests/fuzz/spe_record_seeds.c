/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "make/spe_encode.h"

/* Usage: spe_record_seeds DIR: some streams of random records, and damaged ones. */
static int write_seed(const char *dir, unsigned int i)
{
	uint64_t random = i;
	struct buf b = {0};
	char path[4096];
	FILE *f;
	int status = 1;

	buf_char(&b, (char)(i * 13));
	for (unsigned int n = 0; n < 20; n++) {
		struct spe_style style;
		struct spe_record r;

		spe_random_record(&random, i & 1 ? 1000 + n : 0, &r, &style);
		spe_put_record(&b, &r, &style);
		buf_fill(&b, 0, n % 3 * i);
	}
	if (b.nr > 200 && i & 2)
		b.data[200] ^= 0x55;
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
	for (unsigned int i = 0; i < 16; i++)
		status |= write_seed(argv[1], i);
	return status;
}
