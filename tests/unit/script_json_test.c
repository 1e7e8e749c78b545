/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_json.h"

#include <json.h>

#include "unit/script_recording.h"
#include "unit/tap.h"

static json_object *get(json_object *o, const char *key)
{
	return json_object_object_get(o, key);
}

static const char *text(json_object *o, const char *key)
{
	json_object *v = get(o, key);

	return v ? json_object_get_string(v) : NULL;
}

static void write_recording(struct buf *out, unsigned int shows)
{
	const struct ana_opts wishes = {.wants_records = true, .wants_addr = true};
	struct script_text_opts opts = {.shows = shows, .no_inlines = true};
	struct perf_build recording = {0};
	struct script_json *j;
	struct analyze *a;

	script_recording(&recording);
	script_run(perf_build_finish(&recording), &a, &wishes);
	j = script_json_new(&opts, &(struct clew_sink){script_keep, out});
	analyze_run(a, &(struct ana_consumer){script_json_batch, j}, NULL);
	script_json_flush(j);
	script_json_free(j);
	analyze_free(a);
	perf_build_done(&recording);
}

static void check_first(json_object *o)
{
	CHECK_STR(text(o, "type"), "sample", "a sample");
	CHECK_EQ(json_object_get_int64(get(o, "time")), 1000002000, "time in ns");
	CHECK_EQ(json_object_get_int64(get(o, "tid")), 11, "tid");
	CHECK_STR(text(o, "comm"), "a\"\xef\xbf\xbd b", "a name is escaped, bad bytes replaced");
	CHECK_STR(text(o, "event"), "cpu-clock", "event");
	CHECK_STR(text(o, "ip"), "0x1010", "addresses are text");
	CHECK_STR(text(o, "dso"), "/no/such/file", "dso");
	CHECK_STR(text(o, "dsoff"), "0x410", "address in the dso");
	CHECK_STR(text(o, "kind"), "user", "level");
	CHECK(!get(o, "sym") && text(o, "why"), "no symbol, but why: %s",
	      text(o, "why") ? text(o, "why") : "");
	CHECK(!get(o, "callchain") && !get(o, "addr"), "what was not recorded is absent");
}

static void check_second(json_object *o)
{
	json_object *chain = get(o, "callchain"), *last;

	CHECK_EQ(json_object_array_length(chain), 3, "three places, without the marks");
	last = json_object_array_get_idx(chain, 2);
	CHECK_STR(text(last, "ip"), "0x9000", "outermost last");
	CHECK(!get(last, "dso") && text(last, "why"), "an address outside of all maps says so");
	CHECK_STR(text(get(o, "addr"), "ip"), "0x1800", "the data address");
}

/* A branch's flags and cycles are there where the processor says them. */
static void check_branches(void)
{
	const uint64_t words[] = {0x10, 0x20, 0,
				  0x30, 0x40, PERF_BRANCH_PREDICTED,
				  0x50, 0x60, PERF_BRANCH_MISPRED | 9 << PERF_BRANCH_CYCLES_SHIFT};
	struct perf_attr attr = {.type = PERF_TYPE_HARDWARE,
				 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						PERF_SAMPLE_BRANCH_STACK};
	struct perf_sample s = {.misc = PERF_RECORD_MISC_USER, .pid = 1, .tid = 1};
	struct script_text_opts opts = {.no_inlines = true};
	struct perf_build b = {0};
	struct buf out = {0};
	struct script_json *j = script_json_new(&opts, &(struct clew_sink){script_keep, &out});
	struct analyze *a;

	s.branches.nr = 3;
	s.branches.words = (struct perf_words){.data = (const uint8_t *)words, .nr = 9};
	perf_build_event(&b, &attr, "cycles", (uint64_t[]){7}, 1);
	perf_build_sample(&b, 0, &s);
	script_run(perf_build_finish(&b), &a, &(struct ana_opts){0});
	analyze_run(a, &(struct ana_consumer){script_json_batch, j}, NULL);
	script_json_flush(j);
	CHECK(strstr(buf_cstr(&out),
		     "\"branches\":[{\"from\":\"0x10\",\"to\":\"0x20\"},"
		     "{\"from\":\"0x30\",\"to\":\"0x40\",\"mispredicted\":false},"
		     "{\"from\":\"0x50\",\"to\":\"0x60\",\"mispredicted\":true,\"cycles\":9}]"),
	      "branches say what the processor does: %s", buf_cstr(&out));
	script_json_free(j);
	analyze_free(a);
	perf_build_done(&b);
	buf_done(&out);
}

int main(void)
{
	struct buf out = {0};
	char *line, *rest;
	json_object *o;
	int nr = 0;

	write_recording(&out, SCRIPT_SHOW_TASK);
	buf_cstr(&out);
	for (rest = out.data; (line = strsep(&rest, "\n")) != NULL && *line; nr++) {
		o = json_tokener_parse(line);
		CHECK(o != NULL, "line %d is JSON", nr);
		if (nr == 0)
			CHECK_STR(text(o, "text"), "PERF_RECORD_COMM: a\"\\xff b:10/11",
				  "a side record");
		if (nr == 1)
			check_first(o);
		if (nr == 2)
			check_second(o);
		json_object_put(o);
	}
	CHECK_EQ(nr, 3, "one line per event");
	buf_done(&out);
	check_branches();
	return tap_done();
}
