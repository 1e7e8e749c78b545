/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/straight_runs.h"

#include <elf.h>

#include "base/u64.h"
#include "image/dso_source.h"
#include "isa/any/insn_decode.h"

enum { MAX_INSNS = 16 << 20 /* looked at in a binary: what is beyond is believed */ };

/** How far execution from an address on is straight: up to and with at. */
struct reach {
	uint64_t at; /* the dso's */
	enum {
		REACH_OPEN, /* what is there was not looked at yet */
		REACH_STOP, /* there is a branch that is always taken */
		REACH_LOST, /* unknown code */
	} end;
};

struct walker {
	const struct dso *d;
	uint64_t nr_insns;
	struct {
		VEC(struct reach);
	} all;
	struct map_u64 by_start; /* -> number in all */
};

static bool is_always_taken(const struct insn *i, uint64_t next)
{
	if (i->flags & INSN_MAY_FAIL)
		return false;
	return i->kind == INSN_INDIRECT || (i->kind == INSN_BRANCH && i->target != next);
}

/** Look at the instruction at @p r->at: if it is straight, step over it. */
static void step(struct walker *w, struct reach *r)
{
	uint64_t linked;
	const uint8_t *code;
	uint16_t machine;
	size_t left = 0, bytes = 0;
	struct insn i;

	if (w->nr_insns++ < MAX_INSNS && dso_link_address(w->d, r->at, &linked))
		left = dso_linked_bytes(w->d, linked, &code, &machine);
	if (left && machine != EM_ARM)
		bytes = insn_decode(isa_of_machine(machine, false), code, left, linked, &i);
	if (!bytes)
		r->end = REACH_LOST;
	else if (is_always_taken(&i, linked + bytes))
		r->end = REACH_STOP;
	else
		r->at += bytes;
}

/** Walk until @p end is passed, or it is known why not. Runs that begin at higher addresses were
 * looked at before: each walk ends where one of theirs begins. */
static struct reach reach_of(struct walker *w, uint64_t start, uint64_t end)
{
	struct reach r = {.at = start};

	while (r.end == REACH_OPEN && r.at <= end) {
		const uint64_t *known = map_u64_get(&w->by_start, r.at);

		if (known)
			r = w->all.data[*known];
		else
			step(w, &r);
	}
	return r;
}

static void check_group(struct code_count *runs, size_t nr, const struct reach *r, uint64_t *ret_nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (r->end != REACH_STOP || runs[i].b <= r->at)
			continue;
		*ret_nr = u64_sum(*ret_nr, runs[i].nr);
		runs[i].nr = 0;
	}
}

static bool check_all(struct walker *w, struct code_table *t, uint64_t *ret_nr)
{
	size_t first;

	for (size_t after = t->nr; after; after = first) {
		const struct code_count *last = &t->data[after - 1];
		struct reach r = reach_of(w, last->a, last->b);

		for (first = after - 1; first && t->data[first - 1].a == last->a;)
			first--;
		check_group(&t->data[first], after - first, &r, ret_nr);
		if (!map_u64_put(&w->by_start, last->a, w->all.nr) || !vec_push(&w->all, r))
			return false;
	}
	return true;
}

static void remove_empty(struct code_table *t)
{
	size_t nr = 0;

	vec_for_each (t, e) {
		if (e->nr)
			t->data[nr++] = *e;
	}
	t->nr = nr;
}

bool straight_runs_check(struct counted_binary *b, uint64_t *ret_nr)
{
	struct walker w = {.d = b->dso};
	bool ok;

	if (!b->dso || dso_kind(b->dso) != DSO_USER || !dso_has_linked(b->dso))
		return true;
	code_counts_sort(&b->counts);
	ok = check_all(&w, &b->counts.runs, ret_nr);
	remove_empty(&b->counts.runs);
	vec_done(&w.all);
	map_u64_done(&w.by_start);
	return ok;
}
