/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "flow/flow_key.h"
#include "make/cs_etm_make.h"
#include "make/elf_build.h"
#include "make/splitmix.h"
#include "trace/perf/perf_trace.h"
#include "trace/trace_decode.h"
#include "unit/test_dir.h"
#include "unit/text_count.h"

static const char *vmlinux;

enum { NOP = 0xd503201f, RET = 0xd65f03c0, TEXT = 128, NR_WORDS = 64 };

/** A program of returns with @p nops before each: its code begins at TEXT in the file. */
static void write_program(const char *path, unsigned int nops, uint16_t machine)
{
	struct elf_build b = {.machine = machine};
	uint32_t words[NR_WORDS];

	for (unsigned int i = 0; i < NR_WORDS; i++)
		words[i] = i % (nops + 1) == nops ? RET : NOP;
	elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, words,
			  sizeof(words));
	elf_build_finish(&b);
	test_dir_write(path, b.file.data, b.file.nr);
	elf_build_done(&b);
}

/* --- decoding to lines --- */

struct story {
	struct trace_input *trace;
	struct buf out;
	struct code_key keys[16];
};

static void put_thread(struct story *s, size_t unit)
{
	struct trace_thread t;

	s->trace->ops->thread(s->trace, unit, &s->keys[unit], &t);
	buf_printf(&s->out, " %d/%d %s el%u", (int)t.pid, (int)t.tid, t.comm ? t.comm : "?",
		   s->keys[unit].context.arm.el);
}

static void put_block(struct story *s, size_t unit, const struct flow_block *k)
{
	const struct ana_loc *l = s->trace->ops->locate(s->trace, k->space, k->start);

	buf_printf(&s->out, "%s: %" PRIx64 "+%u %s", s->trace->units[unit].name, k->start, k->bytes,
		   l && l->dso ? dso_path(l->dso) : "?");
	if (l && l->sym)
		buf_printf(&s->out, ":%s", l->sym->name);
	put_thread(s, unit);
	buf_char(&s->out, '\n');
}

static void put_event(struct story *s, size_t unit, const struct flow_event *e)
{
	const struct trace_unit *u = &s->trace->units[unit];

	flow_key_take_event(&s->keys[unit], e);
	if (e->kind == FLOW_EV_NACC) {
		buf_printf(&s->out, "%s: %" PRIx64 " %s", u->name, e->address,
			   u->code->why(u->code->ctx, e->space, e->address));
		put_thread(s, unit);
		buf_char(&s->out, '\n');
	}
	if (e->kind == FLOW_EV_NO_SYNC && e->reason != FLOW_NO_SYNC_INIT &&
	    e->reason != FLOW_NO_SYNC_RESET)
		buf_printf(&s->out, "%s: no sync %u\n", u->name, e->reason);
}

static enum clew_err put_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct story *s = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		if (b->items[i] & FLOW_ITEM_EVENT)
			put_event(s, unit, &b->events[b->items[i] & ~FLOW_ITEM_EVENT]);
		else
			put_block(s, unit, &b->blocks[b->items[i] >> 1]);
	}
	return CLEW_OK;
}

static enum clew_err put_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	struct story *s = ctx;

	(void)offset;
	buf_printf(&s->out, "%s: %" PRIu64 "\n", what, number);
	return CLEW_OK;
}

static enum clew_err open_file(struct bytes file, struct trace_input **ret, struct clew_diag *diag)
{
	struct dso_store_opts symbols = {
		.symfs = test_dir, .no_host_kernel = true, .vmlinux = vmlinux};
	struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};

	return perf_trace_open(ret, &in, &symbols, diag);
}

static enum clew_err decode(struct story *s, unsigned int nr_threads, struct clew_diag *diag)
{
	const struct trace_decode_opts opts = {
		.nr_threads = nr_threads,
		.batch = put_batch,
		.ctx = s,
		.listener = {put_warning, s}
        };

	return trace_decode(s->trace, &opts, diag);
}

/** Close @p m's file, decode it, and compare what comes out. */
static void expect(struct cs_etm_make *m, const char *want, const char *what)
{
	struct story s = {0};
	struct clew_diag diag = {0};
	enum clew_err err = open_file(perf_build_finish(&m->file), &s.trace, &diag);

	if (!err)
		err = decode(&s, 1, &diag);
	if (err)
		buf_printf(&s.out, "%s: %s\n", clew_err_name(err), diag.what);
	CHECK_STR(buf_cstr(&s.out), want, "%s", what);
	trace_input_free(s.trace);
	buf_done(&s.out);
	cs_etm_done(m);
}

/** At @p at, one return that is taken. */
static void run_at(const struct cs_etm_make *m, struct buf *t, const struct cs_etm_place *at)
{
	cs_etm_go(m, t, at);
	enc_atoms(t, 1, 1);
}

static void run_once(struct cs_etm_make *m, uint32_t cpu, uint64_t time,
		     const struct cs_etm_place *at)
{
	struct buf t = {0};

	cs_etm_sync(&t);
	run_at(m, &t, at);
	cs_etm_trace(m, cpu, time, &t);
	buf_done(&t);
}

static const struct cs_etm_place in_100 = {.addr = 0x10000 + TEXT, .cid = 100};

static void begin(struct cs_etm_make *m)
{
	if (!m->nr_cpus)
		m->nr_cpus = 2;
	cs_etm_begin(m);
	cs_etm_comm(m, 5, 100, 100, "one", false);
	cs_etm_map(m, 6, 100, 0x10000, "/bin/one");
}

/* --- metadata --- */

static void test_versions(void)
{
	static const char want[] = "cpu 1: 10080+8 /bin/one 100/100 one el0\n";

	for (uint64_t version = 0; version < 3; version++) {
		for (int ete = 0; ete < 2; ete++) {
			struct cs_etm_make m = {.version = version, .is_ete = ete};

			if (ete && !version)
				continue;
			begin(&m);
			run_once(&m, 1, 20, &in_100);
			expect(&m, want, "each version of the description of the trace units");
		}
	}
}

static void test_refused(void)
{
	struct cs_etm_make m = {.version = 3}, none = {.version = UINT64_MAX};

	begin(&m);
	expect(&m, "not supported: the description of the trace units is of a newer perf\n",
	       "an unknown version");
	begin(&none);
	expect(&none, "not supported: neither CoreSight trace nor SPE records in it\n",
	       "a file without trace");
}

