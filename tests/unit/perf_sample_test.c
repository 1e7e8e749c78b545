/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_sample.h"

#include "base/mem.h"
#include "make/perf_random.h"
#include "unit/tap.h"

static enum clew_err parse(const struct perf_put *p, const struct perf_attr *attr,
			   struct perf_sample *ret)
{
	struct perf_record r = perf_record_of(put_result(p), p->big);

	return perf_sample_parse(perf_record_body(&r), r.misc, r.swap, attr, ret);
}

static bool same_plain_fields(const struct perf_sample *a, const struct perf_sample *b)
{
	return a->ip == b->ip && a->time == b->time && a->addr == b->addr && a->id == b->id &&
	       a->stream_id == b->stream_id && a->period == b->period && a->pid == b->pid &&
	       a->tid == b->tid && a->cpu == b->cpu && a->misc == b->misc &&
	       a->weight == b->weight && a->data_src == b->data_src &&
	       a->transaction == b->transaction && a->phys_addr == b->phys_addr &&
	       a->cgroup == b->cgroup && a->data_page_size == b->data_page_size &&
	       a->code_page_size == b->code_page_size &&
	       a->ins_lat_and_retire == b->ins_lat_and_retire &&
	       a->stack_user.dyn_size == b->stack_user.dyn_size &&
	       a->regs_user.abi == b->regs_user.abi && a->regs_intr.abi == b->regs_intr.abi;
}

/* Fields equal one by one, and the runs by encoding the decoded sample again. */
static bool survives(struct perf_random *r, const struct perf_attr *attr)
{
	struct perf_put once = {.big = r->big}, twice = {.big = r->big};
	struct perf_sample s, got;
	bool same;

	perf_random_sample(r, attr, &s);
	perf_encode_sample(&once, attr, &s);
	same = parse(&once, attr, &got) == CLEW_OK && same_plain_fields(&s, &got);
	if (same) {
		perf_encode_sample(&twice, attr, &got);
		same = once.buf.nr == twice.buf.nr &&
		       !memcmp(once.buf.data, twice.buf.data, once.buf.nr);
	}
	buf_done(&once.buf);
	buf_done(&twice.buf);
	return same;
}

static int count_lost(struct perf_random *r, const struct perf_attr *attr, int n)
{
	int lost = 0;

	while (n--)
		lost += !survives(r, attr);
	return lost;
}

static void test_bits(bool big)
{
	struct perf_random r = {.state = 1, .big = big};
	const char *order = big ? "big-endian" : "little-endian";
	int lost = 0;

	for (unsigned int bit = 0; bit < 25; bit++) {
		struct perf_attr attr = {.sample_type = (uint64_t)1 << bit,
					 .sample_regs_user = 0xff0f,
					 .sample_regs_intr = 0x8001,
					 .branch_sample_type = 0};

		CHECK_EQ(count_lost(&r, &attr, 50), 0, "%s sample_type bit %u alone", order, bit);
	}
	for (uint64_t format = 0; format < 32; format++) {
		struct perf_attr attr = {.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_PHYS_ADDR,
					 .read_format = format};

		lost += count_lost(&r, &attr, 20);
	}
	CHECK_EQ(lost, 0, "%s READ in all 32 read_formats", order);
	lost = 0;
	for (unsigned int i = 0; i < 4; i++) {
		struct perf_attr attr = {.sample_type = PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_AUX};

		attr.branch_sample_type = (i & 1 ? PERF_SAMPLE_BRANCH_HW_INDEX : 0) |
					  (i & 2 ? PERF_SAMPLE_BRANCH_COUNTERS : 0);
		lost += count_lost(&r, &attr, 50);
	}
	CHECK_EQ(lost, 0, "%s branch stacks with and without hw_idx and counters", order);
	lost = 0;
	for (int i = 0; i < 3000; i++) {
		struct perf_attr attr;

		perf_random_attr(&r, &attr);
		lost += !survives(&r, &attr);
	}
	CHECK_EQ(lost, 0, "%s 3000 random combinations", order);
	perf_random_done(&r);
}

