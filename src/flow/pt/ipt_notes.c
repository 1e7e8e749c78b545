/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_walk.h"
#include "flow/pt/ipt_flow_impl.h"
#include "isa/x86/x86_branch.h"

/* Packets that say something besides execution, and where: at their FUP, at an instruction of the
 * code, or here.
 * Spec: Intel SDM volume 3, "Intel Processor Trace", "Packet Definitions". */

/** As far as execution is known to have come, or FLOW_NO_ADDRESS. */
static uint64_t place_of(const struct ipt_flow *f)
{
	if (f->power != IPT_ON)
		return FLOW_NO_ADDRESS;
	if (ipt_has_points(f))
		return f->has_point ? f->point : FLOW_NO_ADDRESS;
	return ipt_is_ready(f) ? f->flow.pc : FLOW_NO_ADDRESS;
}

static void put_note(struct ipt_flow *f, const struct flow_event *note, uint64_t ip)
{
	struct flow_event e = *note;

	e.is_target = place_of(f) != FLOW_NO_ADDRESS;
	e.address = e.is_target ? place_of(f) : f->flow.pc;
	e.has_end = ip != FLOW_NO_ADDRESS;
	e.end = e.has_end ? ip : 0;
	e.space = f->flow.space;
	e.isa = (uint8_t)f->flow.isa;
	flow_put_event(&f->flow, &e);
}

static struct flow_event note_of(enum flow_note number, uint64_t value, uint32_t count)
{
	return (struct flow_event){
		.kind = FLOW_EV_NOTE, .number = number, .value = value, .count = count};
}

/** There. */
static bool put_here(struct ipt_flow *f, const struct flow_event *note)
{
	if (f->power == IPT_ON && !flow_pop(&f->flow))
		return false;
	put_note(f, note, place_of(f));
	return true;
}

static bool add_note(struct ipt_flow *f, const struct flow_event *e)
{
	if (f->nr_notes == IPT_MAX_NOTES)
		return ipt_bad_trace(f, "events, and no FUP of theirs");
	f->notes[f->nr_notes++] = *e;
	return true;
}

/** At its FUP, or here. */
static bool take_with_fup(struct ipt_flow *f, const struct ipt_packet *k, struct flow_event e)
{
	e.has_count = k->has_fup;
	return k->has_fup ? add_note(f, &e) : put_here(f, &e);
}

/** The last event, that of a PTWRITE, was at @p ip, if the batch still has it. */
static void place_last(struct flow *f, uint64_t ip)
{
	for (size_t i = f->events.nr; i-- > 0 && f->events.data[i].offset == f->offset;) {
		struct flow_event *e = &f->events.data[i];

		if (e->kind != FLOW_EV_NOTE)
			continue;
		e->has_end = true;
		e->end = ip;
		return;
	}
}

/** Without a FUP it stands where its packet does, before what leads to its instruction. */
static bool take_ptwrite(struct ipt_flow *f, const struct ipt_packet *k)
{
	struct flow_event e = note_of(FLOW_NOTE_PTWRITE, k->ptw, 0);
	uint64_t ip = FLOW_NO_ADDRESS;

	if (k->has_fup)
		return take_with_fup(f, k, e);
	if (f->power == IPT_ON && !flow_pop(&f->flow))
		return false;
	if (f->flow.nr_items + FLOW_ITEMS_OF_PACKET > FLOW_BATCH_ITEMS)
		flow_deliver(&f->flow); /* so that it is still there after the walk */
	put_note(f, &e, FLOW_NO_ADDRESS);
	if (f->power == IPT_ON && !f->nr_waiting && !ipt_run_special(f, X86_PTWRITE, &ip))
		return false;
	if (ip != FLOW_NO_ADDRESS)
		place_last(&f->flow, ip);
	return true;
}

static bool take_transaction(struct ipt_flow *f, const struct ipt_packet *k)
{
	const struct flow_event e = {.kind = FLOW_EV_TRANSACTION,
				     .number = k->tsx.is_in ? FLOW_TRANS_START
							    : FLOW_TRANS_COMMITTED};

	if (f->power != IPT_ON) {
		f->is_in_transaction = k->tsx.is_in;
		return true;
	}
	f->is_abort = k->tsx.is_abort;
	return k->tsx.is_abort || add_note(f, &e);
}

static bool put_idles(struct ipt_flow *f)
{
	bool is_ok = true;

	for (unsigned int i = 0; i < f->nr_idles && is_ok; i++)
		is_ok = put_here(f, &f->idles[i]);
	f->nr_idles = 0;
	return is_ok;
}

