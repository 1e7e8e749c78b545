/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz_seeds.h"
#include "make/ipt_any.h"

enum { NR_SEEDS = 16 };

/* Usage: ipt_packet_seeds DIR */
static void make(struct buf *b, unsigned int i)
{
	struct ipt_any a = {.random = i};

	buf_char(b, (char)i);
	buf_char(b, (char)(i % 20));
	ipt_any_stream(&a, b, 60, i & 2);
}

int main(int argc, char **argv)
{
	return fuzz_seeds(argc, argv, NR_SEEDS, make);
}