/* The order of the fields and odd widths, by hand. */
static void test_by_hand(void)
{
	static const uint64_t body[] = {
		77,                      /* identifier */
		0x401000,                /* ip */
		(uint64_t)43 << 32 | 42, /* pid, tid */
		1000,                    /* time */
		3,                       /* cpu */
		1,                       /* period */
		2,
		0x1111,
		0x2222,                          /* callchain */
		(uint64_t)0xaabbccdd << 32 | 12, /* raw: size, data */
		0,                               /* raw, on */
		0x0003000200000001,              /* weight struct */
	};
	struct perf_attr attr = {
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_WEIGHT_STRUCT};
	uint64_t turned[sizeof(body) / 8];
	struct perf_sample s;

	CHECK_EQ(perf_sample_parse(bytes_of(body, sizeof(body)), 1, false, &attr, &s), CLEW_OK,
		 "a sample by hand");
	CHECK(s.id == 77 && s.ip == 0x401000 && s.pid == 42 && s.tid == 43 && s.time == 1000 &&
		      s.cpu == 3 && s.period == 1,
	      "its plain fields");
	CHECK(s.callchain.nr == 2 && perf_words_get(&s.callchain, 1) == 0x2222, "its call chain");
	CHECK(bytes_left(&s.raw) == 12 && s.raw.pos[0] == 0xdd, "its raw data");
	CHECK(s.weight == 1 && s.ins_lat_and_retire == 0x00030002, "its three weights");
	CHECK(s.stream_id == UINT64_MAX && s.addr == 0, "what is missing");

	for (size_t i = 0; i < sizeof(body) / 8; i++)
		turned[i] = __builtin_bswap64(body[i]);
	/* The two 32-bit halves are separate fields; only the WEIGHT_STRUCT word is one number: a
	 * big-endian compiler lays its parts out in the opposite order. */
	turned[2] = __builtin_bswap64((uint64_t)42 << 32 | 43);
	turned[4] = __builtin_bswap64((uint64_t)3 << 32);
	turned[9] = (uint64_t)0xaabbccdd << 32 | __builtin_bswap32(12);
	CHECK(perf_sample_parse(bytes_of(turned, sizeof(turned)), 1, true, &attr, &s) == CLEW_OK &&
		      s.pid == 42 && s.tid == 43 && s.cpu == 3 && s.weight == 1 &&
		      s.ins_lat_and_retire == 0x00030002 && s.raw.pos[0] == 0xdd,
	      "the same from a big-endian machine");
}

static void test_hostile(void)
{
	static const struct {
		const char *what;
		uint64_t type, branch;
		uint64_t body[3];
		size_t bytes;
	} rows[] = {
		{"no bytes at all",                  PERF_SAMPLE_IP,           0,                           {0},                0 },
		{"half a word",                      PERF_SAMPLE_IP,           0,                           {0},                4 },
		{"callchain longer than record",     PERF_SAMPLE_CALLCHAIN,    0,                           {3, 1, 2},          24},
		{"callchain of 2^64 - 1",            PERF_SAMPLE_CALLCHAIN,    0,                           {UINT64_MAX, 1},    16},
		{"callchain with a size that wraps",
		 PERF_SAMPLE_CALLCHAIN,					0,
		 {(uint64_t)1 << 61},
		 8														},
		{"raw longer than record",           PERF_SAMPLE_RAW,          0,                           {0xffffffff, 1},    16},
		{"branches longer than record",      PERF_SAMPLE_BRANCH_STACK, 0,                           {1, 2},             16},
		{"branches with a size that wraps",
		 PERF_SAMPLE_BRANCH_STACK,				     0,
		 {(uint64_t)1 << 63},
		 8														},
		{"branches without their hw_idx",
		 PERF_SAMPLE_BRANCH_STACK,				     PERF_SAMPLE_BRANCH_HW_INDEX,
		 {0},
		 8														},
		{"stack longer than record",         PERF_SAMPLE_STACK_USER,   0,                           {UINT64_MAX, 1, 2}, 24},
		{"stack without its dyn_size",       PERF_SAMPLE_STACK_USER,   0,                           {16, 1, 2},         24},
		{"aux longer than record",           PERF_SAMPLE_AUX,          0,                           {17, 1, 2},         24},
		{"registers missing",                PERF_SAMPLE_REGS_USER,    0,                           {1, 2},             16},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct perf_attr attr = {.sample_type = rows[i].type,
					 .branch_sample_type = rows[i].branch,
					 .sample_regs_user = 7};
		struct perf_sample s;

		CHECK_EQ(perf_sample_parse(bytes_of(rows[i].body, rows[i].bytes), 0, false, &attr,
					   &s),
			 CLEW_BAD_FILE, "%s", rows[i].what);
	}
}

