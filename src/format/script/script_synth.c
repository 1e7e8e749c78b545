/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_text_impl.h"

/* Columns of events made of a hardware trace.
 * Spec: tools/perf/builtin-script.c and util/auxtrace.c (Linux 6.1). */

enum {
	FLOW_WIDTH = 21,
	STEP = 32,     /* the column of calls grows by these */
	TOO_WIDE = 52, /* and shrinks when lines are shorter by this much */
	DSO_WIDTH = 50,
	ADDRESS_WIDTH = 16,
};

static const struct {
	uint32_t flow;
	const char *name;
} names[] = {
	{ANA_FLOW_BRANCH | ANA_FLOW_CALL,                                       "call"   },
	{ANA_FLOW_BRANCH | ANA_FLOW_CALL | ANA_FLOW_COND,                       "bco"    },
	{ANA_FLOW_BRANCH | ANA_FLOW_RETURN,                                     "return" },
	{ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_COND,                     "bro"    },
	{ANA_FLOW_BRANCH | ANA_FLOW_COND,                                       "jcc"    },
	{ANA_FLOW_BRANCH,						       "jmp"    },
	{ANA_FLOW_BRANCH | ANA_FLOW_CALL | ANA_FLOW_INTERRUPT,                  "int"    },
	{ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_INTERRUPT,                "iret"   },
	{ANA_FLOW_BRANCH | ANA_FLOW_CALL | ANA_FLOW_SYSCALL,                    "syscall"},
	{ANA_FLOW_BRANCH | ANA_FLOW_RETURN | ANA_FLOW_SYSCALL,                  "sysret" },
	{ANA_FLOW_BRANCH | ANA_FLOW_CALL | ANA_FLOW_ASYNC | ANA_FLOW_INTERRUPT, "hw int" },
	{ANA_FLOW_BRANCH | ANA_FLOW_ASYNC,                                      "async"  },
	{ANA_FLOW_BRANCH | ANA_FLOW_TX_ABORT,                                   "tx abrt"},
	{ANA_FLOW_BRANCH | ANA_FLOW_VM_ENTRY,                                   "vmentry"},
	{ANA_FLOW_BRANCH | ANA_FLOW_VM_EXIT,                                    "vmexit" },
};

/* Of a sampled branch. @return any? */
static bool add_outcome(struct buf *b, uint32_t flow)
{
	bool is_missed = flow & ANA_FLOW_MISS, is_not_taken = flow & ANA_FLOW_NOT_TAKEN;

	if (!is_missed && !is_not_taken)
		return false;
	buf_str(b, is_missed ? "/miss" : "/");
	buf_str(b, is_missed && is_not_taken ? "," : "");
	buf_str(b, is_not_taken ? "not_taken/" : "/");
	return true;
}

#define STATES (ANA_FLOW_IN_TX | ANA_FLOW_OP_IN_TX | ANA_FLOW_NO_INTR | ANA_FLOW_INTR_FLIP)

static void state_text(uint32_t flow, char ret[8])
{
	size_t nr = 0;

	ret[nr++] = '(';
	if (flow & ANA_FLOW_IN_TX)
		ret[nr++] = 'x';
	if (flow & ANA_FLOW_NO_INTR)
		ret[nr++] = 'D';
	if (flow & ANA_FLOW_INTR_FLIP)
		ret[nr++] = 't';
	ret[nr++] = ')';
	ret[nr] = '\0';
}

/* At the column's right end; after an outcome perf 7 aligns as if only its last character were
 * there. Of a sampled operation it has no letter. */
static void add_state(struct buf *b, size_t nr, bool has_outcome, uint32_t flow)
{
	char text[8];
	size_t width;

	state_text(flow, text);
	width = strlen(text);
	if (!(flow & ~(uint32_t)STATES)) { /* of no branch */
		buf_add(b, text + 1, width - 2);
		return;
	}

	if (nr + width >= FLOW_WIDTH)
		buf_char(b, ' ');
	else
		buf_fill(b, ' ', FLOW_WIDTH - width - (has_outcome ? 1 : nr));
	buf_str(b, text);
}

void script_flow_name(struct buf *b, uint32_t flow, bool is_exact)
{
	uint32_t ends = ANA_FLOW_TRACE_BEGIN | ANA_FLOW_TRACE_END, all = flow;
	size_t from = b->nr;
	bool has_outcome;

	flow &= ~(uint32_t)(ANA_FLOW_MISS | ANA_FLOW_NOT_TAKEN | STATES);
	if (flow & ANA_FLOW_INDIRECT) {
		flow &= ~(uint32_t)ANA_FLOW_INDIRECT;
		flow |= is_exact ? 0u : (uint32_t)ANA_FLOW_RETURN;
	}
	if (flow & ends)
		buf_str(b, flow & ANA_FLOW_TRACE_BEGIN ? "tr strt" : "tr end");
	if (flow & ends && (flow & ~ends) == ANA_FLOW_BRANCH) {
		if (all & STATES)
			add_state(b, b->nr - from, false, all);
		return;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].flow != (flow & ~ends))
			continue;
		if (flow & ends)
			buf_str(b, flow & ANA_FLOW_TRACE_BEGIN ? " " : "  ");
		buf_str(b, names[i].name);
	}
	has_outcome = add_outcome(b, all);
	if (all & STATES)
		add_state(b, b->nr - from, has_outcome, all);
}

void script_add_paused(struct buf *b, const struct ana_synth *synth)
{
	if (synth && synth->is_paused)
		buf_str(b, " [paused]");
}

