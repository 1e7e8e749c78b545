/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_note.h"

/* Spec: tools/perf/builtin-script.c, perf_sample__fprintf_synth (Linux 6.1). */

enum { WIDTH = 34 };

static void add_hex(struct buf *b, const char *name, uint64_t v)
{
	buf_str(b, name);
	buf_str(b, v ? "0x" : "");
	buf_hex(b, v, 0, ' ');
}

/** The bytes of an operand as text, if all are. @return false: they are not. */
static bool text_of(uint64_t payload, char ret[9])
{
	size_t nr = 0;

	for (; payload; payload >>= 8) {
		char c = (char)(payload & 0x7f);

		if (payload & 0x80 || c < ' ' || c > '~')
			return false;
		ret[nr++] = c;
	}
	ret[nr] = '\0';
	return nr;
}

static void add_ptwrite(struct buf *b, const struct ana_note *n)
{
	char text[9];

	buf_printf(b, " IP: %u", n->has_ip);
	add_hex(b, " payload: ", n->payload);
	buf_char(b, ' ');
	if (text_of(n->payload, text))
		buf_str(b, text);
	buf_char(b, ' ');
}

/** Where the recording has no clock, perf takes its TSC for one of 1 GHz. */
static void add_cbr(struct buf *b, const struct ana_note *n)
{
	unsigned int ratio = n->cbr.ratio, max = n->cbr.max_ratio;
	unsigned int khz = !n->cbr.khz && max ? 1000000 / max * ratio : n->cbr.khz;

	buf_printf(b, " cbr: %2u freq: %4u MHz ", ratio, (khz + 500) / 1000);
	if (max)
		buf_printf(b, "(%3u%%) ", (5 + 1000 * ratio / max) / 10);
}

/** Spec: Intel SDM volume 3, "Control Flow Event (CFE) Packet", Type. */
static const char *const event_types[] = {
	"",     "INTR",    "IRET",   "SMI",         "RSM",      "SIPI",
	"INIT", "VMENTRY", "VMEXIT", "VMEXIT_INTR", "SHUTDOWN",
};

/** Spec: the same, "Event Data (EVD) Packet", Type. */
static const char *const data_types[] = {"PFA", "VMXQ", "VMXR"};

enum {
	NR_EVENT_TYPES = sizeof(event_types) / sizeof(event_types[0]),
	NR_DATA_TYPES = sizeof(data_types) / sizeof(data_types[0])
};

static const char *event_type(uint8_t type)
{
	return type && type < NR_EVENT_TYPES ? event_types[type] : NULL;
}

static void add_evt(struct buf *b, const struct ana_note *n)
{
	const char *type = event_type(n->evt.type);

	if (type)
		buf_printf(b, " cfe: %s", type);
	else
		buf_printf(b, " cfe: type: %u", n->evt.type);
	buf_printf(b, " IP: %u vector: %u", n->has_ip, n->evt.vector);
	for (unsigned int i = 0; i < n->evt.nr_evds; i++) {
		const struct ana_evd *e = &n->evt.evds[i];

		buf_char(b, ' ');
		if (e->type < NR_DATA_TYPES)
			buf_str(b, data_types[e->type]);
		else
			buf_printf(b, "EVD_%u", e->type);
		add_hex(b, ": ", e->payload);
	}
}

void script_add_note(struct buf *b, const struct ana_note *n)
{
	size_t from = b->nr;

	switch ((enum ana_note_kind)n->kind) {
	case ANA_NOTE_PTWRITE:
		add_ptwrite(b, n);
		break;
	case ANA_NOTE_MWAIT:
		add_hex(b, " hints: ", n->mwait.hints);
		add_hex(b, " extensions: ", n->mwait.extensions);
		buf_char(b, ' ');
		break;
	case ANA_NOTE_PWRE:
		buf_printf(b, " hw: %u cstate: %u sub-cstate: %u ", n->pwre.is_hw, n->pwre.state,
			   n->pwre.sub_state);
		break;
	case ANA_NOTE_EXSTOP:
		buf_printf(b, " IP: %u ", n->has_ip);
		break;
	case ANA_NOTE_PWRX:
		buf_printf(b, " deepest cstate: %u last cstate: %u", n->pwrx.deepest, n->pwrx.last);
		add_hex(b, " wake reason: ", n->pwrx.reason);
		buf_char(b, ' ');
		break;
	case ANA_NOTE_CBR:
		add_cbr(b, n);
		break;
	case ANA_NOTE_PSB:
		add_hex(b, " psb offs: ", n->offset);
		break;
	case ANA_NOTE_EVT:
		add_evt(b, n);
		break;
	case ANA_NOTE_IFLAG:
		buf_printf(b, " IFLAG: %d->%d %s branch", !n->iflag.is_on, n->iflag.is_on,
			   n->iflag.is_by_branch ? "via" : "non");
		break;
	case ANA_NR_NOTES:
		break;
	}
	if (b->nr - from < WIDTH)
		buf_fill(b, ' ', WIDTH - (b->nr - from));
}

static void put_evt(struct json_put *p, const struct ana_note *n)
{
	const char *type = event_type(n->evt.type);

	if (type)
		json_put_string(p, "event_type", type);
	else
		json_put_u64(p, "event_type", n->evt.type);
	json_put_u64(p, "vector", n->evt.vector);
	for (unsigned int i = 0; i < n->evt.nr_evds; i++) {
		const struct ana_evd *e = &n->evt.evds[i];
		static const char *const keys[] = {"page_fault_address", "vmx_qualification",
						   "vmx_reason"};

		if (e->type < NR_DATA_TYPES)
			json_put_hex(p, keys[e->type], e->payload);
	}
}

void script_json_note(struct json_put *p, const struct ana_note *n)
{
	switch ((enum ana_note_kind)n->kind) {
	case ANA_NOTE_PTWRITE:
		json_put_hex(p, "payload", n->payload);
		break;
	case ANA_NOTE_MWAIT:
		json_put_u64(p, "hints", n->mwait.hints);
		json_put_u64(p, "extensions", n->mwait.extensions);
		break;
	case ANA_NOTE_PWRE:
		json_put_bool(p, "hw", n->pwre.is_hw);
		json_put_u64(p, "cstate", n->pwre.state);
		json_put_u64(p, "sub_cstate", n->pwre.sub_state);
		break;
	case ANA_NOTE_EXSTOP:
		break;
	case ANA_NOTE_PWRX:
		json_put_u64(p, "deepest_cstate", n->pwrx.deepest);
		json_put_u64(p, "last_cstate", n->pwrx.last);
		json_put_u64(p, "wake_reason", n->pwrx.reason);
		break;
	case ANA_NOTE_CBR:
		json_put_u64(p, "ratio", n->cbr.ratio);
		if (n->cbr.khz)
			json_put_u64(p, "khz", n->cbr.khz);
		break;
	case ANA_NOTE_PSB:
		json_put_u64(p, "trace_offset", n->offset);
		break;
	case ANA_NOTE_EVT:
		put_evt(p, n);
		break;
	case ANA_NOTE_IFLAG:
		json_put_bool(p, "interrupts", n->iflag.is_on);
		json_put_bool(p, "by_branch", n->iflag.is_by_branch);
		break;
	case ANA_NR_NOTES:
		break;
	}
}
