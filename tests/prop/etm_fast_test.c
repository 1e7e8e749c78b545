/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow.h"
#include "make/etm_program.h"
#include "prop/seeds.h"
#include "unit/tap.h"

/*
 * Usage: etm_fast_test [FIRST_SEED [NR]]
 *
 * Whatever way the decoder goes, it says the same: packet by packet or by paths, in pieces, with a
 * cache that is cleared again and again; and its counts are the same, too.
 * Without arguments: CLEW_TEST_SECONDS (5) of random programs.
 */
enum { NR_STEPS = 3000, TINY_CACHE = 8 << 10, SMALL_CACHE = 64 << 10 };

struct way {
	const char *name;
	bool goes_plain;
	size_t chunk, cache; /* 0: all at once; as it is */
	unsigned int nr_threads;
	size_t part; /* of input, for each thread */
};

static const struct way ways[] = {
	{"plain",			       true,  0,    0,           1, 0   },
	{"fast",				false, 0,    0,           1, 0   },
	{"in pieces",			   false, 61,   0,           1, 0   },
	{"with a small cache",                  false, 0,    SMALL_CACHE, 1, 0   },
	{"with a tiny cache",                   false, 4093, TINY_CACHE,  1, 0   },
	{"plain with a tiny cache",             true,  0,    TINY_CACHE,  1, 0   },
	{"in two threads",                      false, 0,    0,           2, 1500},
	{"in three threads",                    false, 4096, 0,           3, 700 },
	{"in seven threads with a small cache", false, 777,  SMALL_CACHE, 7, 400 },
};

struct outcome {
	uint64_t digest, nr_insns, nr_ranges, nr_packets;
	uint64_t edges; /* a sum over all, in whatever order and parts they come */
};

static uint64_t mixed(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15u ^ h >> 29;
}

static bool add_edge(void *ctx, const struct flow_edge *e)
{
	struct outcome *t = ctx;
	uint64_t h = mixed(mixed(e->from->start, e->from->bytes), e->from->space);

	h = mixed(mixed(h, (uint64_t)(e->is_taken << 1 | e->has_to)), e->has_to ? e->to : 0);
	t->edges += mixed(h, e->from->isa) * e->nr;
	return true;
}

static bool run(const struct etm_program *p, const struct way *w, bool is_counting,
		struct outcome *ret)
{
	struct etm_log log = {.code = &p->source};
	struct etm_flow_opts o = {.config = &p->config,
				  .flow.code = &p->source,
				  .flow.batch = is_counting ? NULL : etm_log_batch,
				  .flow.ctx = &log,
				  .splits_source_ranges = p->splits_source_ranges,
				  .flow.max_cache_bytes = w->cache,
				  .goes_plain = w->goes_plain,
				  .flow.nr_threads = w->nr_threads,
				  .flow.part_bytes = w->part};
	struct flow *f = etm_flow_new(&o);
	bool ok = f && !etm_log_decode(f, bytes_of(p->unit.out.data, p->unit.out.nr), w->chunk);

	*ret = (struct outcome){0};
	ok = ok && (!is_counting || flow_edges(f, add_edge, ret));
	if (ok) {
		const struct flow_totals *t = flow_totals(f);

		ret->digest = log.digest;
		ret->nr_insns = t->nr_insns;
		ret->nr_ranges = t->nr_ranges;
		ret->nr_packets = t->nr_packets;
	}
	flow_free(f);
	return ok;
}

static bool is_same(const struct etm_program *p, const struct way *w, bool is_counting,
		    const struct outcome *want)
{
	struct outcome got;

	if (run(p, w, is_counting, &got) && !memcmp(&got, want, sizeof(got)))
		return true;
	printf("# %s: %s%s: %llu instructions, want %llu; %llu packets, want %llu; edges %llx, "
	       "want %llx\n",
	       etm_program_text(p), w->name, is_counting ? ", counting" : "",
	       (unsigned long long)got.nr_insns, (unsigned long long)want->nr_insns,
	       (unsigned long long)got.nr_packets, (unsigned long long)want->nr_packets,
	       (unsigned long long)got.edges, (unsigned long long)want->edges);
	return false;
}

/** A consumer that says no once. */
struct refusal {
	uint64_t nr_until, nr_batches;
};

static enum clew_err take_or_refuse(void *ctx, const struct flow_batch *b)
{
	struct refusal *r = ctx;

	(void)b;
	return ++r->nr_batches == r->nr_until ? CLEW_UNSUPPORTED : CLEW_OK;
}

/** After its no it is given nothing any more. */
static bool ends_when_refused(const struct etm_program *p, const struct way *w, uint64_t nr_until)
{
	struct refusal r = {.nr_until = nr_until};
	struct etm_flow_opts o = {.config = &p->config,
				  .flow.code = &p->source,
				  .flow.batch = take_or_refuse,
				  .flow.ctx = &r,
				  .flow.max_cache_bytes = w->cache,
				  .flow.nr_threads = w->nr_threads,
				  .flow.part_bytes = w->part};
	struct flow *f = etm_flow_new(&o);
	enum clew_err err = CLEW_OK;

	if (f)
		err = etm_log_decode(f, bytes_of(p->unit.out.data, p->unit.out.nr), w->chunk);
	flow_free(f);
	if (f && (r.nr_batches < nr_until || (err == CLEW_UNSUPPORTED && r.nr_batches == nr_until)))
		return true;
	printf("# %s: %s: %llu batches, and a no to number %llu\n", etm_program_text(p), w->name,
	       (unsigned long long)r.nr_batches, (unsigned long long)nr_until);
	return false;
}

enum { NR_EVENTS = 70000, EVENTS_EVERY = 3 /* seeds */ };

/** At the end, events: more than may wait. */
static bool add_events(struct etm_program *p)
{
	struct buf *out = &p->unit.out;

	buf_fill(out, 0x71, NR_EVENTS);
	return !out->is_failed;
}

static uint64_t nr_insns;

static bool try_seed(void *ctx, uint64_t seed)
{
	struct etm_program *p = ctx;
	bool ok = etm_program_make(p, seed, NR_STEPS) && (seed % EVENTS_EVERY || add_events(p));

	for (int is_counting = 0; ok && is_counting < 2; is_counting++) {
		struct outcome want;

		ok = run(p, &ways[0], is_counting, &want);
		nr_insns += want.nr_insns;
		for (size_t i = 1; ok && i < sizeof(ways) / sizeof(ways[0]); i++)
			ok = is_same(p, &ways[i], is_counting, &want);
	}
	for (size_t i = 0; ok && i < sizeof(ways) / sizeof(ways[0]); i++)
		ok = ends_when_refused(p, &ways[i], 1 + seed % 8);
	etm_program_done(p);
	return ok;
}

int main(int argc, char **argv)
{
	static struct etm_program p;
	struct seeds r = seeds_try(argc, argv, 5, try_seed, &p);

	CHECK(r.done && !r.nr_wrong, "%llu programs, %llu instructions: %llu differ",
	      (unsigned long long)r.done, (unsigned long long)nr_insns,
	      (unsigned long long)r.nr_wrong);
	return tap_done();
}
