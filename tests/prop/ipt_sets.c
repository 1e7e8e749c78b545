/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/pt/ipt_flow.h"
#include "isa/x86/x86_branch.h"
#include "prop/ipt_set.h"
#include "unit/tap.h"

/*
 * Usage: ipt_sets SETS_DIR
 *
 * The committed sets (prop/ipt_set.h; made by tests/make/qemu/ipt_truth.sh) are decoded to what was
 * executed, in pieces of 1, 7 and 4096 bytes and whole, by one thread and by several.
 */
static const size_t pieces[] = {0, 1, 7, 4096};

static enum clew_err feed(struct flow *f, struct bytes in, size_t piece)
{
	enum clew_err err = CLEW_OK;
	struct bytes next;

	while (bytes_left(&in) && !err) {
		size_t left = bytes_left(&in);

		bytes_take(&in, piece && piece < left ? piece : left, &next);
		err = flow_feed(f, next);
	}
	return err ? err : flow_finish(f);
}

static bool is_right(struct ipt_set *set, size_t piece, unsigned int nr_threads)
{
	struct ipt_set_sum s = {.code = &set->code.source};
	struct ipt_flow_opts o = {.config = &set->config,
				  .flow.code = s.code,
				  .flow.batch = ipt_set_batch,
				  .flow.ctx = &s,
				  .flow.nr_threads = nr_threads,
				  .flow.part_bytes = nr_threads > 1 ? 1000 : 0};
	struct flow *f = ipt_flow_new(&o);
	enum clew_err err =
		f ? feed(f, bytes_of(set->trace.data, set->trace.nr), piece) : CLEW_NO_MEMORY;
	bool ok = !err && s.digest == set->digest && s.nr_insns == set->nr_insns && !s.nr_lost;

	if (!ok)
		printf("# pieces of %zu, %u threads: %llu instructions, digest %llx, %llu losses\n",
		       piece, nr_threads, (unsigned long long)s.nr_insns,
		       (unsigned long long)s.digest, (unsigned long long)s.nr_lost);
	flow_free(f);
	return ok;
}

static void check_set(const char *path)
{
	struct ipt_set set;
	bool ok = ipt_set_load(&set, path);

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		for (unsigned int threads = 1; threads <= 3; threads += 2)
			ok = ok && is_right(&set, pieces[i], threads);
	CHECK(ok, "%s: %llu instructions, code of %zu versions", strrchr(path, '/') + 1,
	      (unsigned long long)set.nr_insns, set.code.starts.nr + 1);
	ipt_set_done(&set);
}

int main(int argc, char **argv)
{
	static const char *const sets[] = {"jit", "threads"};
	char path[4096];

	if (!x86_can_decode())
		SKIP_ALL("built without Zydis");
	for (size_t i = 0; argc > 1 && i < sizeof(sets) / sizeof(sets[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], sets[i]);
		check_set(path);
	}
	return tap_done();
}
