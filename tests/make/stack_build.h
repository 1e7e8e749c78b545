/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_STACK_BUILD_H
#define TESTS_MAKE_STACK_BUILD_H

#include "unwind/unw_walk.h"

/*
 * A thread to unwind: one binary of functions of 64 bytes, each with one rule, and a stack.
 *
 *	struct stack_build *b = stack_build_new(UNW_X86_64);
 *	uint64_t main_fn = stack_fn(b, &(struct unw_rule){...});
 *	stack_put(b, address, stack_call(main_fn));
 *	stack_walk(b, NULL);
 *	b->frames.nr, b->pc[] ...
 */
enum {
	STACK_FN_BYTES = 64,
	STACK_MAX_FNS = 512,
	STACK_WORDS = 16384,
	STACK_MAX_FRAMES = 1024,
};
#define STACK_CODE_AT  UINT64_C(0x555555550000) /* run-time address of the binary's code */
#define STACK_CODE_REL UINT64_C(0x2000)         /* and its rel */
#define STACK_PROBES   UINT64_C(0x7fffffffe000) /* the kernel's page of probes */
#define STACK_AT       UINT64_C(0x7ffffff00000)
#define STACK_END      (STACK_AT + 8 * (uint64_t)STACK_WORDS)

struct stack_build {
	enum unw_arch arch;
	struct unw_regs regs;
	struct unw_space space; /* its id is new for each walk unless keeps_id */
	bool keeps_id, has_no_table, has_no_code, is_pending;
	uint64_t words[STACK_WORDS];
	/* What came out. */
	struct unw_frames frames;
	uint64_t pc[STACK_MAX_FRAMES], sp[STACK_MAX_FRAMES];
	uint8_t method[STACK_MAX_FRAMES], exact[STACK_MAX_FRAMES];

	size_t nr_fns;
	struct unw_code code;
	uint8_t bytes[STACK_MAX_FNS * STACK_FN_BYTES];
	struct {
		struct unw_table_head head;
		uint32_t bucket[2], row[STACK_MAX_FNS];
		struct unw_rule rule[STACK_MAX_FNS + 1];
	} block;
};

struct stack_build *stack_build_new(enum unw_arch arch);
void stack_build_free(struct stack_build *b);

/** A function with @p rule all over (NULL: none, a gap). @return its run-time address. */
uint64_t stack_fn(struct stack_build *b, const struct unw_rule *rule);
/** The return address of the call in the function at @p fn. */
uint64_t stack_call(uint64_t fn);
/** Code bytes at run-time address @p at. */
void stack_code(struct stack_build *b, uint64_t at, const void *bytes, size_t size);

/** amd64's code after a signal handler, 9 bytes at @p at, and the rule that glibc has for it. */
void stack_sigreturn_code(struct stack_build *b, uint64_t at);
extern const struct unw_rule stack_sigreturn_rule;

void stack_put(struct stack_build *b, uint64_t address, uint64_t value);
void stack_reg(struct stack_build *b, unsigned int reg, uint64_t value);

/** Walk from b->regs at most @p max frames (0: as many as there is room for). */
void stack_walk(struct stack_build *b, struct unw_memo *memo, uint32_t max);

#endif
