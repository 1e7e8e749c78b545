/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_json.h"

#include <stdio.h>

#include "analyze/ana_level.h"
#include "base/mem.h"
#include "format/json_put.h"
#include "format/script/script_json_op.h"
#include "format/script/script_note.h"
#include "format/script/script_parts.h"
#include "format/script/script_place.h"
#include "format/script/script_synth.h"
#include "format/user_stacks.h"
#include "format/who_answer.h"

enum { FLUSH_BYTES = 256 * 1024 };

struct script_json {
	struct script_text_opts opts;
	struct clew_sink sink;
	struct tracepoints *tracepoints;
	struct buf out, text;
	struct json_put put;
	struct script_places places; /* members of a place's object, without braces */
	uint64_t epoch, nr_events;
	bool has_epoch;
	struct {
		char text[32];
		size_t nr;
	} hows[NR_UNW_HOWS]; /* a place's last member: written for nearly each frame */
};

static void write_hows(struct script_json *j)
{
	for (int i = UNW_HOW_NONE + 1; i < NR_UNW_HOWS; i++) {
		const char *name = unw_how_name((enum unw_how)i);

		j->hows[i].nr = (size_t)snprintf(j->hows[i].text, sizeof(j->hows[i].text),
						 ",\"how\":\"%s\"", name);
	}
}

struct script_json *script_json_new(const struct script_text_opts *opts,
				    const struct clew_sink *sink)
{
	struct script_json *j = mem_zalloc(sizeof(*j));

	if (!j)
		return NULL;
	j->opts = *opts;
	j->sink = *sink;
	j->put.out = &j->out;
	write_hows(j);
	return j;
}

void script_json_free(struct script_json *j)
{
	if (!j)
		return;
	buf_done(&j->out);
	buf_done(&j->text);
	script_places_done(&j->places);
	mem_free(j);
}

void script_json_set_tracepoints(struct script_json *j, struct tracepoints *tp)
{
	j->tracepoints = tp;
}

static void put_line(struct json_put *p, const struct dso_line *l)
{
	if (l->file) {
		json_put_string(p, "file", l->file);
		json_put_u64(p, "line", l->line);
	}
}

/* Why there is no symbol, where that is known. */
static const char *why_unknown(const struct ana_loc *loc)
{
	return loc->dso ? dso_why_no_symbols(loc->dso) : "no mapping covers this address";
}

static void put_place(struct buf *b, const struct script_place_style *style,
		      const struct ana_loc *loc)
{
	struct json_put p = {.out = b};
	const char *why = loc->sym ? NULL : why_unknown(loc);

	json_put_hex(&p, "ip", loc->ip);
	if (loc->sym) {
		json_put_string(&p, "sym", loc->sym->name);
		json_put_u64(&p, "symoff", loc->rel - loc->sym->start);
	}
	if (loc->dso) {
		json_put_string(&p, "dso", dso_path(loc->dso));
		json_put_hex(&p, "dsoff", ana_loc_address(loc));
	}
	if (ana_level_name(loc->level))
		json_put_string(&p, "kind", ana_level_name(loc->level));
	if (why)
		json_put_string(&p, "why", why);
	if (!style->has_inlines || !loc->nr_lines)
		return;
	put_line(&p, &loc->lines[loc->nr_lines - 1]);
	if (loc->nr_lines < 2)
		return;
	json_key(&p, "inlined");
	json_open(&p, '[');
	for (uint32_t i = 0; i + 1 < loc->nr_lines; i++) {
		json_open(&p, '{');
		if (loc->lines[i].function)
			json_put_string(&p, "sym", loc->lines[i].function);
		put_line(&p, &loc->lines[i]);
		json_close(&p, '}');
	}
	json_close(&p, ']');
}

static void add_place(struct script_json *j, const struct ana_loc *loc)
{
	const struct script_place_style style = {.has_inlines = !j->opts.no_inlines};

	if (j->put.needs_comma)
		buf_char(&j->out, ',');
	script_places_add(&j->places, put_place, &style, loc, &j->out);
	j->put.needs_comma = true;
}