static void test_group_read_limit(void)
{
	static const uint64_t body[] = {(uint64_t)1 << 62, 0, 0};
	struct perf_attr attr = {.sample_type = PERF_SAMPLE_READ,
				 .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID};
	struct perf_sample s;

	CHECK_EQ(perf_sample_parse(bytes_of(body, sizeof(body)), 0, false, &attr, &s),
		 CLEW_BAD_FILE, "a group of 2^62 counters");
}

/* Is what perf_sample_id_put() writes of @p id another trailer than that of @p rec? */
static bool differs(const struct perf_record *rec, const struct perf_attr *attr,
		    const struct perf_sample_id *id)
{
	size_t bytes = perf_sample_id_bytes(attr);
	struct buf b = {0};
	bool is_other;

	perf_sample_id_put(&b, attr, id);
	is_other = b.nr != bytes ||
		   (bytes && memcmp(b.data, rec->data + rec->size - bytes, bytes) != 0);
	buf_done(&b);
	return is_other;
}

/* Trailers: same fields whatever stands before, found from the end. */
static void test_sample_id(bool big)
{
	struct perf_random r = {.state = 9, .big = big};
	int lost = 0, misplaced = 0, different = 0;

	for (int i = 0; i < 500; i++) {
		struct perf_sample_id id = {perf_random_u64(&r),
					    perf_random_u64(&r),
					    perf_random_u64(&r),
					    1 + (uint32_t)i,
					    2,
					    3,
					    0};
		struct perf_put p = {.big = big};
		struct perf_sample_id got;
		struct perf_record rec;
		struct perf_field_pos pos;
		struct perf_attr attr;
		union perf_view v;
		uint64_t t;

		perf_random_attr(&r, &attr);
		attr.flags |= PERF_ATTR_SAMPLE_ID_ALL;
		t = attr.sample_type;
		perf_random_view_of(&r, PERF_RECORD_MMAP2, &v);
		perf_encode_record(&p, PERF_RECORD_MMAP2, 0, &v, &attr, &id);
		rec = perf_record_of(put_result(&p), big);
		lost += perf_sample_id_parse(perf_record_body(&rec), rec.swap, &attr, &got) !=
				CLEW_OK ||
			got.time != (t & PERF_SAMPLE_TIME ? id.time : UINT64_MAX) ||
			got.id != (t & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? id.id
										 : UINT64_MAX) ||
			got.stream_id != (t & PERF_SAMPLE_STREAM_ID ? id.stream_id : UINT64_MAX) ||
			got.pid != (t & PERF_SAMPLE_TID ? id.pid : UINT32_MAX) ||
			got.tid != (t & PERF_SAMPLE_TID ? id.tid : UINT32_MAX) ||
			got.cpu != (t & PERF_SAMPLE_CPU ? id.cpu : UINT32_MAX);
		pos = perf_id_pos_of(&attr);
		if (t & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
			misplaced +=
				load_u64(rec.data + rec.size - 8 * pos.trailer, rec.swap) != id.id;
		else
			misplaced += pos.trailer != -1 || pos.sample != -1;
		misplaced += t & PERF_SAMPLE_TIME
				   ? load_u64(rec.data + rec.size -
						      8 * perf_time_pos_of(&attr).trailer,
					      rec.swap) != id.time
				   : perf_time_pos_of(&attr).trailer != -1;
		different += rec.swap ? 0 : differs(&rec, &attr, &id);
		buf_done(&p.buf);
	}
	CHECK_EQ(different, 0, "perf_sample_id_put() writes those of the host's byte order alike");
	CHECK_EQ(lost, 0, "%s trailers of 500 random attrs", big ? "big-endian" : "little-endian");
	CHECK_EQ(misplaced, 0, "id and time are where perf_id_pos_of() and perf_time_pos_of() say");
	perf_random_done(&r);
}

static void test_sample_id_edges(void)
{
	struct perf_attr attr = {.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_TID,
				 .flags = PERF_ATTR_SAMPLE_ID_ALL};
	uint64_t one = 1;
	struct perf_sample_id id;

	CHECK_EQ(perf_sample_id_parse(bytes_of(&one, 8), false, &attr, &id), CLEW_BAD_FILE,
		 "a record too short for its trailer");
	attr.flags = 0;
	CHECK(perf_sample_id_parse(bytes_of(&one, 8), false, &attr, &id) == CLEW_OK &&
		      id.size_bytes == 0 && id.time == UINT64_MAX,
	      "no trailer without sample_id_all");
}

/* PERF_RECORD_READ in every read_format, both byte orders, with a trailer after it. */
static void test_read_record(bool big)
{
	static const uint64_t words[] = {11, 12, 13, 14, 15, 16};
	const struct perf_sample_id id = {.time = 99};
	int lost = 0, accepted = 0;

	for (uint64_t format = 0; format < 32; format++) {
		const struct perf_attr attr = {.sample_type = PERF_SAMPLE_TIME,
					       .read_format = format,
					       .flags = PERF_ATTR_SAMPLE_ID_ALL};
		const struct perf_read read = {
			.nr = 1,
			.time_enabled = 12,
			.time_running = format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 13 : 12,
			.words = {(const uint8_t *)words, 6, false},
			.read_format = format
                };
		struct perf_put p = {.big = big};
		struct perf_read_record got;
		struct perf_record r;
		struct bytes cut;

		perf_encode_read(&p, &attr, 7, 8, &read, &id);
		r = perf_record_of(put_result(&p), big);
		lost += perf_read_parse(perf_record_body(&r), r.swap, &attr, &got) != CLEW_OK ||
			got.pid != 7 || got.tid != 8 || got.read.nr != 1 ||
			perf_read_get(&got.read, 0).value != perf_read_get(&read, 0).value ||
			perf_read_get(&got.read, 0).id != perf_read_get(&read, 0).id ||
			perf_read_get(&got.read, 0).lost != perf_read_get(&read, 0).lost ||
			(format & PERF_FORMAT_TOTAL_TIME_RUNNING &&
			 got.read.time_running != read.time_running);
		cut = perf_record_body(&r);
		cut.end -= 9; /* the trailer, and a byte */
		accepted += perf_read_parse(cut, r.swap, &attr, &got) == CLEW_OK;
		buf_done(&p.buf);
	}
	CHECK_EQ(lost, 0, "%s READ records in all 32 read_formats",
		 big ? "big-endian" : "little-endian");
	CHECK_EQ(accepted, 0, "cut ones are refused");
}

int main(void)
{
	test_by_hand();
	test_bits(false);
	test_bits(true);
	test_hostile();
	test_group_read_limit();
	test_sample_id(false);
	test_sample_id(true);
	test_sample_id_edges();
	test_read_record(false);
	test_read_record(true);
	return tap_done();
}
