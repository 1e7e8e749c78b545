/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <clew/trace.h>

#include "unit/test_dir.h"

/* A64: add, b .+8, nop, ret */
static const uint8_t code[] = {0x00, 0x04, 0x00, 0x91, 0x02, 0x00, 0x00, 0x14,
			       0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6};

/* Async, trace info, trace on, address with context 0x10000 at EL1, E, E, address 0x20000, E. */
static const uint8_t trace[] = {0, 0,    0,    0,    0,    0,    0,    0,    0,    0,
				0, 0x80, 1,    1,    0,    0x04, 0x82, 0,    0,    1,
				0, 0x31, 0xf7, 0xf7, 0x9a, 0x00, 0x00, 0x02, 0x00, 0xf7};

static const struct {
	const char *name, *text;
} files[] = {
	{"snapshot.ini", "[snapshot]\nversion=1.0\n[device_list]\ndevice0=cpu.ini\n"
			 "device1=etm.ini\n[trace]\nmetadata=trace.ini\n"             },
	{"cpu.ini",      "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n"
		    "[dump1]\nfile=code.bin\naddress=0x10000\nlength=0x10\n"               },
	{"etm.ini",      "[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4\n[regs]\n"
		    "TRCCONFIGR=0x1\nTRCTRACEIDR=0x10\nTRCIDR0=0x28000ea1\nTRCIDR2=0x488\n"},
	{"trace.ini",    "[trace_buffers]\nbuffers=buffer0\n[buffer0]\nname=ETB_0\nfile=trace.bin\n"
		      "format=source_data\n[source_buffers]\nETM_0=ETB_0\n"
		      "[core_trace_sources]\ncpu_0=ETM_0\n"                              },
};

enum { NR_FILES = sizeof(files) / sizeof(files[0]) };

struct got {
	char text[1024];
	size_t at, nr, stop_at;
};

static void put(struct got *g, const struct clew_trace_batch *b, size_t i)
{
	const struct clew_trace_event *e = clew_trace_event_at(b, i);
	const struct clew_trace_range *r = clew_trace_range_at(b, i);
	char *to = g->text + g->at;
	size_t left = sizeof(g->text) - g->at;
	int n;

	if (r)
		n = snprintf(to, left, "%llx-%llx %u%s", (unsigned long long)r->start,
			     (unsigned long long)r->end, r->nr_insns,
			     clew_trace_is_taken(b, i) ? " taken" : "");
	else
		n = snprintf(to, left, "%u %llx %u", e->kind, (unsigned long long)e->start,
			     e->number);
	g->at += (size_t)n;
	n = snprintf(g->text + g->at, sizeof(g->text) - g->at, "%s\n",
		     b->context && b->context->arm->el == 1 ? " el1" : "");
	g->at += (size_t)n;
}

static enum clew_err take(void *ctx, const struct clew_trace_batch *b)
{
	struct got *g = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		if (g->stop_at && g->nr + 1 == g->stop_at)
			return CLEW_STOPPED;
		g->nr++;
		put(g, b, i);
	}
	return CLEW_OK;
}

static void test_ranges(struct clew_trace *t)
{
	struct clew_trace_run_opts threads = {.size = sizeof(threads), .nr_threads = 1};
	struct got g = {.text = ""}, again = {.text = ""}, stopped = {.stop_at = 3};
	struct clew_diag diag;
	const struct clew_frame *f;

	CHECK(clew_trace_run(t, take, &g, NULL, &diag) == CLEW_OK, "a trace is decoded");
	CHECK_STR(g.text,
		  "3 0 0\n" /* no sync: start */
		  "2 0 0\n"
		  "1 0 0 el1\n"
		  "10000-10008 2 taken el1\n"
		  "1000c-10010 1 taken el1\n"
		  "4 20000 0 el1\n" /* no code */
		  "18 0 0 el1\n",
		  "into ranges, contexts and what is unknown");
	CHECK(clew_trace_run(t, take, &again, &threads, NULL) == CLEW_OK &&
		      !strcmp(g.text, again.text),
	      "and again");
	CHECK(clew_trace_run(t, take, &stopped, NULL, NULL) == CLEW_STOPPED && stopped.nr == 2,
	      "the consumer's error ends it");
	CHECK(clew_trace_resolve(t, 0, 0x1000c, &f) == CLEW_OK && f->ip == 0x1000c,
	      "an address has a place");
}

