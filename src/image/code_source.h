/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_CODE_SOURCE_H
#define IMAGE_CODE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include <clew/time.h>

#include "base/security.h"

/*
 * Code bytes at (address, address space, time): what a hardware trace is walked over. Whoever knows
 * the processes, guests and dumps implements this; trace decoders only ask.
 */

enum code_arch { CODE_ARM, CODE_X86 };

/** The role of the code at an address in deciding who runs. */
enum code_landmark {
	CODE_LANDMARK_UNKNOWN, /* it has no symbol */
	CODE_NO_LANDMARK,
	CODE_SWITCHES,     /* the first instruction of what makes the next thread current */
	CODE_ENTERS_GUEST, /* its exception returns go into a guest */
};

struct code_arm_context {
	uint8_t el;       /* exception level, 0-3 */
	uint8_t security; /* enum arm_security */
	uint8_t upper_el; /* el, or at EL0 the last one above it; 0: unknown */
	uint8_t entry;    /* below EL2: enum code_landmark of the return that led there from EL2 */
	bool is_at_start; /* only EL0 ran since the trace of code_key.bound began */
	bool is_64, has_cid, has_vmid;
	uint32_t cid, vmid; /* CONTEXTIDR_EL1; VMID, or CONTEXTIDR_EL2 */
};

struct code_x86_context {
	uint8_t bits; /* of the mode: 16, 32, 64; 0: unknown */
	bool has_cr3, has_vmcs;
	bool is_guest;  /* VMX non-root operation */
	bool is_kernel; /* in the upper half of addresses */
	uint64_t cr3;   /* the page table's address alone */
	uint64_t vmcs;  /* the current VMCS's address */
};

/** Who runs, as far as the trace itself says. Only the arm or the x86 part is valid, as arch says:
 * a reader that may see both switches on it. */
struct code_context {
	uint8_t arch; /* enum code_arch */
	union {
		struct code_arm_context arm;
		struct code_x86_context x86;
	};
};

/** Exception level, as flow events carry it; of x86 1 in the kernel's half of addresses. */
static inline uint8_t code_context_el(const struct code_context *c)
{
	return c->arch == CODE_ARM ? c->arm.el : c->x86.is_kernel;
}

/** The owner of code: who runs, and when. */
struct code_key {
	struct code_context context;
	struct clew_ticks ticks;   /* the trace's own last timestamp; 0: none yet */
	struct clew_perf_ns bound; /* it ran no later than this; 0: unknown */
	uint32_t nr_switches;      /* how often CODE_SWITCHES ran since the bound's trace began */
	bool may_have_switched;    /* since ticks: else the thread of that tick still runs */
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
	/** Why find() says none there: static words. NULL: the source does not know. */
	const char *(*why)(void *ctx, uint32_t space, uint64_t addr);
	/** NULL: nothing is known of any. */
	enum code_landmark (*landmark)(void *ctx, uint32_t space, uint64_t addr);
	/** Of a trace of filtered addresses: is @p addr traced? NULL: all are. */
	bool (*is_traced)(void *ctx, uint32_t space, uint64_t addr);
	/** space() depends on code_key.nr_switches, which only one thread can count. */
	bool counts_switches;
};

#endif
