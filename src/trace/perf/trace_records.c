/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"
#include "trace/perf/perf_trace_impl.h"
#include "who/who_play.h"

/*
 * One pass over the file: what happens to threads and mappings goes into the history, the trace is
 * only noted. Nothing of it is decoded before all is known.
 */

/** The sample_id fields and evsel of a record. */
struct beside {
	struct perf_sample_id id;
	const struct perf_evsel *evsel;
	struct clew_perf_ns time; /* on the history's line */
	uint32_t machine;         /* 0: the host */
};

/** A file has one from the first record on, a pipe once its events are known. Samples then say
 * nothing that is asked here: they neither stand for time nor need to be put in order. */
static void look_for_clock(struct perf_trace *p)
{
	const struct perf_evlist *l = perf_file_evlist(p->file);

	for (size_t i = 0; i < l->evsels.nr && !p->has_clock; i++)
		p->has_clock = l->evsels.data[i]->attr.sample_type & PERF_SAMPLE_TIME;
	p->reader.skips_samples = p->has_clock && !p->ran.has_sched && !p->ran.has_kvm &&
				  !ana_tracing_is_switched(&p->tracing, l);
}

/** Without a clock, the order of records stands in for their time. */
static struct clew_perf_ns line_time(struct perf_trace *p, struct clew_perf_ns time)
{
	if (p->has_clock)
		return ana_time_or_first(time);
	return (struct clew_perf_ns){++p->nr_records};
}

static void read_sample_id(struct perf_trace *p, const struct perf_record *r,
			   struct clew_perf_ns time, struct beside *ret)
{
	struct bytes body = perf_record_body(r);

	ret->id = (struct perf_sample_id){.cpu = AUX_NONE, .pid = AUX_NONE, .tid = AUX_NONE};
	ret->evsel = perf_evlist_of_record(perf_file_evlist(p->file), r->type, body, r->swap);
	ret->time = line_time(p, time);
	if (ret->evsel && r->type != PERF_RECORD_SAMPLE)
		perf_sample_id_parse(body, r->swap, &ret->evsel->attr, &ret->id);
	ret->machine = ret->evsel ? who_guests_machine(&p->history.guests, ret->id.id) : 0;
}

static enum clew_err take_poke(struct perf_trace *p, const struct perf_record *r,
			       struct clew_perf_ns time)
{
	struct perf_text_poke t;

	return perf_text_poke_parse(r, &t) ? CLEW_BAD_FILE
					   : trace_patches_poke(&p->patches, time, &t);
}

static enum clew_err take_hw_id(struct perf_trace *p, const struct perf_record *r,
				const struct beside *b)
{
	struct perf_aux_output_hw_id x;

	if (perf_aux_output_hw_id_parse(r, &x))
		return CLEW_BAD_FILE;
	for (uint32_t i = 0; i < p->nr_protocols; i++) {
		const struct aux_units *u = &p->protocols[i];

		if (u->protocol->take_hw_id)
			u->protocol->take_hw_id(u->units, b->id.cpu, x.hw_id);
	}
	return CLEW_OK;
}

/** The first one of each protocol that is decoded counts. */
static enum clew_err take_info(struct perf_trace *p, const struct perf_record *r,
			       struct clew_diag *diag)
{
	struct perf_auxtrace_info info;
	const struct aux_protocol *protocol;
	struct aux_units u;

	if (perf_auxtrace_info_parse(r, &info) != CLEW_OK)
		return clew_fail(diag, CLEW_BAD_FILE, r->offset, "damaged AUXTRACE_INFO record");
	protocol = aux_protocol_of(info.type);
	if (!protocol || p->nr_protocols == AUX_MAX_PROTOCOLS ||
	    perf_trace_protocol(p, protocol->type) < p->nr_protocols)
		return CLEW_OK;
	u = (struct aux_units){.protocol = protocol, .units = protocol->units_new()};
	if (!u.units)
		return clew_fail(diag, CLEW_NO_MEMORY, r->offset, "out of memory");
	p->arch = p->nr_protocols ? p->arch : protocol->arch;
	p->protocols[p->nr_protocols++] = u;
	return protocol->take_info(u.units, r, &info, diag);
}