static enum clew_err take_end(void *ctx, size_t unit)
{
	struct got *g = ctx;

	g->at += (size_t)snprintf(g->text + g->at, sizeof(g->text) - g->at, "end %zu\n", unit);
	return CLEW_OK;
}

/** All that clew_trace_next() has. @return what it ended with. */
static enum clew_err pull(struct clew_trace *t, struct got *g)
{
	const struct clew_trace_batch *b;
	enum clew_err err;

	while ((err = clew_trace_next(t, &b, NULL)) == CLEW_OK && take(g, b) == CLEW_OK)
		;
	return err;
}

static void test_next(struct clew_trace *t)
{
	struct clew_trace_run_opts opts = {
		.size = sizeof(opts), .piece_bytes = 1, .unit_end = take_end};
	struct got want = {.text = ""}, got = {.text = ""}, again = {.text = ""};
	const struct clew_trace_batch *b;
	bool skips = true;

	CHECK(pull(t, &got) == CLEW_END && clew_trace_next(t, &b, NULL) == CLEW_END,
	      "items that are asked for end with END, and again");
	CHECK(clew_trace_run(t, take, &want, NULL, NULL) == CLEW_OK && want.nr > 0 &&
		      !strcmp(got.text, want.text),
	      "and are those that clew_trace_run() hands out");
	CHECK(clew_trace_next(t, &b, NULL) == CLEW_INVALID, "a run is another pass");
	want.at += (size_t)snprintf(want.text + want.at, sizeof(want.text) - want.at, "end 0\n");
	CHECK(clew_trace_rewind(t, &again, &opts, NULL) == CLEW_OK && pull(t, &again) == CLEW_END &&
		      !strcmp(again.text, want.text),
	      "the same byte by byte, with the end of the unit after its last item");
	opts.skips = &skips;
	CHECK(clew_trace_rewind(t, &again, &opts, NULL) == CLEW_OK &&
		      clew_trace_next(t, &b, NULL) == CLEW_END,
	      "a unit that is skipped has none");
	CHECK(clew_trace_rewind(t, NULL, &(struct clew_trace_run_opts){0}, NULL) == CLEW_INVALID,
	      "options of a pass without their size are refused");
	CHECK(clew_trace_rewind(t, NULL, NULL, NULL) == CLEW_OK &&
		      clew_trace_next(t, &b, NULL) == CLEW_OK,
	      "a pass may be left half way");
}

static void test_units(const struct clew_trace *t)
{
	const struct clew_trace_unit *u = clew_trace_unit(t, 0);

	CHECK(u && u->id == 0x10 && !strcmp(u->name, "ETM_0") && !u->why_not &&
		      u->protocol == CLEW_PROTOCOL_ETM && !clew_trace_unit(t, 1),
	      "the units are listed");
}

static void test_options(struct clew_trace *t)
{
	struct {
		struct clew_trace_opts known;
		uint64_t later;
	} opts = {{0}, 0};
	struct clew_trace *other = NULL;
	struct clew_diag diag;

	CHECK(clew_trace_open(&other, test_dir, &opts.known, &diag) == CLEW_INVALID && !other,
	      "options without their size are refused");
	opts.known.size = sizeof(opts);
	CHECK(clew_trace_open(&other, test_dir, &opts.known, &diag) == CLEW_OK,
	      "zeros of a later version are as good as none");
	clew_trace_free(other);
	opts.later = 1;
	CHECK(clew_trace_open(&other, test_dir, &opts.known, &diag) == CLEW_UNSUPPORTED,
	      "what a later version asks for is refused");
	CHECK(clew_trace_run(t, take, NULL, &(struct clew_trace_run_opts){0}, NULL) == CLEW_INVALID,
	      "so are options of a run without their size");
}

