/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a report sees of a merged recording is what it sees of the deferred one. */
#include "analyze/stack_merge.h"

#include <inttypes.h>

#include "base/mem.h"
#include "make/defer_make.h"
#include "make/perf_random.h"
#include "perfdata/perf_deferred.h"
#include "perfdata/perf_features.h"
#include "unit/analyze_made.h"
#include "unit/tap.h"

#define SECOND 1000000000ull

/* Each sample: time, thread, outcome, why it ends, chain with the places it leads to. */
static enum clew_err write_batch(void *ctx, const struct ana_batch *b)
{
	struct buf *out = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_event *e = &b->events[i];

		if (!e->sample)
			continue;
		buf_printf(out, "%" PRIu64 " %s %s", e->time.ns, e->evsel->name, e->comm);
		if (e->has_user_state)
			buf_printf(out, " %d %s", e->user_state,
				   stitch_reason_name(e->user_reason));
		buf_printf(out, " %d/%d:", e->user_stop, e->user_why);
		for (uint32_t j = 0; e->chain && j < e->chain->nr; j++)
			buf_printf(out, " %" PRIx64 "(%s+%" PRIx64 ")", e->chain->locs[j]->ip,
				   e->chain->locs[j]->dso ? dso_path(e->chain->locs[j]->dso) : "",
				   e->chain->locs[j]->rel);
		for (uint32_t j = 0; j < e->nr_hows; j++)
			buf_printf(out, " h%u:%s", e->hows_at + j,
				   unw_how_name((enum unw_how)e->hows[j]));
		buf_char(out, '\n');
	}
	return CLEW_OK;
}

static bool analyze_text(struct bytes file, struct buf *out, struct ana_summary *ret)
{
	const struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	const struct ana_opts opts = {
		.symbols = {.no_host_kernel = true}, .wants_outcomes = true, .wants_hows = true};

	buf_clear(out);
	return analyze_made(&in, &opts, (struct ana_consumer){write_batch, out}, ret) == CLEW_OK &&
	       !out->is_failed;
}

static enum clew_err add(void *ctx, const void *data, size_t size)
{
	struct buf *b = ctx;

	buf_add(b, data, size);
	return b->is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

static enum clew_err rewrite(void *ctx, uint64_t offset, const void *data, size_t size)
{
	struct buf *b = ctx;

	memcpy(b->data + offset, data, size);
	return CLEW_OK;
}

static enum clew_err merge_with(struct bytes file, const struct stack_merge_opts *opts,
				struct buf *out, struct stack_merge_counts *ret)
{
	const struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	const struct perf_writer_out to = {
		.sink = {add, out},
                  .rewrite = rewrite
        };
	struct clew_diag diag;