static void test_hw_ids(void)
{
	struct cs_etm_make m = {.version = 2}, sinks = {.version = 2};
	struct buf t = {0}, frames = {0};
	struct trace_input *trace;

	begin(&m);
	cs_etm_hw_id(&m, 0, 0x12); /* the ID that the description has for CPU 1 */
	run_once(&m, 1, 20, &in_100);
	expect(&m, "cpu 0: 10080+8 /bin/one 100/100 one el0\n",
	       "the IDs of AUX_OUTPUT_HW_ID count");

	begin(&sinks);
	cs_etm_hw_id(&sinks, 0, (uint64_t)1 << 56 | 0xaa00 | 0x20);
	cs_etm_hw_id(&sinks, 1, (uint64_t)1 << 56 | 0xbb00 | 0x20);
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		cs_etm_sync(&t);
		run_at(&sinks, &t, &in_100);
		cs_etm_frames(&frames, 0x20, &t);
		cs_etm_aux(&sinks, cpu, 100, 20 + cpu, frames.nr);
		cs_etm_auxtrace(&sinks, cpu, 100, 0, bytes_of(frames.data, frames.nr));
		buf_clear(&t);
		buf_clear(&frames);
	}
	if (open_file(perf_build_finish(&sinks.file), &trace, NULL) == CLEW_OK) {
		CHECK(trace->nr_units == 2 && trace->units[0].id == 0x20 &&
			      trace->units[1].id == 0x20,
		      "two sinks may use one ID");
		trace_input_free(trace);
	}
	expect(&sinks,
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\ncpu 1: 10080+8 /bin/one 100/100 one el0\n",
	       "and are distinguished");
	buf_done(&t);
	buf_done(&frames);
}

static void test_etm3(void)
{
	const uint64_t words[] = {1, (uint64_t)8 << 32 | 1, 0, 0x3030303030303030, 0, 4, 0, 0x10, 0,
				  0};
	struct cs_etm_make m = {.version = UINT64_MAX};
	struct trace_input *trace = NULL;

	begin(&m);
	perf_build_view(&m.file, PERF_RECORD_AUXTRACE_INFO, 0,
			&(union perf_view){
				.auxtrace_info = {.type = PERF_AUXTRACE_CS_ETM,
						  .nr_priv = 10,
						  .priv = (const uint8_t *)words}
        },
			NULL);
	CHECK(open_file(perf_build_finish(&m.file), &trace, NULL) == CLEW_OK &&
		      trace->nr_units == 1 && !trace->units[0].is_decodable,
	      "an ETMv3 is named, and not decoded");
	if (trace)
		CHECK_STR(trace->units[0].why.what, "an ETMv3: only ETMv4 and ETE are decoded",
			  "why");
	trace_input_free(trace);
	cs_etm_done(&m);
}

/* --- which bytes --- */

static void test_raw(void)
{
	struct cs_etm_make m = {.version = 1, .is_raw = true};

	begin(&m);
	run_once(&m, 0, 20, &in_100);
	run_once(&m, 1, 21, &in_100);
	run_once(&m, 0, 22, &in_100);
	expect(&m,
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\ncpu 0: 10080+8 /bin/one 100/100 one el0\n"
	       "cpu 1: 10080+8 /bin/one 100/100 one el0\n",
	       "trace that is not in frames is of the CPU of its ring");
}

static void test_truncated(void)
{
	struct cs_etm_make m = {.version = 1, .flags = PERF_AUX_FLAG_TRUNCATED};

	begin(&m);
	run_once(&m, 0, 20, &in_100);
	cs_etm_aux(&m, 0, 100, 30, 0);
	expect(&m,
	       "trace was lost: its buffer was full: 0\ntrace was lost: its buffer was full: 0\n"
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n",
	       "lost trace is reported");
}

static void test_missing(void)
{
	struct cs_etm_make m = {.version = 1}, half = {.version = 1, .is_raw = true};
	struct buf t = {0};

	begin(&m);
	cs_etm_aux(&m, 0, 100, 20, 4096);
	run_once(&m, 1, 30, &in_100);
	expect(&m,
	       "trace that an AUX record describes is not in the file: 4096\n"
	       "cpu 1: 10080+8 /bin/one 100/100 one el0\n",
	       "AUX records without trace are reported");

	begin(&half);
	cs_etm_sync(&t);
	run_at(&half, &t, &in_100);
	while (t.nr % 8) /* to which AUXTRACE is filled up */
		enc_ignore(&t);
	cs_etm_aux(&half, 0, 100, 20, t.nr + 100);
	cs_etm_auxtrace(&half, 0, 100, 50, bytes_of(t.data, t.nr));
	expect(&half,
	       "trace that an AUX record describes is not in the file: 100\n"
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n",
	       "and of those with a part of it, which is decoded");
	buf_done(&t);
}

/* One AUXTRACE may hold the trace of many AUX records, and one of these lie in several. */
static void test_pieces(void)
{
	struct cs_etm_make m = {.version = 1, .is_raw = true};
	struct buf t = {0};
	size_t one;

	begin(&m);
	for (int i = 0; i < 3; i++) {
		cs_etm_sync(&t);
		run_at(&m, &t, &in_100);
	}
	one = t.nr / 3;
	cs_etm_aux(&m, 0, 100, 20, one);
	cs_etm_aux(&m, 0, 100, 21, one);
	cs_etm_auxtrace(&m, 0, 100, 0, bytes_of(t.data, 2 * one + 10));
	cs_etm_aux(&m, 0, 100, 22, one);
	cs_etm_auxtrace(&m, 0, 100, 2 * one + 10, bytes_of(t.data + 2 * one + 10, one - 10));
	expect(&m,
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\ncpu 0: 10080+8 /bin/one 100/100 one el0\n"
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n",
	       "trace in pieces");
	buf_done(&t);
}

static void test_snapshot(void)
{
	struct cs_etm_make m = {.version = 1, .is_raw = true, .is_snapshot = true};
	struct buf t = {0};

	begin(&m);
	cs_etm_sync(&t);
	run_at(&m, &t, &in_100);
	cs_etm_aux(&m, 0, 100, 20, 5000); /* written over but for its last bytes, */
	cs_etm_aux(&m, 0, 100, 21, t.nr);
	enc_ignore(&t);
	cs_etm_auxtrace(&m, 0, 100, 5000, bytes_of(t.data, t.nr - 1));
	expect(&m, "cpu 0: 10080+8 /bin/one 100/100 one el0\n",
	       "a snapshot holds the end of what was traced");
	buf_done(&t);
}

