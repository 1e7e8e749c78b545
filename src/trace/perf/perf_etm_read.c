/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "trace/perf/perf_etm_impl.h"

/*
 * One pass over the file: what happens to threads and mappings goes into the history, the trace is
 * only noted. Nothing of it is decoded before all is known.
 */

/** Of a record, what is beside its body. */
struct beside {
	struct perf_sample_id id;
	const struct perf_evsel *evsel;
	uint64_t time;    /* on the history's line */
	uint32_t machine; /* 0: the host */
};

enum { CLOCKID_MONOTONIC = 1 };

/** Do records have the time of CLOCK_MONOTONIC, as what is not the kernel uses it? */
bool pe_is_monotonic(const struct perf_etm *p)
{
	const struct perf_evlist *l = perf_file_evlist(p->a->file);

	vec_for_each (&l->evsels, e) {
		if (perf_attr_has(&(*e)->attr, PERF_ATTR_USE_CLOCKID) &&
		    (*e)->attr.clockid == CLOCKID_MONOTONIC)
			return p->has_clock;
	}
	return false;
}

static bool has_clock(struct perf_etm *p)
{
	const struct perf_evlist *l = perf_file_evlist(p->a->file);

	vec_for_each (&l->evsels, e) {
		if ((*e)->attr.sample_type & PERF_SAMPLE_TIME)
			return true;
	}
	return false;
}

/** Without a clock, records are told apart by where they stand. */
static uint64_t line_time(struct perf_etm *p, uint64_t time)
{
	if (p->has_clock)
		return time == UINT64_MAX ? 0 : time;
	return ++p->nr_records;
}

static void look_beside(struct perf_etm *p, const struct perf_record *r, uint64_t time,
			struct beside *ret)
{
	struct bytes body = perf_record_body(r);

	ret->id = (struct perf_sample_id){.cpu = PE_NONE, .pid = PE_NONE, .tid = PE_NONE};
	ret->evsel = perf_evlist_of_record(perf_file_evlist(p->a->file), r->type, body, r->swap);
	ret->time = line_time(p, time);
	if (ret->evsel)
		perf_sample_id_parse(body, r->swap, &ret->evsel->attr, &ret->id);
	ret->machine = ret->evsel ? who_guests_machine(&p->guests, ret->id.id) : 0;
}

/**
 * A guest's mapping. Its files are not the host's: they are looked for by build id, and in the
 * folder of the machine, as `perf --guestmount` has them.
 */
static enum clew_err take_guest_mmap(struct perf_etm *p, uint32_t machine, bool is_kernel,
				     const struct perf_mmap *m, uint64_t time)
{
	clew_auto(buf_done) struct buf path = {0};
	struct perf_mmap own = *m;

	if (is_kernel && !machine)
		machine = m->pid; /* as perf kvm names it */
	if (!machine || machine == PE_NONE)
		return CLEW_OK;
	own.pid = who_guests_number(&p->guests, machine, is_kernel ? WHO_GUEST_KERNEL_PID : m->pid);
	own.tid = is_kernel ? own.pid : who_guests_number(&p->guests, machine, m->tid);
	if (own.pid == PE_NONE || own.tid == PE_NONE)
		return CLEW_OK;
	/* Modules would have to be relocated, and the kernel's own map tells no file. */
	if (is_kernel && strstr(m->filename, ".ko"))
		buf_printf(&path, "/%u/[%s]", machine, m->filename);
	else
		buf_printf(&path, "/%u%s%s", machine, *m->filename == '/' ? "" : "/", m->filename);
	own.filename = buf_cstr(&path);
	return path.is_failed ? CLEW_NO_MEMORY : who_history_mmap(&p->history, time, false, &own);
}