	buf_clear(out);
	return stack_merge(&in, &to, opts, ret, &diag);
}

static enum clew_err merge(struct bytes file, struct buf *out, struct stack_merge_counts *ret)
{
	return merge_with(file, &(struct stack_merge_opts){0}, out, ret);
}

/* What a reader that knows no deferred stacks would stumble over. */
static uint64_t traces_of_deferral(struct bytes file)
{
	const struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct perf_record r;
	struct perf_file *f;
	uint64_t nr = 0;

	if (perf_file_open(&f, &in, NULL) != CLEW_OK)
		return UINT64_MAX;
	while (perf_file_next(f, &r, NULL) == CLEW_OK) {
		const struct perf_evsel *e;
		struct perf_sample s;

		nr += r.type == PERF_RECORD_CALLCHAIN_DEFERRED;
		e = perf_evlist_of_record(perf_file_evlist(f), r.type, perf_record_body(&r), false);
		if (r.type != PERF_RECORD_SAMPLE || !e ||
		    perf_sample_parse(perf_record_body(&r), r.misc, false, &e->attr, &s) != CLEW_OK)
			continue;
		for (uint32_t i = 0; i < s.callchain.nr; i++)
			nr += perf_words_get(&s.callchain, i) == PERF_CONTEXT_USER_DEFERRED;
	}
	vec_for_each (&perf_file_evlist(f)->evsels, e)
		nr += (*e)->attr.flags & (PERF_ATTR_DEFER_CALLCHAIN | PERF_ATTR_DEFER_OUTPUT) ? 1
											      : 0;
	perf_file_free(f);
	return nr;
}

/* Merge, and compare what a report sees before and after. @return the merged file's bytes. */
static size_t check_same(struct bytes file, const char *name, uint64_t want_merged)
{
	struct buf before = {0}, after = {0}, out = {0};
	struct ana_summary was, is;
	struct stack_merge_counts counts;
	struct bytes merged;
	size_t size;

	CHECK(analyze_text(file, &before, &was), "%s: readable", name);
	CHECK_EQ(merge(file, &out, &counts), CLEW_OK, "%s: merged", name);
	merged = bytes_of(out.data, out.nr);
	CHECK(analyze_text(merged, &after, &is), "%s: readable when merged", name);
	CHECK_STR(buf_cstr(&after), buf_cstr(&before),
		  "%s: each sample with the same chain, outcome and end", name);
	CHECK(is.nr_samples == was.nr_samples && counts.nr_samples >= is.nr_samples &&
		      !memcmp(&is.users, &was.users, sizeof(is.users)),
	      "%s: as many samples, and the same sums", name);
	CHECK(is.stitch.nr_stacks == was.stitch.nr_stacks &&
		      is.stitch.nr_duplicates == was.stitch.nr_duplicates &&
		      is.stitch.nr_late == was.stitch.nr_late,
	      "%s: the stitch's counts are kept", name);
	CHECK_EQ(counts.nr_merged, want_merged, "%s: so many got a stack", name);
	CHECK_EQ(traces_of_deferral(merged), 0, "%s: no cookie, record or bit of deferral is left",
		 name);
	size = out.nr;
	buf_done(&before);
	buf_done(&after);
	buf_done(&out);
	return size;
}

/* --- one story in every form --- */

static const struct form {
	const char *name;
	struct perf_build_opts opts;
	uint32_t compress;
	bool is_quiet; /* the samples' attr does not announce it, that of the stacks does */
} forms[] = {
	{"file",		   {0},                     0,                       false},
	{"a pipe's content",       {.pipe = true},          0,                       false},
	{"compressed file",        {0},                     PERF_RECORD_COMPRESSED,  false},
	{"compressed pipe",        {.pipe = true},          PERF_RECORD_COMPRESSED2, false},
	{"killed recording",       {.is_unfinished = true}, 0,                       false},
	{"file that says nothing", {0},                     0,                       true },
};

static void test_forms(void)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *f = &forms[i];
		struct perf_build b = {.opts = f->opts};
		struct perf_input in;
		struct bytes file;

		if (f->compress)
			perf_build_compress(&b, f->compress);
		defer_make_announces = !f->is_quiet;
		defer_make_story(&b);
		defer_make_announces = true;
		if (f->compress)
			perf_build_compress_end(&b, 100);
		file = perf_build_finish(&b);
		in = (struct perf_input){.data = file.pos, .size = bytes_left(&file)};
		CHECK(stack_merge_is_deferred(&in) == !f->opts.pipe, "%s: known by its attr",
		      f->name);
		check_same(file, f->name, 8);
		perf_build_done(&b);
	}
}

static void test_again(void)
{
	struct perf_build b = {0};
	struct buf once = {0}, twice = {0};
	struct stack_merge_counts counts;
	struct perf_input in;

	defer_make_story(&b);
	merge(perf_build_finish(&b), &once, &counts);
	in = (struct perf_input){.data = (const uint8_t *)once.data, .size = once.nr};
	CHECK(!stack_merge_is_deferred(&in), "a merged file is not deferred");
	CHECK(merge(bytes_of(once.data, once.nr), &twice, &counts) == CLEW_OK && !counts.nr_marked,
	      "merging it again finds nothing");
	buf_done(&once);
	buf_done(&twice);
	perf_build_done(&b);
}

/* --- the head --- */

