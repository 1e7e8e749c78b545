/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: sframe_seeds DIR: write inputs for sframe_fuzz to start from. */
#include <stdio.h>

#include "make/sframe_random.h"

int main(int argc, char **argv)
{
	static struct sframe_random r;

	for (unsigned int i = 0; argc > 1 && i < 96; i++) {
		struct sframe_write_opts opts = {
			.version = (uint8_t)(1 + i % 3),
			.abi = 1 + i / 3 % 4,
			.no_pcrel = i & 16,
			.no_sort = i & 32,
		};
		struct buf b = {0};
		char path[4096];
		FILE *f;

		if (opts.version == 1 && opts.abi == SFRAME_ABI_S390X_ENDIAN_BIG)
			continue;
		sframe_random_fill(&r, &opts, i);
		r.nr = r.nr > 4 ? 4 : r.nr;
		if (!sframe_random_write(&r, &b))
			return 1;
		snprintf(path, sizeof(path), "%s/section-%u", argv[1], i);
		f = fopen(path, "wb");
		if (!f)
			return 1;
		fputc(0x10, f);
		fwrite(b.data, 1, b.nr, f);
		fclose(f);
		buf_done(&b);
	}
	return 0;
}
