/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records that Linux made too large: their sample_id is found where it was written. */
#include "perfdata/perf_grown.h"

#include "make/perf_build.h"
#include "perfdata/perf_file.h"
#include "perfdata/perf_order.h"
#include "unit/tap.h"

enum { TIME = 1000, STALE_TIME = 5, ID_A = 11, ID_B = 12, STALE_ID = 77 };

struct events {
	const char *what;
	uint64_t type_a, type_b; /* sample_type; b 0: there is one event */
};

/* clang-format off */
static const struct events events[] = {
	{"one event without ids",      PERF_SAMPLE_TID | PERF_SAMPLE_TIME, 0},
	{"one event with an id",       PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME, 0},
	{"two events",                 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	                               PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME},
	{"two with other sample_ids",  PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME,
	                               PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU},
};

static const struct { uint32_t type; const char *what; } kinds[] = {
	{PERF_RECORD_KSYMBOL,   "KSYMBOL"},
	{PERF_RECORD_BPF_EVENT, "BPF_EVENT"},
	{PERF_RECORD_TEXT_POKE, "TEXT_POKE"},
};
/* clang-format on */

static struct perf_attr attr_of(uint64_t sample_type)
{
	return (struct perf_attr){.sample_type = sample_type,
				  .flags = PERF_ATTR_SAMPLE_ID_ALL | PERF_ATTR_KSYMBOL |
					   PERF_ATTR_BPF_EVENT | PERF_ATTR_TEXT_POKE};
}

static union perf_view view_of(uint32_t type)
{
	if (type == PERF_RECORD_KSYMBOL)
		return (union perf_view){
			.ksymbol = {.addr = 64, .len = 8, .ksym_type = 1, .name = "bpf_prog_x"}
                };
	if (type == PERF_RECORD_BPF_EVENT)
		return (union perf_view){
			.bpf = {.type = 1, .id = 9}
                };
	return (union perf_view){
		.text_poke = {
			      .addr = 64, .old_len = 2, .new_len = 3, .bytes = (const uint8_t *)"abcde"}
        };
}

/** What a case is made of. */
struct made {
	const struct events *events;
	struct perf_build_opts opts;
	uint32_t type;
	size_t extra;  /* stale bytes at the end: the end of a record of another event */
	bool is_moved; /* the sample_id is at the end, zeros are where it was */
};

static void put_record(struct perf_build *b, const struct made *m)
{
	const struct perf_attr attr =
		attr_of(m->events->type_b ? m->events->type_b : m->events->type_a);
	const struct perf_sample_id stale = {.time = STALE_TIME, .id = STALE_ID},
				    id = {.time = TIME,
					  .id = m->events->type_b ? ID_B : ID_A,
					  .pid = 3};
	struct perf_put whole = {.big = m->opts.big}, junk = {.big = m->opts.big};
	const union perf_view v = view_of(m->type);
	size_t id_bytes = perf_sample_id_bytes(&attr), nr;

	perf_encode_record(&whole, m->type, 0, &v, &attr, &id);
	perf_encode_record(&junk, PERF_RECORD_COMM, 0,
			   &(union perf_view){.comm = {.comm = "twelve chars, and more"}}, &attr,
			   &stale);
	nr = whole.buf.nr;
	buf_add(&whole.buf, junk.buf.data + junk.buf.nr - m->extra, m->extra);
	if (m->is_moved) {
		memmove(whole.buf.data + nr + m->extra - id_bytes, whole.buf.data + nr - id_bytes,
			id_bytes);
		memset(whole.buf.data + nr - id_bytes, 0, m->extra);
	}
	nr += m->extra;
	whole.buf.data[m->opts.big ? 7 : 6] = (char)nr;
	perf_build_bytes(b, bytes_of(whole.buf.data, whole.buf.nr), true);
	buf_done(&whole.buf);
	buf_done(&junk.buf);
}

static bool is_right(struct perf_file *f, const struct perf_record *r)
{
	const struct perf_evsel *e =
		perf_evlist_of_record(perf_file_evlist(f), r->type, perf_record_body(r), r->swap);
	struct perf_sample_id id;

	return e && perf_sample_id_parse(perf_record_body(r), r->swap, &e->attr, &id) == CLEW_OK &&
	       id.time == TIME;
}

static bool reads_right(struct bytes file)
{
	const struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct perf_order *o = perf_order_new(0);
	struct perf_file *f;
	struct perf_record r;
	uint64_t time;
	bool ok = false;

	if (perf_file_open(&f, &in, NULL) != CLEW_OK)
		return false;
	while (perf_file_next(f, &r, NULL) == CLEW_OK)
		if (r.type < PERF_RECORD_HEADER_ATTR)
			ok = is_right(f, &r) && perf_order_push(o, &r, TIME) == CLEW_OK;
	perf_order_finish(o);
	if (perf_order_pop(o, &r, &time)) {
		ok = ok && is_right(f, &r);
		perf_block_release(r.block);
	}
	perf_order_free(o);
	perf_file_free(f);
	return ok;
}

static bool is_read_right(const struct made *m)
{
	const struct perf_attr a = attr_of(m->events->type_a), c = attr_of(m->events->type_b);
	struct perf_build b = {.opts = m->opts};
	bool ok;

	perf_build_event(&b, &a, "a", (uint64_t[]){ID_A}, 1);
	if (m->events->type_b)
		perf_build_event(&b, &c, "b", (uint64_t[]){ID_B}, 1);
	put_record(&b, m);
	ok = reads_right(perf_build_finish(&b));
	perf_build_done(&b);
	return ok;
}

static void test_kind(const struct events *e, uint32_t type, const char *what)
{
	struct made m = {.events = e, .type = type};
	bool ok = true, is_big_ok, is_moved_ok;

	for (m.extra = 0; m.extra <= 48; m.extra += 8)
		ok &= is_read_right(&m);
	CHECK(ok, "%s, %s: with 0 to 48 stale bytes", what, e->what);
	m = (struct made){.events = e, .type = type, .extra = 24, .opts.big = true};
	is_big_ok = is_read_right(&m);
	m.opts = (struct perf_build_opts){.pipe = true};
	CHECK(is_big_ok && is_read_right(&m), "%s, %s: big-endian, and in a pipe", what, e->what);
	m = (struct made){.events = e, .type = type, .is_moved = true};
	is_moved_ok = true;
	for (m.extra = 32; m.extra <= 48; m.extra += 8)
		is_moved_ok &= is_read_right(&m);
	CHECK(is_moved_ok, "%s, %s: moved to the end by a recorder", what, e->what);
}

/* Lengths and names that lie. */
static void test_hostile(void)
{
	uint8_t r[64];

	memset(r, 0xff, sizeof(r));
	CHECK(!perf_grown_id_at(r, PERF_RECORD_KSYMBOL, sizeof(r), false) &&
		      !perf_grown_id_at(r, PERF_RECORD_TEXT_POKE, sizeof(r), false) &&
		      !perf_grown_id_at(r, PERF_RECORD_BPF_EVENT, 23, false) &&
		      !perf_grown_id_at(r, PERF_RECORD_COMM, sizeof(r), false),
	      "a name without an end, too much code, too few bytes, another type");
	r[61] = 0;
	CHECK(!perf_grown_id_at(r, PERF_RECORD_KSYMBOL, 62, false),
	      "a name without room for its padding");
}

int main(void)
{
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++) {
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
			test_kind(&events[i], kinds[k].type, kinds[k].what);
	}
	test_hostile();
	return tap_done();
}