bool ipt_settle_idles(struct ipt_flow *f, enum ipt_kind kind)
{
	if (!f->nr_idles || ipt_is_time(kind) || kind == IPT_PWRE || kind == IPT_EXSTOP)
		return true;
	return put_idles(f);
}

/** Its place is that of the EXSTOP that follows. */
static bool add_idle(struct ipt_flow *f, const struct flow_event *e)
{
	if (f->nr_idles == IPT_MAX_IDLES && !put_idles(f))
		return false;
	f->idles[f->nr_idles++] = *e;
	return true;
}

static bool take_mwait(struct ipt_flow *f, const struct ipt_packet *k)
{
	const struct flow_event e = note_of(FLOW_NOTE_MWAIT, k->mwait.hints, k->mwait.extensions);

	return f->power == IPT_ON ? add_idle(f, &e) : put_here(f, &e);
}

static bool take_exstop(struct ipt_flow *f, const struct ipt_packet *k)
{
	for (unsigned int i = 0; i < f->nr_idles && k->has_fup; i++)
		if (!add_note(f, &f->idles[i]))
			return false;
	if (!k->has_fup && !put_idles(f))
		return false;
	f->nr_idles = 0;
	return take_with_fup(f, k, note_of(FLOW_NOTE_EXSTOP, 0, 0));
}

/** That of an MWAIT has its place. */
static bool take_pwre(struct ipt_flow *f, const struct ipt_packet *k)
{
	const struct flow_event e =
		note_of(FLOW_NOTE_PWRE,
			(uint64_t)k->pwre.sub_state | (uint64_t)k->pwre.state << 4 |
				(uint64_t)k->pwre.is_hw << 15,
			0);

	return f->nr_idles ? add_idle(f, &e) : put_here(f, &e);
}

static bool take_pwrx(struct ipt_flow *f, const struct ipt_packet *k)
{
	const struct flow_event e =
		note_of(FLOW_NOTE_PWRX,
			(uint64_t)k->pwrx.deepest | (uint64_t)k->pwrx.last << 4 |
				(uint64_t)k->pwrx.reason << 8,
			0);

	return put_here(f, &e);
}

static bool take_evd(struct ipt_flow *f, const struct ipt_packet *k)
{
	if (f->nr_evds == IPT_MAX_EVDS)
		return ipt_bad_trace(f, "data of events, and no event");
	f->evds[f->nr_evds++] = (struct ipt_evd){k->evd.payload, k->evd.type};
	return true;
}

/** With a FUP of its own, or of the event that the next FUP opens; where nothing is traced, here.
 */
static bool take_cfe(struct ipt_flow *f, const struct ipt_packet *k)
{
	struct flow_event e = note_of(FLOW_NOTE_CFE, k->cfe.vector, k->cfe.type);

	e.has_count = k->has_fup;
	if (k->has_fup)
		return add_note(f, &e);
	f->cfe = e;
	f->has_cfe = true;
	if (f->power != IPT_ON || f->config->has_no_branches)
		ipt_put_cfe(f, FLOW_NO_ADDRESS);
	return true;
}

static void put_evds(struct ipt_flow *f, uint64_t ip)
{
	for (unsigned int i = 0; i < f->nr_evds; i++) {
		const struct flow_event e =
			note_of(FLOW_NOTE_EVD, f->evds[i].payload, f->evds[i].type);

		put_note(f, &e, ip);
	}
	f->nr_evds = 0;
}

void ipt_put_cfe(struct ipt_flow *f, uint64_t ip)
{
	if (!f->has_cfe)
		return;
	f->has_cfe = false;
	f->cfe.has_count = ip != FLOW_NO_ADDRESS;
	put_evds(f, ip);
	put_note(f, &f->cfe, ip);
}

void ipt_put_waiting(struct ipt_flow *f)
{
	put_idles(f);
	for (unsigned int i = 0; i < f->nr_notes; i++) {
		struct flow_event *e = &f->notes[i];

		e->has_count = false;
		if (e->kind == FLOW_EV_NOTE)
			put_note(f, e, FLOW_NO_ADDRESS);
	}
	f->nr_notes = 0;
	ipt_put_cfe(f, FLOW_NO_ADDRESS);
	put_evds(f, FLOW_NO_ADDRESS);
}

void ipt_put_psb(struct ipt_flow *f)
{
	const struct flow_event psb = note_of(FLOW_NOTE_PSB, f->psb_offset, 0);
	const struct flow_event cbr = note_of(FLOW_NOTE_CBR, f->cbr, 1);

	if (f->has_psb)
		put_note(f, &psb, f->psb_ip);
	if (f->has_cbr)
		put_note(f, &cbr, f->psb_ip);
	f->has_psb = f->has_cbr = false;
}

