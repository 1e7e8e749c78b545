/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_text.h"

#include <time.h>

#include "base/mem.h"
#include "format/data_src.h"
#include "format/script/script_text_impl.h"
#include "format/who_answer.h"

enum { NAME_MAX_WIDTH = 1024, COMM_WIDTH = 16, LATENCY_WIDTH = 8, NS_PER_SECOND = 1000000000 };

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
	script_disasm_free(t->disasm);
	escape_memo_done(&t->names);
	script_repeats_done(&t->repeats);
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

/** @p nr digits, with zeros before. @p nr is even. */
static void put_digits(char *to, uint32_t v, unsigned int nr)
{
	for (; nr; nr -= 2, v /= 100)
		dec_pair(to + nr - 2, v % 100);
}

/** "   12.": the seconds of a time. @return its size. */
static uint32_t put_seconds(char *to, uint64_t seconds)
{
	enum { WIDTH = 5 };
	char text[DEC_DIGITS];
	unsigned int nr = dec_digits(text, seconds), pad = nr < WIDTH ? WIDTH - nr : 0;

	memset(to, ' ', pad);
	memcpy(to + pad, text + DEC_DIGITS - nr, nr);
	to[pad + nr] = '.';
	return pad + nr + 1;
}

/** "000123: ", or nine digits. @return its size. */
static uint32_t put_fraction(char *to, uint32_t ns, bool is_ns)
{
	unsigned int nr = 6;

	put_digits(to, ns / 1000, nr);
	if (is_ns) {
		to[nr++] = (char)('0' + ns / 100 % 10);
		dec_pair(to + nr, ns % 100);
		nr += 2;
	}
	to[nr] = ':';
	to[nr + 1] = ' ';
	return nr + 2;
}

/* --reltime: since the first line; --deltatime: since the line before. */
static uint64_t shown_time(struct script_text *t, uint64_t time)
{
	uint64_t before = t->time_before;

	if (!t->opts.is_reltime && !t->opts.is_deltatime)
		return time;
	if (!before || t->opts.is_deltatime)
		t->time_before = time;
	return before && time > before ? time - before : 0;
}

static void add_tasks(struct buf *b, uint64_t fields, uint32_t pid, uint32_t tid)
{
	if (fields & SCRIPT_PID && fields & SCRIPT_TID) {
		buf_printf(b, "%5d/%-5d ", (int)pid, (int)tid);
	} else if (fields & (SCRIPT_PID | SCRIPT_TID)) {
		uint32_t id = fields & SCRIPT_PID ? pid : tid;

		if (id <= INT32_MAX) {
			buf_dec(b, id, 5, ' ');
			buf_char(b, ' ');
		} else {
			buf_printf(b, "%5d ", (int)id);
		}
	}
}

static void add_cpu(struct script_text *t, uint32_t cpu)
{
	if (t->opts.is_latency) {
		buf_printf(&t->out, "%3d ", (int)cpu);
	} else if (cpu <= INT32_MAX) {
		buf_char(&t->out, '[');
		buf_dec(&t->out, cpu, 3, '0');
		buf_str(&t->out, "] ");
	} else {
		buf_printf(&t->out, "[%03d] ", (int)cpu);
	}
}

/* The wall clock's, by the one instant of both clocks that the recording holds. */
static void add_time_of_day(struct script_text *t, struct clew_perf_ns time)
{
	uint64_t wall = t->clocks.wall_clock_ns + (time.ns - t->clocks.clockid_ns);
	time_t seconds = (time_t)(wall / 1000000000);
	struct tm tm;
	char text[32];

	if (!localtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm))
		return;
	buf_str(&t->out, text);
	buf_char(&t->out, '.');
	if (t->opts.is_ns)
		buf_dec(&t->out, wall % 1000000000, 9, '0');
	else
		buf_dec(&t->out, wall % 1000000000 / 1000, 6, '0');
	buf_char(&t->out, ' ');
}

static void add_right(struct buf *b, const char *s, size_t size, size_t width)
{
	if (size < width)
		buf_fill(b, ' ', width - size);
	buf_add(b, s, size);
}

static void add_comm(struct script_text *t, const struct script_evsel *e, const char *comm)
{
	const struct escaped *name = escape_memo_get(&t->names, comm);

	if (t->opts.is_latency)
		add_right(&t->out, name->text, escape_cut(name->text, name->bytes, LATENCY_WIDTH),
			  LATENCY_WIDTH);
	else
		add_right(&t->out, name->text, name->bytes, e->has_chain ? 0 : COMM_WIDTH);
	buf_char(&t->out, ' ');
}

