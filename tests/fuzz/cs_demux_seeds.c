/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: cs_demux_seeds DIR: write inputs for cs_demux_fuzz to start from. */
#include "fuzz/fuzz_seeds.h"
#include "make/cs_encode.h"

enum { NR_BYTES = 600 };

static void make(struct buf *b, unsigned int i)
{
	static struct cs_byte bytes[NR_BYTES];
	struct cs_encode e = cs_encode_of((enum cs_layout)(i & 3), i / 4 % 3 * 10, i);

	cs_encode_random_bytes(&e, i & 32 ? 111 : 3, bytes, NR_BYTES);
	cs_encode(&e, bytes, NR_BYTES / 2);
	if (e.layout == CS_MEMORY)
		cs_encode_barrier(&e);
	cs_encode(&e, bytes + NR_BYTES / 2, NR_BYTES / 2);
	buf_char(b, (char)(i & 31));
	buf_add(b, e.out.data, e.out.nr);
	b->is_failed |= e.out.is_failed;
	buf_done(&e.out);
}

int main(int argc, char **argv)
{
	return fuzz_seeds(argc, argv, 64, make);
}
