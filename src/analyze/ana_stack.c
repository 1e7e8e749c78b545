/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_stack.h"

#include "analyze/ana_places.h"
#include "analyze/analyze_impl.h"
#include "base/mem.h"
#include "base/vec.h"
#include "unwind/unw_walk.h"
#include "who/who_maps.h"

enum {
	MAX_FRAMES = 1024,
	MAX_KERNEL = 1024,                       /* words of the recorded part that are kept */
	MAX_WORDS = MAX_KERNEL + 2 * MAX_FRAMES, /* a mark before each frame, at most */
	REG_ABI_64 = 2,
	PROT_EXEC_BIT = 4,
};

struct ana_stacks {
	struct unw_store *store;
	struct unw_memo *memo;
	struct {
		VEC(struct ana_code);
	} codes;                 /* by dso id */
	struct map_u64 by_bytes; /* address of a file's bytes -> its struct unw_code: one file may
				    have many names */
	bool is_out_of_memory;
	uint8_t arch; /* enum unw_arch; 0: none that is unwound */
	uint64_t pc[MAX_FRAMES];
	uint8_t exact[MAX_FRAMES], method[MAX_FRAMES];
	uint64_t words[MAX_WORDS];
};

struct ana_code {
	const struct unw_code *code;
	bool was_asked;
};

/* What a walk has to know of the sample. */
struct walk_ctx {
	struct analyze *a;
	struct who_space *space;
};

static uint8_t arch_of(const char *name)
{
	if (!name)
		name = "";
	if (!strcmp(name, "x86_64"))
		return UNW_X86_64;
	if (!strcmp(name, "aarch64") || !strcmp(name, "arm64"))
		return UNW_AARCH64;
	if (!strcmp(name, "s390x"))
		return UNW_S390X;
#ifdef __x86_64__
	/* A pipe may name its machine late or never: then this one is assumed. */
	return *name ? 0 : UNW_X86_64;
#elif defined(__aarch64__)
	return *name ? 0 : UNW_AARCH64;
#else
	return 0;
#endif
}

static struct ana_stacks *stacks_new(struct analyze *a)
{
	struct ana_stacks *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->store = unw_store_new(&(struct unw_store_opts){.cache_dir = a->opts.unwind_cache,
							  .budget = a->opts.symbols.budget});
	s->memo = unw_memo_new();
	if (!s->store || !s->memo) {
		ana_stacks_free(s);
		return NULL;
	}
	s->arch = arch_of(perf_features_string(perf_file_features(a->file), PERF_FEAT_ARCH));
	return s;
}

struct ana_stacks *ana_stacks_get(struct analyze *a)
{
	if (!a->stacks)
		a->stacks = stacks_new(a);
	return a->stacks;
}

void ana_stacks_free(struct ana_stacks *s)
{
	if (!s)
		return;
	unw_memo_free(s->memo);
	unw_store_free(s->store);
	vec_done(&s->codes);
	map_u64_done(&s->by_bytes);
	mem_free(s);
}

const char *analyze_stop_name(uint8_t stop)
{
	return unw_stop_name((enum unw_stop)stop);
}

/* --- code --- */

static const struct unw_code *load_code(struct analyze *a, struct dso *d)
{
	struct ana_stacks *s = a->stacks;
	size_t size;
	const uint8_t *bytes = dso_code_bytes(d, &size);
	uint64_t *seen = bytes ? map_u64_get(&s->by_bytes, (uintptr_t)bytes) : NULL;
	const struct unw_code *code;

	if (!bytes || seen)
		return seen ? (const struct unw_code *)(uintptr_t)*seen : NULL;
	code = unw_store_get_bytes(s->store, bytes, size);
	s->is_out_of_memory |=
		!code || !map_u64_put(&s->by_bytes, (uintptr_t)bytes, (uintptr_t)code);
	if (code && code->why_none == unw_over_budget)
		budget_refuse(a->opts.symbols.budget, 0, "the unwind tables of", dso_path(d));
	return code;
}

static const struct unw_code *code_of(struct analyze *a, struct dso *d)
{
	struct ana_stacks *s = a->stacks;
	uint32_t id = dso_id(d);

	while (s->codes.nr <= id) {
		if (!vec_push(&s->codes, (struct ana_code){0})) {
			s->is_out_of_memory = true;
			return NULL;
		}
	}
	if (!s->codes.data[id].was_asked)
		s->codes.data[id] = (struct ana_code){load_code(a, d), true};
	return s->codes.data[id].code;
}

static bool find_code(void *ctx, uint64_t pc, struct unw_map *ret)
{
	struct walk_ctx *c = ctx;
	struct who_map *m = who_space_find(c->space, pc);
	struct ana_place *p;

	if (!m || (m->prot && !(m->prot & PROT_EXEC_BIT)))
		return false;
	p = ana_place_of(&c->a->places, m);
	*ret = (struct unw_map){.start = m->start, .end = m->end, .bias = m->pgoff - m->start};
	ret->is_probes = !strcmp(m->path, unw_probes_name);
	if (p && !p->is_absolute)
		ret->code = code_of(c->a, p->dso);
	return true;
}

/* --- registers --- */

/* Numbers in sample_regs_user to DWARF's. Spec: Linux 7.3 arch/{x86,arm64,s390}/include/uapi/asm/
 * perf_regs.h. */
