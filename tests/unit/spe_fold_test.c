/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that are counted together: the same sums as one by one, whether another thread reads
 * along or not, whether an earlier pass has counted them or not, in the same order, with damage in
 * between. */
#include <stdlib.h>

#include "base/budget.h"
#include "base/hash.h"
#include "base/map_u64.h"
#include "make/spe_encode.h"
#include "make/splitmix.h"
#include "os/helper.h"
#include "trace/spe_decoder.h"
#include "trace/spe_kept.h"
#include "unit/tap.h"

enum {
	NR_KINDS = 400,
	NR_RECORDS = 30000,
	STAY = 4096,
	PIECE = 200 << 10,
	RANGE = 3, /* pieces */
	NR_DAMAGED = 3
};

static const struct spe_config config;
static const struct trace_unit unit = {.config = &config};
static struct buf bytes;

/** What came of one reading. */
struct sums {
	enum trace_ops_fold by; /* what is looked at */
	uint64_t stay;          /* ticks for which an answer holds */
	uint64_t nr, nr_given, sum, order;
	struct map_u64 met;
	struct trace_ops_counts counts;
	uint64_t nr_warnings;
};

/** Some of the kinds often, some seldom; one in a while ends in its middle. */
static void make_bytes(uint64_t random)
{
	static struct spe_record kinds[NR_KINDS];
	static struct spe_style styles[NR_KINDS];
	uint64_t ticks = 1 << 20;

	for (size_t i = 0; i < NR_KINDS; i++) {
		spe_random_record(&random, 1, &kinds[i], &styles[i]);
		kinds[i].context[0] &= 1;
		kinds[i].context[1] &= 1;
	}
	for (size_t i = 0; i < NR_RECORDS; i++) {
		uint64_t r = splitmix64(&random);
		size_t k = r % (r >> 60 ? 16 : NR_KINDS);

		ticks += 1 + (r >> 32) % 7;
		kinds[k].timestamp = ticks;
		spe_put_record(&bytes, &kinds[k], &styles[k]);
		if (i % (NR_RECORDS / NR_DAMAGED) == 77)
			bytes.nr -= 3;
	}
}

static uint64_t owner_of(const struct trace_op *o, uint64_t stay)
{
	return hash_two(o->op.level | (uint64_t)o->op.security << 8 | o->op.ticks / stay << 16,
			hash_two(o->op.context_el1, o->op.context_el2));
}

static uint64_t digest_of(const struct trace_op *o, const struct sums *s)
{
	enum trace_ops_fold by = s->by;
	const struct ana_op *op = &o->op;
	uint64_t h = owner_of(o, s->stay);

	if (by == TRACE_OPS_BY_OWNER)
		return h;
	h = hash_two(h, hash_two(o->pc, op->target));
	h = hash_two(h, hash_two(op->events, op->source));
	h = hash_two(h, hash_two((uint64_t)op->op << 8 | op->op_class, op->data_src));
	if (by == TRACE_OPS_BY_CODE)
		return h;
	h = hash_two(h, hash_two(op->va, op->has));
	return hash_two(h, (uint64_t)op->total << 32 | (uint64_t)op->issue << 16 | op->xlat);
}

static enum clew_err take_ops(void *ctx, const struct trace_op *ops, size_t nr)
{
	struct sums *s = ctx;

	for (size_t i = 0; i < nr; i++) {
		uint64_t digest = digest_of(&ops[i], s);

		s->nr += ops[i].nr;
		s->sum += digest * ops[i].nr;
		s->nr_given++;
		if (map_u64_get(&s->met, digest))
			continue;
		s->order = hash_two(s->order, digest);
		map_u64_put(&s->met, digest, 1);
	}
	return CLEW_OK;
}

static struct trace_stay stay_of(void *ctx, const struct trace_op *op)
{
	const struct sums *s = ctx;
	uint64_t from = op->op.ticks / s->stay * s->stay;

	return (struct trace_stay){from, from + s->stay};
}

static enum clew_err count_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	struct sums *s = ctx;

	(void)what, (void)number, (void)offset;
	s->nr_warnings++;
	return CLEW_OK;
}

/** How it is read. */
struct way {
	enum trace_ops_fold fold;
	struct os_helper *helper;
	struct trace_ops_kept *kept;
	bool keeps;
	size_t piece; /* bytes */
	uint64_t stay;
};

/** In ranges, the same ones whatever the pieces. */
static void read_all(struct sums *s, enum trace_ops_fold by, const struct way *w)
{
	const struct trace_ops_reader_type *type = spe_decoder.ops;
	const struct trace_ops_sink sink = {
		.ops = take_ops,
		.fold = w->fold,
		.stay = stay_of,
		.helper = w->helper,
		.kept = w->kept,
		.keeps = w->keeps,
		.ctx = s,
		.listener = {count_warning, s}
        };
	void *reader = type->reader_new(&unit, &sink);

	*s = (struct sums){.by = by, .stay = w->stay};
	for (size_t at = 0, nr; reader && at < bytes.nr; at += nr) {
		size_t left = RANGE * PIECE - at % (RANGE * PIECE);

		nr = bytes.nr - at < left ? bytes.nr - at : left;
		nr = nr < w->piece ? nr : w->piece;
		if (left == RANGE * PIECE)
			type->restart(reader);
		type->feed(reader, bytes_of(bytes.data + at, nr), at);
	}
	if (!reader)
		return;
	type->restart(reader);
	s->counts = *type->counts(reader);
	type->reader_free(reader);
	map_u64_done(&s->met);
}

