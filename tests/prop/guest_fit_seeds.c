/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "make/guest_model.h"
#include "make/splitmix.h"
#include "merge/guest_fit.h"
#include "unit/tap.h"

/*
 * Guests of all sorts at random: clocks, losses, pauses, load, timers that beat alike. Of each the
 * fit is compared with the truth, and each is tried as the guest of the host of the next seed.
 * Usage: guest_fit_seeds [FIRST [NR [busy]]]    busy: guests that never idle
 */

#define diag(...) (printf("# "), printf(__VA_ARGS__), printf("\n"))

enum {
	WRONG_US = 50, /* a sure band is no wider */
	MIN_SURE_PERCENT = 50,
	MIN_BUSY_PERCENT = 70, /* of one in six records are missing, and nothing says so */
};

struct tally {
	uint64_t nr, nr_sure, nr_likely;
	uint64_t nr_sure_wrong, nr_sure_outside; /* offset; band */
	uint64_t nr_likely_wrong, nr_likely_outside;
	uint64_t nr_other_sure, nr_other_likely; /* of the wrong host */
	uint64_t nr_ids;                         /* by threads in the host's trace, too */
	double band_us;                          /* of the sure: the sum */
};

/** A recording of both sides. */
struct made {
	struct guest_model model;
	struct guest_truth truth;
	struct fit_host host;
	struct fit_guest guest;
	bool ok;
};

static uint64_t below(uint64_t *random, uint64_t nr)
{
	return splitmix64(random) % nr;
}

static double share(uint64_t *random, uint64_t one_in, double most)
{
	return below(random, one_in) ? 0 : most * (double)below(random, 1000) / 1000;
}

static struct guest_model model_of(uint64_t seed, bool is_busy)
{
	uint64_t r = seed * 2654435761u + 1;
	bool is_ns = below(&r, 3) == 0;
	struct guest_model m = {.seed = seed,
				.nr_vcpus = 1 + (uint32_t)below(&r, 4),
				.ms = 1000 + (uint32_t)below(&r, 2500),
				.per_us = is_ns        ? 1000
					: below(&r, 2) ? 25
						       : 100,
				.busy = share(&r, 3, 0.2),
				.lost = share(&r, 3, 0.15),
				.late = share(&r, 3, 0.3),
				.unseen = share(&r, 6, 0.02),
				.first_from = (int64_t)below(&r, 2) * 100};

	if (is_ns)
		m.ppm = (double)below(&r, 401) - 200;
	if (!below(&r, 4))
		m.pause_us = 3000 + (int64_t)below(&r, 300000);
	if (!below(&r, 4))
		m.tick_us = below(&r, 2) ? 4000 : 1000;
	m.ids = share(&r, 2, 0.5);
	m.ids_differ = !below(&r, 6);
	m.never_idles = is_busy;
	m.preempt = is_busy ? 0.01 + 0.002 * (double)below(&r, 100) : 0;
	/* Its pause is between two stays. */
	m.pause_us = is_busy ? 0 : m.pause_us;
	return m;
}

static void make(struct made *d, uint64_t seed, bool is_busy)
{
	*d = (struct made){.model = model_of(seed, is_busy)};
	d->ok = guest_model_make(&d->model, &d->host, &d->guest, &d->truth);
}

static void unmake(struct made *d)
{
	fit_host_done(&d->host);
	fit_guest_done(&d->guest);
}

static bool is_in_band(const struct fit_piece *p, const struct guest_truth *t)
{
	/* The last unit of a piece may be that of a pause. */
	int64_t a = guest_truth_at(t, p->from), b = guest_truth_at(t, p->to - 1);

	return a >= p->bands[0].low - 1 && a <= p->bands[0].high + 1 && b >= p->bands[1].low - 1 &&
	       b <= p->bands[1].high + 1;
}

static bool is_near(const struct fit_piece *p, const struct made *d)
{
	int64_t middle = p->from + (p->to - p->from) / 2;
	int64_t off = fit_line_at(&p->line, middle) - guest_truth_at(&d->truth, middle);

	return (double)(off < 0 ? -off : off) <= WRONG_US * d->model.per_us;
}