static enum clew_err take_mmap(struct perf_etm *p, const struct perf_record *r,
			       const struct beside *b)
{
	uint16_t mode = r->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	uint64_t time = b->time;
	struct perf_mmap m;

	if (perf_mmap_parse(r, &m) != CLEW_OK)
		return CLEW_BAD_FILE;
	if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER)
		return take_guest_mmap(p, b->machine, mode == PERF_RECORD_MISC_GUEST_KERNEL, &m,
				       time);
	if (b->machine)
		return CLEW_OK;
	return who_history_mmap(&p->history, time, mode == PERF_RECORD_MISC_KERNEL, &m);
}

static enum clew_err take_poke(struct perf_etm *p, const struct perf_record *r, uint64_t time)
{
	struct perf_text_poke t;

	return perf_text_poke_parse(r, &t) ? CLEW_BAD_FILE : pe_patches_poke(&p->patches, time, &t);
}

/** @return false: it is a guest's, and cannot be told apart. */
static bool rename_id(struct perf_etm *p, uint32_t machine, uint32_t *id)
{
	if (machine)
		*id = who_guests_number(&p->guests, machine, *id);
	return !machine || *id != PE_NONE;
}

static enum clew_err take_comm(struct perf_etm *p, const struct perf_record *r,
			       const struct beside *b)
{
	struct perf_comm c;

	if (perf_comm_parse(r, &c))
		return CLEW_BAD_FILE;
	if (!rename_id(p, b->machine, &c.pid) || !rename_id(p, b->machine, &c.tid))
		return CLEW_OK;
	return who_history_comm(&p->history, b->time, &c);
}

static enum clew_err take_task(struct perf_etm *p, const struct perf_record *r,
			       const struct beside *b)
{
	struct perf_task t;

	if (perf_task_parse(r, &t))
		return CLEW_BAD_FILE;
	if (!rename_id(p, b->machine, &t.pid) || !rename_id(p, b->machine, &t.tid) ||
	    !rename_id(p, b->machine, &t.ppid) || !rename_id(p, b->machine, &t.ptid))
		return CLEW_OK;
	return who_history_fork(&p->history, b->time, &t);
}

static enum clew_err take_switch(struct perf_etm *p, const struct perf_record *r,
				 const struct beside *b)
{
	struct perf_switch s;
	uint32_t pid = b->id.pid, tid = b->id.tid;

	if (perf_switch_parse(r, &s))
		return CLEW_BAD_FILE;
	if (s.is_out) {
		pid = s.has_other ? s.next_prev_pid : PE_NONE;
		tid = s.has_other ? s.next_prev_tid : PE_NONE;
	}
	return who_history_run(&p->history, b->time, b->id.cpu, pid, tid);
}

static enum clew_err take_start(struct perf_etm *p, const struct perf_record *r,
				const struct beside *b)
{
	struct perf_itrace_start s;

	if (perf_itrace_start_parse(r, &s))
		return CLEW_BAD_FILE;
	return who_history_run(&p->history, b->time, b->id.cpu, s.pid, s.tid);
}

static enum clew_err take_hw_id(struct perf_etm *p, const struct perf_record *r,
				const struct beside *b)
{
	struct perf_aux_output_hw_id x;
	enum clew_err err;

	if (perf_aux_output_hw_id_parse(r, &x))
		return CLEW_BAD_FILE;
	err = pe_meta_take_hw_id(&p->meta, b->id.cpu, x.hw_id);
	return err == CLEW_NO_MEMORY ? err : CLEW_OK;
}

/** Is it the trace's event, and does that follow tasks from CPU to CPU? */
static void look_at_event(struct perf_etm *p, const struct beside *b)
{
	const struct perf_attr *a = b->evsel ? &b->evsel->attr : NULL;

	if (a &&
	    (perf_attr_has(a, PERF_ATTR_INHERIT) || perf_attr_has(a, PERF_ATTR_ENABLE_ON_EXEC)))
		p->is_of_tasks = true;
}

static enum clew_err take_ids(struct perf_etm *p, const struct perf_record *r)
{
	enum clew_err err = who_guests_take_ids(&p->guests, r);

	return err ? err : pe_queues_take_ids(&p->queues, r);
}

