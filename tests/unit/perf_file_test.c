/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_file.h"

#include <sys/resource.h>

#include "base/mem.h"
#include "make/perf_random.h"
#include "perfdata/perf_feature_lists.h"
#include "perfdata/perf_file_impl.h"
#include "unit/tap.h"

static const struct perf_attr plain_attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TIME};

static enum clew_err open_bytes(struct bytes b, struct perf_file **ret, struct clew_diag *diag)
{
	const struct perf_input in = {.data = b.pos ? b.pos : (const uint8_t *)"",
				      .size = bytes_left(&b)};

	*ret = NULL;
	return perf_file_open(ret, &in, diag);
}

/* Read to the end. @return what it ended with. */
static enum clew_err read_all(struct perf_file *f, struct clew_diag *diag)
{
	struct perf_record r;
	enum clew_err err;

	do
		err = perf_file_next(f, &r, diag);
	while (err == CLEW_OK);
	return err;
}

static void set_u64(struct perf_build *b, size_t at, uint64_t v)
{
	memcpy(b->out.buf.data + at, &v, sizeof(v));
}

/* A file of one event and two samples. */
static struct bytes small_file(struct perf_build *b)
{
	perf_build_event(b, &plain_attr, "cycles", (uint64_t[]){7}, 1);
	perf_build_sample(b, 0, &(struct perf_sample){.ip = 1, .time = 10});
	perf_build_sample(b, 0, &(struct perf_sample){.ip = 2, .time = 20});
	return perf_build_finish(b);
}

/* Headers that cannot be: the 8 bytes at an offset of a good file are replaced. */
static void test_bad_headers(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint64_t value;
		enum clew_err want;
	} rows[] = {
		{"another magic number",           0,                 0x1234,     CLEW_BAD_FILE },
		{"a header size of 71",            8,                 71,         CLEW_BAD_FILE },
		{"attr entries of 79 bytes",       16,                79,         CLEW_BAD_FILE },
		{"attr entries of 0 bytes",        16,                0,          CLEW_BAD_FILE },
		{"attr entries of 2^64 - 1 bytes", 16,                UINT64_MAX, CLEW_BAD_FILE },
		{"attrs after the end",            24,                1 << 20,    CLEW_TRUNCATED},
		{"attrs at an offset that wraps",  24,                UINT64_MAX, CLEW_TRUNCATED},
		{"attrs of 2^64 - 1 bytes",        32,                UINT64_MAX, CLEW_TRUNCATED},
		{"no attrs",                       32,                0,          CLEW_BAD_FILE },
		{"data after the end",             40,                1 << 20,    CLEW_TRUNCATED},
		{"data that wraps round",          48,                UINT64_MAX, CLEW_BAD_FILE },
		{"ids after the end",              104 + 8 + 144,     1 << 20,    CLEW_TRUNCATED},
		{"2^61 ids",                       104 + 8 + 144 + 8, UINT64_MAX, CLEW_TRUNCATED},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct perf_build b = {0};
		struct clew_diag diag = {0};
		struct perf_file *f;

		small_file(&b);
		set_u64(&b, rows[i].at, rows[i].value);
		CHECK_EQ(open_bytes(put_result(&b.out), &f, &diag), rows[i].want, "%s",
			 rows[i].what);
		CHECK(!f && diag.what, "and a word about it: %s", diag.what ? diag.what : "(none)");
		perf_file_free(f);
		perf_build_done(&b);
	}
}

static void test_not_perf_data(void)
{
	struct clew_diag diag;
	struct perf_file *f;

	CHECK_EQ(open_bytes((struct bytes){0}, &f, &diag), CLEW_BAD_FILE, "an empty file");
	CHECK_EQ(open_bytes(bytes_of("PERFILE2", 8), &f, &diag), CLEW_BAD_FILE, "8 bytes");
	CHECK_EQ(open_bytes(bytes_of("PERFFILE\0\0\0\0\0\0\0\0", 16), &f, &diag), CLEW_BAD_FILE,
		 "version 1, without a byte order");
	CHECK_EQ(open_bytes(bytes_of("PERFILE3\0\0\0\0\0\0\0\0", 16), &f, &diag), CLEW_BAD_FILE,
		 "version 3");
}

