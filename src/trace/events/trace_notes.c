/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow.h"
#include "perfdata/aux_layout.h"
#include "perfdata/perf_abi.h"
#include "trace/events/trace_events_impl.h"

/* What Intel PT reports besides execution, as events: power states, clocks, PTWRITE, interrupts and
 * other events, transactions.
 * Spec: tools/perf/util/intel-pt.c, intel_pt_synth_events (Linux 6.1). */

/** Does any recorded event have all of @p bits? */
static bool is_recorded(const struct trace_events *e, uint64_t bits)
{
	const struct perf_evlist *l = e->opts.recorded;

	for (size_t i = 0; l && i < l->evsels.nr; i++) {
		const struct perf_attr *a = &l->evsels.data[i]->attr;

		if (a->type >= PERF_TYPE_MAX_STATIC && a->config & bits)
			return true;
	}
	return false;
}

/** In the order of perf's, which is that of its columns' width. */
static const struct {
	const char *name;
	uint8_t kind;
	uint64_t config; /* an event has to have asked for it */
} kinds[] = {
	{"ptwrite", ANA_NOTE_PTWRITE, 0                  },
	{"cbr",     ANA_NOTE_CBR,     0                  },
	{"psb",     ANA_NOTE_PSB,     0                  },
	{"mwait",   ANA_NOTE_MWAIT,   AUX_PT_CONFIG_POWER},
	{"pwre",    ANA_NOTE_PWRE,    AUX_PT_CONFIG_POWER},
	{"exstop",  ANA_NOTE_EXSTOP,  AUX_PT_CONFIG_POWER},
	{"pwrx",    ANA_NOTE_PWRX,    AUX_PT_CONFIG_POWER},
	{"evt",     ANA_NOTE_EVT,     AUX_PT_CONFIG_EVENT},
	{"iflag",   ANA_NOTE_IFLAG,   AUX_PT_CONFIG_EVENT},
};

static bool is_wanted(const struct itrace_opts *o, uint8_t kind)
{
	switch ((enum ana_note_kind)kind) {
	case ANA_NOTE_PTWRITE:
		return o->ptwrites;
	case ANA_NOTE_MWAIT:
	case ANA_NOTE_PWRE:
	case ANA_NOTE_EXSTOP:
	case ANA_NOTE_PWRX:
	case ANA_NOTE_CBR:
	case ANA_NOTE_PSB:
		return o->power;
	case ANA_NOTE_EVT:
	case ANA_NOTE_IFLAG:
		return o->interrupts;
	case ANA_NR_NOTES:
		break;
	}
	return false;
}

bool trace_notes_add_evsels(struct trace_events *e)
{
	const struct itrace_opts *o = &e->opts.itrace;
	struct perf_attr a = trace_events_attr(e);

	a.sample_period = 1;
	a.sample_type |= PERF_SAMPLE_ADDR;
	if (o->transactions) {
		a.config = PERF_COUNT_HW_INSTRUCTIONS;
		e->transactions = perf_evlist_add(&e->list, &a, "transactions", NULL, 0, false);
		if (!e->transactions)
			return false;
		e->shows_notes = true;
	}
	a.type = PERF_TYPE_SYNTH;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct perf_evsel **of = &e->of_notes[kinds[i].kind];

		if (!is_wanted(o, kinds[i].kind) ||
		    (kinds[i].config && !is_recorded(e, kinds[i].config)))
			continue;
		a.config = kinds[i].kind;
		*of = perf_evlist_add(&e->list, &a, kinds[i].name, NULL, 0, false);
		if (!*of)
			return false;
		e->shows_notes = true;
	}
	return true;
}

/** @p ip: 0: unknown. */
static void emit(struct trace_synth *s, const struct perf_evsel *evsel, uint64_t ip, uint32_t flow,
		 const struct ana_note *note)
{
	struct synth_fields t = {
		.who = trace_exec_who(s), .flow = flow, .space = s->space, .period = 1};

	if (ip) {
		t.ip = ip;
		t.loc = trace_locate(s->events, s->space, ip);
	}
	trace_emit_note(s, evsel, &t, note);
}

static void emit_note(struct trace_synth *s, uint64_t ip, const struct ana_note *note)
{
	const struct perf_evsel *evsel = s->events->of_notes[note->kind];

	if (evsel)
		emit(s, evsel, ip, 0, note);
}

void trace_notes_put_cbr(struct trace_synth *s, uint64_t ip)
{
	struct ana_note n = {.kind = ANA_NOTE_CBR};
	const struct trace_unit *u = s->unit;

	if (!s->new_cbr)
		return;
	n.cbr.ratio = s->cbr = s->new_cbr;
	s->new_cbr = 0;
	n.cbr.max_ratio = u->max_ratio;
	n.cbr.khz = u->max_ratio ? u->tsc_khz / u->max_ratio * n.cbr.ratio : 0;
	emit_note(s, ip, &n);
}

/** What comes next has it, unless it came with a PSB. */
static void take_cbr(struct trace_synth *s, const struct flow_event *e)
{
	s->new_cbr = e->value != s->cbr ? (uint8_t)e->value : 0;
	if (e->count)
		trace_notes_put_cbr(s, e->end);
}

