/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_key.h"
#include "make/cs_etm_make.h"
#include "prop/mutate.h"
#include "trace/perf/perf_trace.h"
#include "trace/trace_decode.h"

/* Damaged recordings with ETM trace: opened, decoded and asked, to an end or a clean error. */

struct asker {
	struct trace_input *trace;
	struct code_key key;
	uint64_t nr;
};

static void ask(struct asker *a, size_t unit, const struct flow_event *e)
{
	const struct code_source *code = a->trace->units[unit].code;
	struct trace_thread t;
	struct clew_perf_ns ns;

	flow_key_take_event(&a->key, e);
	a->trace->ops->thread(a->trace, unit, &a->key, &t);
	a->trace->ops->time(a->trace, unit, e->ticks, &ns);
	a->trace->ops->locate(a->trace, e->space, e->address);
	if (e->kind == FLOW_EV_NACC)
		a->nr += code->why(code->ctx, e->space, e->address) != NULL;
}

static enum clew_err take(void *ctx, size_t unit, const struct flow_batch *b)
{
	struct asker *a = ctx;

	for (size_t i = 0; i < b->nr && a->nr < 1000; i++) {
		if (b->items[i] & FLOW_ITEM_EVENT)
			ask(a, unit, &b->events[b->items[i] & ~FLOW_ITEM_EVENT]);
	}
	return CLEW_OK;
}

static enum clew_err take_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	(void)ctx;
	(void)number;
	(void)offset;
	return *what ? CLEW_OK : CLEW_INVALID;
}

static bool use(void *ctx, struct bytes copy, uint64_t nr)
{
	static const struct dso_store_opts symbols = {
		.symfs = "/nowhere", .no_host_kernel = true, .no_proc_root = true};
	struct perf_input in = {.data = copy.pos, .size = bytes_left(&copy)};
	struct asker a = {0};
	const struct trace_decode_opts opts = {
		.nr_threads = 1, .batch = take, .ctx = &a, .listener = {take_warning, &a}
        };
	struct clew_diag diag = {0};
	enum clew_err err = perf_trace_open(&a.trace, &in, &symbols, &diag);

	(void)ctx;
	(void)nr;
	if (err)
		return diag.code == err && diag.what;
	err = trace_decode(a.trace, &opts, &diag);
	trace_input_free(a.trace);
	return err == CLEW_OK;
}

static void put_trace(struct cs_etm_make *m, uint32_t cpu, uint64_t time)
{
	struct buf t = {0};

	cs_etm_sync(&t);
	for (uint32_t i = 0; i < 8; i++) {
		cs_etm_go(m, &t,
			  &(struct cs_etm_place){.addr = 0x10080 + 16 * i,
						 .el = (uint8_t)(i % 3),
						 .cid = 100 + 100 * (i & 1)});
		enc_timestamp(&t, 500 + i, 9);
		enc_atoms(&t, 1, 1);
	}
	cs_etm_trace(m, cpu, time, &t);
	buf_done(&t);
}

static void mutate_made(struct mutate *m, const char *name, struct cs_etm_make make)
{
	static const uint8_t code[16] = {1, 2, 3, 4};
	struct perf_sample_id id = cs_etm_id(0, 100, 12);

	make.nr_cpus = 2;
	make.ts_source = 1;
	cs_etm_begin(&make);
	cs_etm_time_conv(&make, 1000);
	cs_etm_kernel_map(&make, 0xffff000000000000, 0x1000000, "[kernel.kallsyms]_text");
	cs_etm_comm(&make, 5, 100, 100, "one", false);
	cs_etm_map(&make, 6, 100, 0x10000, "/bin/one");
	cs_etm_fork(&make, 8, 100, 200, 200);
	cs_etm_hw_id(&make, 0, (uint64_t)1 << 56 | 0x500 | 0x10);
	cs_etm_hw_id(&make, 1, (uint64_t)1 << 56 | 0x500 | 0x12);
	cs_etm_switch(&make, 9, 0, 100, 200);
	put_trace(&make, 0, 10);
	perf_build_view(&make.file, PERF_RECORD_TEXT_POKE, 0,
			&(union perf_view){
				.text_poke = {0xffff000000001000, 8, 8, code}
        },
			&id);
	cs_etm_comm(&make, 15, 200, 200, "two", true);
	cs_etm_map(&make, 16, 200, 0x10000, "/bin/two");
	put_trace(&make, 1, 20);
	mutate_bytes(m, name, perf_build_finish(&make.file));
	cs_etm_done(&make);
}

int main(int argc, char **argv)
{
	struct mutate m = {.use = use};

	mutate_made(&m, "framed", (struct cs_etm_make){.version = 1});
	mutate_made(&m, "raw", (struct cs_etm_make){.version = 2, .is_raw = true, .is_ete = true});
	mutate_made(&m, "a pipe",
		    (struct cs_etm_make){.version = 0,
					 .is_snapshot = true,
					 .is_system_wide = true,
					 .configr = 1u << 7 | 1u << 15,
					 .file = {.opts = {.pipe = true}}});
	for (int i = 1; i < argc; i++)
		mutate_path(&m, argv[i]);
	mutate_check_memory();
	return mutate_done();
}