/* Version 1 is written in both byte orders and says neither. */
static void test_version1(struct perf_build_opts opts)
{
	struct perf_build b = {.opts = opts};
	struct perf_file *f, *second;
	struct clew_diag diag;
	uint32_t online, available;
	struct perf_put cpus = {.big = opts.big};
	struct perf_record r;

	b.opts.is_version1 = true;
	perf_build_event(&b, &plain_attr, "cycles", (uint64_t[]){7}, 1);
	perf_build_feature_string(&b, PERF_FEAT_HOSTNAME, "box");
	put_u32(&cpus, 8);
	put_u32(&cpus, 4);
	perf_build_feature(&b, PERF_FEAT_NRCPUS, put_result(&cpus));
	perf_build_sample(&b, 0, &(struct perf_sample){.ip = 1, .time = 10});
	open_bytes(perf_build_finish(&b), &f, &diag);
	CHECK(f && perf_file_version(f) == 1 && perf_file_is_swapped(f) == opts.big &&
		      perf_file_is_pipe(f) == opts.pipe,
	      "version 1, %s-endian %s, attrs of %u bytes", opts.big ? "big" : "little",
	      opts.pipe ? "pipe" : "file", opts.attr_bytes);
	CHECK(read_all(f, &diag) == CLEW_END &&
		      perf_file_counts(f)->by_type[PERF_RECORD_SAMPLE] == 1,
	      "its record");
	CHECK(perf_evlist_by_id(perf_file_evlist(f), 7), "its event, by id");
	CHECK_STR(perf_features_string(perf_file_features(f), PERF_FEAT_HOSTNAME), "box",
		  "its features%s", opts.has_32bit_words ? ", from a 32-bit machine" : "");
	CHECK(perf_features_nr_cpus(perf_file_features(f), &online, &available) && online == 4,
	      "and their numbers");
	CHECK(perf_file_reopen(&second, f, &diag) == CLEW_OK &&
		      perf_file_next(second, &r, &diag) == CLEW_OK &&
		      perf_file_version(second) == 1,
	      "a second reader");
	perf_file_free(second);
	perf_file_free(f);
	perf_build_done(&b);
	buf_done(&cpus.buf);
}

/* perf before 3.2 had no name of the host; of other features a file in the other order says
 * nothing. */
static void test_version1_features(void)
{
	struct perf_build b = {
		.opts = {.big = true, .is_version1 = true}
        };
	struct clew_diag diag;
	struct perf_file *f;

	perf_build_event(&b, &plain_attr, "cycles", NULL, 0);
	perf_build_feature(&b, PERF_FEAT_BUILD_ID, bytes_of("12345678", 8));
	open_bytes(perf_build_finish(&b), &f, &diag);
	CHECK(f && perf_file_features(f)->bits[0] == 1 << PERF_FEAT_BUILD_ID &&
		      bytes_left(&perf_file_features(f)->section[PERF_FEAT_BUILD_ID]) == 8,
	      "without the host's name the features are build ids alone");
	perf_file_free(f);
	perf_build_done(&b);
}

/* perf before 2.6.36 wrote build ids without a pid. */
static void test_old_build_ids(bool has_pid)
{
	struct perf_build b = {.opts = {.is_version1 = true}};
	static const char *const names[] = {"[kernel.kallsyms]", "/bin/sh"};
	struct perf_build_id_record id;
	struct perf_put p = {0};
	struct perf_list list;
	struct clew_diag diag;
	struct perf_file *f;
	uint16_t misc;

	perf_build_event(&b, &plain_attr, "cycles", NULL, 0);
	for (int i = 0; i < 2; i++) {
		put_u32(&p, PERF_RECORD_HEADER_BUILD_ID);
		put_u32(&p, (uint32_t)(has_pid ? 68 : 64) << 16);
		if (has_pid)
			put_u32(&p, 7);
		for (uint8_t n = 0; n < 24; n++)
			put_u8(&p, n < 20 ? n + 1 : 0);
		put_bytes(&p, bytes_of(names[i], strlen(names[i])));
		for (size_t n = strlen(names[i]); n < 32; n++)
			put_u8(&p, 0);
	}
	perf_build_feature(&b, PERF_FEAT_BUILD_ID, put_result(&p));
	open_bytes(perf_build_finish(&b), &f, &diag);
	CHECK(perf_features_build_ids(perf_file_features(f), &list), "build ids");
	for (int i = 0; i < 2; i++)
		CHECK(perf_build_id_next(&list, &id, &misc) && !strcmp(id.filename, names[i]) &&
			      id.build_id[0] == 1 && id.build_id[19] == 20,
		      "%s %s a pid", names[i], has_pid ? "with" : "without");
	CHECK(!perf_build_id_next(&list, &id, &misc) && !list.is_bad, "no more");
	perf_file_free(f);
	perf_build_done(&b);
	buf_done(&p.buf);
}

