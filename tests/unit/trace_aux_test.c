/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <clew/trace.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "make/cs_etm_make.h"
#include "make/elf_build.h"
#include "unit/test_dir.h"

/* The public API on AUX data of perf.data: items that are asked for are those that are handed out,
 * however the trace is cut and by however many threads. */

enum { NR_CPUS = 3, NR_CHUNKS = 12, RET = 0xd65f03c0, NOP = 0xd503201f, TEXT = 0x80 };

struct got {
	struct buf of_unit[NR_CPUS];
	size_t nr;
};

static void got_done(struct got *g)
{
	for (size_t i = 0; i < NR_CPUS; i++)
		buf_done(&g->of_unit[i]);
}

static void put(struct buf *to, const struct clew_trace_batch *b, size_t i)
{
	const struct clew_trace_event *e = clew_trace_event_at(b, i);
	const struct clew_trace_range *r = clew_trace_range_at(b, i);

	if (r)
		buf_printf(to, "%llx-%llx %u%s", (unsigned long long)r->start,
			   (unsigned long long)r->end, r->nr_insns,
			   clew_trace_is_taken(b, i) ? " taken" : "");
	else
		buf_printf(to, "%u %llx %u", e->kind, (unsigned long long)e->start, e->number);
	if (b->context)
		buf_printf(to, " %d/%d", b->context->pid, b->context->tid);
	if (b->context && b->context->who)
		buf_printf(to, " %s %s", b->context->who, b->context->who_json);
	buf_char(to, '\n');
}

static enum clew_err take(void *ctx, const struct clew_trace_batch *b)
{
	struct got *g = ctx;

	for (size_t i = 0; i < b->nr; i++)
		put(&g->of_unit[b->unit], b, i);
	g->nr += b->nr;
	return CLEW_OK;
}

static enum clew_err take_end(void *ctx, size_t unit)
{
	struct got *g = ctx;

	buf_str(&g->of_unit[unit], "end\n");
	return CLEW_OK;
}

static enum clew_err pull(struct clew_trace *t, struct got *g)
{
	const struct clew_trace_batch *b;
	enum clew_err err;

	while ((err = clew_trace_next(t, &b, NULL)) == CLEW_OK && take(g, b) == CLEW_OK)
		;
	return err;
}

static bool is_same(const struct got *a, const struct got *b)
{
	for (size_t i = 0; i < NR_CPUS; i++) {
		if (!a->of_unit[i].nr || a->of_unit[i].nr != b->of_unit[i].nr ||
		    memcmp(a->of_unit[i].data, b->of_unit[i].data, a->of_unit[i].nr) != 0)
			return false;
	}
	return a->nr == b->nr;
}

static void check_same(struct clew_trace *t, unsigned int nr_threads, bool wants_who)
{
	struct clew_trace_run_opts opts = {.size = sizeof(opts),
					   .nr_threads = nr_threads,
					   .wants_who = wants_who,
					   .unit_end = take_end};
	struct got pulled = {0}, pushed = {0}, again = {0};

	CHECK(clew_trace_run(t, take, &pushed, &opts, NULL) == CLEW_OK && pushed.nr > 200,
	      "AUX data is decoded, %u threads", nr_threads);
	CHECK(clew_trace_rewind(t, &pulled, &opts, NULL) == CLEW_OK &&
		      pull(t, &pulled) == CLEW_END && is_same(&pulled, &pushed),
	      "items that are asked for are those that are handed out");
	CHECK(clew_trace_rewind(t, &again, &opts, NULL) == CLEW_OK && pull(t, &again) == CLEW_END &&
		      is_same(&again, &pushed),
	      "and so in the next pass");
	CHECK(strstr(buf_cstr(&pushed.of_unit[0]), "10080-10088 2 taken 100/100") &&
		      strstr(buf_cstr(&pushed.of_unit[0]), "10080-10088 2 taken 200/200"),
	      "they have threads");
	CHECK(!!strstr(buf_cstr(&pushed.of_unit[0]), "100/100 task/context R:100") == wants_who &&
		      !!strstr(buf_cstr(&pushed.of_unit[0]), " {\"kind\":\"task\"") == wants_who,
	      "who ran only where it is asked for");
	got_done(&pulled);
	got_done(&pushed);
	got_done(&again);
}

/* Each CPU runs either process in turn; every fifth chunk has code that no file has, every fourth
 * was cut. */
static void put_chunk(struct cs_etm_make *m, uint32_t cpu, unsigned int i)
{
	struct cs_etm_place at = {.addr = 0x10000 + TEXT, .cid = i % 2 ? 100 : 200};
	struct buf t = {0};

	m->flags = i % 4 == 3 ? PERF_AUX_FLAG_TRUNCATED : 0;
	at.addr += i % 5 == 4 ? 0x100000 : 0;
	cs_etm_sync(&t);
	for (unsigned int n = 0; n <= i; n++) {
		cs_etm_go(m, &t, &at);
		enc_atoms(&t, 1, 1);
	}
	cs_etm_trace(m, cpu, 100 + 10 * i + cpu, &t);
	buf_done(&t);
}

