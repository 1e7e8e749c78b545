/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/x86/x86_branch.h"
#include "make/ipt_program.h"
#include "make/splitmix.h"
#include "prop/ipt_judge.h"
#include "prop/seeds.h"
#include "unit/tap.h"

/*
 * Usage: ipt_random [FIRST_SEED [NR [INSTRUCTIONS]]]
 *
 * Random programs, traced by Intel PT in every configuration: what the decoder says is what was
 * executed, and when. In pieces of 1, 7 and 4096 bytes and whole, by one thread and by several,
 * with and without paths, with a cache that
 * overflows, counted, and cut. Without arguments: CLEW_TEST_SECONDS (3) of programs.
 */
enum { SHORT = 20000, NR_CUTS = 8, SMALL_CACHE = 64 << 10 };

static const struct ipt_judge_run runs[] = {
	{0,    1, 0,    false, 0          },
        {1,    1, 0,    false, 0          },
        {7,    1, 0,    false, SMALL_CACHE},
	{4096, 1, 0,    false, 0          },
        {0,    1, 0,    true,  0          },
        {0,    3, 3000, false, 0          },
	{4096, 2, 0,    false, 0          },
        {7,    2, 1000, false, 0          },
};

enum { NR_RUNS = sizeof(runs) / sizeof(runs[0]) };

struct sums {
	uint64_t nr_insns, nr_bytes, nr_marks, nr_states, nr_plain;
	uint64_t nr_times, worst, sum; /* of CYC without threshold */
	uint64_t most_insns;
};

static void add(struct sums *s, const struct ipt_program *p, const struct ipt_judge *j)
{
	const struct ipt_encode_opts *o = &p->encoder.opts;

	s->nr_insns += p->encoder.truth.insns.nr;
	s->nr_plain += p->opts.is_plain ? p->encoder.truth.insns.nr : 0;
	s->nr_bytes += p->encoder.out.nr;
	s->nr_marks += p->encoder.truth.marks.nr;
	s->nr_states += p->encoder.truth.states.nr;
	if (!o->has_cyc || o->cyc_threshold)
		return;
	s->nr_times += j->nr_times;
	s->sum += j->sum;
	s->worst = j->worst > s->worst ? j->worst : s->worst;
}

static bool report(const struct ipt_program *p, const struct ipt_judge_run *r,
		   const struct ipt_judge *j)
{
	printf("# %s\n# pieces of %zu, %u threads%s, cut at %zu: %s\n", ipt_program_text(p),
	       r->piece, r->nr_threads, r->goes_plain ? ", plain" : "", r->cut, j->why);
	return false;
}

/** What is decoded of a trace that ends anywhere is the first part of the truth. */
static bool are_cuts_right(const struct ipt_program *p, struct ipt_judge *j)
{
	uint64_t random = p->opts.seed;

	for (int i = 0; i < NR_CUTS; i++) {
		struct ipt_judge_run r = {.nr_threads = 1 + splitmix_below(&random, 2)};

		r.cut = 1 + splitmix_below(&random, (uint32_t)p->encoder.out.nr);
		if (!ipt_judge_is_right(j, &r))
			return report(p, &r, j);
	}
	return true;
}

static bool try_seed(void *ctx, uint64_t seed)
{
	static struct ipt_program p;
	struct sums *s = ctx;
	struct ipt_program_opts o = {
		.seed = seed, .nr_insns = s->most_insns, .is_plain = seed % 4 == 0};
	struct ipt_judge j = {.truth = &p.encoder.truth,
			      .config = &p.config,
			      .code = &p.source,
			      .trace = &p.encoder.out};
	bool ok = ipt_program_make(&p, &o);

	j.most_off = ipt_judge_most_off(&p.encoder.opts);
	for (int i = 0; ok && i < NR_RUNS; i++)
		ok = ipt_judge_is_right(&j, &runs[i]) || report(&p, &runs[i], &j);
	add(s, &p, &j);
	for (int i = 0; ok && i < NR_RUNS; i += 5)
		ok = ipt_judge_is_counted(&j, &runs[i]) || report(&p, &runs[i], &j);
	ok = ok && are_cuts_right(&p, &j);
	ipt_program_done(&p);
	return ok;
}

/** Programs by another rule of returns, and another truth: that is noticed. */
static void check_judge(void)
{
	static struct ipt_program p;
	struct ipt_judge j = {.truth = &p.encoder.truth,
			      .config = &p.config,
			      .code = &p.source,
			      .trace = &p.encoder.out,
			      .most_off = UINT64_MAX};
	struct ipt_program_opts o = {.nr_insns = SHORT, .for_libipt = true};
	unsigned int nr_wrong = 0, nr_flipped = 0, nr = 0;

	for (o.seed = 1; o.seed <= 24; o.seed++, ipt_program_done(&p)) {
		if (!ipt_program_make(&p, &o))
			continue;
		nr_wrong += !ipt_judge_is_right(&j, &runs[0]);
		if (p.encoder.opts.has_returns)
			continue;
		nr++;
		for (size_t i = p.encoder.truth.insns.nr / 2; i < p.encoder.truth.insns.nr; i++)
			p.encoder.truth.insns.data[i] += 1 << 8;
		nr_flipped += !ipt_judge_is_right(&j, &runs[0]);
	}
	CHECK(nr_wrong && nr && nr_flipped == nr, "%u of 24 by libipt's rule of returns differ",
	      nr_wrong);
}

int main(int argc, char **argv)
{
	struct sums s = {.most_insns = argc > 3 ? strtoull(argv[3], NULL, 0) : SHORT};
	struct seeds r;

	if (!x86_can_decode())
		SKIP_ALL("built without Zydis");
	check_judge();
	r = seeds_try(argc, argv, 3, try_seed, &s);
	CHECK(r.done && !r.nr_wrong,
	      "%llu programs, %llu instructions (%llu without return compression and time), %llu "
	      "events, %llu contexts, %llu trace bytes: %llu wrong",
	      (unsigned long long)r.done, (unsigned long long)s.nr_insns,
	      (unsigned long long)s.nr_plain, (unsigned long long)s.nr_marks,
	      (unsigned long long)s.nr_states, (unsigned long long)s.nr_bytes,
	      (unsigned long long)r.nr_wrong);
	printf("# with CYC: %llu times, off by %llu ticks at most, %.2f on average\n",
	       (unsigned long long)s.nr_times, (unsigned long long)s.worst,
	       s.nr_times ? (double)s.sum / (double)s.nr_times : 0.0);
	return tap_done();
}
