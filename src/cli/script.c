/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/common/progress.h"
#include "cli/note_unchecked.h"
#include "cli/script_args.h"
#include "cli/script_raw.h"
#include "format/header/header_text.h"
#include "format/report/stats_text.h"
#include "format/tracing_text.h"
#include "format/user_stacks.h"
#include "format/windows_text.h"
#include "isa/text/insn_text.h"

static void wish(struct script *s)
{
	struct ana_opts *o = &s->in.opts;
	const struct script_fields *f = &s->text.fields;

	s->text.max_stack = s->max_stack > UINT32_MAX ? 0 : (uint32_t)s->max_stack;
	s->text.max_events = s->max_events;
	s->text.no_inlines = !s->has_inlines;
	o->no_merge = !s->is_merging;
	o->wants_outcomes = s->is_json || s->is_stats;
	o->wants_hows = s->is_json;
	o->is_live = !s->waits_all;
	if (o->no_merge)
		s->text.shows |= SCRIPT_SHOW_DEFERRED;
	if (s->is_stats)
		o->no_symbols = true;
	o->wants_who = s->is_stats || script_fields_any(f, SCRIPT_WHO);
	o->wants_records = (s->text.shows & ~SCRIPT_SHOW_DEFERRED) != 0;
	o->wants_addr = s->is_json || *s->around_names ||
			script_fields_any(f, SCRIPT_ADDR | SCRIPT_CALLINDENT) ||
			!f->is_touched[SCRIPT_HW]; /* which then shows where branches go */
	o->wants_branches =
		script_fields_any(f, SCRIPT_BRSTACK | SCRIPT_BRSTACKSYM | SCRIPT_BRSTACKOFF);
	o->wants_lines = s->has_inlines || script_fields_any(f, SCRIPT_SRCLINE);
	o->no_chains = s->text.no_chains || s->is_stats;
	o->is_as_perf = !s->is_json; /* docs/decisions/exec-and-maps.md */
}

static int refuse_field(const struct script *s)
{
	const struct script_missing *m = script_text_missing(s->writer);

	cli_error("samples of '%s' have no %s: the field '%s' cannot be printed", m->evsel->name,
		  m->data, m->field);
	return CLI_FAILED;
}

/* The kernel's symbols, for tracepoints with code addresses. */
static const char *name_kernel_address(void *ctx, uint64_t addr, uint64_t *ret_start)
{
	struct dso_store *store = analyze_dsos(((struct script *)ctx)->analysis);
	const struct dso_sym *sym = NULL;
	struct dso *d;

	for (size_t i = 0; !sym && (d = dso_store_at(store, i)) != NULL; i++) {
		if (dso_kind(d) == DSO_KERNEL || dso_kind(d) == DSO_MODULE)
			sym = dso_find_sym(d, addr);
	}
	if (!sym)
		return NULL;
	*ret_start = sym->start;
	return sym->name;
}

static bool wants_symbols(const struct tracepoints *t, const struct perf_evlist *l)
{
	for (size_t i = 0; i < l->evsels.nr; i++) {
		const struct perf_attr *a = &l->evsels.data[i]->attr;

		if (a->type == PERF_TYPE_TRACEPOINT && tracepoint_wants_symbols(t, a->config))
			return true;
	}
	return false;
}

static void load_tracepoints(struct script *s)
{
	struct perf_file *file = analyze_file(s->analysis);
	const struct perf_features *f = perf_file_features(file);

	if (s->has_read_tracepoints || !perf_features_has(f, PERF_FEAT_TRACING_DATA))
		return;
	s->has_read_tracepoints = true;
	s->tracepoints = tracepoints_new(f->section[PERF_FEAT_TRACING_DATA]);
	if (!s->tracepoints)
		return;
	if (wants_symbols(s->tracepoints, perf_file_evlist(file)))
		analyze_set_single_threaded(s->analysis);
	tracepoints_set_resolver(s->tracepoints, name_kernel_address, s);
	if (s->json)
		script_json_set_tracepoints(s->json, s->tracepoints);
	else
		script_text_set_tracepoints(s->writer, s->tracepoints);
}

static enum clew_err take_batch(void *ctx, const struct ana_batch *b)
{
	struct script *s = ctx;

	if (s->is_stats)
		return CLEW_OK;
	if (s->analysis)
		load_tracepoints(s); /* in a pipe they come among the records */
	if (s->around)
		return script_around_batch(s->around, b);
	return s->json ? script_json_batch(s->json, b) : script_text_batch(s->writer, b);
}

