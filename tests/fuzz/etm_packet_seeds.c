/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz_seeds.h"
#include "make/etm_any.h"

/* Usage: etm_packet_seeds DIR: one stream for each unit. */
static void make(struct buf *b, unsigned int i)
{
	struct etm_config c = etm_any_config(i);
	struct etm_any a = {.config = &c, .random = i};

	buf_char(b, (char)i);
	buf_char(b, (char)(i % 20));
	etm_any_stream(&a, b, 60, i & 1);
}

int main(int argc, char **argv)
{
	return fuzz_seeds(argc, argv, NR_ETM_ANY_CONFIGS, make);
}
