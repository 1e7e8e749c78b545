/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_writer.h"

#include "perfdata/perf_features_write.h"
#include "perfdata/perf_file.h"
#include "unit/tap.h"

/* What is written must come back through the reader. */

static enum clew_err to_buf(void *ctx, const void *data, size_t size)
{
	buf_add(ctx, data, size);
	return CLEW_OK;
}

static enum clew_err over_buf(void *ctx, uint64_t offset, const void *data, size_t size)
{
	struct buf *b = ctx;

	memcpy(b->data + offset, data, size);
	return CLEW_OK;
}

static void two_events(struct perf_evlist *l)
{
	struct perf_attr a = {.type = PERF_TYPE_SOFTWARE,
			      .sample_type =
				      PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
			      .flags = PERF_ATTR_SAMPLE_ID_ALL};
	const uint64_t ids[] = {11, 12, 21, 22};

	perf_evlist_add(l, &a, "cpu-clock", (const uint8_t *)ids, 2, false);
	a.config = PERF_COUNT_SW_PAGE_FAULTS;
	perf_evlist_add(l, &a, "page-faults", (const uint8_t *)(ids + 2), 2, false);
}

/* COMM records of 40 bytes: header, pid, tid, comm[8], trailer of 16 (pid, tid, time). */
static void comms(struct buf *b, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct perf_event_header h = {.type = PERF_RECORD_COMM, .size = 48};

		buf_add(b, &h, sizeof(h));
		buf_u32(b, i);
		buf_u32(b, i);
		buf_add(b, "a name\0", 8);
		buf_u64(b, i);
		buf_u64(b, 1000 + i);
		buf_u64(b, 11);
	}
}

struct read_back {
	unsigned int comms, in_order, rounds, auxtraces;
	enum clew_err end;
	struct perf_file *file;
};

static struct read_back read_back(const struct buf *b)
{
	struct perf_input in = {.data = (const uint8_t *)b->data, .size = b->nr};
	struct read_back r = {0};
	struct perf_record rec;
	struct clew_diag diag = {0};

	if (perf_file_open(&r.file, &in, &diag) != CLEW_OK)
		return r;
	while ((r.end = perf_file_next(r.file, &rec, &diag)) == CLEW_OK) {
		struct perf_comm c;

		r.rounds += rec.type == PERF_RECORD_FINISHED_ROUND;
		r.auxtraces += rec.type == PERF_RECORD_AUXTRACE && bytes_left(&rec.payload) == 16;
		if (rec.type != PERF_RECORD_COMM || perf_comm_parse(&rec, &c) != CLEW_OK)
			continue;
		r.in_order += c.pid == r.comms++;
	}
	return r;
}

static struct perf_writer *start(struct buf *b, struct perf_evlist *l, bool is_pipe, int level)
{
	struct perf_writer_out out = {
		{to_buf, b},
                is_pipe ? NULL : over_buf
        };
	struct perf_writer_opts opts = {.zstd_level = level, .mmap_bytes = 64 * 1024};
	struct perf_writer *w = NULL;

	perf_writer_open(&w, &out, l, &opts);
	return w;
}

static void write_all(struct perf_writer *w, unsigned int nr)
{
	static const struct perf_event_header round = {.type = PERF_RECORD_FINISHED_ROUND,
						       .size = 8};
	uint64_t aux[6] = {0};
	struct perf_event_header h = {.type = PERF_RECORD_AUXTRACE, .size = sizeof(aux)};
	struct bytes payload = bytes_of("trace bytes", 11);
	struct buf records = {0}, host = {0};

	perf_put_string(&host, "a-host");
	perf_writer_feature(w, PERF_FEAT_HOSTNAME, host.data, host.nr);
	comms(&records, nr);
	perf_writer_records(w, records.data, records.nr);
	perf_writer_plain(w, &round, sizeof(round));
	memcpy(aux, &h, sizeof(h));
	aux[1] = 16;
	perf_writer_auxtrace(w, aux, sizeof(aux), &payload, 1);
	buf_done(&records);
	buf_done(&host);
}