static void test_features(void)
{
	struct perf_build b = {0};
	struct buf out = {0};
	struct stack_merge_counts counts;
	const struct perf_features *f;
	struct perf_file *file;

	perf_build_feature_string(&b, PERF_FEAT_HOSTNAME, "box");
	perf_build_feature(&b, PERF_FEAT_BRANCH_STACK, bytes_of("", 0));
	defer_make_story(&b);
	merge(perf_build_finish(&b), &out, &counts);
	CHECK_EQ(perf_file_open(&file,
				&(struct perf_input){.data = (const uint8_t *)out.data,
						     .size = out.nr},
				NULL),
		 CLEW_OK, "opens");
	f = perf_file_features(file);
	CHECK_STR(perf_features_string(f, PERF_FEAT_HOSTNAME), "box", "features are copied");
	CHECK(perf_features_has(f, PERF_FEAT_BRANCH_STACK), "empty ones, too");
	CHECK(perf_features_has(f, PERF_FEAT_CLEW_STACKS) &&
		      !perf_features_has(f, PERF_FEAT_COMPRESSED),
	      "what is known of the stacks is there, and nothing that is not so");
	CHECK_STR(perf_file_evlist(file)->evsels.data[0]->name, "cpu-clock", "names stay");
	perf_file_free(file);
	buf_done(&out);
	perf_build_done(&b);
}

/* Trace follows its record, and an index has its place. */
static void test_auxtrace(void)
{
	static const uint8_t trace[] = "sixteen bytes of";
	struct perf_build b = {0};
	struct buf out = {0};
	struct stack_merge_counts counts;
	struct perf_record r;
	struct perf_file *file;
	struct bytes index;
	uint64_t at = 0;

	defer_make_story(&b);
	perf_build_auxtrace(&b, &(struct perf_auxtrace){.idx = 3}, bytes_of(trace, 16));
	CHECK_EQ(merge(perf_build_finish(&b), &out, &counts), CLEW_OK, "a file with trace");
	perf_file_open(&file,
		       &(struct perf_input){.data = (const uint8_t *)out.data, .size = out.nr},
		       NULL);
	while (perf_file_next(file, &r, NULL) == CLEW_OK) {
		if (r.type != PERF_RECORD_AUXTRACE)
			continue;
		at = r.offset;
		CHECK(bytes_left(&r.payload) == 16 && !memcmp(r.payload.pos, trace, 16),
		      "has its trace");
	}
	index = perf_file_features(file)->section[PERF_FEAT_AUXTRACE];
	CHECK(at && bytes_left(&index) == 24 && load_u64(index.pos + 8, false) == at,
	      "the index says where it is now");
	perf_file_free(file);
	buf_done(&out);
	perf_build_done(&b);
}

/* --- many of them --- */

enum { NR_THREADS = 7, NR_MANY = 4000 };

/* Threads that enter and leave at random; stacks come late, twice, not at all; rounds of two CPUs,
 * each in its order. */
static void fill_many(struct perf_build *b, uint64_t seed, uint64_t *ret_nr)
{
	struct perf_random r = {.state = seed};
	uint64_t time = SECOND, ips[40];
	uint8_t methods[40];
	uint32_t entry[NR_THREADS] = {0};

	*ret_nr = 0;
	defer_make_events(b);
	for (uint32_t t = 0; t < NR_THREADS; t++)
		defer_make_process(b, t + 1, 1000 + t, "thread");
	for (int i = 0; i < NR_MANY; i++) {
		uint32_t t = (uint32_t)perf_random_below(&r, NR_THREADS);
		uint64_t cookie = (uint64_t)(entry[t] + 1) << 16 | (t + 1);
		uint64_t jitter = perf_random_below(&r, 400);
		uint32_t nr = (uint32_t)perf_random_below(&r, 40);

		time += 1000;
		for (uint32_t j = 0; j < nr; j++) {
			ips[j] = 0x400000 + perf_random_below(&r, 0x100000);
			methods[j] = (uint8_t)perf_random_below(&r, 16);
		}
		defer_make_sample(b, &(struct defer_sample){
					     .tid = t + 1,
					     .time = time - jitter,
					     .cookie = perf_random_below(&r, 20) ? cookie : 3 << 16,
					     .in_user = perf_random_below(&r, 2)});
		++*ret_nr;
		if (perf_random_below(&r, 3) == 0) {
			if (perf_random_below(&r, 10))
				defer_make_stack(
					b, &(struct defer_stack){
						   .tid = t + 1,
						   .time = time,
						   .cookie = cookie,
						   .ips = ips,
						   .nr = nr,
						   .methods = methods,
						   .has_trailer = perf_random_below(&r, 2),
						   .stop = (uint8_t)perf_random_below(&r, 9)});
			entry[t]++;
		}
		if (perf_random_below(&r, 50) == 0)
			perf_build_round(b);
		if (perf_random_below(&r, 200) == 0)
			defer_make_task(b, PERF_RECORD_COMM, t + 1, time);
	}
	perf_random_done(&r);
}

