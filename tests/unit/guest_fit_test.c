/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/guest_fit.h"

#include "make/guest_model.h"
#include "unit/tap.h"

/* The estimator against a model that knows the offset. */

#define diag(...) (printf("# "), printf(__VA_ARGS__), printf("\n"))

struct tally {
	unsigned int nr, nr_sure, nr_likely, nr_outside;
	unsigned int nr_pieces; /* runs with the right number of them */
};

static bool is_inside(const struct fit_piece *p, const struct guest_truth *t, int64_t slack)
{
	/* The last unit of a piece may be that of a pause. */
	int64_t a = guest_truth_at(t, p->from), b = guest_truth_at(t, p->to - 1);

	return a >= p->bands[0].low - slack && a <= p->bands[0].high + slack &&
	       b >= p->bands[1].low - slack && b <= p->bands[1].high + slack;
}

static bool run(const struct guest_model *host_of, const struct guest_model *guest_of,
		struct fit_result *ret, struct guest_truth *truth)
{
	struct fit_host host = {0}, other_host = {0};
	struct fit_guest guest = {0}, other_guest = {0};
	const struct fit_opts opts = {.per_us = host_of->per_us,
				      .is_one_clock = !guest_of->ppm && host_of->per_us < 1000};
	struct guest_truth unused;
	bool ok = guest_model_make(host_of, &host, &other_guest, &unused) &&
		  guest_model_make(guest_of, &other_host, &guest, truth) &&
		  guest_fit(&host, &guest, &opts, ret) == CLEW_OK;

	fit_host_done(&host);
	fit_host_done(&other_host);
	fit_guest_done(&guest);
	fit_guest_done(&other_guest);
	return ok;
}

static void say(const char *what, uint64_t seed, const struct fit_result *r)
{
	const struct fit_piece *p = r->pieces.data;

	diag("%s %llu: verdict %d, %zu pieces, matched %llu of %llu, contained %llu of %llu, "
	     "score %u and %u, width %lld%s%s",
	     what, (unsigned long long)seed, r->verdict, r->pieces.nr,
	     (unsigned long long)r->nr_matched, (unsigned long long)r->nr_edges,
	     (unsigned long long)r->contained.nr_inside, (unsigned long long)r->contained.nr,
	     r->score, r->runner_up, (long long)r->width, r->why ? ": " : "", r->why ? r->why : "");
	for (size_t i = 0; i < r->pieces.nr; i++)
		diag("  [%lld, %lld) offset %lld slope %.3f ppm, bands %lld-%lld, %lld-%lld, %llu of %llu",
		     (long long)p[i].from, (long long)p[i].to, (long long)p[i].line.offset,
		     p[i].line.slope * 1e6, (long long)p[i].bands[0].low,
		     (long long)p[i].bands[0].high, (long long)p[i].bands[1].low,
		     (long long)p[i].bands[1].high, (unsigned long long)p[i].nr_matched,
		     (unsigned long long)p[i].nr_edges);
}

static struct tally try_seeds(const char *what, struct guest_model m, unsigned int nr,
			      size_t nr_pieces)
{
	struct tally t = {0};

	for (unsigned int i = 0; i < nr; i++) {
		struct fit_result r;
		struct guest_truth truth;
		bool inside = true;

		m.seed = 1000 * (uint64_t)nr_pieces + i;
		if (!run(&m, &m, &r, &truth))
			break;
		vec_for_each (&r.pieces, p)
			inside = inside && is_inside(p, &truth, 1);
		t.nr++;
		t.nr_sure += r.verdict == FIT_SURE;
		t.nr_likely += r.verdict == FIT_LIKELY;
		t.nr_outside += r.verdict == FIT_SURE && !inside;
		t.nr_pieces += r.pieces.nr == nr_pieces;
		if (r.verdict != FIT_SURE || !inside || r.pieces.nr != nr_pieces) {
			say(what, m.seed, &r);
			diag("  true: %lld, slope %.3f ppm, pause at %lld of %lld",
			     (long long)truth.offset, truth.slope * 1e6, (long long)truth.paused_at,
			     (long long)truth.paused_units);
		}
		fit_result_done(&r);
	}
	return t;
}

static const struct guest_model plain = {.nr_vcpus = 2, .ms = 3000, .per_us = 25};