/* Each interval is listed by --stats. */
static void report_tracing(const struct script *s)
{
	const struct ana_tracing *x =
		cli_itrace_tracing(&s->itrace, analyze_summary(s->analysis)->tracing);
	clew_auto(buf_done) struct buf text = {0};

	if (x && !s->is_stats) {
		tracing_sum(&text, x);
		cli_note("%s (--stats has each)", buf_cstr(&text));
	}
	buf_clear(&text);
	for (unsigned int i = 0; tracing_sentence(&text, x, i); i++) {
		if (text.nr)
			cli_warn("%s: %s", s->in.path, buf_cstr(&text));
		buf_clear(&text);
	}
}

static void report_summary(const struct script *s)
{
	const struct ana_summary *sum = analyze_summary(s->analysis);
	clew_auto(buf_done) struct buf unwound = {0};

	if (sum->end.code == CLEW_TRUNCATED)
		cli_warn("%s: cut off at offset 0x%llx: everything before was printed", s->in.path,
			 (unsigned long long)sum->end.offset);
	if (sum->nr_bad)
		cli_warn("%s: %llu records could not be read and were skipped, the first at offset "
			 "0x%llx",
			 s->in.path, (unsigned long long)sum->nr_bad,
			 (unsigned long long)sum->first_bad_offset);
	for (unsigned int i = 0; user_stacks_sentence(&unwound, sum, i); i++) {
		if (unwound.nr && !s->is_stats)
			cli_note("%s", buf_cstr(&unwound));
		buf_clear(&unwound);
	}
	cli_input_warn(&s->in, sum);
	report_tracing(s);
	if (sum->kernel_note)
		cli_note("kernel symbols: %s", sum->kernel_note);
	cli_note_unchecked(sum);
	if (sum->code_note)
		cli_note("code made at run time: %s", sum->code_note);
	if (sum->nr_maps_dropped)
		cli_warn("%s: %llu memory mappings were skipped: the process has more than the "
			 "limit",
			 s->in.path, (unsigned long long)sum->nr_maps_dropped);
	if (sum->nr_aux_bytes && !s->itrace.events && !s->itrace.is_off && !s->is_stats)
		cli_note("%llu bytes of hardware trace were not decoded: this version prints only "
			 "the other events",
			 (unsigned long long)sum->nr_aux_bytes);
	if (sum->nr_aux_missing)
		cli_warn("%s: AUX records describe %llu bytes of hardware trace, but the file "
			 "holds none of them",
			 s->in.path, (unsigned long long)sum->nr_aux_missing);
}

static enum clew_err write_stats(struct script *s)
{
	struct clew_sink sink = cli_stdout_sink(&s->sink_diag);
	clew_auto(buf_done) struct buf text = {0};
	const struct ana_tracing *x =
		cli_itrace_tracing(&s->itrace, analyze_summary(s->analysis)->tracing);

	user_stacks_text(&text, analyze_summary(s->analysis));
	if (x)
		tracing_text(&text, x, TRACING_ALL, "");
	if (analyze_summary(s->analysis)->windows)
		windows_text(&text, analyze_summary(s->analysis)->windows);
	cli_itrace_stats(&s->itrace, s->analysis, &text);
	return text.is_failed ? CLEW_NO_MEMORY : sink.write(sink.ctx, text.data, text.nr);
}

static int run(struct script *s)
{
	struct clew_diag diag = {0};
	const struct ana_consumer consumer = {take_batch, s};
	enum clew_err err = cli_itrace_run(&s->itrace, s->analysis, &consumer, &diag);
	enum clew_err end;

	if (s->around && !err)
		err = script_around_finish(s->around);
	end = s->json ? script_json_flush(s->json) : script_text_flush(s->writer);
	if (err == CLEW_INVALID && s->writer && script_text_missing(s->writer)->evsel)
		return refuse_field(s);
	if (err == CLEW_OK)
		err = s->is_stats ? write_stats(s) : end;
	if (err == CLEW_STOPPED)
		return CLI_OK;
	if (s->sink_diag.code != CLEW_OK)
		return cli_fail("standard output", &s->sink_diag);
	if (s->analysis)
		report_summary(s);
	cli_itrace_report(&s->itrace, s->in.path, s->itrace.opts.errors);
	return err == CLEW_OK ? CLI_OK : cli_input_fail(&s->in, &diag);
}

static enum clew_err print_header(struct script *s, const struct clew_sink *sink)
{
	char date[64];
	struct header_facts facts = {
		.file = analyze_file(s->analysis),
		.captured_on = cli_input_date(&s->in, date, sizeof(date)),
		.is_full = s->is_full_header,
	};
	struct buf text = {0};
	enum clew_err err;

	header_text(&text, &facts);
	err = text.is_failed ? CLEW_NO_MEMORY : sink->write(sink->ctx, text.data, text.nr);
	buf_done(&text);
	return err;
}

static struct perf_file *file_of(const struct script *s)
{
	return s->analysis ? analyze_file(s->analysis) : NULL;
}

static void separate(void *writer)
{
	script_text_separate(writer);
}