/* --- Intel PT without a recording --- */

static enum clew_err take_text(void *ctx, const struct clew_trace_batch *b)
{
	char *text = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct clew_trace_range *r = clew_trace_range_at(b, i);

		if (r)
			sprintf(text + strlen(text), "%llx-%llx %u; ", (unsigned long long)r->start,
				(unsigned long long)r->end, r->nr_insns);
	}
	return CLEW_OK;
}

static void test_raw_pt(void)
{
	/* nop; nop; jne .+2; nop; nop; ret */
	static const uint8_t insns[] = {0x90, 0x90, 0x75, 0x02, 0x90, 0x90, 0xc3};
	/* PSB, PSBEND, MODE.Exec 64, TIP.PGE 0x1000, TNT T, TIP.PGD */
	static const uint8_t pt[] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
				     0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x23, 0x99, 0x01,
				     0xd1, 0x00, 0x10, 0,    0,    0,    0,    0,    0,    0x06,
				     0xc1, 0x00, 0x20, 0,    0,    0,    0,    0,    0};
	struct clew_trace_raw raw = {.size = sizeof(raw), .protocol = "INTEL_PT"};
	char file[160], memory[200], text[400] = "", pulled[400] = "";
	const struct clew_trace_batch *b;
	struct clew_trace *t = NULL;
	struct clew_diag diag = {0};

	test_dir_write("raw.pt", pt, sizeof(pt));
	test_dir_write("x86.bin", insns, sizeof(insns));
	snprintf(file, sizeof(file), "%s/raw.pt", test_dir);
	snprintf(memory, sizeof(memory), "%s/x86.bin@0x1000", test_dir);
	raw.file = file;
	raw.memory = memory;
	raw.registers = "FAMILY=6,MODEL=0x9e,IA32_RTIT_CTL=0x2000";
	CHECK(clew_trace_open_raw(&t, &raw, NULL, &diag) == CLEW_OK &&
		      clew_trace_unit(t, 0)->protocol == CLEW_PROTOCOL_INTEL_PT,
	      "Intel PT in a separate file opens");
	CHECK(t && clew_trace_run(t, take_text, text, NULL, NULL) == CLEW_OK &&
		      !strcmp(text, "1000-1004 3; 1006-1007 1; "),
	      "and is followed through the memory that is named: %s", text);
	if (t && clew_trace_rewind(t, NULL, NULL, NULL) == CLEW_OK)
		while (clew_trace_next(t, &b, NULL) == CLEW_OK)
			take_text(pulled, b);
	CHECK(!strcmp(text, pulled), "by clew_trace_next(), too");
	CHECK(t && clew_trace_summary(t)->nr_aux_bytes == sizeof(pt), "its bytes are counted");
	clew_trace_free(t);
	raw.registers = "FAMILY";
	CHECK(clew_trace_open_raw(&t, &raw, NULL, &diag) == CLEW_INVALID,
	      "a register without a number");
	raw.registers = "TRCCONFIGR=1";
	CHECK(clew_trace_open_raw(&t, &raw, NULL, &diag) == CLEW_INVALID,
	      "one of another architecture");
	raw.registers = NULL;
	raw.memory = file;
	CHECK(clew_trace_open_raw(&t, &raw, NULL, &diag) == CLEW_INVALID,
	      "memory without an address");
	raw.memory = memory;
	raw.format = "coresight";
	CHECK(clew_trace_open_raw(&t, &raw, NULL, &diag) == CLEW_INVALID,
	      "frames, which PT has none of");
}

/* --- misuse --- */

static enum clew_err fail(void *ctx, const struct clew_trace_batch *b)
{
	(void)b;
	return *(const enum clew_err *)ctx;
}

/* What other functions say while a run goes on. */
static enum clew_err call_all(struct clew_trace *t)
{
	const struct clew_trace_batch *next;

