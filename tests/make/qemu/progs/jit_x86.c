/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* jit_x86 [ROUNDS]: code that is written, run, and written again at the same place. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint8_t *at;
static unsigned long seed = 3;

static unsigned int below(unsigned int n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(seed >> 33) % n;
}

static void put(unsigned int nr, const uint8_t *bytes)
{
	memcpy(at, bytes, nr);
	at += nr;
}
#define PUT(...) put(sizeof((uint8_t[]){__VA_ARGS__}), (const uint8_t[]){__VA_ARGS__})

/* edi in, eax out: sums, branches that skip, a loop, a call of a part of itself, a jump by a
 * register. */
static void write_function(uint8_t *start, unsigned int nr)
{
	at = start;
	PUT(0x89, 0xf8); /* mov eax, edi */
	for (unsigned int i = 0; i < nr; i++) {
		switch (below(6)) {
		case 0:
			PUT(0x05, (uint8_t)below(256), 0, 0, 0); /* add eax, imm */
			break;
		case 1:
			PUT(0xa8, (uint8_t)(1u << below(8)), 0x74, 3); /* test al, imm; jz +3 */
			PUT(0x83, 0xc0, 2);                            /* add eax, 2 */
			break;
		case 2:
			PUT(0xb9, (uint8_t)(1 + below(6)), 0, 0, 0); /* mov ecx, n */
			PUT(0xff, 0xc9, 0x75, 0xfc);                 /* dec ecx; jnz -4 */
			break;
		case 3:
			PUT(0xe8, 2, 0, 0, 0); /* call +2 */
			PUT(0xeb, 1, 0xc3);    /* jmp +1; ret */
			break;
		case 4:
			PUT(0x48, 0x8d, 0x15, 4, 0, 0, 0); /* lea rdx, [rip + 4] */
			PUT(0xff, 0xe2, 0xcc, 0xcc);       /* jmp rdx; int3; int3 */
			break;
		default:
			PUT(0x83, 0xf8, 16, 0x7c, 2); /* cmp eax, 16; jl +2 */
			PUT(0xd1, 0xe8);              /* shr eax, 1 */
			break;
		}
	}
	PUT(0xc3);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 3, sum = 0;
	uint8_t *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return 1;
	for (unsigned long r = 0; r < rounds; r++) {
		uint8_t *f = code + below(6000);

		write_function(f, 5 + below(40));
		for (unsigned int i = 0; i < 20 + below(50); i++)
			sum += ((unsigned int (*)(unsigned int))(uintptr_t)f)(sum & 0xff);
	}
	printf("%lu\n", sum);
	return 0;
}
