/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* MMAP2 records with a build id in misc: what the reader makes of them. */
#include "make/perf_build.h"
#include "perfdata/perf_file.h"
#include "perfdata/perf_order.h"
#include "unit/tap.h"

enum { PLAIN = 1, MAPS = 2, IDS = 4 }; /* an event without mappings, with, with build ids */
enum { ID_PLAIN = 101, ID_MAPS = 102, ID_IDS = 104 };

struct row {
	const char *what;
	int events; /* sum of the above */
	uint64_t id;
	struct perf_mmap map; /* what stands in it: a build id, or device and inode */
	bool want;
};

/* clang-format off */
#define FILE_OF(major)  {.maj = (major), .min = 3, .ino = 77, .ino_generation = 1ull << 40}
#define NO_GEN(major)   {.maj = (major), .min = 3, .ino = 77}
#define ID_OF(nr_bytes) {.has_build_id = true, .build_id_bytes = (nr_bytes), .build_id = {1, 2, 3, 4}}

static const struct row rows[] = {
	{"an id, and the event wants ids",          IDS,          ID_IDS,   ID_OF(20),    true },
	{"8 bytes of id, likewise",                 IDS,          ID_IDS,   ID_OF(8),     true },
	{"more than an id holds",                   IDS,          ID_IDS,   FILE_OF(254), false},
	{"major 0 beside a wish for ids",           IDS,          ID_IDS,   NO_GEN(0),    false},
	{"a stale bit: a disk",                     MAPS,         ID_MAPS,  FILE_OF(8),   false},
	{"a stale bit: a disk without generations", MAPS,         ID_MAPS,  NO_GEN(8),    false},
	{"a stale bit: major 0",                    MAPS,         ID_MAPS,  FILE_OF(0),   false},
	{"a stale bit: major 254",                  MAPS,         ID_MAPS,  FILE_OF(254), false},
	{"a stale bit: major 259, so 3 and a 1",    MAPS,         ID_MAPS,  NO_GEN(259),  false},
	{"a tool put 20 bytes in",                  MAPS,         ID_MAPS,  ID_OF(20),    true },
	{"a tool put 16 bytes in",                  MAPS,         ID_MAPS,  ID_OF(16),    true },
	{"after an event without mappings",         PLAIN | MAPS, ID_MAPS,  FILE_OF(8),   false},
	{"two events, the one with ids",            MAPS | IDS,   ID_IDS,   ID_OF(8),     true },
	{"two events, the one without",             MAPS | IDS,   ID_MAPS,  NO_GEN(8),    false},
	{"two events, an id of neither: an id",     MAPS | IDS,   999,      ID_OF(8),     true },
	{"two events, an id of neither: a file",    MAPS | IDS,   999,      FILE_OF(8),   false},
	{"no event has mappings: an id",            PLAIN,        ID_PLAIN, ID_OF(20),    true },
	{"no event has mappings: a file",           PLAIN,        ID_PLAIN, FILE_OF(254), false},
};
/* clang-format on */

static void add_events(struct perf_build *b, int events)
{
	static const struct {
		int kind;
		uint64_t id, flags;
	} all[] = {
		{PLAIN, ID_PLAIN, 0						    },
		{MAPS,  ID_MAPS,  PERF_ATTR_MMAP | PERF_ATTR_MMAP2                     },
		{IDS,   ID_IDS,   PERF_ATTR_MMAP | PERF_ATTR_MMAP2 | PERF_ATTR_BUILD_ID},
	};

	for (size_t i = 0; i < 3; i++) {
		const struct perf_attr attr = {.sample_type = PERF_SAMPLE_IDENTIFIER |
							      PERF_SAMPLE_IP | PERF_SAMPLE_TIME,
					       .flags = all[i].flags | PERF_ATTR_SAMPLE_ID_ALL};

		if (events & all[i].kind)
			perf_build_event(b, &attr, "x", &all[i].id, 1);
	}
}

static bool is_right(const struct row *row, const struct perf_mmap *m)
{
	if (m->has_build_id != row->want || strcmp(m->filename, "/bin/x") != 0)
		return false;
	return row->want ? m->build_id_bytes == row->map.build_id_bytes
			 : m->maj == row->map.maj && m->ino == row->map.ino &&
				   m->ino_generation == row->map.ino_generation;
}

/* Is it right as it comes out of the reader, and out of the queue after it? */
static bool reads_right(const struct row *row, struct bytes file)
{
	const struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct perf_order *o = perf_order_new(0);
	struct clew_diag diag;
	struct perf_file *f;
	struct perf_record r;
	struct perf_mmap m;
	uint64_t time;
	bool ok = false;

	if (perf_file_open(&f, &in, &diag) != CLEW_OK)
		return false;
	while (perf_file_next(f, &r, &diag) == CLEW_OK)
		if (r.type == PERF_RECORD_MMAP2)
			ok = perf_mmap_parse(&r, &m) == CLEW_OK && is_right(row, &m) &&
			     perf_order_push(o, &r, 5) == CLEW_OK;
	perf_order_finish(o);
	if (perf_order_pop(o, &r, &time)) {
		ok = ok && perf_mmap_parse(&r, &m) == CLEW_OK && is_right(row, &m);
		perf_block_release(r.block);
	} else {
		ok = false;
	}
	perf_order_free(o);
	perf_file_free(f);
	return ok;
}

static void test_row(const struct row *row, struct perf_build_opts opts, bool is_packed)
{
	struct perf_build b = {.opts = opts};
	union perf_view v = {.mmap = row->map};

	v.mmap.is_mmap2 = true;
	v.mmap.filename = "/bin/x";
	add_events(&b, row->events);
	if (is_packed)
		perf_build_compress(&b, PERF_RECORD_COMPRESSED);
	perf_build_view(&b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, &v,
			&(struct perf_sample_id){.time = 5, .id = row->id});
	if (is_packed)
		perf_build_compress_end(&b, 1000);
	CHECK(reads_right(row, perf_build_finish(&b)), "%s%s%s", row->what,
	      opts.big ? ", big-endian" : "",
	      is_packed   ? ", packed"
	      : opts.pipe ? ", pipe"
			  : "");
	perf_build_done(&b);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		test_row(&rows[i], (struct perf_build_opts){0}, false);
		test_row(&rows[i], (struct perf_build_opts){.pipe = true}, false);
		test_row(&rows[i], (struct perf_build_opts){0}, true);
		test_row(&rows[i], (struct perf_build_opts){.big = true}, false);
	}
	return tap_done();
}