static void test_form(const char *name, bool is_pipe, int level)
{
	enum { NR = 20000 };
	struct perf_evlist l = {0};
	struct buf b = {0};
	struct perf_writer *w;
	struct read_back r;

	two_events(&l);
	w = start(&b, &l, is_pipe, level);
	write_all(w, NR);
	CHECK_EQ(perf_writer_finish(w), CLEW_OK, "%s: finished", name);
	CHECK_EQ(perf_writer_size(w), b.nr, "%s: size is what the sink got", name);
	r = read_back(&b);
	CHECK_EQ(r.end, CLEW_END, "%s: read to its end", name);
	CHECK(r.comms == NR && r.in_order == NR, "%s: all records, in order", name);
	CHECK(r.rounds == 1 && r.auxtraces == 1, "%s: round and trace payload", name);
	CHECK_STR(perf_features_string(perf_file_features(r.file), PERF_FEAT_HOSTNAME), "a-host",
		  "%s: feature", name);
	CHECK(perf_evlist_by_id(perf_file_evlist(r.file), 22) ==
		      perf_file_evlist(r.file)->evsels.data[1],
	      "%s: ids lead to their events", name);
	if (level)
		CHECK(b.nr < NR * 48 / 3, "%s: is smaller", name);
	perf_file_free(r.file);
	perf_writer_free(w);
	perf_evlist_done(&l);
	buf_done(&b);
}

static void test_killed(int level)
{
	struct perf_evlist l = {0};
	struct buf b = {0};
	struct perf_writer *w;
	struct read_back r;

	two_events(&l);
	w = start(&b, &l, false, level);
	write_all(w, 5000);
	r = read_back(&b);
	CHECK(r.file && perf_file_is_unfinished(r.file), "level %d: no finish: data size 0", level);
	CHECK_EQ(r.comms, 5000, "level %d: all flushed records are there", level);
	perf_file_free(r.file);
	perf_writer_commit(w);
	write_all(w, 10);
	r = read_back(&b);
	CHECK(r.end == CLEW_END && r.comms == 5000, "level %d: up to the last commit", level);
	perf_file_free(r.file);
	perf_writer_free(w);
	perf_evlist_done(&l);
	buf_done(&b);
}

static void test_cut(bool has_features)
{
	struct perf_evlist l = {0};
	struct buf b = {0};
	struct perf_writer *w;
	struct read_back r;
	uint64_t good;

	two_events(&l);
	w = start(&b, &l, false, 0);
	write_all(w, 100);
	good = perf_writer_size(w);
	write_all(w, 100);
	b.nr = good;
	CHECK_EQ(perf_writer_cut(w, good, has_features), CLEW_OK, "cut");
	r = read_back(&b);
	CHECK(r.end == CLEW_END && r.comms == 100 && r.auxtraces == 1,
	      "cut, features %d: whole up to there", has_features);
	CHECK_EQ(perf_features_has(perf_file_features(r.file), PERF_FEAT_HOSTNAME), has_features,
		 "cut, features %d", has_features);
	perf_file_free(r.file);
	perf_writer_free(w);
	perf_evlist_done(&l);
	buf_done(&b);
}

static void test_compressed_alignment(void)
{
	struct perf_evlist l = {0};
	struct buf b = {0};
	struct perf_writer *w;
	struct perf_event_header h = {0};
	size_t at = PERF_PIPE_HEADER_SIZE;
	bool is_aligned = true;

	two_events(&l);
	w = start(&b, &l, true, 1);
	for (unsigned int i = 1; i < 60; i++)
		write_all(w, i);
	for (; at + sizeof(h) <= b.nr; at += h.size) {
		memcpy(&h, b.data + at, sizeof(h));
		is_aligned &= h.size % 8 == 0;
		if (h.type == PERF_RECORD_AUXTRACE)
			at += 16;
		if (h.size < sizeof(h))
			break;
	}
	CHECK(is_aligned && at == b.nr, "every record's size is a multiple of 8");
	perf_writer_free(w);
	perf_evlist_done(&l);
	buf_done(&b);
}

static void test_attr_size(void)
{
	struct perf_evlist l = {0};
	struct perf_attr a = {.type = 20, .config3 = 1};

	two_events(&l);
	CHECK_EQ(perf_file_attr_size(&l), 128, "what perf 6.1 reads");
	perf_evlist_add(&l, &a, "new", NULL, 0, false);
	CHECK_EQ(perf_file_attr_size(&l), 136, "more only for a field beyond");
	perf_evlist_done(&l);
}

int main(void)
{
	test_form("file", false, 0);
	test_form("pipe", true, 0);
	test_form("compressed file", false, 1);
	test_form("compressed pipe", true, 9);
	test_killed(0);
	test_killed(3);
	test_cut(true);
	test_cut(false);
	test_compressed_alignment();
	test_attr_size();
	return tap_done();
}
