/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/tracepoint.h"

#include "unit/tap.h"

static const char format[] =
	"name: switch\nID: 317\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int prio;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] path;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:u64 place;\toffset:24;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"%s prio=%d path=%s place=%pS\", REC->comm, REC->prio, __get_str(path), "
	"(void *)REC->place\n";

static void put(struct buf *b, const void *data, size_t size)
{
	buf_add(b, data, size);
}

static void put_u32(struct buf *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static void put_u64(struct buf *b, uint64_t v)
{
	put(b, &v, sizeof(v));
}

/* As trace-cmd and perf lay it out, for a little-endian host. */
static void put_tracing_data(struct buf *b)
{
	put(b, "\x17\x08\x44tracing0.5", 14);
	buf_char(b, '\0'); /* little-endian */
	buf_char(b, 8);
	put_u32(b, 4096);
	put(b, "header_page", 12);
	put_u64(b, 0);
	put(b, "header_event", 13);
	put_u64(b, 0);
	put_u32(b, 0); /* ftrace formats */
	put_u32(b, 1); /* systems */
	put(b, "sched", 6);
	put_u32(b, 1);
	put_u64(b, sizeof(format) - 1);
	put(b, format, sizeof(format) - 1);
	put_u32(b, 0); /* kallsyms */
	put_u32(b, 0); /* printk */
}

struct payload {
	uint16_t type, unused;
	int32_t pid;
	char comm[8];
	int32_t prio;
	uint32_t path; /* offset | length << 16 */
	uint64_t place;
	char text[8];
};

static const struct payload payload = {.type = 317,
				       .comm = "ls",
				       .prio = -3,
				       .path = 32 | 5 << 16,
				       .place = 0x1010,
				       .text = "/bin"};

static const char *name_place(void *ctx, uint64_t addr, uint64_t *ret_start)
{
	(void)ctx;
	*ret_start = 0x1000;
	return addr >= 0x1000 && addr < 0x2000 ? "place" : NULL;
}

static void add_field(void *ctx, const struct tracepoint_field *f)
{
	struct buf *b = ctx;

	buf_printf(b, "%s=", f->name);
	if (f->kind == TRACEPOINT_TEXT)
		buf_add(b, f->bytes.pos, bytes_left(&f->bytes));
	else
		buf_printf(b, "%lld", (long long)f->number);
	buf_char(b, ';');
}

static void check_text(struct tracepoints *t)
{
	struct bytes raw = bytes_of(&payload, sizeof(payload));
	struct buf b = {0};

	CHECK(tracepoint_wants_symbols(t, 317), "its format names code");
	CHECK_STR(tracepoint_name(t, 317), "sched:switch", "system and name");
	tracepoints_set_resolver(t, name_place, NULL);
	CHECK(tracepoint_add_text(t, 317, 0, raw, &b), "text");
	CHECK_STR(buf_cstr(&b), "ls prio=-3 path=/bin place=place+0x10", "as its format says");
	buf_clear(&b);
	CHECK(tracepoint_each_field(t, 317, raw, add_field, &b), "fields");
	CHECK_STR(buf_cstr(&b), "comm=ls;prio=-3;path=/bin;place=4112;", "without common_ ones");
	buf_clear(&b);
	CHECK(!tracepoint_add_text(t, 318, 0, raw, &b) && !b.nr &&
		      !tracepoint_add_text(t, UINT64_MAX, 0, raw, &b),
	      "an id without format");
	raw.end = raw.pos + 22;
	CHECK(tracepoint_add_text(t, 317, 0, raw, &b), "text of a payload cut short");
	CHECK_STR(buf_cstr(&b), "ls prio=-3 path= place=0x0", "reads zeros for the rest");
	buf_clear(&b);
	CHECK(tracepoint_each_field(t, 317, raw, add_field, &b), "a payload cut short");
	CHECK_STR(buf_cstr(&b), "comm=ls;prio=-3;", "has the fields that are there");
	buf_done(&b);
}

int main(void)
{
	struct buf data = {0};
	struct tracepoints *t;
	size_t nr_parsed = 0;

	put_tracing_data(&data);
	t = tracepoints_new(bytes_of(data.data, data.nr));
	CHECK(t != NULL, "formats are read");
	check_text(t);
	tracepoints_free(t);
	for (size_t n = 0; n < data.nr; n++) {
		char *copy = malloc(n ? n : 1); /* so that sanitizers see the end */

		memcpy(copy, data.data, n);
		t = tracepoints_new(bytes_of(copy, n));
		nr_parsed += t && tracepoint_name(t, 317);
		tracepoints_free(t);
		free(copy);
	}
	CHECK(nr_parsed == 8, "cut at any byte: the format is there or it is not (%zu)", nr_parsed);
	buf_done(&data);
	return tap_done();
}