static enum clew_err take_history(struct perf_etm *p, const struct perf_record *r,
				  const struct beside *b)
{
	switch (r->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return take_mmap(p, r, b);
	case PERF_RECORD_COMM:
		return take_comm(p, r, b);
	case PERF_RECORD_FORK:
		return take_task(p, r, b);
	case PERF_RECORD_TEXT_POKE:
		return b->machine ? CLEW_OK : take_poke(p, r, b->time);
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return b->machine ? CLEW_OK : take_switch(p, r, b);
	case PERF_RECORD_ITRACE_START:
		return take_start(p, r, b);
	default:
		return CLEW_OK;
	}
}

static bool tells_history(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_TEXT_POKE:
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_ITRACE_START:
		return true;
	default:
		return false;
	}
}

static enum clew_err take(struct perf_etm *p, const struct perf_record *r, uint64_t time,
			  struct clew_diag *diag)
{
	struct perf_build_id_record id;
	enum clew_err err;
	struct beside b;

	switch (r->type) {
	case PERF_RECORD_AUXTRACE_INFO:
		return pe_meta_take_info(&p->meta, r, diag);
	case PERF_RECORD_AUXTRACE:
		return pe_queues_take_buffer(&p->queues, r, diag);
	case PERF_RECORD_ID_INDEX:
		return take_ids(p, r);
	case PERF_RECORD_TIME_CONV:
		p->has_time_conv = !perf_time_conv_parse(r, &p->time_conv);
		return CLEW_OK;
	case PERF_RECORD_HEADER_BUILD_ID:
		return perf_build_id_parse(r, &id) ? CLEW_BAD_FILE : ana_take_build_id(p->a, &id);
	default:
		break;
	}
	if (r->type >= PERF_RECORD_HEADER_ATTR)
		return CLEW_OK;
	if (!p->has_clock)
		p->has_clock = has_clock(p);
	look_beside(p, r, time, &b);
	if (tells_history(r->type)) {
		if (p->history.is_cut)
			return CLEW_OK;
		err = take_history(p, r, &b);
		who_history_charge(&p->history, b.time, pe_patches_bytes(&p->patches));
		return err;
	}
	switch (r->type) {
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		return take_hw_id(p, r, &b);
	case PERF_RECORD_AUX:
		look_at_event(p, &b);
		return pe_queues_take_aux(&p->queues, r, &b.id, b.time);
	default:
		return CLEW_OK;
	}
}

enum { RELEASE_STEP = 8 << 20 };

/** Records wait for their turn: pages that were given back are read again then, and go again. */
static void release(const struct perf_input *in, uint64_t *at, uint64_t now)
{
	const struct os_map map = {in->data, in->size};

	if (now < *at)
		*at = now;
	if (!in->is_mapped || now - *at < RELEASE_STEP)
		return;
	os_map_release(&map, *at, now);
	*at = now;
}

enum clew_err pe_read(struct perf_etm *p, struct clew_diag *diag)
{
	const struct perf_input *in = &p->a->input;
	const struct os_map map = {in->data, in->is_mapped ? in->size : 0};
	uint64_t at = 0;
	struct clew_diag why = {0};
	struct perf_record r;
	enum clew_err err;
	uint64_t time;

	progress_begin(in->progress, "reading what ran", in->size);
	while ((err = ana_reader_next(&p->a->reader, &r, &time, &why)) == CLEW_OK) {
		struct clew_diag told = {0};

		release(in, &at, r.offset);
		err = take(p, &r, time, &told);
		perf_block_release(r.block);
		if (err == CLEW_BAD_FILE && !told.code)
			continue; /* a record nobody understands is no reason to stop */
		if (err != CLEW_OK)
			return clew_fail(diag, err, told.code ? told.offset : r.offset,
					 told.code ? told.what : clew_err_name(err));
	}
	if (err != CLEW_END && err != CLEW_TRUNCATED) {
		if (diag)
			*diag = why;
		return err;
	}
	os_map_release(&map, 0, map.size);
	return CLEW_OK;
}