static uint64_t nr_merged_of(struct bytes file)
{
	struct buf out = {0};
	struct stack_merge_counts counts;

	merge(file, &out, &counts);
	buf_done(&out);
	return counts.nr_merged;
}

static void test_many(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct perf_build b = {0};
		struct bytes file;
		uint64_t nr, merged;
		char name[40];

		snprintf(name, sizeof(name), "random %d", (int)seed);
		if (seed % 2)
			perf_build_compress(&b, PERF_RECORD_COMPRESSED);
		fill_many(&b, seed, &nr);
		if (seed % 2)
			perf_build_compress_end(&b, 60000);
		file = perf_build_finish(&b);
		merged = nr_merged_of(file);
		CHECK(merged > nr / 3 && merged < nr, "%s: %d of %d samples have stacks", name,
		      (int)merged, (int)nr);
		check_same(file, name, merged);
		perf_build_done(&b);
	}
}

/* --- order --- */

/* Times that go back, and events without time between others: still each its own. */
static void test_order(void)
{
	static const uint64_t ips[] = {0x400010, 0x400101};
	struct perf_attr timeless = {.type = PERF_TYPE_SOFTWARE,
				     .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						    PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN,
				     .flags = PERF_ATTR_SAMPLE_ID_ALL};
	static const uint64_t mark[] = {PERF_CONTEXT_USER_DEFERRED, 1 << 16};
	struct perf_build b = {0};

	defer_make_events(&b);
	perf_build_event(&b, &timeless, "timeless", (uint64_t[]){99}, 1);
	defer_make_process(&b, 1, 1000, "x");
	for (uint64_t i = 0; i < 60; i++) {
		uint64_t cookie = (i + 1) << 16 | 1;
		uint64_t time = SECOND + i * 1000 - (i % 7 == 0 ? 5000 : 0);

		defer_make_sample(&b,
				  &(struct defer_sample){.tid = 1, .time = time, .cookie = cookie});
		if (i % 3)
			defer_make_stack(&b, &(struct defer_stack){.tid = 1,
								   .time = time + 1,
								   .cookie = cookie,
								   .ips = ips,
								   .nr = 2,
								   .has_trailer = true,
								   .stop = (uint8_t)(i % 9)});
		if (i % 5 == 0)
			perf_build_sample(&b, 2,
					  &(struct perf_sample){
						  .id = 99,
						  .ip = 0x400010 + i,
						  .pid = 1,
						  .tid = 1,
						  .callchain = {(const uint8_t *)mark, 2, false}
                        });
		if (i % 4 == 0) {
			perf_build_round(&b);
			if (i % 8 == 0)
				perf_build_round(&b);
		}
	}
	check_same(perf_build_finish(&b), "times that go back", 39);
	perf_build_done(&b);
}

/* --- room --- */

