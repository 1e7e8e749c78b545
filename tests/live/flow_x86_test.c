/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/map_u64.h"
#include "base/mem.h"
#include "isa/x86/x86_branch.h"
#include "make/toy_encode.h"
#include "make/x86_insns.h"
#include "unit/tap.h"

/*
 * Usage: flow_x86_test STEPS PROGRAM [ARGUMENT...]
 *
 * The program is single-stepped, STEPS instructions at most; what it ran is put into the packets of
 * make/toy.h, with a bit for each branch and silent, and decoded by the engine over its code. Every
 * instruction must be the one that ran.
 */

enum {
	PAGE = 4096,
	SYNC_EVERY = 300, /* waypoints */
	NO_SYNC = 30000,  /* in each second stretch of so many, for a deep return stack */
};
enum { CR3 = 0x1234000, SPACE = 0, OTHER_SPACE };

struct steps {
	pid_t pid;
	struct map_u64 pages; /* address -> its bytes, as they were when they first ran */
	struct code_source source;
	struct flow_code code;
	struct toy_encoder encoders[2]; /* [silent?] */
	struct buf traces[2];
	uint64_t pc, nr_insns, insns, branches, nr_exceptions, nr_waypoints;
	bool is_failed;
};

/* --- code --- */

static bool find(void *ctx, uint32_t space, uint64_t addr, struct code_region *ret)
{
	const struct steps *s = ctx;
	uint64_t start = addr & ~(uint64_t)(PAGE - 1);
	const uint64_t *page = map_u64_get(&s->pages, start);

	if (space != SPACE || !page)
		return false;
	*ret = (struct code_region){start, start + PAGE, (const uint8_t *)(uintptr_t)*page};
	return true;
}

/** The program is all that is known of the machine: other page tables have none of its code. */
static uint32_t space_of(void *ctx, const struct code_key *key)
{
	const struct code_x86_context *c = &key->context.x86;

	(void)ctx;
	return key->context.arch == CODE_X86 && c->has_cr3 && c->cr3 == CR3 ? SPACE : OTHER_SPACE;
}

/** Not readable is no failure: an instruction may end just before such a page. */
static void read_page(struct steps *s, uint64_t addr)
{
	uint64_t start = addr & ~(uint64_t)(PAGE - 1);
	struct iovec to = {.iov_len = PAGE}, from = {(void *)(uintptr_t)start, PAGE};

	if (map_u64_get(&s->pages, start))
		return;
	to.iov_base = mem_alloc(PAGE);
	if (!to.iov_base || process_vm_readv(s->pid, &to, 1, &from, 1, 0) != PAGE)
		mem_free(to.iov_base);
	else
		map_u64_put(&s->pages, start, (uint64_t)(uintptr_t)to.iov_base);
}

static void free_pages(struct steps *s)
{
	for (size_t i = 0; i < s->pages.cap; i++) {
		if (s->pages.used[i])
			mem_free((void *)(uintptr_t)s->pages.slots[i].value);
	}
	map_u64_done(&s->pages);
}

/* --- steps --- */

static void put_sync(struct steps *s, uint64_t at)
{
	for (int i = 0; i < 2; i++)
		toy_put_sync(&s->encoders[i], at);
}

static void put_exception(struct steps *s, uint64_t at, uint64_t to)
{
	for (int i = 0; i < 2; i++)
		toy_put_exception(&s->encoders[i], at, to);
}

static void waypoint(struct steps *s, const struct insn *i, uint64_t to)
{
	uint64_t next = s->pc + i->bytes;
	bool is_taken = i->kind != INSN_COND || to == i->target;

	for (int k = 0; k < 2; k++)
		toy_put_waypoint(&s->encoders[k], i, is_taken, next, to);
	if (i->kind != INSN_INDIRECT && i->kind != INSN_FAR)
		s->is_failed |= to != (is_taken ? i->target : next);
	s->branches += toy_branch_digest(s->pc, to, is_taken, 1);
	s->nr_waypoints++;
	if (s->nr_waypoints % SYNC_EVERY == 0 && s->nr_waypoints / NO_SYNC % 2 == 0)
		put_sync(s, to);
}

/** The instruction at s->pc ran, and @p to is next. */
static void ran(struct steps *s, uint64_t to)
{
	struct insn i;

	if (!x86_insn_at(&s->code, SPACE, s->pc, &i)) {
		printf("# %llx: not an instruction\n", (unsigned long long)s->pc);
		s->is_failed = true;
		return;
	}
	if (i.kind == INSN_PLAIN && to == s->pc)
		return; /* one turn of a REP */
	s->nr_insns++;
	s->insns = toy_insn_digest(s->insns, s->pc);
	if (i.kind != INSN_PLAIN) {
		waypoint(s, &i, to);
	} else if (to != s->pc + i.bytes) {
		put_exception(s, s->pc + i.bytes, to);
		s->nr_exceptions++;
	}
	s->pc = to;
}

static bool is_stopped(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status);
}

static uint64_t pc_of(pid_t pid)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user, regs.rip), NULL);
}

static bool step(struct steps *s)
{
	read_page(s, s->pc);
	read_page(s, s->pc + X86_MAX_BYTES);
	if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL) || !is_stopped(s->pid))
		return false;
	ran(s, pc_of(s->pid));
	return !s->is_failed;
}

