/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_WALK_H
#define UNWIND_UNW_WALK_H

#include "unwind/unw_store.h"

/*
 * From registers and a way to read stack words to the frames of a thread. No I/O, no allocation;
 * may run in a signal handler if the callbacks may.
 */
enum { UNW_NR_REGS = 34 };

/** The machine that this library runs on. */
#if defined(__x86_64__)
# define UNW_OWN_ARCH UNW_X86_64
#elif defined(__aarch64__)
# define UNW_OWN_ARCH UNW_AARCH64
#else
# define UNW_OWN_ARCH UNW_S390X
#endif

struct unw_regs {
	uint64_t pc;
	uint64_t r[UNW_NR_REGS]; /* by DWARF number; SP and FP among them */
	uint64_t known;          /* bit n: r[n] holds a value */
};

/** One mapping of code. */
struct unw_map {
	uint64_t start, end;         /* run-time addresses */
	uint64_t bias;               /* rel = address + bias (wrapping) */
	const struct unw_code *code; /* NULL: no table (JIT, file gone): frame pointers */
	bool is_pending;             /* the table is still being made: UNW_STOP_NO_TABLE_YET */
	bool is_probes; /* the kernel's page of probes: a return address in it is a uretprobe's;
			   the one it replaced is unknown: UNW_STOP_URETPROBE */
};

/** The name that page has among a process's mappings. */
extern const char unw_probes_name[];

struct unw_space {
	/** The executable mapping that covers @p pc; false: none. The result is copied. */
	bool (*find)(void *ctx, uint64_t pc, struct unw_map *ret);
	/** 8 bytes at @p address, native order; false: unreadable. */
	bool (*read)(void *ctx, uint64_t address, uint64_t *ret);
	void *ctx;
	/* A copied piece of stack, looked into before read() is called; NULL: none. */
	const uint8_t *stack;
	uint64_t stack_start;
	size_t stack_bytes;
	bool is_copy;    /* beyond the piece there is nothing: UNW_STOP_TRUNCATED */
	bool is_swapped; /* the piece's words are of the other byte order */
	/* Changes whenever the mappings change, or what find() answers: key of the memo, below
	 * 2^63. 0: do not memoise. */
	uint64_t id;
	enum unw_arch arch;
	uint8_t va_bits; /* aarch64: user address bits, for PAC; 0: 48 */
};

/** Rules found before, by (space id, pc). One walker at a time; ends before the tables do. */
struct unw_memo;
struct unw_memo *unw_memo_new(void);
void unw_memo_free(struct unw_memo *m);

struct unw_frames {
	uint64_t *pc;    /* [0] = regs.pc; then return addresses, as in a call chain */
	uint8_t *method; /* enum unw_origin of the step that found pc[i]; [0] = UNW_NO_ORIGIN. NULL:
			    not wanted */
	uint64_t *sp;    /* SP (caller's CFA) at pc[i]; NULL: not wanted */
	uint8_t *exact;  /* 1: pc[i] is the instruction itself ([0], what a signal interrupted, and
			    what is entered by return alone: a signal's trampoline), 0: a return
			    address: its call stands before it. NULL: not wanted */
	uint32_t max, nr;
	enum unw_stop stop;
	enum unw_why why;    /* of UNW_STOP_UNREPRESENTABLE */
	bool has_fp;         /* some frame was found by UNW_FP: the one before may be omitted */
	uint32_t nr_signals; /* signal frames passed */
};

/**
 * The steps, in this order: sigreturn code by its bytes; the table's rule; where no source covers
 * the pc, in the first frame the return address of a call to this very function, then the frame
 * pointer if it is plausible; else stop. Every stop has its reason. A frame with a pc outside of
 * all code is not reported. O(max) steps of O(1) loads and one find() each.
 * @p frames->pc, max (>= 1) and the optional arrays are the caller's; the rest is filled in. Always
 * at least one frame. @p memo may be NULL.
 * Choices: docs/decisions/unwinding.md.
 */
void unw_walk(const struct unw_space *space, struct unw_memo *memo, const struct unw_regs *regs,
	      struct unw_frames *frames);

#endif
