/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that are counted together: the same sums as one by one, whether another thread reads
 * along or not, in the same order, with damage in between. */
#include "base/hash.h"
#include "base/map_u64.h"
#include "make/spe_encode.h"
#include "make/splitmix.h"
#include "trace/spe_decoder.h"
#include "unit/tap.h"

enum { NR_KINDS = 400, NR_RECORDS = 30000, STAY = 4096, PIECE = 400 << 10, NR_DAMAGED = 3 };

static const struct spe_config config;
static const struct trace_unit unit = {.config = &config};
static struct buf bytes;

/** What came of one reading. */
struct sums {
	enum trace_ops_fold by; /* what is looked at */
	uint64_t nr, nr_given, sum, order;
	struct map_u64 met;
	struct trace_ops_counts counts;
	uint64_t nr_warnings;
};

/** Some of the kinds often, some seldom; one in a while ends in its middle. */
static void make_bytes(void)
{
	static struct spe_record kinds[NR_KINDS];
	static struct spe_style styles[NR_KINDS];
	uint64_t random = 11, ticks = 1 << 20;

	for (size_t i = 0; i < NR_KINDS; i++)
		spe_random_record(&random, 1, &kinds[i], &styles[i]);
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

static uint64_t owner_of(const struct trace_op *o)
{
	return hash_two(o->op.level | (uint64_t)o->op.security << 8 | o->op.ticks / STAY << 16,
			hash_two(o->op.context_el1, o->op.context_el2));
}

static uint64_t digest_of(const struct trace_op *o, enum trace_ops_fold by)
{
	const struct ana_op *op = &o->op;
	uint64_t h = owner_of(o);

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
		uint64_t digest = digest_of(&ops[i], s->by);

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
	uint64_t from = op->op.ticks / STAY * STAY;

	(void)ctx;
	return (struct trace_stay){from, from + STAY};
}

static enum clew_err count_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	struct sums *s = ctx;

	(void)what, (void)number, (void)offset;
	s->nr_warnings++;
	return CLEW_OK;
}

static void read_all(struct sums *s, enum trace_ops_fold fold, enum trace_ops_fold by,
		     bool has_helper)
{
	const struct trace_ops_reader_type *type = spe_decoder.ops;
	const struct trace_ops_sink sink = {
		.ops = take_ops,
		.fold = fold,
		.stay = stay_of,
		.has_helper = has_helper,
		.ctx = s,
		.listener = {count_warning, s}
        };
	void *reader = type->reader_new(&unit, &sink);

	*s = (struct sums){.by = by};
	for (size_t at = 0, nr; reader && at < bytes.nr; at += nr) {
		nr = bytes.nr - at < PIECE ? bytes.nr - at : PIECE;
		type->feed(reader, bytes_of(bytes.data + at, nr), at);
	}
	if (!reader)
		return;
	type->restart(reader);
	s->counts = *type->counts(reader);
	type->reader_free(reader);
	map_u64_done(&s->met);
}

static void check(enum trace_ops_fold by, const char *name)
{
	struct sums each, alone, helped;

	read_all(&each, TRACE_OPS_EACH, by, false);
	read_all(&alone, by, by, false);
	read_all(&helped, by, by, true);
	CHECK(each.nr == each.nr_given && each.nr > NR_RECORDS - 10 * NR_DAMAGED,
	      "%s: one by one, %llu records", name, (unsigned long long)each.nr);
	CHECK(alone.nr == each.nr && alone.sum == each.sum, "%s: together, the same sums", name);
	CHECK(helped.nr == each.nr && helped.sum == each.sum, "%s: with two threads too", name);
	CHECK(by == TRACE_OPS_BY_ACCESS || alone.nr_given < each.nr / 2, "%s: in less operations",
	      name);
	CHECK(alone.order == each.order && helped.order == each.order, "%s: in the same order",
	      name);
	CHECK(!memcmp(&alone.counts, &each.counts, sizeof(each.counts)) &&
		      !memcmp(&helped.counts, &each.counts, sizeof(each.counts)),
	      "%s: bytes, records and damage are counted alike", name);
	CHECK(each.nr_warnings && alone.nr_warnings == each.nr_warnings &&
		      helped.nr_warnings == each.nr_warnings,
	      "%s: %llu warnings", name, (unsigned long long)each.nr_warnings);
}

int main(void)
{
	make_bytes();
	CHECK(bytes.nr > 2 * PIECE, "%zu bytes, of several pieces", bytes.nr);
	check(TRACE_OPS_BY_OWNER, "by owner");
	check(TRACE_OPS_BY_CODE, "by code");
	check(TRACE_OPS_BY_ACCESS, "by access");
	buf_done(&bytes);
	return tap_done();
}