/* An AUX record of which a snapshot's window holds the end: from the next sync on. */
static void test_clipped(void)
{
	struct cs_etm_make m = {.version = 1, .is_raw = true, .is_snapshot = true};
	struct buf t = {0};
	size_t before;

	begin(&m);
	cs_etm_sync(&t);
	run_at(&m, &t, &in_100);
	before = t.nr;
	cs_etm_sync(&t);
	run_at(&m, &t, &in_100);
	cs_etm_aux(&m, 0, 100, 20, t.nr);
	cs_etm_auxtrace(&m, 0, 100, before - 3, bytes_of(t.data + before - 3, t.nr - before + 3));
	expect(&m, "cpu 0: 10080+8 /bin/one 100/100 one el0\n",
	       "a record that a window clips is decoded from its first sync");
	buf_done(&t);
}

static void test_pipe(void)
{
	struct cs_etm_make m = {.version = 1, .file = {.opts = {.pipe = true}}};
	struct cs_etm_make big = {.version = 1, .file = {.opts = {.simpleperf_index = true}}};

	begin(&m);
	run_once(&m, 0, 20, &in_100);
	expect(&m, "cpu 0: 10080+8 /bin/one 100/100 one el0\n", "a piped file");
	begin(&big);
	run_once(&big, 0, 20, &in_100);
	expect(&big, "cpu 0: 10080+8 /bin/one 100/100 one el0\n", "an index without its count");
}

static void test_per_thread(void)
{
	struct cs_etm_make m = {
		.version = 1, .is_raw = true, .is_per_thread = true, .configr = 1u << 12};
	struct buf t = {0};

	begin(&m);
	cs_etm_comm(&m, 7, 100, 101, "other", false);
	for (uint32_t tid = 100; tid < 102; tid++) {
		cs_etm_sync(&t);
		run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10000 + TEXT});
		cs_etm_aux(&m, 1, tid, 20 + tid, t.nr);
		cs_etm_auxtrace(&m, 1, tid, 0, bytes_of(t.data, t.nr));
		buf_clear(&t);
	}
	expect(&m,
	       "cpu 1: 10080+8 /bin/one 100/100 one el0\n"
	       "cpu 1: 10080+8 /bin/one 100/101 other el0\n",
	       "rings of threads: without a register in the trace, the record's thread");
	buf_done(&t);
}

/* --- the owners of code --- */

static void test_same_address(void)
{
	struct cs_etm_make m = {.version = 1};
	struct buf t = {0};

	begin(&m);
	cs_etm_comm(&m, 5, 200, 200, "two", false);
	cs_etm_map(&m, 6, 200, 0x10000, "/bin/two");
	cs_etm_sync(&t);
	run_at(&m, &t, &in_100);
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10000 + TEXT, .cid = 200});
	run_at(&m, &t, &in_100);
	cs_etm_trace(&m, 0, 20, &t);
	expect(&m,
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n"
	       "cpu 0: 10080+12 /bin/two 200/200 two el0\n"
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n",
	       "two processes at one address in one chunk");
	buf_done(&t);
}

/** A child's trace lies in the ring of the thread that its event comes from. */
static void test_inherited(void)
{
	struct cs_etm_make m = {.version = 1, .is_raw = true, .is_per_thread = true};
	struct buf t = {0};

	begin(&m);
	cs_etm_ring_of(&m, 100);
	cs_etm_fork(&m, 8, 100, 150, 150);
	cs_etm_sync(&t);
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10000 + TEXT, .cid = 150});
	cs_etm_aux(&m, 1, 150, 20, t.nr);
	cs_etm_auxtrace(&m, 1, 77, 0, (struct bytes){0});
	cs_etm_auxtrace(&m, 1, 100, 0, bytes_of(t.data, t.nr));
	expect(&m, "cpu 1: 10080+8 /bin/one 150/150 one el0\n",
	       "a child's trace in its parent's ring; a fork has its parent's code");
	buf_done(&t);
}

/** A new program: what ran in the same chunk before it is still decoded with the old one. */
static void test_exec(void)
{
	struct cs_etm_make m = {.version = 1};
	struct buf t = {0};

	begin(&m);
	cs_etm_comm(&m, 15, 100, 100, "new", true);
	cs_etm_map(&m, 16, 100, 0x40000, "/bin/two");
	cs_etm_sync(&t);
	run_at(&m, &t, &in_100);
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x40000 + TEXT, .cid = 100});
	cs_etm_trace(&m, 0, 20, &t);
	cs_etm_sync(&t);
	run_at(&m, &t, &in_100);
	cs_etm_trace(&m, 0, 30, &t);
	expect(&m,
	       "cpu 0: 10080+8 /bin/one 100/100 new el0\n"
	       "cpu 0: 40080+12 /bin/two 100/100 new el0\n"
	       "cpu 0: 10080 no mapping was recorded there 100/100 new el0\n",
	       "exec: the old program's code where the trace may be of before it, no longer than "
	       "that");
	buf_done(&t);
}

static void test_map_over(void)
{
	struct cs_etm_make m = {.version = 1};

	begin(&m);
	run_once(&m, 0, 10, &in_100);
	cs_etm_map(&m, 15, 100, 0x10000, "/bin/two");
	run_once(&m, 0, 20, &in_100);
	cs_etm_map(&m, 25, 100, 0x10000, "/bin/one");
	run_once(&m, 0, 30, &in_100);
	expect(&m,
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n"
	       "cpu 0: 10080+12 /bin/two 100/100 one el0\n"
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n",
	       "code that is mapped over is that of its time");
}

/** New libraries leave the space's number: what was looked at stays known. */
static void test_numbers(void)
{
	struct cs_etm_make m = {.version = 1};
	struct trace_input *trace = NULL;
	struct code_key key = {
		.context.arm = {.security = ARM_NONSECURE, .has_cid = true, .cid = 100}
        };
	uint32_t at[4] = {0};

	begin(&m);
	run_once(&m, 0, 10, &in_100);
	cs_etm_map(&m, 15, 100, 0x90000, "/bin/two");
	run_once(&m, 0, 20, &in_100);
	cs_etm_fork(&m, 22, 100, 150, 150);
	cs_etm_map(&m, 25, 100, 0x10000, "/bin/two");
	run_once(&m, 0, 30, &in_100);
	if (open_file(perf_build_finish(&m.file), &trace, NULL) == CLEW_OK) {
		const struct code_source *code = trace->units[0].code;

		for (uint64_t i = 0; i < 3; i++) {
			key.bound.ns = 10 * (i + 1);
			at[i] = code->space(code->ctx, &key);
		}
		key.context.arm.cid = 150;
		at[3] = code->space(code->ctx, &key);
	}
	CHECK(at[0] && at[0] == at[1], "a library more is the same space");
	CHECK(at[2] != at[1], "other code in a place is another");
	CHECK(at[3] == at[1], "a child has its parent's until one of them changes it");
	trace_input_free(trace);
	cs_etm_done(&m);
}

