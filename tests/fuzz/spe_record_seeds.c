/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz_seeds.h"
#include "make/spe_encode.h"

/* Usage: spe_record_seeds DIR: some streams of random records, and damaged ones. */
static void make(struct buf *b, unsigned int i)
{
	uint64_t random = i;

	buf_char(b, (char)(i * 13));
	for (unsigned int n = 0; n < 20; n++) {
		struct spe_style style;
		struct spe_record r;

		spe_random_record(&random, i & 1 ? 1000 + n : 0, &r, &style);
		spe_put_record(b, &r, &style);
		buf_fill(b, 0, n % 3 * i);
	}
	if (b->nr > 200 && i & 2)
		b->data[200] ^= 0x55;
}

int main(int argc, char **argv)
{
	return fuzz_seeds(argc, argv, 16, make);
}