static void add_how(struct script_json *j, const struct ana_event *ev, uint32_t frame)
{
	uint32_t i = frame - ev->hows_at;

	if (ev->hows && i < ev->nr_hows)
		buf_add(&j->out, j->hows[ev->hows[i]].text, j->hows[ev->hows[i]].nr);
}

static void add_chain(struct script_json *j, const struct ana_event *ev)
{
	const struct ana_chain *chain = ev->chain;
	uint32_t nr = chain->nr;

	if (j->opts.max_stack && nr > j->opts.max_stack)
		nr = j->opts.max_stack;
	json_key(&j->put, "callchain");
	json_open(&j->put, '[');
	for (uint32_t i = 0; i < nr; i++) {
		const struct ana_loc *loc = chain->locs[i];

		json_open(&j->put, '{');
		add_place(j, loc);
		if (i && !loc->is_return && loc->level != ANA_COOKIE)
			buf_str(&j->out, ",\"exact\":true");
		add_how(j, ev, i);
		json_close(&j->put, '}');
		if (j->opts.stop_bt && loc->sym && dso_sym_is_in_list(loc->sym, j->opts.stop_bt))
			break;
	}
	json_close(&j->put, ']');
	if (chain->is_broken)
		json_put_string(&j->put, "callchain_why",
				"an undefined mark in the chain: the frames after it were skipped");
}

static void add_field(void *json, const struct tracepoint_field *f)
{
	struct script_json *j = json;
	size_t nr = bytes_left(&f->bytes);

	json_key(&j->put, f->name);
	switch (f->kind) {
	case TRACEPOINT_SIGNED:
		json_i64(&j->put, f->number);
		return;
	case TRACEPOINT_UNSIGNED:
		json_u64(&j->put, (uint64_t)f->number);
		return;
	case TRACEPOINT_TEXT:
	case TRACEPOINT_BYTES:
		break;
	}
	buf_clear(&j->text);
	if (f->kind == TRACEPOINT_TEXT)
		buf_add(&j->text, f->bytes.pos, nr);
	for (size_t i = 0; f->kind == TRACEPOINT_BYTES && i < nr; i++)
		buf_hex(&j->text, f->bytes.pos[i], 2, '0');
	json_string(&j->put, buf_cstr(&j->text));
}

static void add_trace(struct script_json *j, const struct ana_event *ev)
{
	uint64_t id = ev->evsel->attr.config;
	const struct perf_sample *s = ev->sample;

	if (ev->evsel->attr.type != PERF_TYPE_TRACEPOINT || !j->tracepoints)
		return;
	buf_clear(&j->text);
	if (!tracepoint_add_text(j->tracepoints, id, s->cpu, s->raw, &j->text)) {
		json_put_string(&j->put, "trace_why", "the recording has no format for this event");
		return;
	}
	json_put_string(&j->put, "trace", buf_cstr(&j->text));
	json_key(&j->put, "fields");
	json_open(&j->put, '{');
	tracepoint_each_field(j->tracepoints, id, s->raw, add_field, j);
	json_close(&j->put, '}');
}

static void add_branches(struct script_json *j, const struct ana_event *ev)
{
	json_key(&j->put, "branches");
	json_open(&j->put, '[');
	for (uint64_t i = 0; i < ev->sample->branches.nr; i++) {
		struct perf_branch br = perf_branch_get(ev->sample, i);

		json_open(&j->put, '{');
		json_put_hex(&j->put, "from", br.from);
		json_put_hex(&j->put, "to", br.to);
		if (br.flags & (PERF_BRANCH_MISPRED | PERF_BRANCH_PREDICTED))
			json_put_bool(&j->put, "mispredicted", br.flags & PERF_BRANCH_MISPRED);
		if (perf_branch_cycles(br.flags))
			json_put_u64(&j->put, "cycles", perf_branch_cycles(br.flags));
		json_close(&j->put, '}');
	}
	json_close(&j->put, ']');
}

