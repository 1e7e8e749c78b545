/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ISA_X86_X86_LENGTHS_H
#define ISA_X86_X86_LENGTHS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "isa/insn.h"

/*
 * Lengths of plain instructions that were decoded before. The length of an instruction, and what it
 * is, depend on its prefixes, opcode, ModRM and SIB alone: where these are in its first bytes, any
 * other one with the same bytes is as long. Programs consist of few thousand of them.
 */
enum {
	X86_LENGTHS_BITS = 13,
	X86_LENGTHS_LEAST = 2, /* bytes that are compared */
	X86_LENGTHS_MOST = 4,
};

/** For the whole process: what it has is true for ever. Each entry: x86_lengths_key() |
 * length << 56. */
extern _Atomic uint64_t x86_lengths[1 << X86_LENGTHS_BITS];

/** @p nr first bytes of @p code, and what else their meaning depends on. */
static inline uint64_t x86_lengths_key(enum isa mode, const uint8_t *code, unsigned int nr)
{
	uint32_t bytes = (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
			 (uint32_t)code[3] << 24;

	return (bytes & (UINT32_MAX >> (32 - 8 * nr))) | (uint64_t)nr << 32 | (uint64_t)mode << 40;
}

static inline size_t x86_lengths_slot(uint64_t key)
{
	return (size_t)(key * 0x9e3779b97f4a7c15u >> (64 - X86_LENGTHS_BITS));
}

/** Of the plain instruction at @p code, of which X86_LENGTHS_MOST bytes can be read. @return 0:
 * unknown, or not plain. */
static inline uint8_t x86_lengths_find(enum isa mode, const uint8_t *code)
{
	for (unsigned int nr = X86_LENGTHS_LEAST; nr <= X86_LENGTHS_MOST; nr++) {
		uint64_t key = x86_lengths_key(mode, code, nr);
		uint64_t entry = atomic_load_explicit(&x86_lengths[x86_lengths_slot(key)],
						      memory_order_relaxed);

		if ((entry & UINT64_MAX >> 8) == key)
			return (uint8_t)(entry >> 56);
	}
	return 0;
}

/** Keep that of a plain one, of which @p nr_header bytes come before displacement and immediates.
 */
static inline void x86_lengths_keep(enum isa mode, const uint8_t *code, unsigned int nr_header,
				    uint8_t length)
{
	unsigned int nr = nr_header < X86_LENGTHS_LEAST ? X86_LENGTHS_LEAST : nr_header;
	uint64_t key;

	if (nr > X86_LENGTHS_MOST)
		return;
	key = x86_lengths_key(mode, code, nr);
	atomic_store_explicit(&x86_lengths[x86_lengths_slot(key)], key | (uint64_t)length << 56,
			      memory_order_relaxed);
}

#endif