static void test_room(void)
{
	static uint64_t ips[8000];
	struct perf_build b = {0};
	struct buf out = {0}, text = {0};
	struct stack_merge_counts counts;
	struct ana_summary s;
	size_t nr = 0;

	for (size_t i = 0; i < 8000; i++)
		ips[i] = 0x400000 + i;
	defer_make_events(&b);
	defer_make_process(&b, 1, 1000, "x");
	defer_make_sample(&b,
			  &(struct defer_sample){
				  .tid = 1, .time = SECOND, .cookie = 0x10001, .nr_after = 250});
	defer_make_stack(&b, &(struct defer_stack){.tid = 1,
						   .time = SECOND + 1,
						   .cookie = 0x10001,
						   .ips = ips,
						   .nr = 8000,
						   .has_trailer = true,
						   .stop = UNW_STOP_OUTERMOST});
	CHECK_EQ(merge(perf_build_finish(&b), &out, &counts), CLEW_OK, "8,000 frames");
	CHECK_EQ(counts.nr_cut, 1, "have no room in a record, which is said");
	CHECK(analyze_text(bytes_of(out.data, out.nr), &text, &s), "readable");
	for (const char *p = buf_cstr(&text); (p = strstr(p, " 4")); p++)
		nr++;
	CHECK(nr > 7800 && nr < 8000, "the innermost %d are there", (int)nr);
	CHECK_EQ(s.users.by_stop[UNW_STOP_MAX_DEPTH], 1, "and they are not called complete");
	buf_done(&out);
	buf_done(&text);
	perf_build_done(&b);
}

/* An event with a limit of its own: shared stacks are longer. */
static void test_limit(void)
{
	static const uint64_t ips[] = {0x400010, 0x400101, 0x400201, 0x400301, 0x400401};
	struct perf_build b = {0};

	defer_make_events(&b);
	b.events.data[0].attr.sample_max_stack = 4;
	defer_make_process(&b, 1, 1000, "x");
	defer_make_sample(&b, &(struct defer_sample){.tid = 1, .time = SECOND, .cookie = 0x10001});
	defer_make_sample(
		&b, &(struct defer_sample){
			    .tid = 1, .time = SECOND + 5, .cookie = 0x10001, .in_user = true});
	defer_make_stack(&b, &(struct defer_stack){.tid = 1,
						   .time = SECOND + 9,
						   .cookie = 0x10001,
						   .ips = ips,
						   .nr = 5,
						   .has_trailer = true,
						   .stop = UNW_STOP_OUTERMOST});
	check_same(perf_build_finish(&b), "a limit of four", 2);
	perf_build_done(&b);
}

/* --- refusals, damage --- */

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total)
{
	(void)total;
	*(uint64_t *)ctx = done;
	return false;
}

struct seen_progress {
	struct progress progress;
	const char *phase;
	uint64_t nr, nr_wrong;
};

static bool look_at_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct seen_progress *s = ctx;

	s->phase = s->progress.phase;
	s->nr++;
	s->nr_wrong += !s->progress.done || s->progress.done > done || s->progress.total != total;
	return true;
}

static void test_progress(void)
{
	struct perf_build b = {0};
	struct seen_progress seen = {.phase = NULL};
	struct buf out = {0};
	struct stack_merge_counts counts;
	struct perf_input in = {.progress = &seen.progress};
	const struct perf_writer_out to = {
		.sink = {add, &out},
                  .rewrite = rewrite
        };
	const struct stack_merge_opts opts = {look_at_progress, &seen};
	struct bytes file;
	uint64_t nr;

	for (int i = 0; i < 8; i++)
		fill_many(&b, 9, &nr);
	file = perf_build_finish(&b);
	in.data = file.pos;
	in.size = bytes_left(&file);
	CHECK_EQ(stack_merge(&in, &to, &opts, &counts, NULL), CLEW_OK, "some MiB");
	CHECK(seen.nr > 1 && !seen.nr_wrong, "it says how many bytes of how many are done");
	CHECK_STR(seen.phase, STACK_MERGE_PHASE, "and of what");
	buf_done(&out);
	perf_build_done(&b);
}

