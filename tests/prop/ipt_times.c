/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <zstd.h>

#include "base/cleanup.h"
#include "os/file.h"
#include "trace/perf/perf_trace.h"
#include "trace/trace_decode.h"
#include "unit/tap.h"

/*
 * Usage: ipt_times DATA_DIR
 *
 * When instructions ran, in the given sets with a known time: lines "N TICKS", where the packet
 * that proves the first N instructions came at tick TICKS; the first line of an N counts.
 */
enum { LONGEST = 4096, PERIOD = 84 << 3, MOST_ROUNDING = 16, TEXT_BYTES = 8 << 20 };

struct times {
	const char *at; /* of the next line, NUL at the end */
	uint64_t nr, ticks;
	uint64_t want_nr, want_ticks;
	uint64_t nr_times, worst, sum;
};

static void next_line(struct times *t)
{
	uint64_t nr = t->want_nr;
	char *end;

	while (t->want_nr == nr && *t->at) {
		t->want_nr = strtoull(t->at, &end, 10);
		t->want_ticks = strtoull(end, &end, 10);
		t->at = end + strspn(end, "\n");
	}
	if (t->want_nr == nr)
		t->want_nr = UINT64_MAX;
}

static void take_insns(struct times *t, uint64_t nr)
{
	uint64_t off;

	t->nr += nr;
	while (t->want_nr < t->nr)
		next_line(t);
	if (t->want_nr != t->nr)
		return;
	off = t->ticks > t->want_ticks ? t->ticks - t->want_ticks : t->want_ticks - t->ticks;
	t->nr_times++;
	t->sum += off;
	t->worst = off > t->worst ? off : t->worst;
	next_line(t);
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct times *t = ctx;

	(void)unit;
	for (size_t i = 0; i < b->nr; i++) {
		uint32_t item = b->items[i];
		const struct flow_event *e = &b->events[item & ~(uint32_t)FLOW_ITEM_EVENT];

		if (!(item & FLOW_ITEM_EVENT))
			take_insns(t, b->blocks[item >> 1].nr_insns);
		else if (e->kind == FLOW_EV_RANGE)
			take_insns(t, e->count);
		else if (e->kind == FLOW_EV_TIMESTAMP)
			t->ticks = e->ticks.ticks;
	}
	return CLEW_OK;
}

static bool decode(const char *path, const char *symfs, unsigned int nr_threads, struct times *t)
{
	struct dso_store_opts symbols = {.symfs = symfs, .no_host_kernel = true};
	struct trace_decode_opts opts = {.nr_threads = nr_threads, .batch = take_batch, .ctx = t};
	struct trace_input *trace = NULL;
	struct os_map file = {0};
	struct perf_input in;
	struct clew_diag diag;
	bool ok;

	if (os_map_file(path, &file, &diag))
		return false;
	in = (struct perf_input){.data = file.data, .size = file.size};
	ok = !perf_trace_open(&trace, &in, &symbols, &diag) && !trace_decode(trace, &opts, &diag);
	trace_input_free(trace);
	os_map_done(&file);
	return ok;
}

/** @return NUL after the text, the caller's; NULL: missing. */
static char *unpack(const char *path)
{
	struct os_map file = {0};
	struct clew_diag diag;
	char *ret;

	if (os_map_file(path, &file, &diag))
		return NULL;
	ret = calloc(1, TEXT_BYTES + 1);
	if (ret && ZSTD_isError(ZSTD_decompress(ret, TEXT_BYTES, file.data, file.size)))
		*ret = '\0';
	os_map_done(&file);
	return ret;
}

static void check_set(const char *data, const char *set, uint64_t most)
{
	char path[LONGEST], symfs[LONGEST];
	char *text;

	snprintf(path, sizeof(path), "%s/intel-pt-truth/%s/time_4242.tsv.zst", data, set);
	text = unpack(path);
	if (!text) {
		SKIP("the set is missing");
		return;
	}
	snprintf(path, sizeof(path), "%s/intel-pt-truth/%s/perf.data", data, set);
	snprintf(symfs, sizeof(symfs), "%s/intel-pt-truth/symfs", data);
	for (unsigned int threads = 1; threads <= 3; threads += 2) {
		struct times t = {.at = text};
		bool ok;

		next_line(&t);
		ok = decode(path, symfs, threads, &t) && t.nr_times && t.worst <= most;
		CHECK(ok, "%s, %u threads: %llu times, off by %llu ticks at most, %.1f on average",
		      set, threads, (unsigned long long)t.nr_times, (unsigned long long)t.worst,
		      t.nr_times ? (double)t.sum / (double)t.nr_times : 0.0);
	}
	free(text);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		SKIP_ALL("no data is given");
	check_set(argv[1], "time-cyc", MOST_ROUNDING);
	check_set(argv[1], "time-mtc", PERIOD + MOST_ROUNDING);
	return tap_done();
}
