/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: cs_demux_seeds DIR: write inputs for cs_demux_fuzz to start from. */
#include <stdio.h>

#include "make/cs_encode.h"

enum { NR_BYTES = 600 };

int main(int argc, char **argv)
{
	static struct cs_byte bytes[NR_BYTES];

	for (unsigned int i = 0; argc > 1 && i < 64; i++) {
		struct cs_encode e = cs_encode_of((enum cs_layout)(i & 3), i / 4 % 3 * 10, i);
		char path[4096];
		FILE *f;

		cs_encode_random_bytes(&e, i & 32 ? 111 : 3, bytes, NR_BYTES);
		cs_encode(&e, bytes, NR_BYTES / 2);
		if (e.layout == CS_MEMORY)
			cs_encode_barrier(&e);
		cs_encode(&e, bytes + NR_BYTES / 2, NR_BYTES / 2);
		snprintf(path, sizeof(path), "%s/frames-%u", argv[1], i);
		f = fopen(path, "wb");
		if (!f || e.out.is_failed)
			return 1;
		fputc((int)(i & 31), f);
		fwrite(e.out.data, 1, e.out.nr, f);
		fclose(f);
		buf_done(&e.out);
	}
	return 0;
}