/* Of no event in either order. */
static void test_version1_bad(void)
{
	static const uint64_t sizes[] = {0, 79, 1ull << 40, UINT64_MAX};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct perf_build b = {.opts = {.is_version1 = true}};
		struct clew_diag diag = {0};
		struct perf_file *f;

		small_file(&b);
		set_u64(&b, 16, sizes[i]);
		CHECK(open_bytes(put_result(&b.out), &f, &diag) == CLEW_BAD_FILE && diag.what,
		      "version 1, attr entries of %llx bytes: %s", (unsigned long long)sizes[i],
		      diag.what ? diag.what : "-");
		perf_file_free(f);
		perf_build_done(&b);
	}
}

static void test_magic(void)
{
	static const char *const yes[] = {"PERFFILE", "PERFILE2", "2ELIFREP"},
				 *const no[] = {"ELIFFREP", "PERFILE1", "PERFILE3", "\177ELF    "};

	for (size_t i = 0; i < sizeof(yes) / sizeof(*yes); i++)
		CHECK(perf_file_has_magic((const uint8_t *)yes[i]), "%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(*no); i++)
		CHECK(!perf_file_has_magic((const uint8_t *)no[i]), "not %s", no[i]);
}

struct pieces {
	struct bytes left;
	size_t chunk;
	long error;
};

static long read_pieces(void *ctx, void *buf, size_t size)
{
	struct pieces *p = ctx;
	size_t n = bytes_left(&p->left);

	if (!n && p->error)
		return p->error;
	n = n < size ? n : size;
	n = n < p->chunk ? n : p->chunk;
	if (n)
		memcpy(buf, p->left.pos, n);
	p->left.pos += n;
	return (long)n;
}

static void test_streams(void)
{
	struct perf_build b = {0}, pipe = {.opts = {.pipe = true}};
	struct pieces p = {small_file(&b), 5, 0};
	struct perf_input in = {.read = read_pieces, .ctx = &p};
	struct clew_diag diag = {0};
	struct perf_file *f = NULL;
	struct perf_record r, kept;

	CHECK_EQ(perf_file_open(&f, &in, &diag), CLEW_UNSUPPORTED, "a file's header on a stream");

	p = (struct pieces){small_file(&pipe), 5, -5};
	CHECK_EQ(perf_file_open(&f, &in, &diag), CLEW_OK, "a pipe's");
	CHECK(perf_file_next(f, &kept, &diag) == CLEW_OK && kept.type == PERF_RECORD_HEADER_ATTR,
	      "its attr is delivered, and taken in");
	CHECK(perf_file_evlist(f)->evsels.nr == 1 && perf_evlist_by_id(perf_file_evlist(f), 7),
	      "with its id");
	perf_block_hold(kept.block);
	while (perf_file_next(f, &r, &diag) == CLEW_OK)
		;
	CHECK(diag.code == CLEW_OS && diag.os_errno == 5, "an error of read() is handed on");
	CHECK_EQ(perf_file_next(f, &r, &diag), CLEW_END, "and ends the stream");
	CHECK(load_u32(kept.data, false) == PERF_RECORD_HEADER_ATTR,
	      "a held record is still there");
	perf_block_release(kept.block);
	perf_file_free(f);
	perf_build_done(&b);
	perf_build_done(&pipe);
}

/* Records that end the reading; the offset says where. */
static void test_bad_records(void)
{
	static const struct {
		const char *what;
		uint8_t bytes[16];
		enum clew_err want;
	} rows[] = {
		{"a record of size 0",                      {9, 0, 0, 0, 0, 0, 0, 0},       CLEW_BAD_FILE },
		{"a record of size 7",                      {9, 0, 0, 0, 0, 0, 7, 0},       CLEW_BAD_FILE },
		{"a record longer than the file",           {9, 0, 0, 0, 0, 0, 0xff, 0xff}, CLEW_TRUNCATED},
		{"trace data of 2^64 - 1 bytes",
		 {71, 0, 0, 0, 0, 0, 16, 0, 255, 255, 255, 255, 255, 255, 255, 255},
		 CLEW_BAD_FILE									    },
		{"trace data longer than the file",
		 {71, 0, 0, 0, 0, 0, 16, 0, 0, 1, 0, 0, 0, 0, 0, 0},
		 CLEW_TRUNCATED									   },
		{"a compressed record of noise",
		 {81, 0, 0, 0, 0, 0, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8},
		 CLEW_BAD_FILE									    },
		{"a compressed2 record larger than itself",
		 {83, 0, 0, 0, 0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		 CLEW_BAD_FILE									    },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct perf_build b = {0};
		struct clew_diag diag = {0};
		struct perf_file *f;
		uint64_t offset;

		perf_build_event(&b, &plain_attr, "cycles", NULL, 0);
		perf_build_round(&b);
		perf_build_bytes(&b, bytes_of(rows[i].bytes, 16), false);
		open_bytes(perf_build_finish(&b), &f, &diag);
		offset = b.data_offset + 8;
		CHECK(read_all(f, &diag) == rows[i].want && diag.code == rows[i].want &&
			      diag.offset == offset,
		      "%s", rows[i].what);
		CHECK_EQ(read_all(f, &diag), CLEW_END, "said once");
		CHECK_EQ(perf_file_counts(f)->by_type[PERF_RECORD_FINISHED_ROUND], 1,
			 "what stood before it came");
		perf_file_free(f);
		perf_build_done(&b);
	}
}

static void test_unknown_types(void)
{
	struct perf_build b = {0};
	struct clew_diag diag;
	struct perf_file *f;

	perf_build_event(&b, &plain_attr, "cycles", NULL, 0);
	perf_build_raw(&b, 40, 0, bytes_of("12345678", 8));
	perf_build_raw(&b, 32768, 0, bytes_of("12345678", 8)); /* simpleperf's */
	perf_build_raw(&b, UINT32_MAX, 0, (struct bytes){0});
	perf_build_sample(&b, 0, &(struct perf_sample){.ip = 1, .time = 10});
	open_bytes(perf_build_finish(&b), &f, &diag);
	CHECK(read_all(f, &diag) == CLEW_END && perf_file_counts(f)->nr_unknown == 3 &&
		      perf_file_counts(f)->nr_records == 4 &&
		      perf_file_counts(f)->by_type[PERF_RECORD_SAMPLE] == 1,
	      "unknown record types are delivered, counted, and read over");
	perf_file_free(f);
	perf_build_done(&b);
}

/* The second one reaches back into the first. */
static void add_groups(struct perf_build *b)
{
	struct perf_put p = {.big = b->opts.big};

	put_u32(&p, 2);
	put_name(&p, "mine");
	put_u32(&p, 1);
	put_u32(&p, 2);
	put_name(&p, "overlaps");
	put_u32(&p, 0);
	put_u32(&p, 3);
	perf_build_feature(b, PERF_FEAT_GROUP_DESC, put_result(&p));
	buf_done(&p.buf);
}

static void test_names_and_groups(struct perf_build_opts opts)
{
	struct perf_build b = {.opts = opts};
	struct clew_diag diag;
	const struct perf_evlist *l;
	struct perf_file *f;

	for (uint64_t i = 0; i < 3; i++)
		perf_build_event(&b, &plain_attr, i ? i == 1 ? "one" : "two" : "zero",
				 (uint64_t[]){100 + i, 200 + i}, 2);
	perf_build_event_desc(&b);
	add_groups(&b);
	perf_build_round(&b);
	open_bytes(perf_build_finish(&b), &f, &diag);
	CHECK_EQ(read_all(f, &diag), CLEW_END, "%s-endian %s", opts.big ? "big" : "little",
		 opts.pipe ? "pipe" : "file");
	l = perf_file_evlist(f);
	CHECK(l->evsels.nr == 3 && !strcmp(l->evsels.data[0]->name, "zero") &&
		      !strcmp(l->evsels.data[2]->name, "two"),
	      "events have their described names");
	CHECK(perf_evlist_by_id(l, 201) == l->evsels.data[1] && !perf_evlist_by_id(l, 99),
	      "and are found by id");
	CHECK(l->evsels.data[0]->leader == 0 && l->evsels.data[1]->leader == 1 &&
		      l->evsels.data[2]->leader == 1 && l->evsels.data[1]->nr_group == 2 &&
		      l->evsels.data[1]->group_name &&
		      !strcmp(l->evsels.data[1]->group_name, "mine"),
	      "and groups, but none that overlaps one before");
	perf_file_free(f);
	perf_build_done(&b);
}

/* Without a limit each small record names all events once more, in memory that stays. */
static void test_feature_again(void)
{
	struct perf_build b = {.opts = {.pipe = true}};
	struct clew_diag diag;
	struct perf_file *f;
	size_t before, after;

	perf_build_event(&b, &plain_attr, "first", (uint64_t[]){1}, 1);
	perf_build_event_desc(&b);
	for (int i = 0; i < 1000; i++)
		add_groups(&b);
	open_bytes(perf_build_finish(&b), &f, &diag);
	before = perf_file_evlist(f)->memory.used_bytes;
	CHECK_EQ(read_all(f, &diag), CLEW_END, "a pipe that describes a feature again and again");
	after = perf_file_evlist(f)->memory.used_bytes;
	CHECK(after - before <= 2 * 65600 &&
		      !strcmp(perf_file_evlist(f)->evsels.data[0]->name, "first"),
	      "only the first time counts");
	perf_file_free(f);
	perf_build_done(&b);
}

static void test_event_update(void)
{
	struct perf_build b = {.opts = {.pipe = true}};
	struct clew_diag diag;
	struct perf_file *f;
	const struct perf_evsel *e;

	perf_build_event(&b, &plain_attr, "x", (uint64_t[]){5}, 1);
	perf_build_view(&b, PERF_RECORD_EVENT_UPDATE, 0,
			&(union perf_view){
				.event_update = {0, 5, bytes_of("Joules\0", 8)}
        },
			NULL);
	perf_build_view(&b, PERF_RECORD_EVENT_UPDATE, 0,
			&(union perf_view){
				.event_update = {2, 5, bytes_of("energy\0", 8)}
        },
			NULL);
	perf_build_view(&b, PERF_RECORD_EVENT_UPDATE, 0,
			&(union perf_view){
				.event_update = {2, 6, bytes_of("absent\0", 8)}
        },
			NULL);
	open_bytes(perf_build_finish(&b), &f, &diag);
	CHECK_EQ(read_all(f, &diag), CLEW_END, "a pipe with EVENT_UPDATE records");
	e = perf_file_evlist(f)->evsels.data[0];
	CHECK(e->unit && !strcmp(e->unit, "Joules") && !strcmp(e->name, "energy"),
	      "unit and name are taken over");
	perf_file_free(f);
	perf_build_done(&b);
}

/* The end mark perf writes after a pipe's features is no feature. */
static void test_last_feature_mark(void)
{
	struct perf_build b = {.opts = {.pipe = true}};
	struct clew_diag diag;
	struct perf_file *f;

	perf_build_event(&b, &plain_attr, "x", NULL, 0);
	perf_build_feature_string(&b, PERF_FEAT_ARCH, "x86_64");
	perf_build_feature(&b, PERF_FEAT_CPU_DOMAIN_INFO, (struct bytes){0});
	open_bytes(perf_build_finish(&b), &f, &diag);
	read_all(f, &diag);
	CHECK(perf_features_has(perf_file_features(f), PERF_FEAT_ARCH) &&
		      !perf_features_has(perf_file_features(f), PERF_FEAT_CPU_DOMAIN_INFO) &&
		      !(perf_file_features(f)->bits[0] >> PERF_FEAT_CPU_DOMAIN_INFO & 1),
	      "an empty feature record in a pipe");
	perf_file_free(f);
	perf_build_done(&b);
}

static void test_unfinished(void)
{
	struct perf_build b = {.opts = {.is_unfinished = true}}, empty = {0};
	struct clew_diag diag;
	struct perf_file *f;

	open_bytes(small_file(&b), &f, &diag);
	CHECK(perf_file_is_unfinished(f) && read_all(f, &diag) == CLEW_END &&
		      perf_file_counts(f)->nr_records == 2,
	      "a killed writer's file is read to its end");
	perf_file_free(f);
	perf_build_event(&empty, &plain_attr, "cycles", NULL, 0);
	perf_build_feature_string(&empty, PERF_FEAT_ARCH, "x86_64");
	open_bytes(perf_build_finish(&empty), &f, &diag);
	CHECK(!perf_file_is_unfinished(f) && read_all(f, &diag) == CLEW_END &&
		      perf_features_has(perf_file_features(f), PERF_FEAT_ARCH),
	      "a whole file without records is no such file");
	perf_file_free(f);
	perf_build_done(&b);
	perf_build_done(&empty);
}

/* A second reader, opened while the first is in the middle. */
static void test_reopen(struct perf_build_opts opts, const char *what)
{
	struct perf_build b = {.opts = opts};
	struct perf_file *first, *second;
	struct clew_diag diag;
	struct perf_record r;
	uint64_t nr;

	open_bytes(small_file(&b), &first, &diag);
	perf_file_next(first, &r, &diag);
	CHECK(perf_file_reopen(&second, first, &diag) == CLEW_OK &&
		      read_all(second, &diag) == CLEW_END,
	      "%s: a second reader comes to the end", what);
	nr = perf_file_counts(second)->nr_records;
	CHECK(perf_file_evlist(second)->evsels.nr == 1 &&
		      perf_evlist_by_id(perf_file_evlist(second), 7),
	      "%s: and knows the events", what);
	CHECK((perf_file_evlist(first) == perf_file_evlist(second)) == !opts.pipe,
	      "%s: which a file has once", what);
	perf_file_free(second);
	CHECK(read_all(first, &diag) == CLEW_END && perf_file_counts(first)->nr_records == nr,
	      "%s: the first reader is where it was", what);
	perf_file_free(first);
	perf_build_done(&b);
}

/* 64 KiB that unpack to 1 GiB: refused before memory is. */
static void test_zip_bomb(void)
{
	struct perf_build b = {0};
	struct clew_diag diag = {0};
	struct perf_file *f;
	size_t size = (size_t)1 << 28;
	uint8_t *zeros = mem_alloc(size);

	memset(zeros, 0, size);
	perf_build_event(&b, &plain_attr, "cycles", NULL, 0);
	perf_build_compress(&b, PERF_RECORD_COMPRESSED);
	/* Records of 64 KiB each, so that what comes out is valid. */
	for (size_t at = 0; at < size; at += 0xfff8) {
		zeros[at] = 9;
		zeros[at + 6] = 0xf8;
		zeros[at + 7] = 0xff;
	}
	perf_build_bytes(&b, bytes_of(zeros, size / 0xfff8 * 0xfff8), false);
	perf_build_compress_end(&b, 60000);
	open_bytes(perf_build_finish(&b), &f, &diag);
	CHECK_EQ(read_all(f, &diag), CLEW_LIMIT, "a record that unpacks to 256 MiB (%s)",
		 diag.what ? diag.what : "");
	perf_file_free(f);
	perf_build_done(&b);
	mem_free(zeros);
}

/* A stream that repeats its records @p left times. */
struct endless {
	struct bytes all, records, at;
	uint64_t left;
};

static long read_endless(void *ctx, void *buf, size_t size)
{
	struct endless *e = ctx;
	size_t n;

	if (e->at.pos == e->at.end && e->left) {
		e->at = e->records;
		e->left--;
	}
	n = bytes_left(&e->at) < size ? bytes_left(&e->at) : size;
	memcpy(buf, e->at.pos, n);
	e->at.pos += n;
	return (long)n;
}

static void test_long_pipe(void)
{
	enum { TIMES = 20000, RECORD_BYTES = 10000 };
	static uint8_t body[RECORD_BYTES - 8];
	struct perf_build b = {.opts = {.pipe = true}};
	struct endless e = {.left = TIMES};
	struct perf_input in = {.read = read_endless, .ctx = &e};
	struct rusage before, after;
	struct perf_file *f = NULL;
	size_t header_bytes;

	perf_build_event(&b, &plain_attr, "cycles", NULL, 0);
	header_bytes = b.data.buf.nr + PERF_PIPE_HEADER_SIZE;
	perf_build_raw(&b, PERF_RECORD_SAMPLE, 0, bytes_of(body, sizeof(body)));
	e.all = e.at = perf_build_finish(&b);
	e.records = (struct bytes){e.all.pos + header_bytes, e.all.end};
	getrusage(RUSAGE_SELF, &before);
	perf_file_open(&f, &in, NULL);
	CHECK(read_all(f, NULL) == CLEW_END &&
		      perf_file_counts(f)->by_type[PERF_RECORD_SAMPLE] == TIMES + 1,
	      "a pipe of 200 MB is read to its end");
	getrusage(RUSAGE_SELF, &after);
#ifdef __SANITIZE_ADDRESS__ /* keeps what was freed */
	(void)after;
	SKIP("memory, under AddressSanitizer");
#else
	CHECK(after.ru_maxrss - before.ru_maxrss < 16 << 10, "in less than 16 MiB (%ld KiB more)",
	      after.ru_maxrss - before.ru_maxrss);
#endif
	perf_file_free(f);
	perf_build_done(&b);
}

/* Whoever holds the record holds the block. */
static void test_small_compressed(void)
{
	struct perf_build b = {0};
	struct clew_diag diag;
	struct perf_record r;
	struct perf_file *f;

	perf_build_event(&b, &plain_attr, "cycles", NULL, 0);
	perf_build_compress(&b, PERF_RECORD_COMPRESSED);
	perf_build_round(&b);
	perf_build_compress_end(&b, 60000);
	open_bytes(perf_build_finish(&b), &f, &diag);
	CHECK(perf_file_next(f, &r, &diag) == CLEW_OK && r.block->cap < 1000,
	      "a small compressed record takes little memory");
	perf_file_free(f);
	perf_build_done(&b);
}

int main(void)
{
	test_long_pipe(); /* first: the peak of the others would hide its own */
	test_not_perf_data();
	test_magic();
	for (int i = 0; i < 16; i++)
		test_version1((struct perf_build_opts){.big = i & 1,
						       .pipe = i & 2,
						       .has_32bit_words = i & 4,
						       .attr_bytes = i & 8 ? 144 : 64});
	test_version1_features();
	test_version1_bad();
	test_old_build_ids(false);
	test_old_build_ids(true);
	test_bad_headers();
	test_streams();
	test_bad_records();
	test_unknown_types();
	test_names_and_groups((struct perf_build_opts){0});
	test_names_and_groups((struct perf_build_opts){.big = true});
	test_names_and_groups((struct perf_build_opts){.pipe = true});
	test_names_and_groups((struct perf_build_opts){.pipe = true, .big = true});
	test_feature_again();
	test_event_update();
	test_last_feature_mark();
	test_unfinished();
	test_reopen((struct perf_build_opts){0}, "file");
	test_reopen((struct perf_build_opts){.is_unfinished = true}, "unfinished file");
	test_reopen((struct perf_build_opts){.pipe = true}, "pipe");
	test_zip_bomb();
	test_small_compressed();
	return tap_done();
}
