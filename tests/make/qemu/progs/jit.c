/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* jit [ROUNDS]: code that is written, run, and written again at the same place. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint32_t *at;
static unsigned long seed = 3;

static void put(uint32_t word)
{
	*at++ = word;
}

static unsigned int below(unsigned int n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % n;
}

/* x0 in, x0 out: sums, branches that skip, a loop, a call of itself further on. */
static void write_function(uint32_t *start, unsigned int nr)
{
	at = start;
	for (unsigned int i = 0; i < nr; i++) {
		switch (below(5)) {
		case 0:
			put(0x91000400 | below(64) << 10); /* add x0, x0, #imm */
			break;
		case 1:
			put(0x36000040 | below(8) << 19); /* tbz w0, #n, +8 */
			put(0x91000800);
			break;
		case 2:
			put(0xd2800001 | (1 + below(6)) << 5); /* mov x1, #n */
			put(0xd1000421);                       /* sub x1, x1, #1 */
			put(0xb5ffffe1);                       /* cbnz x1, -4 */
			break;
		case 3:
			put(0xaa1e03e2); /* mov x2, x30 */
			put(0x94000002); /* bl +8 */
			put(0x14000002); /* b +8 */
			put(0xd65f03c0); /* ret */
			put(0xaa0203fe); /* mov x30, x2 */
			break;
		default:
			put(0xf100401f); /* cmp x0, #16 */
			put(0x5400004b); /* b.lt +8 */
			put(0xd341fc00); /* lsr x0, x0, #1 */
			break;
		}
	}
	put(0xd65f03c0);
	__builtin___clear_cache((char *)start, (char *)at);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 3, sum = 0;
	uint32_t *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	for (unsigned long r = 0; r < rounds; r++) {
		uint32_t *f = code + below(1500);

		write_function(f, 5 + below(40));
		for (unsigned int i = 0; i < 20 + below(50); i++)
			sum += ((unsigned long (*)(unsigned long))(uintptr_t)f)(sum & 0xff);
	}
	printf("%lu\n", sum);
	return 0;
}
