/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: sframe_seeds DIR: write inputs for sframe_fuzz to start from. */
#include "fuzz/fuzz_seeds.h"
#include "make/sframe_random.h"

static void make(struct buf *b, unsigned int i)
{
	static struct sframe_random r;
	const struct sframe_write_opts opts = {
		.version = (uint8_t)(1 + i % 3),
		.abi = 1 + i / 3 % 4,
		.no_pcrel = i & 16,
		.no_sort = i & 32,
	};
	struct buf section = {0};

	if (opts.version == 1 && opts.abi == SFRAME_ABI_S390X_ENDIAN_BIG)
		return;
	sframe_random_fill(&r, &opts, i);
	r.nr = r.nr > 4 ? 4 : r.nr;
	b->is_failed |= !sframe_random_write(&r, &section);
	buf_char(b, 0x10);
	buf_add(b, section.data, section.nr);
	buf_done(&section);
}

int main(int argc, char **argv)
{
	return fuzz_seeds(argc, argv, 96, make);
}