static void test_refusals(void)
{
	struct perf_build big = {.opts = {.big = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__}},
			  b = {0};
	struct stack_merge_counts counts;
	struct buf out = {0};
	struct clew_diag diag;
	uint64_t nr, done = 0;

	defer_make_story(&big);
	CHECK_EQ(merge(perf_build_finish(&big), &out, &counts), CLEW_UNSUPPORTED,
		 "the other byte order is refused");
	CHECK_EQ(stack_merge(&(struct perf_input){0}, &(struct perf_writer_out){0},
			     &(struct stack_merge_opts){0}, &counts, &diag),
		 CLEW_UNSUPPORTED, "a stream is refused");
	for (int i = 0; i < 4; i++)
		fill_many(&b, 9, &nr);
	CHECK_EQ(merge_with(perf_build_finish(&b), &(struct stack_merge_opts){stop_at_once, &done},
			    &out, &counts),
		 CLEW_STOPPED, "it stops when asked to");
	CHECK(done >= 1 << 20 && done < 2 << 20, "and asks each MiB of input");
	buf_done(&out);
	perf_build_done(&big);
	perf_build_done(&b);
}

/* Each cut: what is whole is merged, and that it was cut is said. */
static void test_cuts(void)
{
	struct perf_build b = {0};
	struct buf out = {0}, text = {0};
	struct stack_merge_counts counts;
	struct ana_summary s;
	struct bytes file;
	unsigned int nr_merged = 0, nr_wrong = 0;

	defer_make_story(&b);
	file = perf_build_finish(&b);
	for (size_t cut = 0; cut < bytes_left(&file); cut += 3) {
		uint8_t *copy = mem_alloc(cut ? cut : 1);

		memcpy(copy, file.pos, cut);
		if (merge(bytes_of(copy, cut), &out, &counts) == CLEW_OK) {
			nr_merged++;
			nr_wrong += !analyze_text(bytes_of(out.data, out.nr), &text, &s) ||
				    s.nr_samples != counts.nr_samples;
		}
		mem_free(copy);
	}
	CHECK(nr_merged > 500 && !nr_wrong, "%u cuts are merged as far as they go", nr_merged);
	buf_done(&out);
	buf_done(&text);
	perf_build_done(&b);
}

static void test_damage(void)
{
	struct perf_random r = {.state = 77};
	unsigned int nr_merged = 0, nr_wrong = 0;
	struct buf out = {0}, text = {0};

	for (int form = 0; form < 3; form++) {
		struct perf_build b = {.opts = {.pipe = form == 1}};
		struct stack_merge_counts counts;
		struct ana_summary s;
		struct bytes file;
		size_t size;
		uint8_t *copy;

		if (form == 2)
			perf_build_compress(&b, PERF_RECORD_COMPRESSED);
		defer_make_story(&b);
		if (form == 2)
			perf_build_compress_end(&b, 300);
		file = perf_build_finish(&b);
		size = bytes_left(&file);
		copy = mem_alloc(size);
		for (int i = 0; i < 2000; i++) {
			memcpy(copy, file.pos, size);
			for (uint64_t n = 1 + perf_random_below(&r, 6); n; n--)
				copy[16 + perf_random_below(&r, size - 16)] =
					(uint8_t)(perf_random_below(&r, 3)
							  ? perf_random_u64(&r)
							  : perf_random_below(&r, 24));
			if (merge(bytes_of(copy, size), &out, &counts) != CLEW_OK)
				continue;
			nr_merged++;
			nr_wrong += out.nr > 4 * size + 4096;
			analyze_text(bytes_of(out.data, out.nr), &text, &s);
		}
		mem_free(copy);
		perf_build_done(&b);
	}
	CHECK(nr_merged > 1000 && !nr_wrong,
	      "6000 damaged copies: no harm, and no output beyond bounds of %u", nr_merged);
	perf_random_done(&r);
	buf_done(&out);
	buf_done(&text);
}

/* Where the section begins; SIZE_MAX: there is none. */
static size_t section_at(const struct buf *file)
{
	for (size_t i = 0; i + 7 <= file->nr; i++) {
		if (!memcmp(file->data + i, "CLEWSTK", 7))
			return i;
	}
	return SIZE_MAX;
}