enum { PC = 0xfe, NO = 0xff };
static const uint8_t x86_64_regs[] = {0,  3,  2,  1,  4, 5, 6,  7,  PC, NO, NO, NO,
				      NO, NO, NO, NO, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t aarch64_regs[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				       11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
				       22, 23, 24, 25, 26, 27, 28, 29, 30, 31, PC};
static const uint8_t s390x_regs[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
				     12, 13, 14, 15, 16, 20, 17, 21, 18, 22, 19, 23,
				     24, 28, 25, 29, 26, 30, 27, 31, NO, PC};

static const struct {
	const uint8_t *dwarf;
	size_t nr;
	uint8_t sp;
} reg_sets[] = {
	[UNW_X86_64] = {x86_64_regs,  sizeof(x86_64_regs),  7 },
	[UNW_AARCH64] = {aarch64_regs, sizeof(aarch64_regs), 31},
	[UNW_S390X] = {s390x_regs,   sizeof(s390x_regs),   15},
};

/* @return false without pc and SP. */
static bool regs_of(uint8_t arch, const struct perf_sample *s, struct unw_regs *ret)
{
	uint64_t mask = s->regs_user.mask;
	bool has_pc = false;

	ret->known = 0;
	for (uint32_t i = 0; mask && i < s->regs_user.words.nr; i++, mask &= mask - 1) {
		unsigned int bit = (unsigned int)__builtin_ctzll(mask);
		uint64_t v = perf_words_get(&s->regs_user.words, i);
		uint8_t to = bit < reg_sets[arch].nr ? reg_sets[arch].dwarf[bit] : (uint8_t)NO;

		if (to == PC) {
			ret->pc = v;
			has_pc = true;
		} else if (to != NO) {
			ret->r[to] = v;
			ret->known |= (uint64_t)1 << to;
		}
	}
	return has_pc && ret->known >> reg_sets[arch].sp & 1;
}

/* --- chains --- */

/* The recorded chain without its user part: the copied stack has a better one. */
static uint32_t keep_kernel(const struct perf_words *words, uint64_t *ret)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < words->nr && n < MAX_KERNEL; i++) {
		uint64_t ip = perf_words_get(words, i);

		if (ip == PERF_CONTEXT_USER || ip == PERF_CONTEXT_USER_DEFERRED)
			break;
		ret[n++] = ip;
	}
	return n;
}

/* A mark stands before each frame that is not a caller. perf prints such chains with the places of
 * calls, one less than where they return to. */
static uint32_t add_user(struct ana_stacks *s, uint32_t nr_frames, bool is_as_perf, uint32_t n)
{
	for (uint32_t i = 0; i < nr_frames; i++) {
		if (!i || (s->exact[i] && !is_as_perf))
			s->words[n++] = PERF_CONTEXT_USER;
		s->words[n++] = s->pc[i] - (is_as_perf && !s->exact[i]);
	}
	return n;
}

/* aarch64 signs return addresses in the bits that no address of the program has: the kernel's
 * number of them is not recorded. */
static uint8_t va_bits(const struct who_space *s, uint64_t pc)
{
	uint64_t all = who_maps_last(s->maps) | pc;

	return all >> 52 || !(all >> 32) ? 0 : (uint8_t)(64 - __builtin_clzll(all));
}

enum unw_stop ana_walk(struct analyze *a, struct who_thread *t, const struct perf_sample *s,
		       struct unw_frames *f)
{
	struct ana_stacks *st = a->stacks;
	struct walk_ctx ctx = {a, t->space};
	struct unw_space space = {
		.find = find_code,
		.ctx = &ctx,
		.stack = s->stack_user.data.pos,
		.stack_bytes = bytes_left(&s->stack_user.data),
		.is_copy = true,
		.is_swapped = s->swap,
		.id = (uint64_t)(t->space->id & INT32_MAX) << 32 | t->space->code_generation,
		.arch = (enum unw_arch)st->arch,
	};
	struct unw_regs regs;

	if (!st->arch || s->regs_user.abi != REG_ABI_64)
		return UNW_STOP_UNSUPPORTED;
	if (!regs_of(st->arch, s, &regs))
		return UNW_STOP_REGISTER;
	if (space.stack_bytes > s->stack_user.dyn_size)
		space.stack_bytes = (size_t)s->stack_user.dyn_size;
	space.va_bits = va_bits(t->space, regs.pc);
	space.stack_start = regs.r[reg_sets[st->arch].sp];
	f->max = a->opts.max_unwind && a->opts.max_unwind < MAX_FRAMES ? a->opts.max_unwind
								       : MAX_FRAMES;
	f->pc = st->pc;
	f->exact = st->exact;
	unw_walk(&space, st->memo, &regs, f);
	return f->stop;
}

enum clew_err ana_unwind(struct analyze *a, struct who_thread *t, struct ana_event *e,
			 struct perf_words *ret, const uint8_t **ret_methods, uint32_t *ret_nr)
{
	const struct perf_sample *s = e->sample;
	struct unw_frames f = {0};
	struct ana_stacks *st;
	uint32_t n;

	if (!ana_stacks_get(a))
		return CLEW_NO_MEMORY;
	st = a->stacks;
	f.method = a->opts.wants_outcomes ? st->method : NULL;
	e->unwind_stop = (uint8_t)ana_walk(a, t, s, &f);
	if (st->is_out_of_memory)
		return CLEW_NO_MEMORY;
	e->unwind_has_fp = f.has_fp;
	a->summary.nr_unwound[e->unwind_stop]++;
	a->summary.nr_unwound_by_fp += f.has_fp;
	if (!f.nr)
		return CLEW_OK;
	*ret_methods = f.method;
	*ret_nr = f.nr;
	n = keep_kernel(&s->callchain, st->words);
	n = add_user(st, f.nr, a->opts.is_as_perf, n);
	*ret = (struct perf_words){.data = (const uint8_t *)st->words, .nr = n};
	return CLEW_OK;
}