/** Of the event that wrote an AUX record; where that is unknown, the first. */
static uint32_t protocol_of(const struct perf_trace *p, const struct beside *b)
{
	for (uint32_t i = 0; b->evsel && i < p->nr_protocols; i++) {
		const struct aux_units *u = &p->protocols[i];
		uint32_t type;

		if (u->protocol->pmu_type && u->protocol->pmu_type(u->units, &type) &&
		    type == b->evsel->attr.type)
			return i;
	}
	return 0;
}

/** Is it the trace's event, and does that follow tasks from CPU to CPU? */
static void look_at_event(struct perf_trace *p, const struct beside *b)
{
	const struct perf_attr *a = b->evsel ? &b->evsel->attr : NULL;

	if (a &&
	    (perf_attr_has(a, PERF_ATTR_INHERIT) || perf_attr_has(a, PERF_ATTR_ENABLE_ON_EXEC)))
		p->is_of_tasks = true;
}

static enum clew_err take_aux(struct perf_trace *p, const struct perf_record *r,
			      const struct beside *b)
{
	const struct aux_beside beside = {&b->id, b->time, protocol_of(p, b),
					  who_ran_owner_of_aux(p->ran.rule)};
	struct perf_aux aux;

	if (p->wants_windows && !ana_windows_take_aux(&p->windows, r, &b->id))
		return CLEW_NO_MEMORY;
	/* SPE's driver counts from the start of its buffer again in a snapshot: such a record
	 * says nothing of where in the ring's bytes the trace is. */
	if (beside.protocol < p->nr_protocols &&
	    p->protocols[beside.protocol].protocol->takes_uncovered &&
	    (perf_aux_parse(r, &aux) || aux.flags & PERF_AUX_FLAG_OVERWRITE))
		return CLEW_OK;
	return aux_chunks_take_aux(&p->chunks, r, &beside);
}

static enum clew_err take_ids(struct perf_trace *p, const struct perf_record *r)
{
	enum clew_err err = who_guests_take_ids(&p->history.guests, r);

	if (p->wants_windows && !ana_windows_take_ids(&p->windows, r))
		return CLEW_NO_MEMORY;
	return err ? err : aux_chunks_take_ids(&p->chunks, r);
}

/** Which program of a process made code at run time, and its jitdump files. */
static enum clew_err take_program(struct perf_trace *p, const struct perf_record *r,
				  struct clew_perf_ns time)
{
	uint32_t pid;

	return ana_places_take_program(p->places, r, time, &pid);
}

static enum clew_err take_history(struct perf_trace *p, const struct perf_record *r,
				  const struct beside *b)
{
	const struct who_stamp stamp = {b->time, b->machine, b->id.cpu, b->id.pid, b->id.tid};
	struct who_history *h = &p->history;

	if ((r->type == PERF_RECORD_MMAP || r->type == PERF_RECORD_MMAP2) && !b->machine &&
	    ana_places_take_kernel(p->places, r) != CLEW_OK)
		return CLEW_NO_MEMORY;
	if (r->type == PERF_RECORD_TEXT_POKE)
		return b->machine ? CLEW_OK : take_poke(p, r, b->time);
	if (!b->machine && take_program(p, r, b->time))
		return CLEW_NO_MEMORY;
	return who_play(&who_player_of_history, h, &h->guests, r, &stamp);
}

/** Without room for the record, who ran is unknown from then on. */
static enum clew_err take_switches(struct perf_trace *p, const struct perf_record *r,
				   const struct beside *b)
{
	if (p->history.is_cut && r->type != PERF_RECORD_AUX)
		return CLEW_OK;
	return b->machine ? trace_ran_take_guest(p, r, &b->id, b->time)
			  : trace_ran_take(p, r, b->evsel, &b->id, b->time);
}

static enum clew_err charge(struct perf_trace *p, struct clew_perf_ns time)
{
	who_history_charge(&p->history, time,
			   trace_patches_bytes(&p->patches) + who_ran_bytes(p->ran.rule));
	return p->history.is_cut && !who_ran_cut(p->ran.rule, time) ? CLEW_NO_MEMORY : CLEW_OK;
}