/** Keep what @p b has from @p from on, where it fits. @return its size. */
static uint32_t keep(const struct buf *b, size_t from, char *to, size_t room)
{
	size_t bytes = b->is_failed ? 0 : b->nr - from;

	if (!bytes || bytes > room)
		return 0;
	memcpy(to, b->data + from, bytes);
	return (uint32_t)bytes;
}

static void add_task(struct script_text *t, const struct script_evsel *e, const char *comm,
		     uint32_t pid, uint32_t tid, uint32_t cpu)
{
	struct script_start *s = &t->start;
	size_t from = t->out.nr;

	if (s->task_bytes && s->fields == e->fields && s->comm == comm && s->pid == pid &&
	    s->tid == tid && s->cpu == cpu && s->has_chain == e->has_chain) {
		buf_add(&t->out, s->task, s->task_bytes);
		return;
	}
	if (e->fields & SCRIPT_COMM)
		add_comm(t, e, comm ? comm : ":-1");
	add_tasks(&t->out, e->fields, pid, tid);
	if (e->fields & SCRIPT_CPU)
		add_cpu(t, cpu);
	s->fields = e->fields;
	s->comm = comm;
	s->pid = pid;
	s->tid = tid;
	s->cpu = cpu;
	s->has_chain = e->has_chain;
	s->task_bytes = keep(&t->out, from, s->task, sizeof(s->task));
}

const struct script_start *script_set_time(struct script_text *t, struct clew_perf_ns time)
{
	struct script_start *s = &t->start;

	if (s->time_bytes && s->time.ns == time.ns)
		return s;
	if (!s->time_bytes || time.ns - s->second_ns >= NS_PER_SECOND) {
		s->second_ns = time.ns / NS_PER_SECOND * NS_PER_SECOND;
		s->second_bytes = put_seconds(s->seconds, time.ns / NS_PER_SECOND);
	}
	s->time = time;
	s->time_bytes =
		s->second_bytes + put_fraction(s->seconds + s->second_bytes,
					       (uint32_t)(time.ns - s->second_ns), t->opts.is_ns);
	return s;
}

static void add_time(struct script_text *t, struct clew_perf_ns time)
{
	const struct script_start *s = script_set_time(t, time);

	script_repeats_mark(&t->repeats, t->out.nr);
	buf_add(&t->out, s->seconds, s->time_bytes);
}

void script_add_start(struct script_text *t, const struct script_evsel *e,
		      const struct ana_event *ev, uint32_t pid, uint32_t tid, uint32_t cpu,
		      struct clew_perf_ns time)
{
	struct buf *b = &t->out;

	add_task(t, e, ev->comm, pid, tid, cpu);
	if (e->fields & SCRIPT_MISC)
		script_add_misc(b, ev->record.type, ev->record.misc);
	if (e->fields & SCRIPT_TOD)
		add_time_of_day(t, time);
	if (e->fields & SCRIPT_TIME && !clew_perf_ns_is_known(time) && ev->synth)
		buf_str(b, t->opts.is_ns ? "              -: " : "           -: ");
	else if (e->fields & SCRIPT_TIME)
		add_time(t, (struct clew_perf_ns){shown_time(t, time.ns)});
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
	return t->opts.stop_bt && loc->sym && script_list_has(t->opts.stop_bt, loc->sym->name);
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
	buf_char(b, '\n');
}

/* A branch's line: source and target, without the columns of other samples. */
static void add_branch(struct script_text *t, const struct script_evsel *e,
		       const struct ana_event *ev)
{
	const struct script_place_style style = style_of(t, e, false);
	struct buf *b = &t->out;

	if (e->fields & SCRIPT_CALLINDENT)
		script_add_callindent(t, e, ev);
	if (e->fields & SCRIPT_IP && ev->loc) {
		add_place(t, e, ev);
	} else if (e->fields & SCRIPT_IP) {
		buf_char(b, ' ');
		buf_hex(b, ev->sample->ip, 16, ' ');
		add_names(b, &style, &nowhere);
	}
	if (e->shows_addr) {
		buf_str(b, " => ");
		add_addr(t, e, ev);
	}
	if (e->fields & SCRIPT_IPC && ev->synth)
		script_add_ipc(b, ev->synth);
	script_add_insn(t, e, ev);
	buf_char(b, '\n');
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
		add_right(b, e->name.text, e->name.bytes, t->name_width);
		buf_str(b, ": ");
	}
	if (e->fields & SCRIPT_FLAGS)
		script_add_flow(b, ev->synth);
	if (e->fields & SCRIPT_WHO) {
		buf_char(b, ' ');
		who_answer_text(b, ev->who);
		buf_char(b, ' ');
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
