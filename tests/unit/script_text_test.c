/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_text.h"

#include "format/data_src.h"
#include "format/script/script_parts.h"
#include "unit/script_recording.h"
#include "unit/tap.h"

static struct perf_build recording;
static struct bytes file;

/* The recording's text under @p opts. */
static enum clew_err text_of(const struct script_text_opts *opts, const struct clew_sink *sink)
{
	const struct ana_opts wishes = {.wants_records = true, .wants_addr = true};
	struct script_text *t;
	struct analyze *a;
	enum clew_err err = script_run(file, &a, &wishes);

	if (err != CLEW_OK)
		return err;
	t = script_text_new(opts, analyze_file(a), sink);
	err = CLEW_NO_MEMORY;
	if (t) {
		err = analyze_run(a, &(struct ana_consumer){script_text_batch, t}, NULL);
		if (err == CLEW_OK)
			err = script_text_flush(t);
	}
	script_text_free(t);
	analyze_free(a);
	return err;
}

static void check_text(struct script_text_opts *opts, const char *fields, const char *want,
		       const char *what)
{
	struct buf out = {0};
	const struct clew_sink sink = {script_keep, &out};
	const char *word;

	script_fields_init(&opts->fields);
	if (fields)
		script_fields_parse(&opts->fields, fields, &word);
	text_of(opts, &sink);
	CHECK_STR(buf_cstr(&out), want, "%s", what);
	buf_done(&out);
}

static void check_lines(void)
{
	check_text(&(struct script_text_opts){0}, NULL,
		   "        a\"\\xff b    11 [001]     1.000002:     250000   cpu-clock: "
		   "             1010 [unknown] (/no/such/file)\n"
		   "a\"\\xff b    11 [001]     1.000003:          1 page-faults: \n"
		   "\t             410 [unknown] (/no/such/file)\n"
		   "\t            13ff [unknown] (/no/such/file)\n"
		   "\t            9000 [unknown] ([unknown])\n\n",
		   "default columns; a chain unpads the name");
	check_text(&(struct script_text_opts){.no_chains = true}, "pid,tid,ip,sym,addr", "",
		   "a column without data: nothing but the error");
	check_text(&(struct script_text_opts){.is_ns = true, .is_deltatime = true}, "pid,tid,time",
		   "   10/11        0.000000000: \n   10/11        0.000001500: \n",
		   "--ns and --deltatime");
	check_text(&(struct script_text_opts){.max_stack = 1}, "sw:ip,dso",
		   "             1010 (/no/such/file)\n\n\t             410 (/no/such/file)\n\n",
		   "--max-stack");
	check_text(&(struct script_text_opts){.max_events = 1}, "event", "  cpu-clock: \n",
		   "--max-events");
	check_text(&(struct script_text_opts){.dsos = "other,file"}, "tid", "   11 \n   11 \n",
		   "--dsos by short name");
	check_text(&(struct script_text_opts){.symbols = "main"}, "tid", "",
		   "-S leaves out what has no name");
	check_text(&(struct script_text_opts){.no_chains = true,
					      .shows = SCRIPT_SHOW_TASK | SCRIPT_SHOW_MMAP},
		   "tid",
		   "   11 PERF_RECORD_COMM: a\"\\xff b:10/11\n"
		   "   11 PERF_RECORD_MMAP2 10/11: [0x1000(0x1000) @ 0x400 00:00 0 0]: r-xp "
		   "/no/such/file\n   11 \n   11 \n",
		   "side records");
}

/* Padding all other names to it could take all memory. */
static void check_long_name(void)
{
	const struct perf_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER};
	const struct bytes whole = file;
	struct script_text_opts opts = {0};
	struct perf_build b = {0};
	char name[5000];

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	perf_build_event(&b, &attr, "short", (uint64_t[]){1}, 1);
	perf_build_event(&b, &attr, name, (uint64_t[]){2}, 1);
	perf_build_event_desc(&b);
	perf_build_sample(&b, 0, &(struct perf_sample){.id = 1, .ip = 0x10});
	file = perf_build_finish(&b);
	check_text(&opts, "event", "short: \n", "an absurdly long name does not widen the column");
	file = whole;
	perf_build_done(&b);
}

