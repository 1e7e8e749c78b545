/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_CODE_SOURCE_H
#define IMAGE_CODE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Code bytes at (address, address space, time): what a hardware trace is walked over. Whoever knows
 * the processes, guests and dumps implements this; trace decoders only ask.
 */

enum code_security { CODE_SECURE, CODE_NONSECURE, CODE_ROOT, CODE_REALM };

enum code_arch { CODE_ARM, CODE_X86 };

/** Whose code: what the trace itself says of the context, and when. */
struct code_key {
	uint8_t arch; /* enum code_arch: which of the two contexts it is */
	union {
		struct {                  /* CODE_ARM */
			uint8_t el;       /* exception level, 0-3 */
			uint8_t security; /* enum code_security */
			uint8_t upper_el; /* el, or at EL0 the last one above it; 0: not known */
			bool has_cid, has_vmid;
			uint32_t cid, vmid;
		};
		struct { /* CODE_X86 */
			bool has_cr3, has_vmcs;
			bool is_guest; /* VMX non-root operation */
			uint64_t cr3;  /* the page table's address alone */
			uint64_t vmcs; /* the current VMCS's address */
		};
	};
	uint64_t ticks; /* the trace's own last timestamp; 0: none told */
	uint64_t bound; /* the input's own clock: it ran no later than this; 0: not known */
};

struct code_region {
	uint64_t start, end;  /* end exclusive */
	const uint8_t *bytes; /* of start; borrowed until the source ends */
};

/** All may be called by several threads at once. */
struct code_source {
	/**
	 * A number for the set of mappings that @p key sees: equal numbers, equal code at every
	 * address, for ever. Code that is changed makes a new number.
	 */
	uint32_t (*space)(void *ctx, const struct code_key *key);
	/** The readable bytes around @p addr in @p space. @return false: none. */
	bool (*find)(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret);
	void *ctx;
	/** Why find() says none there: static words. NULL: nobody can tell. */
	const char *(*why)(void *ctx, uint32_t space, uint64_t addr);
};

#endif
