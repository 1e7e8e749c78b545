/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_text.h"

#include "base/mem.h"
#include "format/data_src.h"
#include "format/script/script_note.h"
#include "format/script/script_text_impl.h"
#include "format/who_answer.h"

enum { NAME_MAX_WIDTH = 1024, WHO_WIDTH = 32 };

#define PLACE_FIELDS \
 (SCRIPT_IP | SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO | SCRIPT_DSOFF | SCRIPT_SRCLINE)

struct script_text *script_text_new(const struct script_text_opts *opts, struct perf_file *file,
				    const struct clew_sink *sink)
{
	struct script_text *t = mem_zalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->opts = *opts;
	t->fields = opts->fields;
	t->file = file;
	t->sink = *sink;
	return t;
}

void script_text_free(struct script_text *t)
{
	if (!t)
		return;
	for (int i = 0; i < SCRIPT_NR_TYPES; i++) {
		script_places_done(&t->flat[i]);
		script_places_done(&t->chain[i]);
	}
	insn_text_free(t->disasm);
	escape_memo_done(&t->names);
	script_repeats_done(&t->repeats);
	script_steps_done(&t->steps);
	buf_done(&t->out);
	buf_done(&t->record);
	vec_done(&t->evsels);
	mem_free(t);
}

void script_text_set_tracepoints(struct script_text *t, struct tracepoints *tp)
{
	t->tracepoints = tp;
}

const struct script_missing *script_text_missing(const struct script_text *t)
{
	return &t->missing;
}

const struct perf_evlist *script_text_events(const struct script_text *t)
{
	return t->opts.events ? t->opts.events : perf_file_evlist(t->file);
}