	return clew_trace_next(t, &next, NULL) == CLEW_INVALID &&
			       clew_trace_rewind(t, NULL, NULL, NULL) == CLEW_INVALID &&
			       clew_trace_run(t, take, t, NULL, NULL) == CLEW_INVALID
		     ? CLEW_STOPPED
		     : CLEW_BAD_FILE;
}

static enum clew_err call_inside(void *ctx, const struct clew_trace_batch *b)
{
	(void)b;
	return call_all(ctx);
}

static enum clew_err call_at_end(void *ctx, size_t unit)
{
	(void)unit;
	return call_all(ctx);
}

static enum clew_err call_on_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	(void)what;
	(void)number;
	(void)offset;
	return call_all(ctx);
}

/* The same of clew_trace_next(), which calls only these. */
static void test_inside_next(struct clew_trace *t)
{
	const struct clew_trace_run_opts opts = {
		.size = sizeof(opts), .unit_end = call_at_end, .warning = call_on_warning};
	const struct clew_trace_batch *b;
	enum clew_err err = clew_trace_rewind(t, t, &opts, NULL);

	while (err == CLEW_OK)
		err = clew_trace_next(t, &b, NULL);
	CHECK(err == CLEW_STOPPED, "nor may one begin in a callback of clew_trace_next()");
}

static enum clew_err count_insn(void *ctx, const struct clew_trace_insn *i)
{
	unsigned int *nr = ctx;

	++*nr;
	return i->nr_bytes == 4 && i->address >= 0x10000 ? CLEW_OK : CLEW_BAD_FILE;
}

static enum clew_err refuse_insn(void *ctx, const struct clew_trace_insn *i)
{
	(void)ctx;
	(void)i;
	return (enum clew_err)5;
}

static void test_insns(struct clew_trace *t)
{
	const struct clew_trace_batch *b;
	unsigned int nr = 0, want = 0, other = 0;
	bool ok = true;

	(void)!clew_trace_rewind(t, NULL, NULL, NULL);
	while (clew_trace_next(t, &b, NULL) == CLEW_OK) {
		for (size_t i = 0; i < b->nr; i++) {
			const struct clew_trace_range *r = clew_trace_range_at(b, i);

			if (!r)
				continue;
			want += r->nr_insns;
			ok &= clew_trace_insns(t, b->unit, r, count_insn, &nr) == CLEW_OK &&
			      clew_trace_insns(t, b->unit, r, refuse_insn, NULL) == CLEW_INVALID &&
			      clew_trace_insns(t, 99, r, count_insn, &other) == CLEW_INVALID;
		}
	}
	CHECK(ok && nr == want && nr == 3 && !other, "each instruction of each range (%u of %u)",
	      nr, want);
	CHECK(clew_trace_insns(t, 0, NULL, count_insn, &nr) == CLEW_INVALID &&
		      clew_trace_insns(NULL, 0, NULL, count_insn, &nr) == CLEW_INVALID,
	      "none of no range");
}

static void test_results(struct clew_trace *t)
{
	enum clew_err positive = (enum clew_err)7, stop = CLEW_STOPPED;
	struct clew_diag diag = {0};

	CHECK(clew_trace_run(t, fail, &positive, NULL, &diag) == CLEW_INVALID &&
		      diag.code == CLEW_INVALID && clew_trace_summary(t)->end == CLEW_INVALID,
	      "a positive result of a callback is an error");
	CHECK(clew_trace_run(t, fail, &stop, NULL, &diag) == CLEW_STOPPED &&
		      diag.code == CLEW_STOPPED && clew_trace_summary(t)->end == CLEW_STOPPED,
	      "others are returned, with a diag");
	CHECK(clew_trace_run(t, call_inside, t, NULL, NULL) == CLEW_STOPPED,
	      "a pass inside of a pass is an error");
	test_inside_next(t);
	CHECK(clew_trace_rewind(t, NULL, NULL, NULL) == CLEW_OK &&
		      clew_trace_summary(t)->end == CLEW_OK,
	      "after it a new one may begin");
}

