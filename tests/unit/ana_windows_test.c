/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_windows.h"

#include "make/perf_build.h"
#include "perfdata/perf_evlist.h"
#include "perfdata/perf_file.h"
#include "unit/tap.h"

/* Snapshots of hardware trace: which windows are of one, what time each holds, and all of them. */

enum { AUX_ID = 1, NONE = UINT32_MAX };

static void begin(struct perf_build *b)
{
	const struct perf_attr a = {.type = 40,
				    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID |
						   PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
				    .flags = PERF_ATTR_SAMPLE_ID_ALL};

	perf_build_event(b, &a, "softaux//", (uint64_t[]){AUX_ID}, 1);
}

static void put_aux(struct perf_build *b, uint32_t cpu, uint64_t time, uint64_t end, uint64_t bytes)
{
	const struct perf_sample_id id = {.id = AUX_ID, .tid = 7, .cpu = cpu, .time = time};

	perf_build_view(b, PERF_RECORD_AUX, 0,
			&(union perf_view){
				.aux = {end, bytes, PERF_AUX_FLAG_OVERWRITE}
        },
			&id);
}

static void put_window(struct perf_build *b, uint32_t cpu, uint64_t offset, size_t bytes)
{
	static const uint8_t trace[4096];
	const struct perf_auxtrace a = {.offset = offset, .idx = cpu, .tid = NONE, .cpu = cpu};

	perf_build_auxtrace(b, &a, bytes_of(trace, bytes));
}

static void read_all(struct perf_build *b, struct ana_windows *ret)
{
	struct bytes file = perf_build_finish(b);
	const struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct perf_sample_id id;
	struct perf_file *f = NULL;
	struct perf_record r;

	*ret = (struct ana_windows){0};
	CHECK(perf_file_open(&f, &in, NULL) == CLEW_OK, "a recording is read");
	while (perf_file_next(f, &r, NULL) == CLEW_OK) {
		const struct perf_attr *a = &perf_file_evlist(f)->evsels.data[0]->attr;

		if (r.type == PERF_RECORD_ID_INDEX)
			ana_windows_take_ids(ret, &r);
		if (r.type == PERF_RECORD_AUXTRACE)
			ana_windows_take_buffer(ret, &r);
		if (r.type == PERF_RECORD_AUX &&
		    perf_sample_id_parse(perf_record_body(&r), r.swap, a, &id) == CLEW_OK)
			ana_windows_take_aux(ret, &r, &id);
	}
	ana_windows_close(ret);
	perf_file_free(f);
	perf_build_done(b);
}

static bool is(const struct ana_windows *x, size_t i, uint32_t snapshot, bool is_full,
	       uint64_t from, uint64_t to)
{
	const struct ana_window *w = &x->all.data[i];

	return i < x->all.nr && w->snapshot == snapshot && w->is_full == is_full &&
	       w->from.ns == from && w->to.ns == to;
}

static void put_second(struct perf_build *b)
{
	for (uint64_t i = 0; i < 4; i++)
		put_aux(b, 0, 50 + i, 300 + 100 * (i + 1), 100);
	put_aux(b, 1, 60, 264, 64);
	put_window(b, 0, 450, 250); /* 300 to 450 were overwritten */
	put_window(b, 1, 200, 64);
}

static void test_counters(void)
{
	struct perf_build b = {0};
	struct ana_windows x;

	begin(&b);
	put_aux(&b, 0, 10, 100, 100);
	put_aux(&b, 0, 20, 300, 200);
	put_aux(&b, 1, 15, 200, 200);
	put_window(&b, 0, 0, 300);
	put_window(&b, 1, 0, 200);
	put_second(&b);
	read_all(&b, &x);
	CHECK(x.snapshots.nr == 2 && x.snapshots.data[0].nr == 2 && x.snapshots.data[1].nr == 2,
	      "two snapshots of two areas");
	CHECK(is(&x, 0, 0, false, 0, 20) && is(&x, 1, 0, false, 0, 15),
	      "the first ones hold all since tracing began");
	CHECK(is(&x, 2, 1, true, 51, 53), "a record that is cut: certain is what follows it");
	CHECK(is(&x, 3, 1, false, 15, 60), "all since the one before");
	CHECK(x.snapshots.data[1].from.ns == 51 && x.snapshots.data[1].to.ns == 60 &&
		      x.snapshots.data[1].bytes == 256 + 64,
	      "the time that both hold");
	ana_windows_done(&x);
}

