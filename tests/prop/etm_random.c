/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "flow/etm/etm_flow.h"
#include "make/etm_program.h"
#include "prop/seeds.h"
#include "unit/tap.h"

/*
 * Usage: etm_random [FIRST_SEED [NR]]
 *
 * Random programs, traced in every configuration: what the decoder says is what was executed,
 * instruction by instruction, and every context, exception, timestamp and count stands at its
 * place. Again in pieces of 1, 7 and 4096 bytes, with a cache that overflows, and only counted.
 * Without arguments: CLEW_TEST_SECONDS (10) of programs.
 */
enum { NR_STEPS = 400, SMALL_CACHE = 64 << 10 };

struct judge {
	const struct etm_program *p;
	size_t at;
	uint64_t nr_dropped;
	bool is_wrong;
	struct etm_log_entry got;
};

/** The truth is silent from unreadable code on, until the trace has an address again. */
static bool is_unreadable(const struct judge *j)
{
	for (size_t i = j->at; i-- > 0;) {
		const struct etm_log_entry *e = &j->p->truth.data[i];

		if (e->kind == FLOW_EV_NACC)
			return true;
		if (!etm_log_is_note(e) && e->kind != FLOW_EV_CONTEXT &&
		    e->kind != FLOW_EV_TRANSACTION)
			return false;
	}
	return false;
}

static bool compare(void *ctx, const struct etm_log_entry *e)
{
	struct judge *j = ctx;

	if (j->at < j->p->truth.nr && etm_log_is_equal(e, &j->p->truth.data[j->at])) {
		j->at++;
		return true;
	}
	if (e->kind == FLOW_EV_DROPPED && is_unreadable(j)) {
		j->nr_dropped += e->value;
		return true;
	}
	j->is_wrong = true;
	j->got = *e;
	return false;
}

static enum clew_err run(struct flow *f, const struct etm_program *p, size_t chunk)
{
	return etm_log_decode(f, bytes_of(p->unit.out.data, p->unit.out.nr), chunk);
}

static void explain(const struct judge *j)
{
	size_t from = j->at < 6 ? 0 : j->at - 6;

	printf("# %s\n", etm_program_text(j->p));
	for (size_t i = from; i < j->at; i++)
		printf("#     %s\n", etm_log_text(&j->p->truth.data[i]));
	if (j->at < j->p->truth.nr)
		printf("# want %s\n", etm_log_text(&j->p->truth.data[j->at]));
	printf("# got  %s\n", j->is_wrong ? etm_log_text(&j->got) : "nothing more");
	for (size_t i = j->at + 1; i < j->p->truth.nr && i < j->at + 4; i++)
		printf("#     %s\n", etm_log_text(&j->p->truth.data[i]));
}

static bool is_right(struct etm_program *p, size_t chunk, size_t cache)
{
	struct judge j = {.p = p};
	struct etm_log log = {.code = &p->source, .entry = compare, .ctx = &j};
	struct etm_flow_opts o = {.config = &p->config,
				  .flow.code = &p->source,
				  .flow.batch = etm_log_batch,
				  .flow.ctx = &log,
				  .splits_source_ranges = p->splits_source_ranges,
				  .flow.max_cache_bytes = cache};
	struct flow *f = etm_flow_new(&o);
	bool ok = f && !run(f, p, chunk) && j.at == p->truth.nr && !log.nr_wrong_counts &&
		  flow_totals(f)->nr_insns == log.nr_insns &&
		  flow_totals(f)->nr_dropped == j.nr_dropped;

	if (!ok)
		explain(&j);
	flow_free(f);
	return ok;
}

/** A sum over what ran: each run of a block, by the way its waypoint was left. */
static uint64_t weight(const struct flow_block *b, bool is_e)
{
	return hash_two(hash_two(b->start, b->bytes), (uint64_t)b->space << 8 | b->isa << 1 | is_e);
}

static enum clew_err add_blocks(void *ctx, const struct flow_batch *b)
{
	uint64_t *sum = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		if (!(b->items[i] & FLOW_ITEM_EVENT))
			*sum += weight(&b->blocks[b->items[i] >> 1], b->items[i] & 1);
	}
	return CLEW_OK;
}

static bool add_edge(void *ctx, const struct flow_edge *e)
{
	uint64_t *sum = ctx;

	if (e->from->kind != INSN_PLAIN)
		*sum += e->nr * weight(e->from, e->is_taken);
	return true;
}

/** Counts have each block and branch as often as batches do. */
static bool is_counted(struct etm_program *p)
{
	uint64_t in_batches = 0, in_edges = 0;
	struct etm_flow_opts o = {.config = &p->config,
				  .flow.code = &p->source,
				  .flow.batch = add_blocks,
				  .flow.ctx = &in_batches,
				  .splits_source_ranges = true};
	struct flow *batches = etm_flow_new(&o), *counts;
	uint64_t nr_insns = 0;
	bool ok;

	o.flow.batch = NULL;
	counts = etm_flow_new(&o);
	vec_for_each (&p->truth, e)
		nr_insns += e->kind == ETM_LOG_INSN;
	ok = batches && counts && !run(batches, p, p->unit.out.nr) && !run(counts, p, 4096) &&
	     flow_totals(counts)->nr_insns == nr_insns && flow_edges(counts, add_edge, &in_edges) &&
	     in_batches == in_edges;
	if (!ok)
		printf("# %s: counted %llu instructions, want %llu; blocks %llx, want %llx\n",
		       etm_program_text(p),
		       counts ? (unsigned long long)flow_totals(counts)->nr_insns : 0,
		       (unsigned long long)nr_insns, (unsigned long long)in_edges,
		       (unsigned long long)in_batches);
	flow_free(batches);
	flow_free(counts);
	return ok;
}

static uint64_t nr_insns, nr_bytes, nr_entries;

static bool try_seed(void *ctx, uint64_t seed)
{
	struct etm_program *p = ctx;
	bool ok = etm_program_make(p, seed, NR_STEPS) && is_right(p, p->unit.out.nr, 0) &&
		  is_right(p, 1, 0) && is_right(p, 7, SMALL_CACHE) && is_right(p, 4096, 0) &&
		  is_counted(p);

	nr_bytes += p->unit.out.nr;
	nr_entries += p->truth.nr;
	vec_for_each (&p->truth, e)
		nr_insns += e->kind == ETM_LOG_INSN;
	etm_program_done(p);
	return ok;
}

int main(int argc, char **argv)
{
	static struct etm_program p;
	struct seeds r = seeds_try(argc, argv, 10, try_seed, &p);

	CHECK(r.done && !r.nr_wrong,
	      "%llu programs, %llu instructions, %llu entries, %llu trace bytes: %llu wrong",
	      (unsigned long long)r.done, (unsigned long long)nr_insns,
	      (unsigned long long)nr_entries, (unsigned long long)nr_bytes,
	      (unsigned long long)r.nr_wrong);
	return tap_done();
}
