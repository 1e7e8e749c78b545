/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "make/perf_random.h"
#include "prop/perfdata_walk.h"
#include "unit/tap.h"

/*
 * A recording cut at every byte: what is whole is delivered, then one CLEW_TRUNCATED at the offset
 * of the record that is not, or CLEW_END where nothing is missing.
 */

static uint64_t hash_of_log(const struct perf_build *b, uint64_t nr)
{
	uint64_t h = 0;

	for (uint64_t i = 0; i < nr; i++) {
		const struct perf_build_record *r = &b->log.data[i];
		const char *p = b->plain.data + r->at;

		h = hash_two(h, hash_bytes(p, r->size));
		h = hash_two(h, hash_bytes(p + r->size, r->payload_bytes));
	}
	return h;
}

/* Records that are whole in the first @p cut bytes, and where the next one starts. */
static uint64_t whole_records(const struct perf_build *b, uint64_t cut, uint64_t *next)
{
	uint64_t nr = 0;

	*next = b->data_offset;
	if (b->opts.pipe)
		*next = PERF_PIPE_HEADER_SIZE;
	while (nr < b->log.nr) {
		const struct perf_build_record *r = &b->log.data[nr];
		uint64_t end = *next + r->size + r->payload_bytes;

		if (end > cut)
			break;
		*next = end;
		nr++;
	}
	return nr;
}

static bool is_right(const struct perf_build *b, uint64_t size, uint64_t cut,
		     const struct perf_walk *w)
{
	uint64_t next, nr = whole_records(b, cut, &next);
	uint64_t start = b->opts.pipe ? (uint64_t)PERF_PIPE_HEADER_SIZE : b->data_offset;
	bool is_whole = nr == b->log.nr;
	/* A pipe, or a file without a size in its header, may end after any record. */
	bool may_end = is_whole || ((b->opts.pipe || b->opts.is_unfinished) && next == cut);

	if (cut < start)
		return w->open_err == CLEW_BAD_FILE || w->open_err == CLEW_TRUNCATED;
	if (w->open_err != CLEW_OK || w->nr_records != nr || w->hash != hash_of_log(b, nr))
		return false;
	if (w->end == CLEW_END)
		return may_end;
	return !may_end && w->end == CLEW_TRUNCATED && w->diag.offset == next && cut < size;
}

static void test_every_cut(const char *name, struct perf_build_opts opts, size_t chunk)
{
	struct perf_random r = {.state = 11};
	struct perf_build b = {0};
	struct perf_walk w;
	struct bytes file;
	int wrong = 0;

	perf_random_fill(
		&r, &(struct perf_random_opts){.build = opts, .nr_records = 20, .is_ordered = true},
		&b);
	file = perf_build_finish(&b);
	for (size_t cut = 0; cut <= bytes_left(&file); cut++) {
		/* A copy of exactly this size, so that the sanitizer sees a read past it. */
		uint8_t *copy = mem_alloc(cut);

		if (cut)
			memcpy(copy, file.pos, cut);
		perf_walk(bytes_of(copy, cut), chunk, &w);
		if (!is_right(&b, bytes_left(&file), cut, &w) && !wrong++)
			printf("# cut at %zu: open %s, end %s (%s at %llu), %llu records\n", cut,
			       clew_err_name(w.open_err), clew_err_name(w.end),
			       w.diag.what ? w.diag.what : "", (unsigned long long)w.diag.offset,
			       (unsigned long long)w.nr_records);
		mem_free(copy);
	}
	CHECK_EQ(wrong, 0, "%s: all %zu prefixes", name, bytes_left(&file));
	perf_build_done(&b);
	perf_random_done(&r);
}

/* With compression, what comes out is a prefix of what went in. */
static void test_compressed(uint32_t type, bool pipe)
{
	struct perf_random r = {.state = 12};
	struct perf_build b = {0};
	struct perf_walk w;
	struct bytes file;
	int wrong = 0;

	perf_random_fill(&r,
			 &(struct perf_random_opts){
				 .build = {.pipe = pipe}, .nr_records = 40, .compress_type = type},
			 &b);
	file = perf_build_finish(&b);
	for (size_t cut = 0; cut <= bytes_left(&file); cut++) {
		perf_walk(bytes_of(file.pos, cut), pipe ? 333 : 0, &w);
		if (w.open_err == CLEW_OK)
			wrong += w.nr_records > b.log.nr ||
				 w.hash != hash_of_log(&b, w.nr_records) ||
				 (w.end != CLEW_END && w.end != CLEW_TRUNCATED);
	}
	CHECK_EQ(wrong, 0, "%s %s: all %zu prefixes deliver a prefix", pipe ? "pipe" : "file",
		 type == PERF_RECORD_COMPRESSED ? "COMPRESSED" : "COMPRESSED2", bytes_left(&file));
	perf_build_done(&b);
	perf_random_done(&r);
}

int main(void)
{
	test_every_cut("file", (struct perf_build_opts){0}, 0);
	test_every_cut("big-endian file", (struct perf_build_opts){.big = true}, 0);
	test_every_cut("unfinished file", (struct perf_build_opts){.is_unfinished = true}, 0);
	test_every_cut("mapped pipe", (struct perf_build_opts){.pipe = true}, 0);
	test_every_cut("pipe", (struct perf_build_opts){.pipe = true}, 777);
	test_compressed(PERF_RECORD_COMPRESSED, false);
	test_compressed(PERF_RECORD_COMPRESSED2, false);
	test_compressed(PERF_RECORD_COMPRESSED, true);
	test_compressed(PERF_RECORD_COMPRESSED2, true);
	return tap_done();
}