/* Offsets in the area, as intel_pt and arm_spe count them. */
static void test_offsets(void)
{
	struct perf_build b = {0};
	struct ana_windows x;

	begin(&b);
	for (uint64_t i = 0; i < 4; i++)
		put_aux(&b, 0, 10 + i, 64 * i, 64);
	for (uint64_t i = 0; i < 4; i++)
		put_aux(&b, 1, 20 + i, 64 * i, 4096);
	put_window(&b, 0, 1000, 128);
	put_window(&b, 1, 1000, 4096);
	read_all(&b, &x);
	CHECK(is(&x, 0, 0, true, 11, 13), "true sizes add up to the window");
	CHECK(is(&x, 1, 0, true, UINT64_MAX, 23), "a size that is always the area's says nothing");
	CHECK(x.snapshots.nr == 1 && x.snapshots.data[0].from.ns == UINT64_MAX &&
		      x.snapshots.data[0].to.ns == 23,
	      "nor of both");
	ana_windows_done(&x);
}

/* Of a CPU that had no trace there is no window. */
static void test_missing(void)
{
	struct perf_build b = {0};
	struct ana_windows x;

	begin(&b);
	put_aux(&b, 0, 10, 100, 100);
	put_window(&b, 0, 0, 100);
	put_aux(&b, 1, 20, 100, 100);
	put_window(&b, 1, 0, 100);
	put_window(&b, 0, 200, 50);
	put_window(&b, 0, 250, 50);
	read_all(&b, &x);
	CHECK(x.snapshots.nr == 3 && x.all.data[1].snapshot == 1 && x.all.data[2].snapshot == 1 &&
		      x.all.data[3].snapshot == 2,
	      "a snapshot per AUX records before its windows, and per window of a CPU");
	CHECK(is(&x, 2, 1, true, UINT64_MAX, UINT64_MAX), "without AUX records: unknown times");
	ana_windows_done(&x);
}

/* Less than one word, which no recorder writes: where it ends is where a window of it begins. */
static void test_empty_window(void)
{
	struct perf_build b = {0};
	struct ana_windows x;

	begin(&b);
	put_aux(&b, 0, 10, 99, 99);
	put_window(&b, 0, 100, 0);
	read_all(&b, &x);
	CHECK(is(&x, 0, 0, true, UINT64_MAX, 10), "nothing in it is certain");
	ana_windows_done(&x);
}

/* The CPU that an event counts decides, not the one that its record was written on. */
static void test_owners(void)
{
	const uint64_t of_cpu_1[] = {AUX_ID, 0, 1, UINT64_MAX};
	struct perf_build b = {0};
	struct ana_windows x;

	begin(&b);
	perf_build_view(&b, PERF_RECORD_ID_INDEX, 0,
			&(union perf_view){
				.id_index = {.nr = 1, .entries = (const uint8_t *)of_cpu_1}
        },
			NULL);
	put_aux(&b, 0, 10, 100, 100);
	put_window(&b, 0, 0, 100);
	put_window(&b, 1, 0, 100);
	read_all(&b, &x);
	CHECK(is(&x, 0, 0, false, UINT64_MAX, UINT64_MAX) && is(&x, 1, 0, false, 0, 10),
	      "AUX records are of the area of their event's CPU");
	ana_windows_done(&x);
}

static void test_full_mode(void)
{
	struct perf_build b = {0};
	struct ana_windows x;

	begin(&b);
	put_window(&b, 0, 0, 100);
	put_window(&b, 0, 100, 100);
	read_all(&b, &x);
	CHECK(!x.snapshots.nr, "an area that is drained has no snapshots");
	ana_windows_done(&x);
}

int main(void)
{
	test_counters();
	test_offsets();
	test_missing();
	test_empty_window();
	test_owners();
	test_full_mode();
	return tap_done();
}