static enum clew_err take(struct perf_trace *p, const struct perf_record *r,
			  struct clew_perf_ns time, struct clew_diag *diag)
{
	struct perf_build_id_record id;
	enum clew_err err;
	struct beside b;

	switch (r->type) {
	case PERF_RECORD_AUXTRACE_INFO:
		return take_info(p, r, diag);
	case PERF_RECORD_AUXTRACE:
		if (p->wants_windows && !ana_windows_take_buffer(&p->windows, r))
			return CLEW_NO_MEMORY;
		return aux_chunks_take_buffer(&p->chunks, r, diag);
	case PERF_RECORD_ID_INDEX:
		return take_ids(p, r);
	case PERF_RECORD_HEADER_EVENT_TYPE: /* docs/spec/perf-data.md: what the recorder knows */
		return trace_ran_begin(p);
	case PERF_RECORD_TIME_CONV:
		p->has_time_conv = !perf_time_conv_parse(r, &p->time_conv);
		ana_places_take_time_conv(p->places, r);
		return CLEW_OK;
	case PERF_RECORD_HEADER_BUILD_ID:
		return perf_build_id_parse(r, &id) ? CLEW_BAD_FILE
						   : ana_places_take_build_id(p->places, &id);
	default:
		break;
	}
	if (r->type >= PERF_RECORD_HEADER_ATTR)
		return CLEW_OK;
	if (!p->has_clock)
		look_for_clock(p);
	read_sample_id(p, r, time, &b);
	if (r->type == PERF_RECORD_NAMESPACES && !b.machine &&
	    ana_places_take_namespaces(p->places, r) == CLEW_NO_MEMORY)
		return CLEW_NO_MEMORY;
	err = take_switches(p, r, &b);
	if (err && err != CLEW_BAD_FILE)
		return err;
	if (who_plays(&who_player_of_history, r->type) || r->type == PERF_RECORD_TEXT_POKE) {
		if (p->history.is_cut)
			return CLEW_OK;
		err = take_history(p, r, &b);
		return err ? err : charge(p, b.time);
	}
	switch (r->type) {
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		return take_hw_id(p, r, &b);
	case PERF_RECORD_AUX:
		look_at_event(p, &b);
		return take_aux(p, r, &b);
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

static void ask_for_conversion(struct perf_trace *p)
{
	for (uint32_t i = 0; i < p->nr_protocols && !p->has_time_conv; i++) {
		const struct aux_units *u = &p->protocols[i];

		p->has_time_conv =
			u->protocol->time_conv && u->protocol->time_conv(u->units, &p->time_conv);
	}
}

enum clew_err trace_records_read(struct perf_trace *p, struct clew_diag *diag)
{
	const struct perf_input *in = &p->input;
	const struct os_map map = {in->data, in->is_mapped ? in->size : 0};
	uint64_t at = 0;
	struct clew_diag why = {0};
	struct perf_record r;
	enum clew_err err;
	struct clew_perf_ns time;

	look_for_clock(p);
	progress_begin(in->progress, "reading what was executed", in->size);
	while ((err = ana_reader_next(&p->reader, &r, &time, &why)) == CLEW_OK) {
		struct clew_diag failed = {0};

		release(in, &at, r.offset);
		err = ana_tracing_take(&p->tracing, perf_file_evlist(p->file), &r, time);
		if (err == CLEW_OK)
			err = take(p, &r, time, &failed);
		perf_block_release(r.block);
		if (err == CLEW_BAD_FILE && !failed.code)
			continue; /* one unusable record is no reason to stop */
		if (err != CLEW_OK)
			return clew_fail(diag, err, failed.code ? failed.offset : r.offset,
					 failed.code ? failed.what : clew_err_name(err));
	}
	if (err != CLEW_END && err != CLEW_TRUNCATED) {
		if (diag)
			*diag = why;
		return err;
	}
	if (err == CLEW_TRUNCATED)
		p->trace.cut = why;
	os_map_release(&map, 0, map.size);
	ask_for_conversion(p);
	return CLEW_OK;
}
