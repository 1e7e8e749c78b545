/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/perf_etm.h"

#include <stdio.h>

#include "base/err.h"
#include "os/thread.h"
#include "trace/perf/perf_etm_impl.h"
#include "trace/perf/perf_etm_run.h"
#include "trace/perf/perf_etm_thread.h"

/* --- units --- */

static enum pe_pid_format pid_format_of(const struct etm_config *c)
{
	if (c->has_vmid && c->vmid_is_cid2)
		return PE_PID_CID2;
	return c->has_cid ? PE_PID_CID : PE_PID_NONE;
}

static uint64_t id_key(const struct pe_cpu *c)
{
	return (uint64_t)c->sink << 8 | c->regs.traceidr;
}

static const char *why_not(const struct perf_etm *p, const struct pe_cpu *c)
{
	if (c->is_etm3)
		return "an ETMv3: only ETMv4 and ETE are decoded";
	if (p->meta.has_ids && !c->has_id)
		return "it was not traced: no AUX_OUTPUT_HW_ID record";
	return NULL;
}

static bool add_unit(struct perf_etm *p, uint32_t index)
{
	const struct pe_cpu *c = &p->meta.cpus.data[index];
	struct pe_unit *more = &p->more[index];
	struct etm_unit u = {.id = (uint8_t)c->regs.traceidr,
			     .cpu = c->cpu,
			     .tid = PE_NONE,
			     .name = more->name,
			     .code = &p->sources[index].source};
	bool is_taken = map_u64_get(&p->by_id, id_key(c));
	const char *why = why_not(p, c);

	more->cpu_index = index;
	snprintf(more->name, sizeof(more->name), "cpu %u", c->cpu);
	p->sources[index] = (struct pe_unit_code){p, index, {.ctx = &p->sources[index]}};
	p->sources[index].source.space = pe_code_space;
	p->sources[index].source.find = pe_code_find;
	p->sources[index].source.why = pe_code_why;
	if (why)
		clew_fail(&u.why, CLEW_UNSUPPORTED, 0, why);
	else
		u.is_decodable = etm_config_init(&u.config, &c->regs, &u.why) == CLEW_OK;
	more->pid_format = pid_format_of(&u.config);
	return vec_push(&p->units, u) && map_u64_put(&p->by_cpu, c->cpu, index) &&
	       (is_taken || map_u64_put(&p->by_id, id_key(c), index));
}

static enum clew_err make_units(struct perf_etm *p)
{
	size_t nr = p->meta.cpus.nr;

	p->more = mem_calloc(nr + 1, sizeof(*p->more));
	p->sources = mem_calloc(nr + 1, sizeof(*p->sources));
	if (!p->more || !p->sources)
		return CLEW_NO_MEMORY;
	for (size_t i = 0; i < nr; i++) {
		if (!add_unit(p, (uint32_t)i))
			return CLEW_NO_MEMORY;
	}
	p->trace.units = p->units.data;
	p->trace.nr_units = p->units.nr;
	return CLEW_OK;
}

/* --- what is asked --- */

static void thread(struct etm_trace *t, size_t unit, const struct flow_context *c, uint64_t ticks,
		   uint64_t bound, struct etm_thread *ret)
{
	const struct perf_etm *p = (const struct perf_etm *)t;
	struct pe_span s = pe_span_of(p, (uint32_t)unit, ticks, bound);
	const struct who_task *task;

	bool has_cid = c->has_cid;

	/* In the register of threads a guest has numbers of its own. */
	if (p->more[unit].pid_format == PE_PID_CID &&
	    pe_is_guest(p, (uint32_t)unit, c->el, c->upper_el, c->has_vmid, c->vmid))
		has_cid = false;
	*ret = (struct etm_thread){PE_NONE, PE_NONE, NULL};
	ret->tid = pe_tid_of(p, (uint32_t)unit, &s, has_cid, c->cid, c->has_vmid, c->vmid);
	if (ret->tid == PE_NONE)
		return;
	task = who_history_task(&p->history, ret->tid, pe_span_time(&s));
	if (task)
		ret->pid = task->pid;
	else if (!ret->tid)
		ret->pid = 0;
	ret->comm = who_history_comm_at(&p->history, ret->tid, pe_span_time(&s));
}

static bool time_of(struct etm_trace *t, size_t unit, uint64_t ticks, uint64_t *ret_ns)
{
	return pe_time((const struct perf_etm *)t, (uint32_t)unit, ticks, ret_ns);
}