static void check(const char *what, struct guest_model m, unsigned int nr, size_t nr_pieces,
		  unsigned int least_sure)
{
	struct tally t = try_seeds(what, m, nr, nr_pieces);

	diag("%s: %u runs, %u sure, %u likely, %u sure and wrong, %u with the right pieces", what,
	     t.nr, t.nr_sure, t.nr_likely, t.nr_outside, t.nr_pieces);
	CHECK(t.nr == nr && !t.nr_outside, "%s: no sure offset is wrong", what);
	CHECK(t.nr_sure >= least_sure, "%s: nearly all are sure", what);
	CHECK(t.nr_pieces >= least_sure, "%s: as many pieces as there are", what);
}

static void test_found(unsigned int nr)
{
	struct guest_model m = plain;

	check("one counter", m, nr, 1, nr * 98 / 100);
	m.busy = 0.05;
	check("some wake-ups without a switch", m, nr, 1, nr * 95 / 100);
	m = plain;
	m.lost = 0.1;
	check("records lost", m, nr, 1, nr * 90 / 100);
	m = plain;
	m.per_us = 1000;
	m.ppm = 150;
	check("drift of 150 ppm", m, nr, 1, nr * 98 / 100);
	m.ppm = -200;
	m.ms = 10000;
	check("drift of -200 ppm over 10 s", m, (nr + 3) / 4, 1, (nr + 3) / 4 * 98 / 100);
}

static void test_pauses(unsigned int nr)
{
	struct guest_model m = plain;

	m.ms = 6000;
	m.pause_us = 250000;
	check("a pause", m, nr, 2, nr * 90 / 100);
	m.per_us = 1000;
	m.ppm = 60;
	m.pause_us = 3000;
	check("a short pause and drift", m, nr, 2, nr * 90 / 100);
}

static void test_wrong_guests(unsigned int nr)
{
	unsigned int nr_sure = 0, nr_found = 0, nr_silent = 0;

	for (unsigned int i = 0; i < nr; i++) {
		struct guest_model host = plain, guest = plain;
		struct fit_result r;
		struct guest_truth truth;

		host.seed = 2 * i;
		guest.seed = 2 * i + 1;
		if (i % 2)
			host.per_us = guest.per_us = 1000;
		if (!run(&host, &guest, &r, &truth))
			break;
		nr_sure += r.verdict == FIT_SURE;
		nr_found += r.verdict != FIT_NOT_FOUND;
		nr_silent += r.verdict == FIT_NOT_FOUND && !r.why;
		if (r.verdict != FIT_NOT_FOUND)
			say("wrong guest", i, &r);
		fit_result_done(&r);
	}
	CHECK(!nr_sure, "the recording of another guest is never sure");
	CHECK(!nr_found && !nr_silent, "it is not found, with a reason");
}

static void test_few_edges(void)
{
	struct guest_model m = plain;
	struct fit_result r;
	struct guest_truth truth;

	m.ms = 60;
	CHECK(run(&m, &m, &r, &truth) && r.verdict != FIT_SURE, "few edges are not sure");
	fit_result_done(&r);
	m.ms = 0;
	CHECK(run(&m, &m, &r, &truth) && r.verdict == FIT_NOT_FOUND && r.why,
	      "no edges are not found");
	fit_result_done(&r);
}

/** @return runs that are likely, with all bands right; @p ret_found: that are found at all. */
static unsigned int try_busy(struct guest_model m, unsigned int nr, unsigned int distance,
			     unsigned int *ret_found)
{
	unsigned int nr_right = 0;

	*ret_found = 0;
	for (unsigned int i = 0; i < nr; i++) {
		struct guest_model host_of = m;
		struct guest_truth truth;
		struct fit_result r;
		bool inside = true;

		m.seed = i;
		host_of.seed = i + distance;
		if (!run(&host_of, &m, &r, &truth))
			break;
		vec_for_each (&r.pieces, p)
			inside = inside && is_inside(p, &truth, 1);
		nr_right += r.verdict == FIT_LIKELY && r.is_by_stays && inside;
		*ret_found += r.verdict != FIT_NOT_FOUND;
		if ((r.verdict != FIT_NOT_FOUND) != !distance || (!distance && !inside))
			say(distance ? "busy, of another" : "busy", i, &r);
		fit_result_done(&r);
	}
	return nr_right;
}

static void test_never_idle(unsigned int nr)
{
	struct guest_model m = plain;
	unsigned int found;

	m.never_idles = true;
	m.preempt = 0.02;
	CHECK(try_busy(m, nr, 0, &found) == nr && found == nr,
	      "a guest that never idles is likely, by when it did not run");
	CHECK(!try_busy(m, nr, 1000, &found) && !found, "... and not found in another host");
	m.per_us = 1000;
	m.ppm = 150;
	CHECK(try_busy(m, nr, 0, &found) == nr && found == nr, "... with drift");
	m.preempt = 1e-9;
	CHECK(!try_busy(m, nr, 0, &found) && !found,
	      "... but is not found where it ran all the time");
}