/** *ret: a copy. */
static void write_recording(struct buf *ret)
{
	struct cs_etm_make m = {.nr_cpus = NR_CPUS, .version = 1};
	struct bytes file;

	cs_etm_begin(&m);
	cs_etm_comm(&m, 5, 100, 100, "one", false);
	cs_etm_map(&m, 6, 100, 0x10000, "/bin/one");
	cs_etm_comm(&m, 7, 200, 200, "two", false);
	cs_etm_map(&m, 8, 200, 0x10000, "/bin/one");
	for (unsigned int i = 0; i < NR_CHUNKS; i++) {
		for (uint32_t cpu = 0; cpu < NR_CPUS; cpu++)
			put_chunk(&m, cpu, i + cpu);
	}
	file = perf_build_finish(&m.file);
	test_dir_write("perf.data", file.pos, bytes_left(&file));
	buf_add(ret, file.pos, bytes_left(&file));
	cs_etm_done(&m);
}

/* Cut at @p size: what is whole is handed out, and then it is said, by both ways to ask. */
static bool is_cut_right(const struct buf *whole, size_t size, const char *path)
{
	struct clew_trace_opts opts = {.size = sizeof(opts), .symfs = test_dir};
	struct got pushed = {0}, pulled = {0};
	struct clew_diag pushing = {0}, pulling = {0};
	const struct clew_trace_summary *s;
	const struct clew_trace_batch *b;
	struct clew_trace *t = NULL;
	bool ok;

	test_dir_write("cut.data", whole->data, size);
	if (clew_trace_open(&t, path, &opts, NULL) != CLEW_OK)
		return true; /* there is no trace before that */
	ok = clew_trace_run(t, take, &pushed, NULL, &pushing) == CLEW_TRUNCATED;
	s = clew_trace_summary(t);
	ok &= s->end == CLEW_TRUNCATED && s->end_offset == pushing.offset &&
	      pushing.offset <= size && pushing.code == CLEW_TRUNCATED;
	ok &= clew_trace_rewind(t, NULL, NULL, NULL) == CLEW_OK &&
	      pull(t, &pulled) == CLEW_TRUNCATED;
	ok &= clew_trace_next(t, &b, &pulling) == CLEW_TRUNCATED &&
	      pulling.offset == pushing.offset;
	ok &= pulled.nr == pushed.nr;
	got_done(&pushed);
	got_done(&pulled);
	clew_trace_free(t);
	return ok;
}

static void test_cuts(const char *path, const struct buf *whole)
{
	struct clew_trace *t = NULL;
	const struct clew_trace_summary *s;
	const struct clew_frame *frame;
	struct got got = {0};
	uint64_t records_end = load_u64((const uint8_t *)whole->data + 40, false) +
			       load_u64((const uint8_t *)whole->data + 48, false);
	char cut[96];
	size_t nr = 0;
	bool ok = true;

	snprintf(cut, sizeof(cut), "%s/cut.data", test_dir);
	for (size_t size = 1; size < records_end; size += records_end / 150, nr++)
		ok &= is_cut_right(whole, size, cut);
	CHECK(ok && nr > 100, "cut at %zu places: TRUNCATED after what is whole", nr);
	CHECK(clew_trace_open(&t, path, NULL, NULL) == CLEW_OK, "the whole one");
	s = clew_trace_summary(t);
	CHECK(s->end == CLEW_OK && s->nr_aux_bytes && !s->nr_aux_missing, "lacks nothing");
	CHECK(clew_trace_run(t, take, &got, NULL, NULL) == CLEW_OK &&
		      clew_trace_summary(t)->end == CLEW_OK,
	      "and its pass ends well");
	CHECK(clew_trace_resolve(t, UINT32_MAX, 0x1000, &frame) == CLEW_OK && !frame->binary &&
		      frame->level == CLEW_LEVEL_UNKNOWN,
	      "in a space that there is not, nothing is known");
	got_done(&got);
	clew_trace_free(t);
}

static void write_program(void)
{
	const uint32_t words[] = {NOP, RET};
	struct elf_build b = {.machine = EM_AARCH64};

	elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, words,
			  sizeof(words));
	elf_build_finish(&b);
	test_dir_write("bin/one", b.file.data, b.file.nr);
	elf_build_done(&b);
}

int main(void)
{
	struct clew_trace_opts opts = {.size = sizeof(opts), .symfs = test_dir};
	struct clew_trace *t = NULL;
	struct buf whole = {0};
	char path[96];

	test_dir_make("trace-aux-test");
	write_program();
	write_recording(&whole);
	snprintf(path, sizeof(path), "%s/perf.data", test_dir);
	CHECK(clew_trace_open(&t, path, &opts, NULL) == CLEW_OK, "a recording opens");
	for (unsigned int n = 1; t && n <= 2; n++) {
		check_same(t, n, false);
		check_same(t, n, true);
	}
	clew_trace_free(t);
	test_cuts(path, &whole);
	buf_done(&whole);
	test_dir_remove();
	return tap_done();
}
