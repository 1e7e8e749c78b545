/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "make/etm_code.h"
#include "make/toy.h"
#include "unit/tap.h"

/*
 * The engine with another front end than ETM's (make/toy.h): programs of a machine with
 * instructions of 1 to 15 bytes run, their trace is decoded in every way there is, and each
 * instruction and branch must be the one that ran; with a bit for each branch, as ETM, and for
 * conditional ones only, as Intel PT. Damaged traces: each way gives the same.
 */

enum { NR_PROGRAMS = 60, NR_BRANCHES = 20000 };

struct way {
	const char *name;
	bool is_counting, has_paths;
	unsigned int nr_threads;
	size_t chunk, cache;
};

static const struct way ways[] = {
	{"branch by branch",                  false, false, 1, 0,   0       },
	{"by paths",			  false, true,  1, 0,   0       },
	{"by paths, little cache, in pieces", false, true,  1, 977, 64 << 10},
	{"in parts",			  false, false, 3, 0,   0       },
	{"by paths, in parts",                false, true,  3, 501, 0       },
	{"counts",			    true,  false, 1, 0,   0       },
	{"counts, by paths",                  true,  true,  1, 0,   0       },
	{"counts, by paths, little cache",    true,  true,  1, 0,   64 << 10},
	{"counts, by paths, in parts",        true,  true,  3, 0,   0       },
};
enum { NR_WAYS = sizeof(ways) / sizeof(ways[0]), NR_BATCH_WAYS = 5 };

struct seen {
	const struct toy_program *p;
	uint64_t insns, branches, events;
	struct flow_totals totals;
	bool is_failed;
};

static void run(struct seen *s, uint64_t at, uint64_t end)
{
	while (at < end) {
		s->insns = toy_insn_digest(s->insns, at);
		at += toy_bytes(s->p->code[at - TOY_BASE]);
	}
	s->is_failed |= at != end;
}

static enum clew_err take(void *ctx, const struct flow_batch *b)
{
	struct seen *s = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct flow_block *k = &b->blocks[b->items[i] >> 1];
		const struct flow_event *e = &b->events[b->items[i] & ~(uint32_t)FLOW_ITEM_EVENT];

		if (!(b->items[i] & FLOW_ITEM_EVENT)) {
			run(s, k->start, k->start + k->bytes);
			continue;
		}
		if (e->kind == FLOW_EV_RANGE)
			run(s, e->address, e->end);
		else
			s->events = hash_two(s->events ^ e->kind, hash_two(e->address, e->value));
	}
	return CLEW_OK;
}

static bool add(void *ctx, const struct flow_edge *e)
{
	struct seen *s = ctx;
	const struct flow_block *b = e->from;

	if (b->kind != INSN_PLAIN)
		s->branches += toy_branch_digest(b->start + b->bytes - b->last_bytes,
						 e->has_to ? e->to : 1, e->is_taken, e->nr);
	return true;
}

static bool feed(struct flow *f, const struct way *w, struct bytes in)
{
	struct bytes piece;

	while (bytes_left(&in)) {
		size_t left = bytes_left(&in);

		bytes_take(&in, w->chunk && w->chunk < left ? w->chunk : left, &piece);
		if (flow_feed(f, piece))
			return false;
	}
	return !flow_finish(f);
}

static struct seen decode(const struct toy_program *p, bool is_silent, const struct way *w)
{
	struct seen ret = {.p = p};
	const struct toy_opts o = {.flow.code = &p->source,
				   .flow.batch = w->is_counting ? NULL : take,
				   .flow.ctx = &ret,
				   .flow.nr_threads = w->nr_threads,
				   .flow.max_cache_bytes = w->cache,
				   .flow.part_bytes = 300,
				   .has_paths = w->has_paths,
				   .is_silent = is_silent};
	struct flow *f = toy_flow_new(&o);

	if (f && feed(f, w, bytes_of(p->trace.data, p->trace.nr)) && flow_edges(f, add, &ret))
		ret.totals = *flow_totals(f);
	else
		ret.is_failed = true;
	flow_free(f);
	return ret;
}

static bool is_right(const struct toy_program *p, const struct way *w, const struct seen *s)
{
	bool is_same = w->is_counting ? s->branches == p->branches : s->insns == p->insns;

	return !s->is_failed && is_same && s->totals.nr_insns == p->nr_insns &&
	       s->totals.nr_exceptions == p->nr_exceptions && !s->totals.nr_no_sync;
}

static void damage(struct toy_program *p, struct etm_random *random)
{
	for (size_t i = 0; i < p->trace.nr / 500 + 1; i++)
		p->trace.data[etm_random_below(random, (uint32_t)p->trace.nr)] =
			(char)etm_random_u64(random);
}

/** @return ways that give something else than the first of their kind. */
static unsigned int nr_apart(const struct toy_program *p, bool is_silent)
{
	struct seen first[2], s;
	unsigned int ret = 0;

	for (unsigned int i = 0; i < NR_WAYS; i++) {
		struct seen *like = &first[ways[i].is_counting];

		s = decode(p, is_silent, &ways[i]);
		if (i == 0 || i == NR_BATCH_WAYS)
			*like = s;
		ret += s.is_failed || s.insns != like->insns || s.branches != like->branches ||
		       s.events != like->events || s.totals.nr_insns != first->totals.nr_insns;
	}
	return ret;
}

static bool check(bool is_silent)
{
	static struct toy_program p;
	unsigned int nr_wrong[NR_WAYS] = {0}, nr_damaged = 0;
	struct etm_random random = {7};
	uint64_t nr_insns = 0;

	for (unsigned int i = 0; i < NR_PROGRAMS; i++) {
		p = (struct toy_program){0};
		if (!toy_program_make(&p, is_silent, i + 1,
				      i % 3 == 0   ? 30
				      : i % 3 == 1 ? 300
						   : 2000,
				      NR_BRANCHES))
			return false;
		nr_insns += p.nr_insns;
		for (unsigned int w = 0; w < NR_WAYS; w++) {
			struct seen s = decode(&p, is_silent, &ways[w]);

			nr_wrong[w] += !is_right(&p, &ways[w], &s);
		}
		damage(&p, &random);
		nr_damaged += nr_apart(&p, is_silent);
		toy_program_done(&p);
	}
	for (unsigned int w = 0; w < NR_WAYS; w++)
		CHECK_EQ(nr_wrong[w], 0, "%s%s: %u programs, %llu instructions, as they ran",
			 is_silent ? "silent, " : "", ways[w].name, NR_PROGRAMS,
			 (unsigned long long)nr_insns);
	CHECK_EQ(nr_damaged, 0, "%sdamaged traces are the same in every way",
		 is_silent ? "silent, " : "");
	return true;
}

int main(void)
{
	return check(false) && check(true) ? tap_done() : 1;
}