/** Sleeps that end with a timer's ticks: edges fit at each tick alike. */
static void test_alike(unsigned int nr)
{
	struct guest_model m = plain;
	unsigned int nr_by_gaps = 0, nr_wrong = 0;

	m.tick_us = 10000;
	for (unsigned int i = 0; i < nr; i++) {
		struct guest_truth truth;
		struct fit_result r;

		m.seed = i;
		if (!run(&m, &m, &r, &truth))
			break;
		vec_for_each (&r.pieces, p)
			nr_wrong += r.verdict != FIT_NOT_FOUND && !is_inside(p, &truth, 1);
		nr_by_gaps += r.verdict == FIT_LIKELY && !r.is_by_stays && r.gaps_other;
		fit_result_done(&r);
	}
	CHECK(nr_by_gaps == nr && !nr_wrong,
	      "where edges fit at several offsets alike, gaps decide");
}

/** @return runs of which the offset was found, and is right. */
static unsigned int find_loaded(struct guest_model m, unsigned int nr)
{
	unsigned int nr_found = 0;

	for (unsigned int i = 0; i < nr; i++) {
		struct guest_truth truth;
		struct fit_result r;
		bool ok;

		m.seed = i;
		if (!run(&m, &m, &r, &truth))
			break;
		ok = r.verdict != FIT_NOT_FOUND;
		vec_for_each (&r.pieces, p)
			ok = ok && is_inside(p, &truth, 1);
		nr_found += ok;
		if (!ok)
			say("loaded", i, &r);
		fit_result_done(&r);
	}
	return nr_found;
}

/** A host that is very busy: threads of virtual CPUs wait for a CPU, also between the wake-up and
 * the first instruction of the guest. */
static void test_loaded(unsigned int nr)
{
	static const double shares[] = {0.3, 0.6, 0.9};
	struct guest_model m = plain;

	m.late_us = 30000;
	m.preempt = 0.5;
	m.preempt_us = 30000;
	m.ms = 4000;
	for (size_t k = 0; k < sizeof(shares) / sizeof(*shares); k++) {
		m.late = shares[k];
		CHECK(find_loaded(m, nr) == nr, "a busy host, %g of wake-ups late", m.late);
	}
	/* Its recorder lost some switches without a word. */
	m.late = 0.3;
	m.unseen = 0.01;
	CHECK(find_loaded(m, nr) == nr, "... of which some switches are missing");
}

/** What came nearest is known where nothing is found. */
static void test_nearest(void)
{
	struct guest_model host = plain, guest = plain;
	struct guest_truth truth;
	struct fit_result r;

	guest.seed = 1;
	CHECK(run(&host, &guest, &r, &truth) && r.verdict == FIT_NOT_FOUND && r.pieces.nr &&
		      r.nr_edges && r.contained.nr,
	      "of another guest's recording the nearest offset is said: %llu of %llu edges, "
	      "%llu of %llu events contained",
	      (unsigned long long)r.nr_matched, (unsigned long long)r.nr_edges,
	      (unsigned long long)r.contained.nr_inside, (unsigned long long)r.contained.nr);
	fit_result_done(&r);
}

static void test_given(void)
{
	struct guest_model m = plain;
	struct fit_host host = {0};
	struct fit_guest guest = {0};
	struct fit_opts opts = {.per_us = 25, .is_one_clock = true, .has_offset = true};
	struct guest_truth truth;
	struct fit_result r;

	guest_model_make(&m, &host, &guest, &truth);
	opts.offset = truth.offset;
	CHECK(!guest_fit(&host, &guest, &opts, &r) && r.verdict == FIT_LIKELY,
	      "the true offset is verified");
	fit_result_done(&r);
	opts.offset += 25 * 700;
	CHECK(!guest_fit(&host, &guest, &opts, &r) && r.verdict == FIT_NOT_FOUND,
	      "another one is refused");
	fit_result_done(&r);
	fit_host_done(&host);
	fit_guest_done(&guest);
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? (unsigned int)atoi(argv[1]) : 4;

	test_found(nr);
	test_pauses(nr);
	test_wrong_guests(nr);
	test_few_edges();
	test_never_idle((nr + 1) / 2);
	test_alike(nr);
	test_loaded(nr);
	test_nearest();
	test_given();
	return tap_done();
}