/** By the trace's own clock, where it is the recording's: not by the end of the chunk. */
static void test_timestamps(void)
{
	for (int64_t source = 1; source < 4; source += 2) {
		struct cs_etm_make m = {
			.version = 1, .ts_source = source, .configr = 1u << 6 | 1u << 11};
		struct buf t = {0};

		begin(&m);
		cs_etm_time_conv(&m, 1000);
		cs_etm_map(&m, 1050, 100, 0x10000, "/bin/two");
		cs_etm_sync(&t);
		enc_timestamp(&t, 20, 9); /* 1040 */
		run_at(&m, &t, &in_100);
		enc_timestamp(&t, 30, 9); /* 1060 */
		run_at(&m, &t, &in_100);
		cs_etm_trace(&m, 0, 1100, &t);
		expect(&m,
		       source == 1 ? "cpu 0: 10080+8 /bin/one 100/100 one el0\n"
				     "cpu 0: 10080+12 /bin/two 100/100 one el0\n"
				   : "cpu 0: 10080+12 /bin/two 100/100 one el0\n"
				     "cpu 0: 10080+12 /bin/two 100/100 one el0\n",
		       "timestamps count where they are of the virtual counter");
		buf_done(&t);
	}
}

/** Around a context switch: the kernel's code, then the other process's. */
static void test_switch_in_chunk(void)
{
	struct cs_etm_make m = {.version = 1};
	struct buf t = {0};

	begin(&m);
	cs_etm_comm(&m, 5, 200, 200, "two", false);
	cs_etm_map(&m, 6, 200, 0x10000, "/bin/two");
	cs_etm_sync(&t);
	run_at(&m, &t, &in_100);
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0xffff000010000000, .el = 1, .cid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0xffff000010000100, .el = 1, .cid = 200});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10000 + TEXT, .cid = 200});
	cs_etm_trace(&m, 0, 20, &t);
	expect(&m,
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n"
	       "cpu 0: ffff000010000000 no mapping was recorded there 100/100 one el1\n"
	       "cpu 0: ffff000010000100 no mapping was recorded there 200/200 two el1\n"
	       "cpu 0: 10080+12 /bin/two 200/200 two el0\n",
	       "each side of a switch has its thread and level");
	buf_done(&t);
}

/** System-wide, without the thread in the trace: who was switched to, where only one was. */
static void test_switch_records(bool inherits)
{
	struct cs_etm_make m = {
		.version = 1, .is_system_wide = true, .inherits = inherits, .configr = 1u << 12};
	const struct cs_etm_place at = {.addr = 0x10000 + TEXT};

	begin(&m);
	cs_etm_comm(&m, 5, 200, 200, "two", false);
	cs_etm_map(&m, 6, 200, 0x10000, "/bin/two");
	cs_etm_switch(&m, 8, 0, 0, 100);
	run_once(&m, 0, 10, &at);
	run_once(&m, 0, 15, &at);
	cs_etm_switch(&m, 18, 0, 100, 200);
	run_once(&m, 0, 20, &at);
	run_once(&m, 0, 25, &at);
	expect(&m,
	       "cpu 0: 10080 the thread is unknown -1/-1 ? el0\n"
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n"
	       "cpu 0: 10080 the thread is unknown -1/-1 ? el0\n"
	       "cpu 0: 10080+12 /bin/two 200/200 two el0\n",
	       "a chunk of one thread is that one's; of several, of an unknown one");
}

static void test_unknown(void)
{
	struct cs_etm_make m = {.version = 1};
	struct buf t = {0};

	begin(&m);
	cs_etm_map(&m, 6, 100, 0x20000, "/bin/none");
	cs_etm_map(&m, 6, 100, 0x30000, "/bin/x86");
	cs_etm_map(&m, 6, 100, 0x40000, "//anon");
	cs_etm_map(&m, 6, 100, 0x50000, "/bin/bare");
	cs_etm_sync(&t);
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x50000, .cid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .cid = 999});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x20080, .cid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x30080, .cid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x40080, .cid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10800, .cid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .el = 3, .cid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .is_secure = true, .cid = 100});
	cs_etm_trace(&m, 0, 20, &t);
	expect(&m,
	       "cpu 0: 50000+8 /bin/bare 100/100 one el0\n"
	       "cpu 0: 10080 the recording knows no thread of that number -1/999 ? el0\n"
	       "cpu 0: 20080 file not found, or another build of it 100/100 one el0\n"
	       "cpu 0: 30080 the file found is not for an Arm machine 100/100 one el0\n"
	       "cpu 0: 40080 code made at run time, without a jitdump file 100/100 one el0\n"
	       "cpu 0: 10800 the file ends before the mapping does 100/100 one el0\n"
	       "cpu 0: 10080 code of firmware or of the secure world 100/100 one el3\n"
	       "cpu 0: 10080 code of firmware or of the secure world 100/100 one el0\n",
	       "missing code: why");
	buf_done(&t);
}

/** The host's kernel at EL2: EL1 is a guest's: its code is never taken from the host. */
static void test_guest(void)
{
	struct cs_etm_make m = {.version = 1, .configr = 1u << 7 | 1u << 15};
	struct buf t = {0};

	begin(&m);
	cs_etm_sync(&t);
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .vmid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .el = 1, .vmid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .vmid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .el = 2, .vmid = 100});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .vmid = 100});
	cs_etm_trace(&m, 0, 20, &t);
	expect(&m,
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n"
	       "cpu 0: 10080 a virtual machine's code, which 'clew merge --guest' adds 100/100 one "
	       "el1\n"
	       "cpu 0: 10080 a virtual machine's code, which 'clew merge --guest' adds 100/100 one "
	       "el0\n"
	       "cpu 0: 10080 no mapping was recorded there 100/100 one el2\n"
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n",
	       "levels of a host at EL2");
	buf_done(&t);
}

/** VMIDs in the trace: two guests and the host at one address. */
static void test_vmids(void)
{
	struct cs_etm_make m = {.version = 1, .configr = 1u << 6 | 1u << 7};
	struct code_key key = {
		.context.arm = {
				.security = ARM_NONSECURE, .has_cid = true, .cid = 100, .has_vmid = true}
        };
	const struct code_source *code;
	struct trace_input *trace = NULL;
	struct code_region r;

	begin(&m);
	if (open_file(perf_build_finish(&m.file), &trace, NULL) == CLEW_OK) {
		code = trace->units[0].code;
		CHECK(code->find(code->ctx, code->space(code->ctx, &key), 0x10080, &r),
		      "VMID 0 is the host");
		key.context.arm.vmid = 3;
		CHECK(!code->find(code->ctx, code->space(code->ctx, &key), 0x10080, &r),
		      "another VMID has none of its code, at EL0");
		key.context.arm.el = 1;
		CHECK(!code->find(code->ctx, code->space(code->ctx, &key), 0x10080, &r),
		      "and at EL1");
		key.context.arm.el = 2;
		CHECK(!code->find(code->ctx, code->space(code->ctx, &key), 0x10080, &r),
		      "EL2 is the kernel's or a hypervisor's");
	}
	trace_input_free(trace);
	cs_etm_done(&m);
}