/* What holds besides, of Intel PT. */
static void add_states(struct json_put *p, uint32_t flow)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} states[] = {
		{ANA_FLOW_IN_TX,     "in_transaction"   },
		{ANA_FLOW_NO_INTR,   "interrupts_off"   },
		{ANA_FLOW_INTR_FLIP, "interrupts_change"},
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (!(flow & states[i].bit))
			continue;
		json_put_bool(p, states[i].name, true);
	}
}

/* "jmp", "call", ...; where tracing begins, ends; what executed. */
static void add_synth(struct script_json *j, const struct ana_event *ev)
{
	static const char *const isas[ANA_NR_ISAS] = {
		[ANA_A64] = "A64",       [ANA_A32] = "A32",       [ANA_T32] = "T32",
		[ANA_X86_64] = "x86-64", [ANA_X86_32] = "x86-32", [ANA_X86_16] = "x86-16",
	};
	const struct ana_synth *y = ev->synth;
	struct json_put *p = &j->put;

	if (y->flow) {
		buf_clear(&j->text);
		script_flow_name(&j->text,
				 y->flow & ~(uint32_t)(ANA_FLOW_TRACE_BEGIN | ANA_FLOW_TRACE_END |
						       ANA_FLOW_MISS | ANA_FLOW_NOT_TAKEN |
						       ANA_FLOW_IN_TX | ANA_FLOW_OP_IN_TX |
						       ANA_FLOW_NO_INTR | ANA_FLOW_INTR_FLIP),
				 true);
		if (j->text.nr)
			json_put_string(p, "flow", buf_cstr(&j->text));
		add_states(p, y->flow);
	}
	if (y->flow & (ANA_FLOW_TRACE_BEGIN | ANA_FLOW_TRACE_END))
		json_put_string(p, "trace_at", y->flow & ANA_FLOW_TRACE_BEGIN ? "begin" : "end");
	if (y->insn_bytes) {
		buf_clear(&j->text);
		buf_hex_bytes(&j->text, y->insn, y->insn_bytes);
		json_put_string(p, "insn", buf_cstr(&j->text));
		json_put_string(p, "isa", isas[y->isa % ANA_NR_ISAS]);
	}
	if (y->note)
		script_json_note(p, y->note);
	if (!ev->op && !y->note)
		json_put_u64(p, "depth", y->depth);
	if (y->nr_cycles) {
		json_put_u64(p, "insns", y->nr_insns);
		json_put_u64(p, "cycles", y->nr_cycles);
	}
	if (y->window)
		json_put_u64(p, "window", y->window);
	if (y->is_paused)
		json_put_bool(p, "paused", true);
}

