/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>

#include "flow/etm/etm_flow.h"
#include "prop/etm_set.h"
#include "trace/snapshot/cs_snapshot.h"
#include "trace/trace_decode.h"
#include "unit/tap.h"

/*
 * Usage: etm_sets SETS_DIR SNAPSHOTS_DIR...
 *
 * The committed sets (prop/etm_set.h; made by `make truth`) are decoded to what was executed. Every
 * set and snapshot gives the same for pieces of 1, 7 and 4096 bytes and the whole, by one thread
 * and by several.
 */
enum { MAX_NAMES = 64 };

static const size_t pieces[] = {0, 1, 7, 4096};

struct sum {
	struct etm_log log;
	uint64_t digest;
};

static bool add(void *ctx, const struct etm_log_entry *e)
{
	struct sum *s = ctx;

	s->digest = etm_set_digest(s->digest, e);
	return true;
}

static bool decode_set(struct etm_set *set, size_t piece, struct sum *s)
{
	struct etm_flow_opts o = {.config = &set->config,
				  .flow.code = &set->code.source,
				  .flow.batch = etm_log_batch,
				  .flow.ctx = &s->log};
	struct flow *f = etm_flow_new(&o);
	bool ok;

	*s = (struct sum){
		.log = {.code = o.flow.code, .entry = add, .ctx = s, .drops_marks = true}
        };
	ok = f && !etm_log_decode(f, bytes_of(set->trace.data, set->trace.nr), piece);
	flow_free(f);
	return ok;
}

static void check_set(const char *path)
{
	struct etm_set set;
	struct sum s = {0};
	bool ok = true;

	if (!etm_set_load(&set, path)) {
		CHECK(false, "%s is a set", path);
		etm_set_done(&set);
		return;
	}
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]) && ok; i++)
		ok = decode_set(&set, pieces[i], &s) && s.digest == set.digest &&
		     s.log.nr_insns == set.nr_insns && s.log.nr_entries == set.nr_entries;
	CHECK(ok, "%s: %llu instructions, %llu entries", strrchr(path, '/') + 1,
	      (unsigned long long)set.nr_insns, (unsigned long long)set.nr_entries);
	if (!ok)
		printf("# digest %llx, want %llx; %llu instructions, %llu entries\n",
		       (unsigned long long)s.digest, (unsigned long long)set.digest,
		       (unsigned long long)s.log.nr_insns, (unsigned long long)s.log.nr_entries);
	etm_set_done(&set);
}

/* --- snapshots --- */

struct sums {
	struct trace_input *trace;
	struct etm_log logs[MAX_NAMES];
};

static enum clew_err take(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct sums *s = ctx;

	return unit < MAX_NAMES ? etm_log_batch(&s->logs[unit], b) : CLEW_OK;
}

/** @return a sum of all units; 0: it cannot be read. */
static uint64_t decode_snapshot(const char *dir, size_t piece, unsigned int nr_threads,
				uint64_t *ret_insns)
{
	static struct sums s;
	struct trace_decode_opts o = {.nr_threads = nr_threads, .batch = take, .ctx = &s};
	struct clew_diag diag;
	uint64_t digest = 1;

	memset(&s, 0, sizeof(s));
	*ret_insns = 0;
	if (cs_snapshot_open(&s.trace, dir, &diag))
		return 0;
	cs_snapshot_set_piece(s.trace, piece);
	for (size_t i = 0; i < s.trace->nr_units && i < MAX_NAMES; i++) {
		s.logs[i].code = s.trace->units[i].code;
		s.logs[i].by_block = true;
	}
	if (trace_decode(s.trace, &o, &diag))
		digest = 0;
	for (size_t i = 0; i < s.trace->nr_units && i < MAX_NAMES; i++) {
		digest = digest * 31 + s.logs[i].digest;
		*ret_insns += s.logs[i].nr_entries;
	}
	trace_input_free(s.trace);
	return digest;
}

static void check_snapshot(const char *dir)
{
	uint64_t nr, want = decode_snapshot(dir, 0, 1, &nr), got;
	bool ok = true;

	if (!want)
		return;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		for (unsigned int threads = 1; threads <= 3; threads += 2) {
			got = decode_snapshot(dir, pieces[i], threads, &nr);
			ok &= got == want;
			if (got != want)
				printf("# differs: pieces of %zu, %u threads\n", pieces[i],
				       threads);
		}
	}
	CHECK(ok, "%s: %llu entries", strrchr(dir, '/') + 1, (unsigned long long)nr);
}

static void each_snapshot(const char *dir)
{
	struct dirent **e;
	int nr = scandir(dir, &e, NULL, alphasort);
	char path[4096];

	if (nr < 0)
		SKIP("the snapshots are missing");
	for (int i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, e[i]->d_name);
		if (e[i]->d_name[0] != '.')
			check_snapshot(path);
		free(e[i]);
	}
	if (nr >= 0)
		free(e);
}

int main(int argc, char **argv)
{
	static const char *const sets[] = {"jit", "threads", "work"};
	char path[4096];

	for (size_t i = 0; argc > 1 && i < sizeof(sets) / sizeof(sets[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], sets[i]);
		check_set(path);
	}
	for (int i = 2; i < argc; i++)
		each_snapshot(argv[i]);
	return tap_done();
}