/* --- guests with records --- */

enum { SAME_PID = 100 };

/** Two machines with a kernel and a process each, of one number and at one address: the host's
 * too. */
static void begin_guests(struct cs_etm_make *m)
{
	begin(m);
	cs_etm_comm(m, 5, 500, 500, "vm5", false);
	cs_etm_comm(m, 5, 600, 600, "vm6", false);
	cs_etm_guests(m, (uint32_t[]){500, 600}, 2);
	for (uint64_t event = 2; event < 4; event++) {
		cs_etm_guest_comm(m, 6, event, SAME_PID, "inside");
		cs_etm_guest_map(m, 7, event, false, SAME_PID, 0x10000, "/bin/one");
		cs_etm_guest_map(m, 7, event, true, 0, 0x20000, "/boot/image");
	}
}

static void run_guest(struct cs_etm_make *m, struct buf *t, uint32_t machine, struct buf *want)
{
	run_at(m, t, &(struct cs_etm_place){.addr = 0x20080, .el = 1, .vmid = machine});
	buf_printf(want, "cpu 0: 20080+%u /%u/boot/image %u/%u vm%u el1\n",
		   machine == 500 ? 20 : 12, machine, machine, machine, machine / 100);
	run_at(m, t, &(struct cs_etm_place){.addr = 0x10080, .vmid = machine, .cid = SAME_PID});
	buf_printf(want, "cpu 0: 10080+%u /%u/bin/one %u/%u vm%u el0\n", machine == 500 ? 12 : 20,
		   machine, machine, machine, machine / 100);
}

static void run_host(struct cs_etm_make *m, struct buf *t, struct buf *want)
{
	run_at(m, t, &(struct cs_etm_place){.addr = 0x20080, .el = 2, .vmid = 100});
	run_at(m, t, &(struct cs_etm_place){.addr = 0x10080, .vmid = 100, .cid = SAME_PID});
	buf_str(want, "cpu 0: 20080 no mapping was recorded there 100/100 one el2\n"
		      "cpu 0: 10080+8 /bin/one 100/100 one el0\n");
}

/** CONTEXTIDR_EL2 names the process that is the machine. */
static void test_two_guests(void)
{
	struct cs_etm_make m = {.version = 1, .configr = 1u << 6 | 1u << 7 | 1u << 15};
	struct buf t = {0}, want = {0};
	uint64_t seed = 7;

	begin_guests(&m);
	cs_etm_sync(&t);
	for (int i = 0; i < 300; i++) {
		uint32_t guest = (uint32_t)(splitmix64(&seed) % 3);

		if (guest)
			run_guest(&m, &t, guest == 1 ? 500 : 600, &want);
		else
			run_host(&m, &t, &want);
	}
	cs_etm_trace(&m, 0, 20, &t);
	expect(&m, buf_cstr(&want), "two guests and the host at one address");
	buf_done(&t);
	buf_done(&want);
}

/** A VMID marks a guest, also at EL0 straight from EL2; the thread switched to says which. */
static void test_guest_of_runner(bool has_switch)
{
	struct cs_etm_make m = {.version = 1, .is_system_wide = true, .configr = 1u << 6 | 1u << 7};
	struct buf t = {0};

	begin_guests(&m);
	if (has_switch)
		cs_etm_switch(&m, 8, 0, 0, 600);
	run_once(&m, 0, 10, &in_100); /* what comes next ran after the switch */
	cs_etm_sync(&t);
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x20080, .el = 2, .cid = SAME_PID});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .vmid = 3, .cid = SAME_PID});
	cs_etm_trace(&m, 0, 20, &t);
	expect(&m,
	       has_switch ? "cpu 0: 10080+8 /bin/one 100/100 one el0\n"
			    "cpu 0: 20080 no mapping was recorded there 100/100 one el2\n"
			    "cpu 0: 10080+20 /600/bin/one 600/600 vm6 el0\n"
			  : "cpu 0: 10080+8 /bin/one 100/100 one el0\n"
			    "cpu 0: 20080 no mapping was recorded there 100/100 one el2\n"
			    "cpu 0: 10080 code of an unknown virtual machine "
			    "-1/-1 ? el0\n",
	       has_switch ? "the guest of who was switched to" : "an unknown guest");
	buf_done(&t);
}

/** Without its thread's number, only the kernel's code of a guest is known. */
static void test_guest_threads(void)
{
	struct cs_etm_make m = {.version = 1, .configr = 1u << 7 | 1u << 15};
	struct buf t = {0};

	begin_guests(&m);
	cs_etm_sync(&t);
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x20080, .el = 1, .vmid = 500});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x10080, .vmid = 500});
	run_at(&m, &t, &(struct cs_etm_place){.addr = 0x20080, .el = 1, .vmid = 100});
	cs_etm_trace(&m, 0, 20, &t);
	expect(&m,
	       "cpu 0: 20080+20 /500/boot/image 500/500 vm5 el1\n"
	       "cpu 0: 10080 code of an unknown thread of a virtual machine "
	       "500/500 vm5 el0\n"
	       "cpu 0: 20080 a virtual machine's code, which 'clew merge --guest' adds 100/100 one "
	       "el1\n",
	       "a guest's threads, and a guest without records");
	buf_done(&t);
}

/** An ID_INDEX that is shorter than it says is ignored. */
static void test_broken_index(void)
{
	const uint64_t words[] = {5, 1, 0}; /* of five entries a part of one */
	struct cs_etm_make m = {.version = 1};

	begin(&m);
	perf_build_raw(&m.file, PERF_RECORD_ID_INDEX, 0, bytes_of(words, sizeof(words)));
	run_once(&m, 0, 20, &in_100);
	expect(&m, "cpu 0: 10080+8 /bin/one 100/100 one el0\n", "an unknown record");
}

/** No times at all: the order in the file counts. */
static void test_no_clock(void)
{
	struct cs_etm_make m = {.version = 1, .has_no_time = true};

	begin(&m);
	run_once(&m, 0, 0, &in_100);
	cs_etm_map(&m, 0, 100, 0x10000, "/bin/two");
	run_once(&m, 0, 0, &in_100);
	expect(&m,
	       "cpu 0: 10080+8 /bin/one 100/100 one el0\n"
	       "cpu 0: 10080+12 /bin/two 100/100 one el0\n",
	       "a recording without times");
}