/** @return NULL: it cannot be stepped here. */
static struct steps *start(char **argv)
{
	struct steps *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->pid = fork();
	if (!s->pid) {
		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL) && freopen("/dev/null", "w", stdout))
			execv(argv[0], argv);
		_exit(127);
	}
	s->source = (struct code_source){.space = space_of, .find = find, .ctx = s};
	flow_code_init(&s->code, &s->source, &x86_insns, false);
	for (int i = 0; i < 2; i++)
		s->encoders[i] =
			(struct toy_encoder){.out = &s->traces[i], .random = {3}, .is_silent = i};
	if (s->pid > 0 && is_stopped(s->pid))
		return s;
	mem_free(s);
	return NULL;
}

static void run(struct steps *s, uint64_t nr)
{
	s->pc = pc_of(s->pid);
	put_sync(s, s->pc);
	while (s->nr_insns < nr && step(s))
		;
	/* So that what ran since the last waypoint is in the trace. */
	put_exception(s, s->pc, s->pc);
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

/* --- decoded --- */

struct seen {
	struct flow_code code;
	uint64_t nr_insns, insns, branches;
	struct flow_totals totals;
	bool is_failed;
};

static void put_run(struct seen *s, uint64_t at, uint64_t end)
{
	struct insn i;

	for (; at < end && x86_insn_at(&s->code, SPACE, at, &i); at += i.bytes) {
		s->nr_insns++;
		s->insns = toy_insn_digest(s->insns, at);
	}
	s->is_failed |= at != end;
}

static enum clew_err take(void *ctx, const struct flow_batch *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		const struct flow_block *k = &b->blocks[b->items[i] >> 1];
		const struct flow_event *e = &b->events[b->items[i] & ~(uint32_t)FLOW_ITEM_EVENT];

		if (!(b->items[i] & FLOW_ITEM_EVENT))
			put_run(ctx, k->start, k->start + k->bytes);
		else if (e->kind == FLOW_EV_RANGE)
			put_run(ctx, e->address, e->end);
	}
	return CLEW_OK;
}

static bool add(void *ctx, const struct flow_edge *e)
{
	const struct flow_block *b = e->from;

	if (b->kind != INSN_PLAIN)
		((struct seen *)ctx)->branches +=
			toy_branch_digest(b->start + b->bytes - b->last_bytes,
					  e->has_to ? e->to : 1, e->is_taken, e->nr);
	return true;
}

static struct seen decode(const struct steps *s, bool is_silent, uint64_t cr3, bool is_counting,
			  bool has_paths, unsigned int nr_threads)
{
	const struct code_x86_context context = {.bits = 64, .has_cr3 = true, .cr3 = cr3};
	struct seen ret = {.is_failed = false};
	const struct toy_opts o = {
		.flow.code = &s->source,
		.flow.batch = is_counting ? NULL : take,
		.flow.ctx = &ret,
		.flow.nr_threads = nr_threads,
		.insns = &x86_insns,
		.isa = ISA_X86_64,
		.context = {CODE_X86, .x86 = context},
		.has_paths = has_paths,
		.is_silent = is_silent
        };
	const struct buf *t = &s->traces[is_silent];
	struct flow *f = toy_flow_new(&o);

	flow_code_init(&ret.code, &s->source, &x86_insns, false);
	ret.is_failed = !f || flow_feed(f, bytes_of(t->data, t->nr)) || flow_finish(f) ||
			!flow_edges(f, add, &ret);
	if (f)
		ret.totals = *flow_totals(f);
	flow_free(f);
	return ret;
}

static void check(const struct steps *s, bool is_silent)
{
	static const char *const how[] = {"branch by branch", "by paths", "in parts",
					  "by paths, in parts"};
	const char *name = is_silent ? "silent, " : "";

	for (unsigned int i = 0; i < 4; i++) {
		struct seen runs = decode(s, is_silent, CR3, false, i & 1, i & 2 ? 2 : 1);
		struct seen counts = decode(s, is_silent, CR3, true, i & 1, i & 2 ? 2 : 1);

		CHECK(!runs.is_failed && runs.insns == s->insns && runs.nr_insns == s->nr_insns &&
			      runs.totals.nr_insns == s->nr_insns,
		      "%s%s: the instructions that ran", name, how[i]);
		CHECK(!counts.is_failed && counts.branches == s->branches &&
			      counts.totals.nr_insns == s->nr_insns,
		      "%s%s: the branches that were taken, and not", name, how[i]);
	}
}

static void check_other_space(const struct steps *s)
{
	struct seen other = decode(s, false, CR3 + PAGE, false, true, 1);

	CHECK(!other.is_failed && !other.nr_insns && other.totals.nr_nacc,
	      "another CR3 is another address space: none of this code is in it");
}

int main(int argc, char **argv)
{
	struct steps *s;

	if (argc < 3)
		return 2;
	s = x86_can_decode() ? start(argv + 2) : NULL;
	if (!s) {
		printf("1..0 # SKIP no Zydis, or nothing can be single-stepped here\n");
		return 0;
	}
	run(s, strtoull(argv[1], NULL, 0));
	CHECK(!s->is_failed && s->nr_insns,
	      "%s: %llu instructions, %llu branches, %llu and %llu bytes", argv[2],
	      (unsigned long long)s->nr_insns, (unsigned long long)s->nr_waypoints,
	      (unsigned long long)s->traces[0].nr, (unsigned long long)s->traces[1].nr);
	for (int i = 0; i < 2; i++)
		check(s, i);
	check_other_space(s);
	for (int i = 0; i < 2; i++)
		buf_done(&s->traces[i]);
	free_pages(s);
	mem_free(s);
	return tap_done();
}