static const struct ana_loc *locate(struct etm_trace *t, uint32_t space, uint64_t addr)
{
	return pe_code_locate((struct perf_etm *)t, space, addr);
}

static void free_trace(struct etm_trace *t)
{
	struct perf_etm *p = (struct perf_etm *)t;

	pe_queues_done(&p->queues);
	who_history_done(&p->history);
	pe_patches_done(&p->patches);
	vec_done(&p->meta.cpus);
	vec_done(&p->units);
	map_u64_done(&p->by_id);
	map_u64_done(&p->by_cpu);
	map_u64_done(&p->locs);
	mem_free(p->more);
	mem_free(p->sources);
	os_lock_free(p->lock);
	ana_reader_done(&p->reader);
	perf_file_free(p->file);
	ana_places_done(&p->own);
	mem_free(p);
}

static const struct etm_trace_ops ops = {.run = pe_run,
					 .steps_new = pe_steps_new,
					 .nr_lanes = pe_steps_lanes,
					 .step = pe_step,
					 .steps_free = pe_steps_free,
					 .thread = thread,
					 .time = time_of,
					 .locate = locate,
					 .free = free_trace};

static enum clew_err close_patches(struct perf_etm *p, const struct dso_store_opts *symbols)
{
	const struct pe_patches_opts opts = {.symfs = symbols->symfs,
					     .is_forced = symbols->force,
					     .has_clock = pe_is_monotonic(p)};

	return pe_patches_close(&p->patches, &p->history, &opts);
}

/** What is opened; @p first and @p places are an analysis's of the same recording, or NULL. */
struct opening {
	const struct perf_input *input;
	const struct dso_store_opts *symbols;
	const struct perf_file *first;
	struct ana_places *places;
};

static enum clew_err open_file(struct perf_etm *p, const struct opening *o, struct clew_diag *diag)
{
	enum clew_err err = o->first ? perf_file_reopen(&p->file, o->first, diag)
				     : perf_file_open(&p->file, o->input, diag);

	if (err)
		return err;
	if (ana_reader_init(&p->reader, p->file, &p->input, p->input.is_mapped) ||
	    (!o->places && ana_places_init(&p->own, o->symbols, NULL, p->file, p->input.budget)))
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	return CLEW_OK;
}

static enum clew_err init(struct perf_etm *p, const struct opening *o, struct clew_diag *diag)
{
	struct budget *budget = p->input.budget;
	enum clew_err err = open_file(p, o, diag);

	if (err)
		return err;
	p->lock = os_lock_new();
	if (!p->lock || who_history_init(&p->history, PE_NR_NO_CODE, budget))
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	p->queues.account.budget = budget;
	err = pe_read(p, diag);
	if (err)
		return err;
	/* perf (6.1) sets inherit for whole CPUs too. */
	p->is_of_tasks = p->is_of_tasks && !p->queues.is_of_all;
	if (!p->meta.is_there)
		return clew_fail(diag, CLEW_UNSUPPORTED, 0, "no CoreSight trace in it");
	if (pe_queues_close(&p->queues) || make_units(p) || close_patches(p, o->symbols))
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	return CLEW_OK;
}

static enum clew_err open_recording(struct etm_trace **ret, const struct opening *o,
				    struct clew_diag *diag)
{
	struct perf_etm *p = mem_zalloc(sizeof(*p));
	enum clew_err err;

	if (!p)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	p->trace.ops = &ops;
	p->trace.progress = o->input->progress;
	p->input = *o->input;
	p->places = o->places ? o->places : &p->own;
	err = init(p, o, diag);
	if (err)
		free_trace(&p->trace);
	else
		*ret = &p->trace;
	return err;
}

enum clew_err perf_etm_open(struct etm_trace **ret, const struct perf_input *input,
			    const struct dso_store_opts *symbols, struct clew_diag *diag)
{
	const struct opening o = {.input = input, .symbols = symbols};

	return open_recording(ret, &o, diag);
}

enum clew_err perf_etm_open_in(struct etm_trace **ret, struct analyze *a, struct clew_diag *diag)
{
	const struct opening o = {analyze_input(a), analyze_symbols(a), analyze_file(a),
				  analyze_places(a)};
	enum clew_err err = open_recording(ret, &o, diag);

	if (!err)
		analyze_set_single_threaded(a); /* both look up symbols */
	return err;
}