static bool has_any_chain(const struct perf_evlist *l)
{
	for (size_t i = 0; i < l->evsels.nr; i++) {
		if (l->evsels.data[i]->attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			return true;
	}
	return false;
}

/* The event column is as wide as the longest name of the recording, within reason. */
static size_t width_of_names(const struct script_text *t)
{
	size_t width = 0;

	vec_for_each (&t->evsels, e) {
		if (e->name.bytes > width && e->name.bytes <= NAME_MAX_WIDTH)
			width = e->name.bytes;
	}
	return width;
}

static bool is_page_fault(const struct perf_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && (a->config == PERF_COUNT_SW_PAGE_FAULTS ||
						 a->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
						 a->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

/* Each branch taken is an event. Spec: tools/perf/builtin-script.c, is_bts_event (Linux 6.1). */
static bool is_branch(const struct perf_attr *a)
{
	return a->type == PERF_TYPE_HARDWARE && a->config & PERF_COUNT_HW_BRANCH_INSTRUCTIONS &&
	       a->sample_period == 1;
}

static struct script_evsel evsel_of(struct script_text *t, const struct perf_evsel *evsel)
{
	const struct perf_attr *a = &evsel->attr;
	enum script_type type = script_type_of(a);
	uint64_t fields = t->fields.by_type[type];

	return (struct script_evsel){
		.fields = fields,
		.name = *escape_memo_get(&t->names, evsel->name),
		.type = (uint8_t)type,
		.has_chain = !t->opts.no_chains && a->sample_type & PERF_SAMPLE_CALLCHAIN &&
			     fields & SCRIPT_IP,
		.shows_addr_sym = is_page_fault(a) || is_branch(a),
		.is_branch = is_branch(a),
		.shows_addr = fields & SCRIPT_ADDR ||
			      (a->sample_type & PERF_SAMPLE_ADDR && !t->fields.is_touched[type]),
	};
}

enum clew_err script_text_prepare(struct script_text *t)
{
	const struct perf_evlist *l = script_text_events(t);
	static const struct perf_features none;
	const struct perf_features *features = t->file ? perf_file_features(t->file) : &none;

	t->fields = t->opts.fields;
	t->arch = script_arch_of(perf_features_string(features, PERF_FEAT_ARCH));
	if (!script_fields_check(&t->fields, l, t->file && perf_file_is_pipe(t->file),
				 t->opts.no_chains || !has_any_chain(l), &t->missing))
		return CLEW_INVALID;
	if (script_fields_any(&t->fields, SCRIPT_TOD) && l->evsels.nr &&
	    !perf_features_clock_data(features, &t->clocks)) {
		t->missing = (struct script_missing){l->evsels.data[0], "tod", "wall clock"};
		return CLEW_INVALID;
	}
	if (!vec_reserve(&t->evsels, l->evsels.nr))
		return CLEW_NO_MEMORY;
	t->evsels.nr = l->evsels.nr;
	for (size_t i = 0; i < l->evsels.nr; i++) {
		t->evsels.data[i] = evsel_of(t, l->evsels.data[i]);
	}
	t->name_width = width_of_names(t);
	t->is_prepared = true;
	return CLEW_OK;
}

static struct script_place_style style_of(struct script_text *t, const struct script_evsel *e,
					  bool is_chain)
{
	return (struct script_place_style){
		.fields = e->fields & PLACE_FIELDS,
		.is_chain = is_chain,
		.has_inlines = !t->opts.no_inlines,
		.is_full_path = t->opts.is_full_path,
		.has_kernel_path = t->opts.has_kernel_path,
		.names = &t->names,
	};
}

/* Before the first and after the last branch of a trace. */
static const struct ana_loc nowhere;

static void add_names(struct buf *b, const struct script_place_style *style,
		      const struct ana_loc *loc)
{
	if (style->fields & SCRIPT_SYM) {
		buf_char(b, ' ');
		script_add_sym(b, style, loc, style->fields & SCRIPT_SYMOFF);
	}
	if (style->fields & SCRIPT_DSO) {
		buf_char(b, ' ');
		script_add_dso(b, style, loc);
	}
}

/** An event that is at no place. */
static void add_nowhere(struct script_text *t, const struct script_evsel *e, uint64_t ip)
{
	const struct script_place_style style = style_of(t, e, false);

	buf_char(&t->out, ' ');
	buf_hex(&t->out, ip, 16, ' ');
	add_names(&t->out, &style, &nowhere);
}

static void add_addr(struct script_text *t, const struct script_evsel *e,
		     const struct ana_event *ev)
{
	const struct script_place_style style = style_of(t, e, false);
	struct buf *b = &t->out;

	buf_hex(b, ev->sample->addr, 16, ' ');
	if (!e->shows_addr_sym || (!ev->addr && !e->is_branch))
		return;
	add_names(b, &style, ev->addr ? ev->addr : &nowhere);
}

static bool stops_at(const struct script_text *t, const struct ana_loc *loc)
{
	return t->opts.stop_bt && loc->sym && dso_sym_is_in_list(loc->sym, t->opts.stop_bt);
}

void script_add_chain(struct script_text *t, const struct script_evsel *e,
		      const struct ana_chain *chain)
{
	const struct script_place_style style = style_of(t, e, true);
	uint32_t nr = chain->nr;

	if (t->opts.max_stack && nr > t->opts.max_stack)
		nr = t->opts.max_stack;
	for (uint32_t i = 0; i < nr; i++) {
		script_places_add(&t->chain[e->type], script_place_text, &style, chain->locs[i],
				  &t->out);
		if (stops_at(t, chain->locs[i]))
			break;
	}
}

/* The chain would come from a copied stack that is not unwound: at least its first place is known.
 */
static void add_innermost(struct script_text *t, const struct script_evsel *e,
			  const struct ana_loc *loc)
{
	const struct script_place_style style = style_of(t, e, true);

	script_places_add(&t->chain[e->type], script_place_text, &style, loc, &t->out);
}

/* perf prints none of a broken chain, unless it stops before the place where it is broken. */
static bool shows_chain(const struct script_text *t, const struct ana_chain *chain)
{
	return !chain->is_broken || (t->opts.max_stack && chain->nr >= t->opts.max_stack);
}

static void add_place(struct script_text *t, const struct script_evsel *e,
		      const struct ana_event *ev)
{
	const struct script_place_style style = style_of(t, e, false);

	if (e->has_chain) {
		buf_char(&t->out, '\n');
		if (ev->chain && shows_chain(t, ev->chain))
			script_add_chain(t, e, ev->chain);
		else if (!ev->chain && ev->loc && ev->sample->stack_user.dyn_size)
			add_innermost(t, e, ev->loc);
	} else if (!ev->loc && e->type == SCRIPT_SYNTH) {
		add_nowhere(t, e, ev->sample->ip);
	} else if (ev->loc) {
		script_places_add(&t->flat[e->type], script_place_text, &style, ev->loc, &t->out);
	}
}

/*
 * As perf 6.1 does: the offset in a file that was not found, or in the kernel or module from where
 * it was loaded. The address itself where the file was opened, as perf counts every
 * position-independent file as linked to where it runs, and where no file is.
 */
static uint64_t branch_offset(const struct ana_loc *loc, uint64_t address)
{
	uint64_t start;

	if (!loc->dso)
		return address;
	switch (dso_kind(loc->dso)) {
	case DSO_KERNEL:
	case DSO_MODULE:
		start = dso_load_start(loc->dso);
		return address >= start ? address - start : address;
	case DSO_USER:
		return dso_symbol_file(loc->dso) ? address : loc->rel;
	case DSO_VDSO:
	case DSO_JIT:
	case DSO_NO_CODE:
		break;
	}
	return address;
}

/* One end of a branch: its address, or with @p as_symbol its name. */
static void add_branch_end(struct script_text *t, const struct script_place_style *style,
			   const struct ana_loc *loc, uint64_t address, bool as_symbol)
{
	if (as_symbol) {
		script_add_sym(&t->out, style, loc, true);
	} else {
		buf_str(&t->out, "0x");
		buf_hex(&t->out, address, 0, ' ');
	}
	if (style->fields & SCRIPT_DSO)
		script_add_dso(&t->out, style, loc);
}

/* Of several of these columns perf 6.1 shows the first: brstack, brstacksym, brstackoff. */
static void add_branches(struct script_text *t, const struct script_evsel *e,
			 const struct ana_event *ev)
{
	const struct script_place_style style = style_of(t, e, false);
	bool as_symbol = !(e->fields & SCRIPT_BRSTACK) && e->fields & SCRIPT_BRSTACKSYM;
	bool as_offset = !(e->fields & (SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM));

	for (uint64_t i = 0; ev->branches && i < ev->sample->branches.nr; i++) {
		struct perf_branch br = perf_branch_get(ev->sample, i);

		if (as_offset) {
			br.from = branch_offset(ev->branches[2 * i], br.from);
			br.to = branch_offset(ev->branches[2 * i + 1], br.to);
		}
		if (!as_symbol)
			buf_char(&t->out, ' ');
		add_branch_end(t, &style, ev->branches[2 * i], br.from, as_symbol);
		buf_char(&t->out, '/');
		add_branch_end(t, &style, ev->branches[2 * i + 1], br.to, as_symbol);
		buf_char(&t->out, '/');
		script_add_branch_flags(&t->out, &br);
		buf_str(&t->out, ev->op ? "/- " : " "); /* perf 7: speculation */
	}
}

/* A column as wide as the longest text so far. */
static void add_data_src(struct script_text *t, uint64_t data_src, bool is_newer)
{
	struct buf *b = &t->out;
	size_t from;

	buf_hex(b, data_src, 16, ' ');
	buf_char(b, ' ');
	from = b->nr;
	data_src_text(b, data_src, is_newer);
	if (b->nr - from > t->data_src_width)
		t->data_src_width = b->nr - from;
	buf_fill(b, ' ', t->data_src_width - (b->nr - from));
}

/* Built for each sample from the recorded bytes. */
static void add_trace(struct script_text *t, const struct ana_event *ev)
{
	const struct perf_sample *s = ev->sample;
	size_t from = t->out.nr;

	tracepoint_add_text(t->tracepoints, ev->evsel->attr.config, s->cpu, s->raw, &t->out);
	escape_since(&t->out, from);
}

/* What stands between the event's name and the place. */
static void add_data(struct script_text *t, const struct script_evsel *e,
		     const struct ana_event *ev)
{
	const struct perf_sample *s = ev->sample;
	struct buf *b = &t->out;

	if (e->fields & SCRIPT_TRACE && t->tracepoints)
		add_trace(t, ev);
	if (e->fields & SCRIPT_NOTE && ev->synth && ev->synth->note)
		script_add_note(b, ev->synth->note);
	if (e->fields & SCRIPT_ADDR)
		add_addr(t, e, ev);
	if (e->fields & SCRIPT_DATA_SRC)
		add_data_src(t, s->data_src, ev->op);
	if (e->fields & SCRIPT_WEIGHT)
		buf_dec(b, s->weight, 16, ' ');
	if (e->fields & SCRIPT_INS_LAT)
		buf_dec(b, s->ins_lat_and_retire & 0xffff, 16, ' ');
}

static void add_rest(struct script_text *t, const struct script_evsel *e,
		     const struct ana_event *ev)
{
	const struct perf_sample *s = ev->sample;
	struct buf *b = &t->out;

	if (e->fields & SCRIPT_IREGS)
		script_add_regs(b, t->arch, s->regs_intr.abi, s->regs_intr.mask,
				&s->regs_intr.words);
	if (e->fields & SCRIPT_UREGS)
		script_add_regs(b, t->arch, s->regs_user.abi, s->regs_user.mask,
				&s->regs_user.words);
	if (e->fields & (SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF))
		add_branches(t, e, ev);
	if (e->fields & SCRIPT_BPF_OUTPUT && ev->evsel->attr.type == PERF_TYPE_SOFTWARE &&
	    ev->evsel->attr.config == PERF_COUNT_SW_BPF_OUTPUT)
		script_add_bpf_output(b, s->raw);
	script_add_insn(t, e, ev);
	if (e->fields & SCRIPT_PHYS_ADDR)
		buf_hex(b, s->phys_addr, 16, ' ');
	if (e->fields & SCRIPT_DATA_PAGE_SIZE) {
		buf_char(b, ' ');
		script_add_page_size(b, s->data_page_size);
	}
	if (e->fields & SCRIPT_CODE_PAGE_SIZE) {
		buf_char(b, ' ');
		script_add_page_size(b, s->code_page_size);
	}
	if (e->fields & SCRIPT_CGROUP) {
		buf_char(b, ' ');
		escape_memo_add(&t->names, b, ev->cgroup ? ev->cgroup : "unknown");
	}
	if (e->fields & SCRIPT_IPC && ev->synth)
		script_add_ipc(b, ev->synth);
	script_add_paused(b, ev->synth);
	buf_char(b, '\n');
}

/* A branch's line: source and target, without the columns of other samples. */
static void add_branch(struct script_text *t, const struct script_evsel *e,
		       const struct ana_event *ev)
{
	struct buf *b = &t->out;

	if (e->fields & SCRIPT_CALLINDENT)
		script_add_callindent(t, e, ev);
	if (e->fields & SCRIPT_IP && ev->loc)
		add_place(t, e, ev);
	else if (e->fields & SCRIPT_IP)
		add_nowhere(t, e, ev->sample->ip);
	if (e->shows_addr) {
		buf_str(b, " => ");
		add_addr(t, e, ev);
	}
	if (e->fields & SCRIPT_IPC && ev->synth)
		script_add_ipc(b, ev->synth);
	script_add_insn(t, e, ev);
	script_add_paused(b, ev->synth);
	buf_char(b, '\n');
}

/* Most are no wider, so that what follows stands in a column. */
static void add_who(struct buf *b, const struct who_answer *who)
{
	size_t from;

	buf_char(b, ' ');
	from = b->nr;
	who_answer_text(b, who);
	if (b->nr - from < WHO_WIDTH)
		buf_fill(b, ' ', WHO_WIDTH - (b->nr - from));
	buf_char(b, ' ');
}

void script_add_sample(struct script_text *t, const struct ana_event *ev)
{
	const struct script_evsel *e = &t->evsels.data[ev->evsel->index];
	struct buf *b = &t->out;

	if (!e->fields || !script_keeps(t->opts.symbols, t->opts.dsos, ev->loc))
		return;
	t->nr_events++;
	script_add_start(t, e, ev, ev->sample->pid, ev->sample->tid, ev->sample->cpu, ev->time);
	if (e->fields & SCRIPT_PERIOD) {
		buf_dec(b, ev->period, 10, ' ');
		buf_char(b, ' ');
	}
	if (e->fields & SCRIPT_EVENT) {
		script_add_right(b, e->name.text, e->name.bytes, t->name_width);
		buf_str(b, ": ");
	}
	if (e->fields & SCRIPT_FLAGS)
		script_add_flow(b, ev->synth);
	if (e->fields & SCRIPT_WHO) {
		add_who(b, ev->who);
	}
	if (e->is_branch) {
		add_branch(t, e, ev);
		return;
	}
	add_data(t, e, ev);
	if (e->fields & SCRIPT_IP)
		add_place(t, e, ev);
	add_rest(t, e, ev);
}
