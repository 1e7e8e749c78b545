/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/tracepoint.h"

#include "make/tracing_make.h"
#include "unit/tap.h"

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
	struct bytes raw = bytes_of(&tracing_payload, sizeof(tracing_payload));
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
	CHECK(tracepoint_add_text(t, 317, 0, raw, &b), "text of a tracing_payload cut short");
	CHECK_STR(buf_cstr(&b), "ls prio=-3 path= place=0x0", "reads zeros for the rest");
	buf_clear(&b);
	CHECK(tracepoint_each_field(t, 317, raw, add_field, &b), "a tracing_payload cut short");
	CHECK_STR(buf_cstr(&b), "comm=ls;prio=-3;", "has the fields that are there");
	buf_done(&b);
}

int main(void)
{
	struct buf data = {0};
	struct tracepoints *t;
	size_t nr_parsed = 0;

	tracing_put(&data);
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