/* What an event's sample_type adds. */
static void add_data(struct script_json *j, const struct ana_event *ev)
{
	const struct perf_sample *s = ev->sample;
	uint64_t has = s->sample_type;
	struct json_put *p = &j->put;

	if (ev->addr) {
		json_key(p, "addr");
		json_open(p, '{');
		add_place(j, ev->addr);
		json_close(p, '}');
	}
	if (ev->op) { /* knows better what was reported */
		script_json_op(p, ev->op);
		has = 0;
	}
	if (has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		json_put_u64(p, "weight", s->weight);
	if (has & PERF_SAMPLE_DATA_SRC)
		json_put_hex(p, "data_src", s->data_src);
	if (has & PERF_SAMPLE_PHYS_ADDR)
		json_put_hex(p, "phys_addr", s->phys_addr);
	if (has & PERF_SAMPLE_DATA_PAGE_SIZE)
		json_put_u64(p, "data_page_size", s->data_page_size);
	if (has & PERF_SAMPLE_CODE_PAGE_SIZE)
		json_put_u64(p, "code_page_size", s->code_page_size);
	if (ev->cgroup)
		json_put_string(p, "cgroup", ev->cgroup);
	if (s->branches.nr)
		add_branches(j, ev);
	if (ev->synth)
		add_synth(j, ev);
}

static void add_start(struct script_json *j, const struct ana_event *ev, const char *type)
{
	struct json_put *p = &j->put;

	p->needs_comma = false;
	json_open(p, '{');
	json_put_string(p, "type", type);
	if (clew_perf_ns_is_known(ev->time))
		json_put_u64(p, "time", ev->time.ns);
	if (ev->cpu != UINT32_MAX)
		json_put_u64(p, "cpu", ev->cpu);
	if (ev->pid != UINT32_MAX)
		json_put_u64(p, "pid", ev->pid);
	if (ev->tid != UINT32_MAX)
		json_put_u64(p, "tid", ev->tid);
	if (ev->comm)
		json_put_string(p, "comm", ev->comm);
	if (ev->machine)
		json_put_u64(p, "machine_pid", ev->machine);
	if (ev->machine && ev->vcpu != UINT32_MAX)
		json_put_u64(p, "vcpu", ev->vcpu);
}

static void add_sample(struct script_json *j, const struct ana_event *ev)
{
	if (!script_keeps(j->opts.symbols, j->opts.dsos, ev->loc))
		return;
	j->nr_events++;
	add_start(j, ev, "sample");
	json_put_string(&j->put, "event", ev->evsel->name);
	json_put_u64(&j->put, "period", ev->period);
	if (ev->loc)
		add_place(j, ev->loc);
	if (ev->chain)
		add_chain(j, ev);
	user_stack_json(&j->put, ev);
	add_trace(j, ev);
	if (ev->who)
		who_answer_json(&j->put, ev->who);
	add_data(j, ev);
	json_close(&j->put, '}');
	buf_char(&j->out, '\n');
}

static void add_trace_error(struct script_json *j, const struct ana_event *ev)
{
	add_start(j, ev, "trace-error");
	json_put_u64(&j->put, "code", ev->synth->error_code);
	json_put_string(&j->put, "error", ev->synth->error);
	if (ev->synth->error_why)
		json_put_string(&j->put, "why", ev->synth->error_why);
	if (ev->synth->error_ip)
		json_put_hex(&j->put, "ip", ev->synth->error_ip);
	json_close(&j->put, '}');
	buf_char(&j->out, '\n');
}

static void add_record(struct script_json *j, const struct ana_event *ev)
{
	const char *type = perf_record_type_name(ev->record.type);

	if (ev->synth) {
		add_trace_error(j, ev);
		return;
	}
	buf_clear(&j->text);
	if (!type || !script_record_text(&j->text, j->opts.shows, &ev->record))
		return;
	j->text.nr--; /* the newline */
	add_start(j, ev, type);
	json_put_string(&j->put, "text", buf_cstr(&j->text));
	json_close(&j->put, '}');
	buf_char(&j->out, '\n');
}

enum clew_err script_json_flush(struct script_json *j)
{
	enum clew_err err = CLEW_OK;

	if (j->out.is_failed || j->text.is_failed)
		return CLEW_NO_MEMORY;
	if (j->out.nr)
		err = j->sink.write(j->sink.ctx, j->out.data, j->out.nr);
	buf_clear(&j->out);
	return err;
}

enum clew_err script_json_batch(void *json, const struct ana_batch *b)
{
	struct script_json *j = json;
	enum clew_err err = CLEW_OK;

	if (!j->has_epoch || j->epoch != b->epoch)
		script_places_forget(&j->places);
	j->epoch = b->epoch;
	j->has_epoch = true;
	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++) {
		if (b->events[i].sample)
			add_sample(j, &b->events[i]);
		else
			add_record(j, &b->events[i]);
		if (j->out.nr >= FLUSH_BYTES)
			err = script_json_flush(j);
		if (err == CLEW_OK && j->opts.max_events && j->nr_events >= j->opts.max_events) {
			err = script_json_flush(j);
			err = err == CLEW_OK ? CLEW_STOPPED : err;
		}
	}
	return err;
}
