/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "diff/ipt_peer.h"
#include "make/ipt_program.h"
#include "prop/seeds.h"
#include "unit/tap.h"

/*
 * Usage: ipt_libipt [FIRST_SEED [NR [INSTRUCTIONS]]]
 *
 * libipt decodes random programs to what they executed: what the truth of ipt_random says is not
 * only our own reading. Without what docs/decisions/intel-pt.md says that it has wrong. Without
 * arguments: CLEW_TEST_SECONDS (1) of programs.
 */
enum { SHORT = 20000 };

struct sums {
	uint64_t nr_insns, most_insns;
};

static bool try_seed(void *ctx, uint64_t seed)
{
	static struct ipt_program p;
	struct sums *s = ctx;
	struct ipt_program_opts o = {.seed = seed,
				     .nr_insns = s->most_insns,
				     .is_plain = seed % 4 == 0,
				     .for_libipt = true};
	struct ipt_peer peer = {.truth = &p.encoder.truth,
				.config = &p.config,
				.code = &p.source,
				.trace = &p.encoder.out};
	bool ok = ipt_program_make(&p, &o) && ipt_peer_agrees(&peer);

	if (!ok)
		printf("# %s\n# %s\n", ipt_program_text(&p), peer.why);
	s->nr_insns += p.encoder.truth.insns.nr;
	ipt_program_done(&p);
	return ok;
}

int main(int argc, char **argv)
{
	struct sums s = {.most_insns = argc > 3 ? strtoull(argv[3], NULL, 0) : SHORT};
	struct seeds r;

	if (!ipt_peer_can())
		SKIP_ALL("built without libipt");
	r = seeds_try(argc, argv, 1, try_seed, &s);
	CHECK(r.done && !r.nr_wrong,
	      "%llu programs, %llu instructions, by libipt's instructions and blocks: %llu wrong",
	      (unsigned long long)r.done, (unsigned long long)s.nr_insns,
	      (unsigned long long)r.nr_wrong);
	return tap_done();
}