/** With a branch, it is as that says. */
static void take_if(struct trace_synth *s, const struct flow_event *e)
{
	const struct ana_note n = {
		.kind = ANA_NOTE_IFLAG, .iflag = {e->value, e->count == FLOW_IF_BRANCH}
        };
	bool has_changed = e->value != s->is_if;

	s->has_if = true;
	if (e->count == FLOW_IF_STATUS || !has_changed) {
		s->is_if = e->value;
		s->flips_if = false;
		return;
	}
	if (e->count == FLOW_IF_HERE) {
		s->is_if = e->value;
		emit_note(s, e->end, &n);
		return;
	}
	s->flips_if = true;
	emit_note(s, s->before == BEFORE_RAN ? s->last.ip : 0, &n);
}

static void take_evd(struct trace_synth *s, const struct flow_event *e)
{
	if (s->nr_evds < TRACE_MAX_EVDS)
		s->evds[s->nr_evds++] = (struct ana_evd){e->value, (uint8_t)e->count};
}

static void take_cfe(struct trace_synth *s, const struct flow_event *e)
{
	const struct ana_note n = {
		.kind = ANA_NOTE_EVT,
		.has_ip = e->has_count,
		.evt = {(uint8_t)e->count, (uint8_t)e->value, s->nr_evds, s->evds},
	};

	s->is_reported_now = true;
	emit_note(s, e->end, &n);
	s->nr_evds = 0;
}

static struct ana_note note_of(const struct flow_event *e)
{
	uint64_t v = e->value;

	switch (e->number) {
	case FLOW_NOTE_PSB:
		return (struct ana_note){.kind = ANA_NOTE_PSB, .offset = v};
	case FLOW_NOTE_MWAIT:
		return (struct ana_note){
			.kind = ANA_NOTE_MWAIT, .mwait = {(uint32_t)v, e->count}
                };
	case FLOW_NOTE_PWRE:
		return (struct ana_note){
			.kind = ANA_NOTE_PWRE, .pwre = {v >> 4 & 15, v & 15, v >> 15 & 1}
                };
	case FLOW_NOTE_EXSTOP:
		return (struct ana_note){.kind = ANA_NOTE_EXSTOP, .has_ip = e->has_count};
	case FLOW_NOTE_PWRX:
		return (struct ana_note){
			.kind = ANA_NOTE_PWRX, .pwrx = {v & 15, v >> 4 & 15, v >> 8 & 15}
                };
	default:
		return (struct ana_note){
			.kind = ANA_NOTE_PTWRITE, .has_ip = e->has_count, .payload = v};
	}
}

void trace_notes_take(struct trace_synth *s, const struct flow_event *e)
{
	const struct trace_place here = {e->address, e->space, TRACE_NO_BLOCK, e->isa};
	uint64_t ip = e->end;
	struct ana_note n;

	if (e->number == FLOW_NOTE_IF && e->count != FLOW_IF_HERE) {
		take_if(s, e);
		return;
	}
	if (e->number == FLOW_NOTE_PEBS_ITEM) {
		trace_pebs_item(s, e);
		return;
	}
	if (e->number == FLOW_NOTE_POINT) {
		trace_points_take(s, e);
		return;
	}
	if (e->is_target)
		trace_exec_pass(s, &here);
	switch (e->number) {
	case FLOW_NOTE_CBR:
		take_cbr(s, e);
		return;
	case FLOW_NOTE_IF:
		take_if(s, e);
		return;
	case FLOW_NOTE_EVD:
		take_evd(s, e);
		return;
	case FLOW_NOTE_PEBS:
		trace_pebs_take(s, e);
		return;
	case FLOW_NOTE_CFE:
		take_cfe(s, e);
		return;
	default:
		n = note_of(e);
		if (n.kind == ANA_NOTE_PSB)
			s->pebs = (struct trace_pebs){0}; /* it ends a record */
		if (n.kind == ANA_NOTE_PSB && s->before == BEFORE_NO_CODE)
			ip = 0;            /* as perf, which looks for a whole address then */
		s->is_reported_now = true; /* a place in time, as a branch is */
		trace_notes_put_cbr(s, ip);
		emit_note(s, ip, &n);
		return;
	}
}

void trace_notes_transaction(struct trace_synth *s, const struct flow_event *e)
{
	const struct trace_place here = {e->address, e->space, TRACE_NO_BLOCK, e->isa};

	if (e->number == FLOW_TRANS_INIT || e->number == FLOW_TRANS_FAILED || !e->is_target)
		return;
	trace_exec_pass(s, &here);
	emit(s, s->events->transactions, e->end, trace_exec_state(s), NULL);
}

void trace_notes_abort(struct trace_synth *s, uint32_t flow, uint64_t to)
{
	const struct synth_fields t = {
		.ip = s->last.ip,
		.addr = to,
		.loc = trace_locate(s->events, s->space, s->last.ip),
		.who = trace_exec_who(s),
		.flow = flow,
		.period = 1,
	};

	trace_emit_note(s, s->events->transactions, &t, NULL);
}