static void check_memory_level(void)
{
	static const struct {
		uint64_t data_src;
		const char *want;
	} rows[] = {
		{0,             "|OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A"                },
		{0x1e05080021,  "|OP N/A|LVL N/A or N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A"       },
		{0x5080341,     "|OP N/A|LVL L1 or LFB/MAB hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A"},
		{0x2005080041,  "|OP N/A|LVL Remote  hit|SNP N/A|TLB N/A|LCK N/A|BLK  N/A"      },
		{0x83c05080021, "|OP N/A|LVL Remote core, same node PMEM|SNP N/A|TLB N/A|LCK "
				"N/A|BLK  N/A"                   },
		{0x4005100021,  "|OP N/A|LVL N/A|SNP None or Fwd|TLB N/A|LCK N/A|BLK  N/A"      },
		{0x111080021,   "|OP N/A|LVL N/A|SNP N/A|TLB Fault miss|LCK N/A|BLK  N/A"       },
		{0x60005080021, "|OP N/A|LVL N/A|SNP N/A|TLB N/A|LCK N/A|BLK  Data Addr"        },
	};
	struct buf b = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buf_clear(&b);
		data_src_text(&b, rows[i].data_src, false);
		CHECK_STR(buf_cstr(&b), rows[i].want, "data_src %llx",
			  (unsigned long long)rows[i].data_src);
	}
	buf_clear(&b);
	script_add_page_size(&b, 2 << 20);
	script_add_page_size(&b, 0);
	CHECK_STR(buf_cstr(&b), "2MN/A", "page sizes");
	buf_done(&b);
}

static enum clew_err refuse(void *ctx, const void *data, size_t size)
{
	(void)data, (void)size;
	++*(int *)ctx;
	return CLEW_OS;
}

/* As perf 6.1 does on the same file: a chain is not printed where printing it meets an undefined
 * mark. */
static void check_broken_chain(void)
{
	static const uint64_t words[] = {PERF_CONTEXT_USER, 0x10, 0x20, (uint64_t)-7};
	struct perf_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
	};
	struct perf_build b = {0};
	struct bytes whole = file;

	perf_build_event(&b, &attr, "x", (uint64_t[]){1}, 1);
	perf_build_event_desc(&b);
	perf_build_sample(&b, 0,
			  &(struct perf_sample){
				  .misc = PERF_RECORD_MISC_USER,
				  .ip = 0x10,
				  .callchain = {.data = (const uint8_t *)words, .nr = 4},
        });
	file = perf_build_finish(&b);
	check_text(&(struct script_text_opts){0}, "ip", "\n\n", "a broken chain is not printed");
	check_text(&(struct script_text_opts){.max_stack = 2}, "ip",
		   "\n\t              10\n\t              20\n\n",
		   "but where max_stack ends before it breaks");
	check_text(&(struct script_text_opts){.max_stack = 3}, "ip", "\n\n", "and not after");
	file = whole;
	perf_build_done(&b);
}

static void check_failures(void)
{
	struct script_text_opts opts = {0};
	struct buf out = {0};
	const struct clew_sink sink = {script_keep, &out};
	int nr_writes = 0, nr_bad = 0;
	uint64_t n = 0;

	script_fields_init(&opts.fields);
	CHECK(text_of(&opts, &(struct clew_sink){refuse, &nr_writes}) == CLEW_OS && nr_writes == 1,
	      "the sink's error ends it");
	do {
		buf_clear(&out);
		mem_fail_after(n++);
		if (text_of(&opts, &sink) != CLEW_OK && !mem_has_failed())
			nr_bad++;
	} while (mem_has_failed() && n < 2000);
	mem_fail_after(UINT64_MAX);
	CHECK(!nr_bad && n > 10 && n < 2000, "each allocation fails once (%d)", (int)n);
	buf_done(&out);
}

int main(void)
{
	script_recording(&recording);
	file = perf_build_finish(&recording);
	check_lines();
	check_long_name();
	check_memory_level();
	check_broken_chain();
	check_failures();
	perf_build_done(&recording);
	return tap_done();
}