void ipt_put_if(struct ipt_flow *f, bool is_if, enum flow_note_if how, uint64_t ip)
{
	const struct flow_event e = note_of(FLOW_NOTE_IF, is_if, how);

	if (!f->config->has_event_trace || (f->has_if && f->is_if == is_if))
		return;
	f->has_if = true;
	f->is_if = is_if;
	put_note(f, &e, ip);
}

static bool take_cbr(struct ipt_flow *f, const struct ipt_packet *k)
{
	const struct flow_event e = note_of(FLOW_NOTE_CBR, k->cbr, 0);

	put_note(f, &e, FLOW_NO_ADDRESS);
	return true;
}

/** Spec: Intel SDM volume 3, "Block Item Packet (BIP)". */
static bool take_pebs_item(struct ipt_flow *f, const struct ipt_packet *k)
{
	struct flow_event e = note_of(FLOW_NOTE_PEBS_ITEM, k->bip.value,
				      (uint32_t)f->pebs_block << 8 | k->bip.item);

	e.address = e.count;
	flow_put_event(&f->flow, &e);
	return true;
}

/** Reported nowhere; its FUP is its own. */
static bool take_silent(struct ipt_flow *f, const struct ipt_packet *k)
{
	const struct flow_event none = {.kind = NR_FLOW_EVENTS};

	return k->has_fup ? add_note(f, &none) : true;
}

bool ipt_take_note(struct ipt_flow *f, const struct ipt_packet *k, bool *ret)
{
	switch (k->kind) {
	case IPT_MODE_TSX:
		*ret = take_transaction(f, k);
		return true;
	case IPT_PTW:
		*ret = take_ptwrite(f, k);
		return true;
	case IPT_MWAIT:
		*ret = take_mwait(f, k);
		return true;
	case IPT_PWRE:
		*ret = take_pwre(f, k);
		return true;
	case IPT_EXSTOP:
		*ret = take_exstop(f, k);
		return true;
	case IPT_PWRX:
		*ret = take_pwrx(f, k);
		return true;
	case IPT_EVD:
		*ret = take_evd(f, k);
		return true;
	case IPT_CFE:
		*ret = take_cfe(f, k);
		return true;
	case IPT_CBR:
		*ret = take_cbr(f, k);
		return true;
	case IPT_BBP:
		f->pebs_block = k->bbp.type;
		*ret = true;
		return true;
	case IPT_BIP:
		*ret = take_pebs_item(f, k);
		return true;
	case IPT_BEP:
		*ret = take_with_fup(f, k, note_of(FLOW_NOTE_PEBS, 0, 0));
		return true;
	case IPT_TRIG:
		*ret = take_silent(f, k);
		return true;
	default:
		return false;
	}
}

static bool run_to_note(struct ipt_flow *f, const struct flow_event *e, uint64_t ip)
{
	return e->kind == FLOW_EV_NOTE && e->number == FLOW_NOTE_PTWRITE
		     ? ipt_run_through(f, ip, X86_PTWRITE)
		     : ipt_run_to(f, ip);
}

/** Does it come after what is said of the place itself? As perf has them. */
static bool is_after_point(const struct flow_event *e)
{
	return e->kind == FLOW_EV_TRANSACTION ||
	       (e->kind == FLOW_EV_NOTE && e->number == FLOW_NOTE_PTWRITE);
}

bool ipt_put_notes(struct ipt_flow *f, uint64_t ip)
{
	bool has_point = false;

	for (unsigned int i = 0; i < f->nr_notes; i++) {
		const struct flow_event *e = &f->notes[i];

		if (f->power == IPT_ON && !run_to_note(f, e, ip))
			return false;
		if (e->kind == FLOW_EV_TRANSACTION)
			f->was_in_transaction = f->is_in_transaction =
				e->number == FLOW_TRANS_START;
		if (!has_point && is_after_point(e)) {
			ipt_put_point(f, ip, FLOW_POINT_HERE);
			has_point = true;
		}
		if (e->kind == FLOW_EV_NOTE && e->number == FLOW_NOTE_CFE)
			put_evds(f, ip);
		if (e->kind < NR_FLOW_EVENTS)
			put_note(f, e, ip);
	}
	f->nr_notes = 0;
	if (!has_point)
		ipt_put_point(f, ip, FLOW_POINT_HERE);
	return true;
}