static bool is_equal(const struct sums *a, const struct sums *b)
{
	return a->nr == b->nr && a->sum == b->sum && a->order == b->order &&
	       a->nr_warnings == b->nr_warnings &&
	       !memcmp(&a->counts, &b->counts, sizeof(a->counts));
}

static void check(enum trace_ops_fold by, const char *name, struct os_helper *helper)
{
	const struct way each_way = {.piece = PIECE, .stay = STAY};
	const struct way alone_way = {.fold = by, .piece = PIECE, .stay = STAY};
	const struct way helped_way = {.fold = by, .helper = helper, .piece = PIECE, .stay = STAY};
	struct sums each, alone, helped;

	read_all(&each, by, &each_way);
	read_all(&alone, by, &alone_way);
	read_all(&helped, by, &helped_way);
	CHECK(each.nr == each.nr_given && each.nr > NR_RECORDS - 20 * NR_DAMAGED,
	      "%s: one by one, %llu records", name, (unsigned long long)each.nr);
	CHECK(each.nr_warnings, "%s: %llu warnings", name, (unsigned long long)each.nr_warnings);
	CHECK(is_equal(&alone, &each), "%s: together, the same sums, order, totals and warnings",
	      name);
	CHECK(is_equal(&helped, &each), "%s: with two threads too", name);
	CHECK(by == TRACE_OPS_BY_ACCESS || alone.nr_given < each.nr / 2, "%s: in less operations",
	      name);
}

/* --- counts of an earlier pass --- */

/** Of what was kept: with @p wipes it becomes zeros. */
static size_t kept_bytes(const struct trace_ops_kept *kept, bool wipes)
{
	const struct spe_kept *k = kept->data;
	size_t nr = 0;

	vec_for_each (&k->parts, p) {
		size_t part = (size_t)(p->end.offset - p->begin.offset);

		if (wipes)
			memset(bytes.data + p->begin.offset, 0, part);
		nr += part;
	}
	return nr;
}

/** A pass that keeps, in pieces of so many bytes, and two in others that use what it kept, as far
 * as that is of one of their stays. */
static void check_kept(enum trace_ops_fold by, size_t keeps_in, size_t uses_in,
		       struct os_helper *helper, uint64_t max)
{
	struct budget budget = {.limit = max};
	struct trace_ops_kept kept = {.fold = by, .budget = &budget};
	const struct way each_way = {.piece = PIECE, .stay = STAY};
	const struct way keeping = {TRACE_OPS_BY_OWNER, helper, &kept, true, keeps_in, 3 * STAY};
	const struct way using = {by, helper, &kept, false, uses_in, STAY};
	struct sums each, first, second, third;
	size_t nr;

	read_all(&each, by, &each_way);
	read_all(&first, TRACE_OPS_BY_OWNER, &keeping);
	nr = kept_bytes(&kept, false);
	read_all(&second, by, &using);
	read_all(&third, by, &using);
	CHECK(first.nr == each.nr && is_equal(&second, &each) && is_equal(&third, &each),
	      "%zu bytes kept in pieces of %zu, used in pieces of %zu, by %s: the same", nr,
	      keeps_in, uses_in, helper ? "two threads" : "one thread");
	CHECK(nr && budget.used <= max, "in %llu bytes", (unsigned long long)budget.used);
	spe_decoder.ops->kept_free(kept.data);
}

/** Where all stays are those of the first pass, what it kept is not read again. */
static void check_unread(struct os_helper *helper)
{
	struct budget budget = {.limit = 16 << 20};
	struct trace_ops_kept kept = {.fold = TRACE_OPS_BY_CODE, .budget = &budget};
	const struct way each_way = {.piece = PIECE, .stay = STAY};
	const struct way keeping = {TRACE_OPS_BY_OWNER, helper, &kept, true, PIECE, STAY};
	const struct way using = {TRACE_OPS_BY_CODE, helper, &kept, false, 2 * PIECE, STAY};
	struct sums each, first, second;
	size_t nr;

	read_all(&each, TRACE_OPS_BY_CODE, &each_way);
	read_all(&first, TRACE_OPS_BY_OWNER, &keeping);
	nr = kept_bytes(&kept, true);
	read_all(&second, TRACE_OPS_BY_CODE, &using);
	CHECK(nr > bytes.nr / 2 && is_equal(&second, &each), "%zu of %zu bytes are not read again",
	      nr, bytes.nr);
	spe_decoder.ops->kept_free(kept.data);
}

/** An argument: the seed; with some, records differ too much to be kept. */
int main(int argc, char **argv)
{
	static const size_t pieces[] = {PIECE / 9, PIECE, 4 * PIECE};
	struct os_helper *helper = os_helper_new();

	make_bytes(argc > 1 ? strtoull(argv[1], NULL, 0) : 11);
	CHECK(bytes.nr > 2 * RANGE * PIECE, "%zu bytes, of several ranges", bytes.nr);
	check(TRACE_OPS_BY_OWNER, "by owner", helper);
	check(TRACE_OPS_BY_CODE, "by code", helper);
	check(TRACE_OPS_BY_ACCESS, "by access", helper);
	for (size_t i = 0; i < 9; i++) {
		check_kept(TRACE_OPS_BY_CODE, pieces[i % 3], pieces[i / 3], NULL, 16 << 20);
		check_kept(TRACE_OPS_BY_CODE, pieces[i % 3], pieces[i / 3], helper, 16 << 20);
	}
	check_kept(TRACE_OPS_BY_CODE, PIECE, PIECE, helper, 100 << 10);
	check_kept(TRACE_OPS_BY_ACCESS, PIECE, PIECE, helper, 16 << 20);
	check_unread(helper);
	os_helper_free(helper);
	buf_done(&bytes);
	return tap_done();
}