/* --- code that is recorded byte by byte, and the kernel's --- */

static void put(struct buf *b, uint64_t v, size_t size)
{
	buf_add(b, &v, size);
}

/** LOAD of jitdump: @p nops NOPs and a return at @p addr. */
static void jit_load(struct buf *out, uint64_t time, uint64_t addr, uint64_t index, size_t nops)
{
	size_t size = 4 * (nops + 1);

	put(out, 0, 4);
	put(out, 16 + 40 + 2 + size, 4);
	put(out, time, 8);
	put(out, 100, 4);
	put(out, 100, 4);
	put(out, addr, 8);
	put(out, addr, 8);
	put(out, size, 8);
	put(out, index, 8);
	buf_add(out, "f", 2);
	for (size_t i = 0; i < nops; i++)
		put(out, NOP, 4);
	put(out, RET, 4);
}

static void write_jitdump(void)
{
	static const uint32_t head[10] = {0x4a695444, 1, 40, EM_AARCH64, 0, 100};
	struct buf b = {0};

	buf_add(&b, head, sizeof(head));
	jit_load(&b, 8, 0x50000, 1, 1);
	jit_load(&b, 8, 0x50100, 2, 1);
	jit_load(&b, 15, 0x50000, 3, 3);
	test_dir_write("tmp/jit-100.dump", b.data, b.nr);
	buf_done(&b);
}

static void test_jitdump(void)
{
	for (int monotonic = 0; monotonic < 2; monotonic++) {
		struct cs_etm_make m = {.version = 1, .is_monotonic = monotonic};
		const struct cs_etm_place at = {.addr = 0x50000, .cid = 100},
					  other = {.addr = 0x50100, .cid = 100};

		begin(&m);
		cs_etm_map(&m, 7, 100, 0x60000, "/tmp/jit-100.dump");
		cs_etm_map(&m, 7, 100, 0x50000, "//anon");
		run_once(&m, 0, 10, &at);
		run_once(&m, 0, 11, &other);
		run_once(&m, 0, 20, &at);
		expect(&m,
		       monotonic ? "cpu 0: 50000+8 /tmp/perf-100.map:f 100/100 one el0\n"
				   "cpu 0: 50100+8 /tmp/perf-100.map:f 100/100 one el0\n"
				   "cpu 0: 50000+16 /tmp/perf-100.map:f 100/100 one el0\n"
				 : "cpu 0: 50000+16 /tmp/perf-100.map:f 100/100 one el0\n"
				   "cpu 0: 50100+8 /tmp/perf-100.map:f 100/100 one el0\n"
				   "cpu 0: 50000+16 /tmp/perf-100.map:f 100/100 one el0\n",
		       "code made at run time: of its time where the clocks are one");
	}
}

static void test_poke(void)
{
	const uint32_t words[] = {NOP, RET, RET, RET};
	const struct cs_etm_place at = {.addr = 0xffff000000000000, .el = 1, .cid = 100};
	struct cs_etm_make m = {.version = 1};
	struct perf_sample_id id = cs_etm_id(0, 100, 15);

	begin(&m);
	cs_etm_kernel_map(&m, 0xffff000000000000, 0x1000000, "[kernel.kallsyms]");
	run_once(&m, 0, 10, &at);
	perf_build_view(&m.file, PERF_RECORD_TEXT_POKE, 0,
			&(union perf_view){
				.text_poke = {at.addr, 8, 8, (const uint8_t *)words}
        },
			&id);
	run_once(&m, 0, 20, &at);
	expect(&m,
	       "cpu 0: ffff000000000000+8 [kernel.kallsyms] 100/100 one el1\n"
	       "cpu 0: ffff000000000000+4 [kernel.kallsyms] 100/100 one el1\n",
	       "code that the kernel wrote into itself, before and after");
}

static void put_ksymbol(struct cs_etm_make *m, uint64_t time, uint64_t addr, const char *name)
{
	struct perf_sample_id id = cs_etm_id(0, 100, time);

	perf_build_view(&m->file, PERF_RECORD_KSYMBOL, 0,
			&(union perf_view){
				.ksymbol = {.addr = addr, .len = 64, .name = name}
        },
			&id);
}

/** Code of a BPF program is recorded by a poke, its name by KSYMBOL. */
static void test_ksymbol(void)
{
	const uint32_t words[] = {NOP, RET};
	const uint64_t start = 0xffff800000001000;
	const struct cs_etm_place at = {.addr = start, .el = 1, .cid = 100},
				  other = {.addr = start + 0x1000, .el = 1, .cid = 100};
	struct cs_etm_make m = {.version = 1};
	struct perf_sample_id id = cs_etm_id(0, 100, 8);

	begin(&m);
	cs_etm_kernel_map(&m, 0xffff000000000000, 0x1000000, "[kernel.kallsyms]");
	put_ksymbol(&m, 7, start, "bpf_prog_1");
	put_ksymbol(&m, 7, start + 0x1000, "bpf_prog_2");
	perf_build_view(&m.file, PERF_RECORD_TEXT_POKE, 0,
			&(union perf_view){
				.text_poke = {start, 0, 8, (const uint8_t *)words}
        },
			&id);
	run_once(&m, 0, 10, &at);
	run_once(&m, 0, 11, &other);
	put_ksymbol(&m, 15, start, "bpf_prog_3");
	run_once(&m, 0, 20, &at);
	expect(&m,
	       "cpu 0: ffff800000001000+8 bpf_prog_1:bpf_prog_1 100/100 one el1\n"
	       "cpu 0: ffff800000002000 code the kernel made at run time, which the recording does "
	       "not hold 100/100 one el1\n"
	       "cpu 0: ffff800000001000+8 bpf_prog_3:bpf_prog_3 100/100 one el1\n",
	       "BPF programs, by the name of their time");
}

/** b 1f; nop; 1: bl outside; ret: as the assembler leaves it. */
static void write_module(void)
{
	static const uint32_t words[] = {0x14000000, NOP, 0x94000000, RET};
	const struct elf_build_sym syms[] = {
		{"inside",  8, 4, STB_GLOBAL, STT_FUNC,   1        },
		{"outside", 0, 0, STB_GLOBAL, STT_NOTYPE, SHN_UNDEF},
		{"entry",   0, 8, STB_LOCAL,  STT_FUNC,   1        }
        };
	Elf64_Rela rela[] = {
		{0, ELF64_R_INFO(1, 282), 0},
                {8, ELF64_R_INFO(2, 283), 0}
        };
	struct elf_build b = {.machine = EM_AARCH64, .type = ET_REL};
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					  words, sizeof(words));
	uint16_t table = elf_build_syms(&b, SHT_SYMTAB, syms, 3);
	uint16_t at =
		elf_build_section(&b, ".rela.text", SHT_RELA, SHF_INFO_LINK, rela, sizeof(rela));

	b.sections[at].sh_link = table;
	b.sections[at].sh_info = text;
	b.sections[at].sh_entsize = sizeof(*rela);
	elf_build_finish(&b);
	test_dir_write("lib/modules/m.ko", b.file.data, b.file.nr);
	elf_build_done(&b);
}