static void test_notes(void)
{
	static const struct {
		const char *what;
		size_t at; /* in the section */
		const char *note;
	} rows[] = {
		{"its name",				    0,            "is damaged"           },
		{"its version",				 7,            "is of another version"},
		{"the size of its head",                        8 + 3,        "is damaged"           },
		{"how many samples it counts: fewer are there", 12,           NULL                   },
		{"a block's size",                              12 + 48,      "is damaged"           },
		{"what a block holds, packed",                  12 + 48 + 16, "is damaged"           },
	};
	struct perf_build b = {0};
	struct buf out = {0}, text = {0};
	struct stack_merge_counts counts;
	struct ana_summary s;
	size_t at;

	defer_make_story(&b);
	merge(perf_build_finish(&b), &out, &counts);
	at = section_at(&out);
	CHECK(analyze_text(bytes_of(out.data, out.nr), &text, &s) && !s.stacks_note,
	      "whole: nothing is noted");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && at != SIZE_MAX; i++) {
		out.data[at + rows[i].at]++;
		CHECK(analyze_text(bytes_of(out.data, out.nr), &text, &s), "%s: read",
		      rows[i].what);
		CHECK_STR(s.stacks_note, rows[i].note, "%s: noted", rows[i].what);
		CHECK(s.nr_stacks_unknown == (rows[i].at == 12 ? 0 : s.nr_samples),
		      "%s: of how many samples", rows[i].what);
		out.data[at + rows[i].at]--;
	}
	buf_done(&out);
	buf_done(&text);
	perf_build_done(&b);
}

/* The merged file damaged: what it says of its stacks is wrong. */
static void test_damaged_output(void)
{
	struct perf_random r = {.state = 78};
	struct perf_build b = {0};
	struct buf out = {0}, text = {0};
	struct stack_merge_counts counts;
	struct ana_summary s;
	unsigned int nr_read = 0, nr_wrong = 0;

	defer_make_story(&b);
	merge(perf_build_finish(&b), &out, &counts);
	for (int i = 0; i < 3000; i++) {
		size_t at = perf_random_below(&r, 400) + out.nr - 400;
		char was = out.data[at];

		out.data[at] = (char)perf_random_u64(&r);
		if (analyze_text(bytes_of(out.data, out.nr), &text, &s)) {
			uint64_t sum = 0;

			for (int j = 0; j < NR_STITCH_REASONS; j++)
				sum += s.users.by_reason[j];
			nr_read++;
			nr_wrong += sum != s.users.nr || s.nr_samples != counts.nr_samples;
		}
		out.data[at] = was;
	}
	CHECK(nr_read > 1000 && !nr_wrong,
	      "%u merged files with damaged ends: one outcome a sample", nr_read);
	perf_random_done(&r);
	buf_done(&out);
	buf_done(&text);
	perf_build_done(&b);
}

static void test_memory(void)
{
	struct perf_build b = {0};
	struct buf out = {0}, whole = {0};
	struct stack_merge_counts counts;
	struct bytes file;
	bool is_ok = true;
	uint64_t n;

	defer_make_story(&b);
	file = perf_build_finish(&b);
	merge(file, &whole, &counts);
	for (n = 0; n < 5000; n++) {
		enum clew_err err;

		buf_done(&out);
		out = (struct buf){0};
		mem_fail_after(n);
		err = merge(file, &out, &counts);
		if (!mem_has_failed())
			break;
		mem_fail_after(UINT64_MAX);
		is_ok &= err != CLEW_OK ||
			 (out.nr == whole.nr && !memcmp(out.data, whole.data, out.nr));
	}
	mem_fail_after(UINT64_MAX);
	CHECK(is_ok && n > 50, "each of %d allocations may fail", (int)n);
	buf_done(&out);
	buf_done(&whole);
	perf_build_done(&b);
}

int main(void)
{
	test_forms();
	test_again();
	test_features();
	test_auxtrace();
	test_many();
	test_order();
	test_room();
	test_limit();
	test_progress();
	test_refusals();
	test_cuts();
	test_damage();
	test_notes();
	test_damaged_output();
	test_memory();
	return tap_done();
}