static bool make_around(struct script *s)
{
	const struct ana_consumer text = {script_text_batch, s->writer};
	const struct ana_consumer json = {script_json_batch, s->json};
	const struct script_around_opts opts = {
		.symbols = s->around_names,
		.nr = s->around_nr,
		.consumer = s->json ? json : text,
		.separate = s->json ? NULL : separate,
	};

	s->around = script_around_new(&opts);
	return s->around;
}

static bool make_writer(struct script *s, const struct clew_sink *sink)
{
	s->text.events = s->itrace.events ? trace_events_list(s->itrace.events) : NULL;
	if (s->is_json)
		s->json = script_json_new(&s->text, sink);
	else
		s->writer = script_text_new(&s->text, file_of(s), sink);
	if (!s->json && !s->writer)
		return false;
	if (s->analysis)
		load_tracepoints(s);
	return !*s->around_names || make_around(s);
}

static int open_trace(struct script *s)
{
	const struct script_fields *f = &s->text.fields;
	const struct cli_itrace_wishes w = {
		.wants_addr = s->in.opts.wants_addr,
		.wants_branches = s->in.opts.wants_branches,
		.wants_insns = s->is_json || script_fields_any(f, SCRIPT_OF_INSNS),
		.wants_ipc = script_fields_any(f, SCRIPT_IPC) ||
			     (s->is_json && s->itrace.is_set && s->itrace.opts.is_rough),
		.wants_depth = s->is_json || script_fields_any(f, SCRIPT_CALLINDENT),
		.wants_repeats = !s->is_json && script_text_takes_repeats(&s->text),
		.wants_steps =
			!s->is_json && !*s->around_names && script_text_takes_steps(&s->text),
	};
	int status;

	if (s->is_stats)
		return cli_itrace_open_stats(&s->itrace, &s->in, s->analysis);
	status = cli_itrace_open(&s->itrace, &s->in, s->analysis, &w);
	if (status != CLI_OK || s->itrace.events ||
	    (!script_fields_any(f, SCRIPT_OF_INSNS) && !*s->around_names))
		return status;
	cli_error("%s need hardware trace, and %s has none that clew can decode",
		  *s->around_names ? "calls" : "instructions", s->in.path);
	return CLI_FAILED;
}

static int refuse_disasm(const struct script *s)
{
	if (!script_fields_any(&s->text.fields, SCRIPT_DISASM) || insn_text_is_there())
		return CLI_OK;
	cli_error("the capstone library, which disassembles instructions, is not installed, or "
		  "was not when clew was built");
	return CLI_USAGE;
}

static int open_and_run(struct script *s)
{
	struct clew_diag diag = {0};
	struct clew_sink sink = cli_stdout_sink(&s->sink_diag);
	enum clew_err err = CLEW_OK;
	int status = CLI_OK;

	if (!s->in.is_snapshot &&
	    analyze_open(&s->analysis, &s->in.input, &s->in.opts, &diag) != CLEW_OK)
		return cli_input_fail(&s->in, &diag);
	status = open_trace(s);
	if (status != CLI_OK)
		return status;
	if (!make_writer(s, &sink)) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	if (s->writer && !(file_of(s) && perf_file_is_pipe(file_of(s))) &&
	    script_text_prepare(s->writer) == CLEW_INVALID)
		return refuse_field(s);
	cli_pager_start();
	if (s->analysis && (s->has_header || s->is_header_only))
		err = print_header(s, &sink);
	if (!s->is_header_only && err == CLEW_OK)
		status = run(s);
	cli_pager_done();
	return status;
}

int cmd_script(int argc, char **argv)
{
	struct script s = {.is_merging = true, .in.takes_snapshot = true};
	int status;

	script_fields_init(&s.text.fields);
	status = script_args_parse(&s, argc, argv);
	if (status >= 0)
		return status;
	wish(&s);
	status = refuse_disasm(&s);
	if (status == CLI_OK)
		status = cli_input_open(&s.in);
	if (status != CLI_OK)
		return status;
	if (s.in.is_snapshot && (s.is_dump || s.has_header || s.is_header_only)) {
		status = cli_input_refuse_snapshot(&s.in);
		cli_input_done(&s.in);
		return status;
	}
	if (s.in.is_snapshot && s.is_stats) {
		cli_error("--stats counts the samples of a recording; a snapshot has none");
		cli_input_done(&s.in);
		return CLI_USAGE;
	}
	if (s.in.is_snapshot && !s.has_fields) /* a snapshot has no threads */
		s.text.fields.by_type[SCRIPT_HW] &= ~SCRIPT_TID;
	status = s.is_dump ? script_raw_dump(&s.in) : open_and_run(&s);
	script_around_free(s.around);
	script_text_free(s.writer);
	script_json_free(s.json);
	tracepoints_free(s.tracepoints);
	cli_itrace_done(&s.itrace);
	analyze_free(s.analysis);
	cli_input_done(&s.in);
	return status;
}
