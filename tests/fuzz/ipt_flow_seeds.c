/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuzz/fuzz_seeds.h"
#include "make/ipt_any.h"
#include "make/splitmix.h"

enum { NR_SEEDS = 16, CODE_BLOCKS = 16, BLOCK = 16, NR_PACKETS = 200, CODE = 0x10000 };

/** Branches over nops: each block is of 16 bytes, and its branch goes to another one. */
static void put_code(struct buf *b, uint64_t *random)
{
	for (unsigned int i = 0; i < CODE_BLOCKS; i++) {
		int8_t to = (int8_t)((int)(splitmix64(random) % 5 - 2) * BLOCK - 2);
		const char branches[][2] = {
			{0x74,       (char)to  },
                        {(char)0xeb, (char)to  },
			{(char)0xff, (char)0xe0},
                        {(char)0xff, (char)0xd0},
			{(char)0xc3, (char)0x90},
                        {0x0f,       0x05      },
			{0x75,       (char)to  },
                        {0x72,       (char)to  },
		};

		buf_add(b, branches[splitmix64(random) % 8], 2);
		buf_fill(b, (char)0x90, BLOCK - 2);
	}
}

/** Mostly what a decoder goes on with. */
static void put_packets(struct buf *b, uint64_t *random)
{
	struct ipt_any any = {.random = *random};
	struct ipt_packet k;
	uint64_t last_ip = CODE;

	for (unsigned int i = 0; i < NR_PACKETS; i++) {
		uint64_t v = splitmix64(random);

		if (v % 16 == 0) {
			any.last_ip = last_ip;
			any.item_bytes = 0;
			ipt_any_packet(&any, b, &k);
			last_ip = any.last_ip;
			continue;
		}
		if (v % 4) {
			k = (struct ipt_packet){.kind = IPT_TNT,
						.nr_tnt = (uint8_t)(1 + v / 16 % 6)};
			k.tnt = v >> 16 & ((1u << k.nr_tnt) - 1);
		} else {
			k = (struct ipt_packet){.kind = IPT_TIP, .ip_form = IPT_IP_16};
			k.ip = CODE + v / 16 % CODE_BLOCKS * BLOCK;
		}
		ipt_write(b, &k, &last_ip);
	}
}

static void make(struct buf *b, unsigned int i)
{
	uint64_t random = i;

	buf_char(b, (char)(1 | i << 1));
	buf_char(b, CODE_BLOCKS);
	put_code(b, &random);
	put_packets(b, &random);
}

int main(int argc, char **argv)
{
	return fuzz_seeds(argc, argv, NR_SEEDS, make);
}
