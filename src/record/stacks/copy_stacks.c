/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/copy_stacks.h"

#include "perfdata/perf_deferred.h"
#include "perfdata/perf_regs.h"
#include "perfdata/sample_rewrite.h"

/* PERF_SAMPLE_REGS_ABI_ */
enum { ABI_NONE, ABI_32, ABI_64 };

enum { MAX_FRAMES = 7680 }; /* a record of more may be too long for its header */

bool copy_stacks_init(struct copy_stacks *c, uint32_t max_stack)
{
	*c = (struct copy_stacks){.max = max_stack < MAX_FRAMES ? max_stack : MAX_FRAMES};
	c->ips = mem_calloc(c->max, sizeof(*c->ips));
	c->methods = mem_calloc(c->max, 1);
	c->exact = mem_calloc(c->max, 1);
	c->live = c->ips && c->methods && c->exact ? live_space_new(NULL) : NULL;
	return c->live;
}

void copy_stacks_done(struct copy_stacks *c)
{
	live_space_free(c->live);
	mem_free(c->ips);
	mem_free(c->methods);
	mem_free(c->exact);
	*c = (struct copy_stacks){0};
}

void copy_stacks_sideband(struct copy_stacks *c, const struct ring_record *r)
{
	const struct perf_record record = ring_record_view(r);

	live_space_record(c->live, &record);
}

/* DWARF's number of perf's register @perf; PC, or -1: not wanted. */
enum { PC = 100 };

static int dwarf_number(unsigned int perf)
{
#if defined(__x86_64__)
	static const int8_t low[] = {0, 3, 2, 1, 4, 5, 6, 7, PC};

	if (perf < sizeof(low))
		return low[perf];
	return perf >= PERF_REG_X86_R8 && perf <= PERF_REG_X86_R15 ? (int)perf - 8 : -1;
#elif defined(__aarch64__)
	return perf == PERF_REG_ARM64_PC ? PC : perf < PERF_REG_ARM64_PC ? (int)perf : -1;
#else
	(void)perf;
	return -1;
#endif
}

/* @return false: no 64-bit user registers, and only the pc is known, if that. */
static bool regs_of(const struct perf_sample *s, struct unw_regs *ret)
{
	uint64_t mask = s->regs_user.mask;
	bool has_pc = false;

	*ret = (struct unw_regs){0};
	if (s->regs_user.abi == ABI_NONE)
		return false;
	for (uint32_t i = 0; mask && i < s->regs_user.words.nr; i++, mask &= mask - 1) {
		int n = dwarf_number((unsigned int)__builtin_ctzll(mask));
		uint64_t v = perf_words_get(&s->regs_user.words, i);

		if (n == PC) {
			ret->pc = v;
			has_pc = true;
		} else if (n >= 0 && n < UNW_NR_REGS) {
			ret->r[n] = v;
			ret->known |= (uint64_t)1 << n;
		}
	}
	return has_pc && s->regs_user.abi == ABI_64;
}

#if defined(__aarch64__)
enum { SP = 31 };
#else
enum { SP = 7 };
#endif

static void put_result(struct copy_stacks *c, const struct unw_frames *f, struct defer_stack *ret)
{
	for (uint32_t i = 1; i < f->nr; i++)
		c->methods[i] |= c->exact[i] ? PERF_DEFERRED_EXACT : 0;
	ret->nr = f->nr;
	ret->stop = (uint8_t)f->stop;
	ret->why = (uint8_t)f->why;
}

/* @return false: a table is still to come. */
static bool walk(struct copy_stacks *c, const struct perf_sample *s, bool is_last_call,
		 struct defer_stack *ret)
{
	struct live_stack stack = {.bytes = s->stack_user.data.pos};
	struct unw_frames frames = {
		.pc = c->ips, .method = c->methods, .exact = c->exact, .max = c->max};
	struct unw_regs regs;

	c->methods[0] = UNW_NO_ORIGIN;
	if (!regs_of(s, &regs)) {
		c->counts.nr_compat++;
		c->ips[0] = regs.pc;
		ret->nr = 1;
		ret->stop = UNW_STOP_UNSUPPORTED;
		return true;
	}
	stack.size = bytes_left(&s->stack_user.data);
	if (s->stack_user.dyn_size < stack.size)
		stack.size = (size_t)s->stack_user.dyn_size;
	stack.start = regs.r[SP];
	live_space_walk(c->live, s->pid, &regs, &stack, &frames);
	if (frames.stop == UNW_STOP_NO_TABLE_YET && !is_last_call)
		return false;
	c->counts.nr_walked++;
	c->counts.nr_frames += frames.nr;
	c->counts.by_stop[frames.stop < NR_UNW_STOPS ? frames.stop : UNW_STOP_NONE]++;
	put_result(c, &frames, ret);
	return true;
}

/* The kernel gives no registers of tasks without a user part. */
static uint64_t no_cookie(const struct perf_sample *s)
{
	enum perf_no_stack why = PERF_NO_STACK_KERNEL_THREAD;

	if (!s->pid)
		why = PERF_NO_STACK_IDLE;
	else if (s->pid == PERF_NO_TASK)
		why = PERF_NO_STACK_EXITING;
	return perf_no_stack_cookie(why);
}

static uint64_t new_cookie(struct copy_stacks *c, uint32_t cpu)
{
	return PERF_COOKIE_OWN | ++c->nr_cookies << 16 | ((cpu & 0x7fff) + 1);
}

bool copy_stacks_sample(struct copy_stacks *c, const struct rec_counter *e,
			const struct ring_record *r, bool is_last_call, struct buf *out,
			struct defer_stack *ret)
{
	const struct bytes body = {r->data + sizeof(r->header), r->data + r->header.size};
	uint64_t words[2] = {PERF_CONTEXT_USER_DEFERRED};
	const struct sample_edit edit = {
		.words = words, .nr_words = 2, .drops_regs = !e->keeps_regs, .drops_stack = true};
	struct perf_sample s;

	*ret = (struct defer_stack){0};
	if (perf_sample_parse(body, r->header.misc, false, &e->attr, &s) != CLEW_OK) {
		buf_add(out, r->data, r->header.size);
		return true;
	}
	if (s.regs_user.abi == ABI_NONE) {
		c->counts.nr_no_user++;
		words[1] = no_cookie(&s);
	} else {
		*ret = (struct defer_stack){.time = s.time,
					    .pid = s.pid,
					    .tid = s.tid,
					    .cpu = r->cpu >= 0 ? (uint32_t)r->cpu : s.cpu,
					    .ips = c->ips,
					    .methods = c->methods};
		if (!walk(c, &s, is_last_call, ret))
			return false;
		words[1] = ret->cookie = new_cookie(c, ret->cpu);
	}
	c->counts.nr_samples++;
	sample_rewrite(out, r->data, r->header.size, &e->attr, &s, &edit);
	return true;
}