static void test_module(void)
{
	struct cs_etm_make m = {.version = 1};
	struct buf t = {0};

	begin(&m);
	cs_etm_kernel_map(&m, 0xffff000001000000, 0x1000, "/lib/modules/m.ko");
	cs_etm_sync(&t);
	cs_etm_go(&m, &t, &(struct cs_etm_place){.addr = 0xffff000001000000, .el = 1, .cid = 100});
	enc_atoms(&t, 3, 2);
	cs_etm_go(&m, &t, &(struct cs_etm_place){.addr = 0xffff00000100000c, .el = 1, .cid = 100});
	enc_atoms(&t, 1, 1);
	cs_etm_trace(&m, 0, 20, &t);
	expect(&m,
	       "cpu 0: ffff000001000000+4 /lib/modules/m.ko:entry 100/100 one el1\n"
	       "cpu 0: ffff000001000008 a branch out of the module to a target that only the kernel "
	       "knew 100/100 one el1\n"
	       "cpu 0: ffff00000100000c+4 /lib/modules/m.ko 100/100 one el1\n",
	       "a module: branches inside are relocated, those out of it end the code");
	buf_done(&t);
}

/** vmlinux was linked 0x10000 lower than it was loaded. */
static void test_vmlinux(void)
{
	static const uint32_t words[] = {NOP, NOP, RET, RET};
	struct elf_build b = {.machine = EM_AARCH64, .base = 0xffff000000000000};
	uint16_t text = elf_build_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
					  words, sizeof(words));
	struct elf_build_sym sym = {
		"_text", elf_build_addr(&b, text), sizeof(words), STB_GLOBAL, STT_FUNC, text};
	struct cs_etm_make m = {.version = 1};
	char path[128];

	elf_build_syms(&b, SHT_SYMTAB, &sym, 1);
	elf_build_finish(&b);
	test_dir_write("boot/vmlinux", b.file.data, b.file.nr);
	elf_build_done(&b);
	snprintf(path, sizeof(path), "%s/boot/vmlinux", test_dir);
	vmlinux = path;

	begin(&m);
	cs_etm_kernel_map(&m, sym.value + 0x10000, 0x1000, "[kernel.kallsyms]_text");
	run_once(&m, 0, 20,
		 &(struct cs_etm_place){.addr = sym.value + 0x10000, .el = 1, .cid = 100});
	expect(&m, "cpu 0: ffff000000010080+12 [kernel.kallsyms]:_text 100/100 one el1\n",
	       "the kernel's image, moved to where it was loaded");
	vmlinux = NULL;
}

/** Finding each record's trace is a search: perf looks through all buffers for each. */
static void test_many(void)
{
	enum { NR = 60000 };
	struct cs_etm_make m = {.version = 1, .is_raw = true};
	struct story s = {0};
	struct buf t = {0};
	size_t nr;

	begin(&m);
	for (uint64_t i = 0; i < NR; i++) {
		cs_etm_sync(&t);
		run_at(&m, &t, &in_100);
		cs_etm_trace(&m, i & 1, 20 + i, &t);
	}
	if (open_file(perf_build_finish(&m.file), &s.trace, NULL) == CLEW_OK)
		decode(&s, 1, NULL);
	nr = nr_lines_with(&s.out, "/bin/one 100/100 one");
	CHECK_EQ(nr, NR, "many AUX records");
	trace_input_free(s.trace);
	buf_done(&s.out);
	buf_done(&t);
	cs_etm_done(&m);
}

/** Each record describes all the trace there is, which no real recorder does. */
static void test_told_again(void)
{
	struct cs_etm_make m = {.version = 1, .is_raw = true};
	struct story s = {0};
	struct buf t = {0};
	size_t nr;

	begin(&m);
	for (int i = 0; i < 200; i++) {
		cs_etm_sync(&t);
		run_at(&m, &t, &in_100);
	}
	for (uint64_t i = 0; i < 1000; i++) {
		m.offsets[0] = 0;
		cs_etm_aux(&m, 0, 100, 20 + i, t.nr);
	}
	cs_etm_auxtrace(&m, 0, 100, 0, bytes_of(t.data, t.nr));
	if (open_file(perf_build_finish(&m.file), &s.trace, NULL) == CLEW_OK)
		decode(&s, 1, NULL);
	nr = nr_lines_with(&s.out, "/bin/one 100/100 one");
	CHECK(nr >= 400 && nr < 4000 && strstr(buf_cstr(&s.out), "described it already"),
	      "trace that is described again and again comes to an end");
	trace_input_free(s.trace);
	buf_done(&s.out);
	buf_done(&t);
	cs_etm_done(&m);
}

static enum clew_err pass_over(void *ctx, size_t unit, struct bytes in, uint64_t offset)
{
	(void)ctx, (void)unit, (void)in, (void)offset;
	return CLEW_OK;
}

static enum clew_err pass_restart(void *ctx, size_t unit, uint64_t offset)
{
	(void)ctx, (void)unit, (void)offset;
	return CLEW_OK;
}

/** How many lanes has a file of two rings, the first described @p nr times? The second holds trace
 * of the same unit or of another. */
static size_t nr_lanes_of(uint32_t nr, bool is_shared)
{
	const struct trace_sink sink = {.bytes = pass_over, .restart = pass_restart};
	struct cs_etm_make m = {.version = 1, .nr_cpus = 2};
	struct buf t = {0}, frames[2] = {{0}, {0}};
	struct trace_input *trace = NULL;
	struct trace_steps *steps;
	size_t ret = 0;

	begin(&m);
	cs_etm_sync(&t);
	run_at(&m, &t, &in_100);
	cs_etm_frames(&frames[0], 0x10, &t);
	cs_etm_frames(&frames[1], is_shared ? 0x10 : 0x12, &t);
	for (uint32_t i = 0; i < nr; i++) {
		m.offsets[0] = 0;
		cs_etm_aux(&m, 0, 100, 20 + i, frames[0].nr);
	}
	cs_etm_aux(&m, 1, 100, 20 + nr, frames[1].nr);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		cs_etm_auxtrace(&m, cpu, 100, 0, bytes_of(frames[cpu].data, frames[cpu].nr));
	if (open_file(perf_build_finish(&m.file), &trace, NULL) == CLEW_OK) {
		steps = trace->ops->streams_new(trace, &sink);
		ret = steps ? trace->ops->nr_streams(steps) : 0;
		trace->ops->steps_free(steps);
	}
	trace_input_free(trace);
	buf_done(&frames[0]);
	buf_done(&frames[1]);
	buf_done(&t);
	cs_etm_done(&m);
	return ret;
}