static void say(const char *what, const struct made *d, const struct fit_result *r)
{
	const struct guest_model *m = &d->model;

	diag("%s: seed %llu: %u vcpus, %u ms, %.0f per us, %.0f ppm, lost %.3f, pause %lld, busy %.3f, late %.3f, unseen %.3f, tick %u",
	     what, (unsigned long long)m->seed, m->nr_vcpus, m->ms, m->per_us, m->ppm, m->lost,
	     (long long)m->pause_us, m->busy, m->late, m->unseen, m->tick_us);
	diag("  verdict %d, %zu pieces, matched %llu of %llu, contained %llu of %llu, score %u and %u, width %lld",
	     r->verdict, r->pieces.nr, (unsigned long long)r->nr_matched,
	     (unsigned long long)r->nr_edges, (unsigned long long)r->contained.nr_inside,
	     (unsigned long long)r->contained.nr, r->score, r->runner_up, (long long)r->width);
	vec_for_each (&r->pieces, p)
		diag("  [%lld, %lld): %lld to %lld, %lld to %lld; true %lld, %lld",
		     (long long)p->from, (long long)p->to, (long long)p->bands[0].low,
		     (long long)p->bands[0].high, (long long)p->bands[1].low,
		     (long long)p->bands[1].high, (long long)guest_truth_at(&d->truth, p->from),
		     (long long)guest_truth_at(&d->truth, p->to - 1));
}

static bool fit(const struct made *host, const struct made *guest, struct fit_result *ret)
{
	const struct guest_model *m = &guest->model;
	const struct fit_opts opts = {.per_us = m->per_us, .is_one_clock = m->per_us < 1000};

	return guest_fit(&host->host, &guest->guest, &opts, ret) == CLEW_OK;
}

static void add_own(struct tally *t, const struct made *d, const struct fit_result *r)
{
	bool is_wrong = false, is_outside = false, is_sure = r->verdict == FIT_SURE;

	vec_for_each (&r->pieces, p) {
		is_wrong |= !is_near(p, d);
		is_outside |= !is_in_band(p, &d->truth);
	}
	t->nr++;
	if (r->verdict == FIT_NOT_FOUND)
		return;
	t->nr_sure += is_sure;
	t->nr_ids += r->ids.nr_inside != 0;
	t->band_us += is_sure ? (double)r->width / d->model.per_us : 0;
	t->nr_likely += !is_sure;
	t->nr_sure_wrong += is_sure && is_wrong;
	t->nr_sure_outside += is_sure && is_outside;
	t->nr_likely_wrong += !is_sure && is_wrong;
	t->nr_likely_outside += !is_sure && is_outside;
	if (is_wrong || is_outside)
		say(is_sure ? "sure" : "likely", d, r);
}

static bool try_pair(struct tally *t, const struct made *d, const struct made *other)
{
	struct fit_result r = {0};
	bool ok = d->ok && other->ok && fit(d, d, &r);

	if (ok)
		add_own(t, d, &r);
	fit_result_done(&r);
	ok = ok && fit(other, d, &r);
	if (ok && r.verdict != FIT_NOT_FOUND)
		say("of another host", d, &r);
	t->nr_other_sure += ok && r.verdict == FIT_SURE;
	t->nr_other_likely += ok && r.verdict == FIT_LIKELY;
	if (ok)
		fit_result_done(&r);
	return ok;
}

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t nr = argc > 2 ? strtoull(argv[2], NULL, 0) : 24;
	bool is_busy = argc > 3 && !strcmp(argv[3], "busy");
	struct tally t = {0};
	bool ok = true;

	for (uint64_t i = 0; i < nr && ok; i++) {
		struct made d, other;

		make(&d, first + i, is_busy);
		make(&other, first + i + 1, is_busy);
		ok = try_pair(&t, &d, &other);
		unmake(&d);
		unmake(&other);
	}
	diag("%llu guests: %llu sure, %llu likely; outside the band: %llu sure, %llu likely; as guests of another host: %llu sure, %llu likely",
	     (unsigned long long)t.nr, (unsigned long long)t.nr_sure,
	     (unsigned long long)t.nr_likely, (unsigned long long)t.nr_sure_outside,
	     (unsigned long long)t.nr_likely_outside, (unsigned long long)t.nr_other_sure,
	     (unsigned long long)t.nr_other_likely);
	diag("%llu by threads in the host's trace, too; mean band of the sure: %.2f us",
	     (unsigned long long)t.nr_ids, t.nr_sure ? t.band_us / (double)t.nr_sure : 0);
	CHECK(ok && t.nr == nr, "all were tried");
	CHECK(!t.nr_sure_wrong && !t.nr_other_sure, "no sure offset is wrong");
	CHECK(t.nr_sure_outside * 1000 <= t.nr_sure,
	      "bands of the sure hold the true offset in 99.9 %%");
	CHECK(!t.nr_likely_wrong && !t.nr_other_likely, "no likely offset is wrong");
	if (is_busy)
		CHECK(!t.nr_sure && t.nr_likely * 100 >= t.nr * MIN_BUSY_PERCENT,
		      "most are likely, none is sure");
	else
		CHECK(t.nr_sure * 100 >= t.nr * MIN_SURE_PERCENT, "most are sure");
	return tap_done();
}
