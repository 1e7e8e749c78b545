/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/stack_build.h"

#include <string.h>

#include "base/mem.h"

enum { CALL_END = 32 };

static bool find(void *ctx, uint64_t pc, struct unw_map *ret)
{
	struct stack_build *b = ctx;

	*ret = (struct unw_map){
		.start = STACK_PROBES, .end = STACK_PROBES + 4096, .is_probes = true};
	if (pc - STACK_PROBES < 4096)
		return true;
	if (pc - STACK_CODE_AT >= sizeof(b->bytes))
		return false;
	*ret = (struct unw_map){.start = STACK_CODE_AT,
				.end = STACK_CODE_AT + sizeof(b->bytes),
				.bias = STACK_CODE_REL - STACK_CODE_AT,
				.code = b->has_no_table ? NULL : &b->code,
				.is_pending = b->is_pending};
	return true;
}

struct stack_build *stack_build_new(enum unw_arch arch)
{
	struct stack_build *b = mem_zalloc(sizeof(*b));

	if (!b)
		return NULL;
	b->arch = arch;
	b->space = (struct unw_space){.find = find,
				      .ctx = b,
				      .stack = (const uint8_t *)b->words,
				      .stack_start = STACK_AT,
				      .stack_bytes = sizeof(b->words),
				      .is_copy = true,
				      .id = 1,
				      .arch = arch};
	b->block.head = (struct unw_table_head){.magic = UNW_TABLE_MAGIC,
						.version = UNW_TABLE_VERSION,
						.start = 0,
						.shift = 16,
						.nr_buckets = 1,
						.nr_rules = 1,
						.arch = (uint32_t)arch,
						.bytes = sizeof(b->block)};
	b->code.table = (struct unw_table){.head = &b->block.head,
					   .bucket = b->block.bucket,
					   .row = b->block.row,
					   .rule = b->block.rule};
	b->code.code_bytes = sizeof(b->bytes);
	b->code.code_start = STACK_CODE_REL;
	return b;
}

void stack_build_free(struct stack_build *b)
{
	mem_free(b);
}

static void put_call(struct stack_build *b, uint64_t fn)
{
	static const uint8_t x86_64[] = {0xe8, 0, 0, 0, 0}, aarch64[] = {0, 0, 0, 0x94},
			     s390x[] = {0xc0, 0xe5, 0, 0, 0, 0};

	if (b->arch == UNW_X86_64)
		stack_code(b, fn + CALL_END - sizeof(x86_64), x86_64, sizeof(x86_64));
	else if (b->arch == UNW_AARCH64)
		stack_code(b, fn + CALL_END - sizeof(aarch64), aarch64, sizeof(aarch64));
	else
		stack_code(b, fn + CALL_END - sizeof(s390x), s390x, sizeof(s390x));
}

uint64_t stack_fn(struct stack_build *b, const struct unw_rule *rule)
{
	uint32_t n = (uint32_t)b->nr_fns++;
	uint64_t rel = STACK_CODE_REL + (uint64_t)n * STACK_FN_BYTES;
	uint64_t fn = STACK_CODE_AT + (uint64_t)n * STACK_FN_BYTES;
	uint32_t index = 0;

	if (rule) {
		index = b->block.head.nr_rules++;
		b->block.rule[index] = *rule;
	}
	b->block.row[n] = (uint32_t)(rel << 16) | index;
	b->block.head.nr_rows = b->block.bucket[1] = n + 1;
	b->block.head.end = rel + STACK_FN_BYTES;
	put_call(b, fn);
	return fn;
}

uint64_t stack_call(uint64_t fn)
{
	return fn + CALL_END;
}

void stack_code(struct stack_build *b, uint64_t at, const void *bytes, size_t size)
{
	memcpy(b->bytes + (at - STACK_CODE_AT), bytes, size);
}

/* mov $15, %rax; syscall */
void stack_sigreturn_code(struct stack_build *b, uint64_t at)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};

	stack_code(b, at, code, sizeof(code));
}

const struct unw_rule stack_sigreturn_rule = {.cfa = UNW_CFA_DEREF,
					      .cfa_reg = 7,
					      .cfa_off = 160,
					      .ra = UNW_AT_REG,
					      .ra_reg = 7,
					      .ra_off = 168,
					      .fp = UNW_AT_REG,
					      .fp_reg = 7,
					      .fp_off = 120,
					      .flags = UNW_SIGNAL,
					      .origin = UNW_EH_FRAME};

void stack_put(struct stack_build *b, uint64_t address, uint64_t value)
{
	memcpy((uint8_t *)b->words + (address - STACK_AT), &value, sizeof(value));
}

void stack_reg(struct stack_build *b, unsigned int reg, uint64_t value)
{
	b->regs.r[reg] = value;
	b->regs.known |= (uint64_t)1 << reg;
}

void stack_walk(struct stack_build *b, struct unw_memo *memo, uint32_t max)
{
	b->code.code = b->has_no_code ? NULL : b->bytes;
	b->space.id += !b->keeps_id;
	b->frames = (struct unw_frames){.pc = b->pc,
					.sp = b->sp,
					.method = b->method,
					.exact = b->exact,
					.max = max ? max : (uint32_t)STACK_MAX_FRAMES};
	unw_walk(&b->space, memo, &b->regs, &b->frames);
}