static void test_lanes(void)
{
	CHECK_EQ(nr_lanes_of(1, false), 2, "each ring has a stream");
	CHECK_EQ(nr_lanes_of(1, true), 1, "rings with trace of one unit are of one lane");
	CHECK_EQ(nr_lanes_of(100, true), 1, "and where not all trace could be looked at");
}

static void test_no_memory(void)
{
	struct cs_etm_make m = {.version = 1};
	struct bytes file;
	unsigned int nr = 0;
	bool has_failed = true;

	begin(&m);
	cs_etm_fork(&m, 8, 100, 200, 200);
	cs_etm_map(&m, 9, 200, 0x10000, "/bin/two");
	cs_etm_switch(&m, 9, 0, 100, 200);
	run_once(&m, 0, 20, &in_100);
	file = perf_build_finish(&m.file);
	for (; has_failed && nr < 20000; nr++) {
		struct story s = {0};
		struct clew_diag diag = {0};

		mem_fail_after(nr);
		if (open_file(file, &s.trace, &diag) == CLEW_OK)
			decode(&s, 1, &diag);
		trace_input_free(s.trace);
		buf_done(&s.out);
		has_failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
	}
	CHECK(nr > 30 && nr < 20000, "every allocation may fail");
	cs_etm_done(&m);
}

/** Code of three files, one of them missing, asked for by @p nr_threads at once. */
static void decode_in_threads(struct story *s, struct bytes file, unsigned int nr_threads)
{
	struct clew_diag diag = {0};

	*s = (struct story){0};
	CHECK(open_file(file, &s->trace, &diag) == CLEW_OK &&
		      decode(s, nr_threads, &diag) == CLEW_OK,
	      "%u threads: %s", nr_threads, diag.what ? diag.what : "decoded");
	trace_input_free(s->trace);
}

static void test_threads(void)
{
	enum { NR_RUNS = 4000, NR_PLACES = 4 };
	static const struct cs_etm_place places[NR_PLACES] = {
		{.addr = 0x10000 + TEXT, .cid = 100},
		{.addr = 0x20000 + TEXT, .cid = 100},
		{.addr = 0x30000 + TEXT, .cid = 100},
		{.addr = 0x90000 + TEXT, .cid = 100}
        };
	struct cs_etm_make m = {.version = 1};
	struct story one, two;
	struct buf t = {0};
	struct bytes file;

	begin(&m);
	cs_etm_map(&m, 7, 100, 0x20000, "/bin/two");
	cs_etm_map(&m, 8, 100, 0x30000, "/bin/nowhere");
	for (uint32_t i = 0; i < NR_RUNS; i++) {
		if (i % 16 == 0)
			cs_etm_sync(&t);
		run_at(&m, &t, &places[i / 3 % NR_PLACES]);
	}
	cs_etm_trace(&m, 0, 20, &t);
	file = perf_build_finish(&m.file);
	decode_in_threads(&one, file, 1);
	decode_in_threads(&two, file, 4);
	CHECK(one.out.nr > NR_RUNS && one.out.nr == two.out.nr &&
		      !memcmp(one.out.data, two.out.data, one.out.nr),
	      "several threads say what one says");
	buf_done(&one.out);
	buf_done(&two.out);
	buf_done(&t);
	cs_etm_done(&m);
}

/** A recording that is read for its samples and for its trace: each binary is known once. */
static void test_beside_analysis(void)
{
	struct cs_etm_make m = {.version = 1};
	struct ana_opts opts = {
		.symbols = {.symfs = test_dir, .no_host_kernel = true}
        };
	const struct perf_trace_wishes any = {0};
	struct clew_diag diag = {0};
	struct story s = {0};
	const struct dso *dso;
	struct bytes file;
	struct analyze *a;

	begin(&m);
	run_once(&m, 0, 10, &(struct cs_etm_place){.addr = 0x10000, .cid = 100});
	file = perf_build_finish(&m.file);
	if (analyze_open(&a, &(struct perf_input){.data = file.pos, .size = bytes_left(&file)},
			 &opts, &diag) ||
	    perf_trace_open_in(&s.trace, a, &any, &diag) || decode(&s, 1, &diag))
		abort();
	dso = dso_store_at(analyze_dsos(a), 0);
	CHECK_STR(dso ? dso_path(dso) : NULL, "/bin/one",
		  "the trace's binaries are those of the analysis beside it");
	trace_input_free(s.trace);
	analyze_free(a);
	buf_done(&s.out);
	cs_etm_done(&m);
}

int main(void)
{
	test_dir_make("perf-etm-test");
	write_program("/bin/one", 1, EM_AARCH64);
	write_program("/bin/two", 2, EM_AARCH64);
	write_program("/bin/four", 4, EM_AARCH64);
	write_program("/bin/x86", 1, EM_X86_64);
	test_dir_write("bin/bare", (const uint32_t[]){NOP, RET}, 8);
	test_versions();
	test_refused();
	test_hw_ids();
	test_etm3();
	test_raw();
	test_truncated();
	test_missing();
	test_pieces();
	test_snapshot();
	test_clipped();
	test_pipe();
	test_per_thread();
	test_same_address();
	test_inherited();
	test_exec();
	test_map_over();
	test_numbers();
	test_timestamps();
	test_switch_in_chunk();
	test_switch_records(false);
	test_switch_records(true);
	test_unknown();
	test_guest();
	test_vmids();
	write_program("/500/bin/one", 2, EM_AARCH64);
	write_program("/600/bin/one", 4, EM_AARCH64);
	write_program("/500/boot/image", 4, EM_AARCH64);
	write_program("/600/boot/image", 2, EM_AARCH64);
	test_two_guests();
	test_guest_of_runner(true);
	test_guest_of_runner(false);
	test_guest_threads();
	test_broken_index();
	test_no_clock();
	write_jitdump();
	test_jitdump();
	test_poke();
	test_ksymbol();
	test_beside_analysis();
	write_module();
	test_module();
	test_vmlinux();
	test_many();
	test_told_again();
	test_lanes();
	test_threads();
	test_no_memory();
	test_dir_remove();
	return tap_done();
}