void script_add_flow(struct buf *b, const struct ana_synth *synth)
{
	size_t from;

	buf_str(b, "  ");
	from = b->nr;
	if (synth)
		script_flow_name(b, synth->flow, false);
	if (b->nr - from < FLOW_WIDTH)
		buf_fill(b, ' ', FLOW_WIDTH - (b->nr - from));
	buf_char(b, ' ');
}

static void add_padded_dso(struct script_text *t, const struct script_evsel *e,
			   const struct ana_loc *loc)
{
	const struct script_place_style style = {.fields = e->fields & SCRIPT_DSOFF,
						 .has_kernel_path = t->opts.has_kernel_path,
						 .names = &t->names};
	struct buf *b = &t->out;
	size_t from = b->nr, nr;

	script_add_dso(b, &style, loc);
	nr = b->nr - from - 2; /* without its brackets */
	if (t->opts.pads_dso && nr < DSO_WIDTH) {
		b->nr -= !b->is_failed;
		buf_fill(b, ' ', DSO_WIDTH - nr);
		buf_char(b, ')');
	}
	buf_char(b, '\t');
}

/* What the branch is about: where a call leads to, where a return comes from. */
static size_t add_subject(struct script_text *t, const struct ana_event *ev, uint32_t depth)
{
	struct buf *b = &t->out;
	uint32_t flow = ev->synth->flow;
	bool is_to = flow & (ANA_FLOW_CALL | ANA_FLOW_TRACE_BEGIN);
	const struct ana_loc *loc = is_to ? ev->addr : ev->loc;
	uint64_t ip = is_to ? ev->sample->addr : ev->sample->ip;
	size_t from = b->nr;

	if (!is_to && !(flow & (ANA_FLOW_RETURN | ANA_FLOW_TRACE_END | ANA_FLOW_INDIRECT)))
		return 0;
	if (loc && loc->sym) {
		buf_fill(b, ' ', depth * SCRIPT_INDENT);
		escape_memo_add(&t->names, b, loc->sym->name);
	} else if (ip) {
		buf_fill(b, ' ', depth * SCRIPT_INDENT);
		buf_hex(b, ip, ADDRESS_WIDTH, ' ');
	}
	return b->nr - from;
}

size_t script_indent_width(struct script_text *t, size_t nr)
{
	if (nr > t->indent_width || (nr && nr + TOO_WIDE < t->indent_width))
		t->indent_width = (nr + 4 + STEP - 1) / STEP * STEP;
	return t->indent_width;
}

void script_add_callindent(struct script_text *t, const struct script_evsel *e,
			   const struct ana_event *ev)
{
	static const struct ana_loc nowhere;
	const struct ana_synth *y = ev->synth;
	bool is_return;
	size_t nr;

	if (!y)
		return;
	is_return = y->flow & ANA_FLOW_RETURN;
	if (e->fields & SCRIPT_DSO && !(e->fields & (SCRIPT_IP | SCRIPT_ADDR)))
		add_padded_dso(t, e, ev->loc ? ev->loc : &nowhere);
	if (t->steps.made) {
		size_t from = t->out.nr;

		add_subject(t, ev, 1);
		script_steps_mark(t, from, is_return);
		return;
	}
	/* What returns was called from one level less. */
	nr = add_subject(t, ev, y->depth + is_return);
	if (nr < script_indent_width(t, nr))
		buf_fill(&t->out, ' ', t->indent_width - nr);
}

void script_add_insn(struct script_text *t, const struct script_evsel *e,
		     const struct ana_event *ev)
{
	const struct ana_synth *y = ev->synth;
	struct buf *b = &t->out;

	if (!y)
		return;
	if (e->fields & SCRIPT_INSNLEN)
		buf_printf(b, " ilen: %u", y->insn_bytes);
	if (e->fields & SCRIPT_INSN && y->insn_bytes) {
		buf_str(b, " insn:");
		for (unsigned int i = 0; i < y->insn_bytes; i++) {
			buf_char(b, ' ');
			buf_hex(b, y->insn[i], 2, '0');
		}
	}
	if (!(e->fields & SCRIPT_DISASM) || !y->insn_bytes)
		return;
	if (!t->disasm)
		t->disasm = insn_text_new();
	buf_str(b, "\t\t");
	if (!t->disasm ||
	    !insn_text_add(t->disasm, (enum isa)y->isa, y->insn, y->insn_bytes, ev->sample->ip, b))
		buf_str(b, "(unknown)");
}

void script_add_ipc(struct buf *b, const struct ana_synth *y)
{
	uint64_t hundredths;

	if (!y->nr_cycles || !y->nr_insns)
		return;
	hundredths = y->nr_insns * 100 / y->nr_cycles;
	buf_printf(b, " \t IPC: %llu.%02llu (%llu/%llu) ", (unsigned long long)hundredths / 100,
		   (unsigned long long)hundredths % 100, (unsigned long long)y->nr_insns,
		   (unsigned long long)y->nr_cycles);
}

void script_add_trace_error(struct buf *b, const struct ana_event *ev)
{
	const struct ana_synth *y = ev->synth;

	buf_str(b, " instruction trace error type 1 time ");
	if (clew_perf_ns_is_known(ev->time) && ev->time.ns)
		buf_seconds(b, ev->time.ns);
	else
		buf_char(b, '0');
	buf_printf(b, " cpu %d pid %d tid %d ip %s%llx code %u: %s%s%s\n", (int)ev->cpu,
		   (int)ev->pid, (int)ev->tid, y->error_ip ? "0x" : "",
		   (unsigned long long)y->error_ip, y->error_code, y->error,
		   y->error_why ? ": " : "", y->error_why ? y->error_why : "");
}