static void test_nulls(struct clew_trace *t)
{
	const struct clew_trace_batch *b;
	const struct clew_frame *frame;
	struct clew_diag diag = {0};
	struct clew_trace *other;
	uint64_t done = 1;

	CHECK(clew_trace_open(NULL, test_dir, NULL, NULL) == CLEW_INVALID &&
		      clew_trace_open(&other, NULL, NULL, &diag) == CLEW_INVALID && diag.what &&
		      clew_trace_open_fd(NULL, 0, NULL, NULL) == CLEW_INVALID &&
		      clew_trace_open_raw(&other, NULL, NULL, NULL) == CLEW_INVALID,
	      "NULL in place of a path or of a place for the result");
	CHECK(clew_trace_run(NULL, take, NULL, NULL, NULL) == CLEW_INVALID &&
		      clew_trace_run(t, NULL, NULL, NULL, NULL) == CLEW_INVALID &&
		      clew_trace_next(NULL, &b, NULL) == CLEW_INVALID &&
		      clew_trace_next(t, NULL, NULL) == CLEW_INVALID &&
		      clew_trace_rewind(NULL, NULL, NULL, NULL) == CLEW_INVALID &&
		      clew_trace_resolve(NULL, 0, 0, &frame) == CLEW_INVALID &&
		      clew_trace_resolve(t, 0, 0, NULL) == CLEW_INVALID,
	      "in place of a trace or a callback");
	clew_trace_progress(NULL, &done, NULL);
	CHECK(!done && !clew_trace_unit(NULL, 0) && !clew_trace_left_out(NULL) &&
		      !clew_trace_summary(NULL),
	      "questions about no trace");
}

static void test_reserved(struct clew_trace *t)
{
	struct clew_trace_run_opts run = {.size = sizeof(run)};
	struct clew_trace_opts opts = {.size = sizeof(opts)};
	struct clew_trace *other = NULL;
	bool ok = true;

	for (size_t i = 0; i < sizeof(opts.reserved); i++) {
		opts.reserved[i] = true;
		ok &= clew_trace_open(&other, test_dir, &opts, NULL) == CLEW_UNSUPPORTED;
		opts.reserved[i] = false;
	}
	for (size_t i = 0; i < sizeof(run.reserved); i++) {
		run.reserved[i] = true;
		ok &= clew_trace_rewind(t, NULL, &run, NULL) == CLEW_UNSUPPORTED &&
		      clew_trace_run(t, take, NULL, &run, NULL) == CLEW_UNSUPPORTED;
		run.reserved[i] = false;
	}
	CHECK(ok, "each reserved byte that is set is refused");
	opts.size = (size_t)1 << 40;
	run.size = (64 << 10) + 1;
	CHECK(clew_trace_open(&other, test_dir, &opts, NULL) == CLEW_INVALID &&
		      clew_trace_rewind(t, NULL, &run, NULL) == CLEW_INVALID,
	      "so is a size that nothing can have");
}

int main(void)
{
	struct clew_trace_opts opts = {.size = sizeof(opts)};
	struct clew_trace *t = NULL;
	struct clew_diag diag;

	test_dir_make("trace-test");
	CHECK(clew_trace_open(&t, "/nowhere", NULL, &diag) == CLEW_OS && !t, "no file, no trace");
	CHECK(clew_trace_open(&t, "/dev/null", NULL, &diag) != CLEW_OK && !t, "nor an empty one");
	for (size_t i = 0; i < NR_FILES; i++)
		test_dir_write(files[i].name, files[i].text, strlen(files[i].text));
	test_dir_write("code.bin", code, sizeof(code));
	test_dir_write("trace.bin", trace, sizeof(trace));
	CHECK(clew_trace_open(&t, test_dir, &opts, &diag) == CLEW_OK, "a snapshot directory opens");
	if (t) {
		test_units(t);
		test_next(t);
		test_ranges(t);
		test_options(t);
		test_insns(t);
		test_results(t);
		test_nulls(t);
		test_reserved(t);
	}
	test_raw_pt();
	clew_trace_free(t);
	clew_trace_free(NULL);
	test_dir_remove();
	return tap_done();
}
