/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/pager.h"
#include "cli/common/progress.h"
#include "cli/export_code.h"
#include "cli/export_jumps.h"
#include "format/export/export_formats.h"
#include "os/library.h"
#include "profile/call_start.h"

enum { MAX_LISTED = 8 };

/* --- options --- */

static void list_formats(struct buf *out)
{
	const struct export_format *f;
	const struct code_format *c;

	for (size_t i = 0; (f = export_format_at(i)); i++)
		buf_printf(out, "%s%s", i ? ", " : "", f->name);
	for (size_t i = 0; (c = export_code_at(i)); i++)
		buf_printf(out, ", %s", c->name);
}

static int choose_format(struct export_run *r)
{
	clew_auto(buf_done) struct buf list = {0};

	list_formats(&list);
	if (!r->format_name) {
		cli_error("export: --to FORMAT is missing");
		cli_hint("formats: %s", buf_cstr(&list));
		return CLI_USAGE;
	}
	r->opts.format = export_format_find(r->format_name);
	r->code = export_code_find(r->format_name);
	if (r->opts.format || r->code)
		return CLI_OK;
	cli_error("export: there is no format '%s'", r->format_name);
	cli_hint("formats: %s", buf_cstr(&list));
	return CLI_USAGE;
}

static int choose_weight(struct export_run *r)
{
	if (!r->weight || !strcmp(r->weight, "period"))
		return CLI_OK;
	r->opts.by_samples = !strcmp(r->weight, "samples");
	if (r->opts.by_samples)
		return CLI_OK;
	cli_error("--weight is 'samples' or 'period', not '%s'", r->weight);
	return CLI_USAGE;
}

static bool is_autofdo(const struct export_run *r)
{
	return r->code && !strcmp(r->code->name, "autofdo");
}

static bool is_exact(const struct export_run *r)
{
	return r->code && r->code->is_exact;
}

static uint32_t key_of(const char *word, size_t len)
{
	static const struct {
		const char *name;
		uint32_t keys;
	} all[] = {
		{"pid",    EXPORT_BY_PID                },
		{"tid",    EXPORT_BY_PID | EXPORT_BY_TID},
		{"cpu",    EXPORT_BY_CPU                },
		{"cgroup", EXPORT_BY_CGROUP             },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (strlen(all[i].name) == len && !strncmp(all[i].name, word, len))
			return all[i].keys;
	}
	return 0;
}

static int choose_keys(struct export_run *r)
{
	for (const char *at = r->by; at && *at; at += *at == ',') {
		size_t len = strcspn(at, ",");
		uint32_t key = key_of(at, len);

		if (!key) {
			cli_error("--by: there is no key '%.*s'", (int)len, at);
			cli_hint("keys: pid, tid, cpu, cgroup");
			return CLI_USAGE;
		}
		if (key & ~(r->opts.format->keys | r->opts.format->more_keys)) {
			cli_error("--by: %s does not distinguish by %.*s", r->opts.format->name,
				  (int)len, at);
			return CLI_USAGE;
		}
		r->opts.keys |= key;
		at += len;
	}
	return CLI_OK;
}

static int check_addresses(const struct export_run *r)
{
	if (!r->opts.has_addresses || r->opts.format->has_addresses)
		return CLI_OK;
	cli_error("--instr: %s has no place for the costs of instructions", r->opts.format->name);
	cli_hint("--to callgrind has one");
	return CLI_USAGE;
}

/* Of formats of what ran, and those of samples. */
static int refuse_options(const struct export_run *r)
{
	const struct {
		bool is_set;
		const char *name;
	} all[] = {
		{r->code && r->weight,               "--weight"         },
		{r->code && r->by,                   "--by"             },
		{r->code && r->itrace.is_set,        "--itrace"         },
		{r->code && r->opts.has_addresses,   "--instr"          },
		{r->code && r->opts.no_inline,       "--no-inline"      },
		{r->code && r->opts.no_cut_frames,   "--no-cut-frames"  },
		{r->code && r->opts.no_level_suffix, "--no-level-suffix"},
		{!r->code && r->binary,              "--binary"         },
		{!is_exact(r) && r->takes_hits,      "--samples"        },
		{!is_autofdo(r) && r->has_indirect,  "--indirect"       },
		{!is_autofdo(r) && r->base_name,     "--autofdo-base"   },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (!all[i].is_set)
			continue;
		cli_error("%s is not for --to %s", all[i].name, r->format_name);
		return CLI_USAGE;
	}
	return CLI_OK;
}

static int check_output(const struct export_run *r)
{
	if (r->out_path || !r->opts.format->is_binary || !cli_is_terminal())
		return CLI_OK;
	cli_error("%s is a binary format, and standard output is a terminal", r->opts.format->name);
	cli_hint("name a file with -o FILE");
	return CLI_USAGE;
}

static int check_library(const struct export_run *r)
{
	const char *name = r->opts.format->library;

	if (!name || os_library_load(name))
		return CLI_OK;
	cli_error("%s needs the library %s, which was not found", r->opts.format->name, name);
	cli_hint("it is looked for as every library of a program: in the directories of "
		 "LD_LIBRARY_PATH and of /etc/ld.so.conf, /lib and /usr/lib");
	return CLI_USAGE;
}

static int choose(struct export_run *r)
{
	int status = choose_format(r);

	if (status == CLI_OK)
		status = refuse_options(r);
	if (status != CLI_OK || r->code)
		return status;
	status = choose_weight(r);
	if (status == CLI_OK)
		status = choose_keys(r);
	if (status == CLI_OK)
		status = check_addresses(r);
	if (status == CLI_OK)
		status = check_output(r);
	return status == CLI_OK ? check_library(r) : status;
}

static int set_inline(void *no_inline, const char *arg, bool is_negated)
{
	(void)arg;
	*(bool *)no_inline = is_negated;
	return 0;
}

/* Each with what reads it. */
static void describe_formats(struct buf *out)
{
	const struct export_format *f;
	const struct code_format *c;

	for (size_t i = 0; (f = export_format_at(i)); i++)
		buf_printf(out, "%s%s (%s)", i ? "; " : "", f->name, f->summary);
	for (size_t i = 0; (c = export_code_at(i)); i++)
		buf_printf(out, "; %s (%s)", c->name, c->summary);
}

static int parse(struct export_run *r, int argc, char **argv)
{
	clew_auto(buf_done) struct buf formats = {0};

	describe_formats(&formats);
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Output", NULL, NULL, CLI_SECTION},
		{0, "to", "FORMAT", buf_cstr(&formats), CLI_STRING, &r->format_name},
		{'o', "output", "FILE", "write there instead of to standard output (-); compressed if the name ends in .gz",
		 CLI_STRING, &r->out_path},
		{'e', "event", "NAME", "only this event's samples (default: all; of formats with one weight the first)",
		 CLI_STRING, &r->opts.event},
		{0, "weight", "WHAT", "of a sample: its period (default), or samples: 1; pprof has both", CLI_STRING, &r->weight},
		{0, "by", "KEYS", "also distinguish by pid, tid, cpu or cgroup (comma list)", CLI_STRING, &r->by},
		{0, "instr", NULL, "callgrind: costs by instruction, not only by line, and jumps", CLI_FLAG, &r->opts.has_addresses},
		{0, "inline", NULL, "inlined functions are frames (default); --no-inline: they belong to their callers",
		 CLI_CALL, &r->opts.no_inline, set_inline, true},
		{0, "cut-frames", NULL, "without its outermost frames, a stack begins with [cut: REASON] (default); "
		 "--no-cut-frames: with the first frame known", CLI_CALL, &r->opts.no_cut_frames, set_inline, true},
		{0, "level-suffix", NULL, "names end in _[k] kernel, _[h] hypervisor, _[gu], _[gk] guest user and kernel, where a format "
		 "has no place for it (default); --no-level-suffix: not", CLI_CALL, &r->opts.no_level_suffix, set_inline, true},
		{0, "json", NULL, "what was written, and what was not, as one JSON object on standard error", CLI_FLAG, &r->is_json},
		{'q', "quiet", NULL, "no notes", CLI_FLAG, &r->is_quiet},
		{0, "Compilers, linkers, coverage", NULL, NULL, CLI_SECTION},
		{0, "binary", "NAME", "of this binary, by path or its last part (default: the one executed most; lcov: all)",
		 CLI_STRING, &r->binary},
		{0, "samples", NULL, "lcov of a recording without instruction trace: how often lines were sampled, which is no coverage",
		 CLI_FLAG, &r->takes_hits},
		{0, "indirect", NULL, "autofdo: include the targets of indirect branches", CLI_FLAG, &r->has_indirect},
		CODE_PROFILE_BASE_OPTION(&r->base_name),
		{0, "Hardware trace", NULL, NULL, CLI_SECTION},
		{0, "itrace", "[OPTS]", "events to make of the trace (default i100usbe), as for clew report; --no-itrace: none",
		 CLI_CALL, &r->itrace, cli_itrace_set, true},
		CLI_ITRACE_INDEX_OPTION(&r->itrace),
		CLI_INPUT_OPTIONS(&r->in),
		{0}
	};
	/* clang-format on */
	const struct cli_command cmd = {
		.name = "export",
		.usage = "--to FORMAT [OPTIONS]",
		.summary = "Write a recording in the format of another tool.",
		.options = options,
		.examples =
			"  clew export --to pprof -o app.pb.gz && go tool pprof -top app.pb.gz\n"
			"  clew export --to collapsed | flamegraph.pl > app.svg\n"
			"  clew export --to speedscope -o app.json        for https://speedscope.app\n"
			"  clew export --to callgrind -o callgrind.out.app && "
			"callgrind_annotate callgrind.out.app\n"
			"  clew export --to llvm --binary app -o app.prof && "
			"clang -O2 -fprofile-sample-use=app.prof ...\n"
			"  clew export --to lcov -o app.info && genhtml -o html app.info\n",
	};
	int at = cli_parse(&cmd, argc, argv);

	if (at < 0)
		return -1 - at;
	if (at < argc) {
		cli_error("export: unexpected argument '%s'", argv[at]);
		cli_hint("name the recording with -i %s", argv[at]);
		return CLI_USAGE;
	}
	if (r->out_path && !strcmp(r->out_path, "-"))
		r->out_path = NULL;
	if (r->is_quiet || r->is_json)
		cli_set_quiet();
	return -1;
}

/* --- the run --- */

static bool has_event(const struct perf_evlist *l, const char *name)
{
	for (size_t i = 0; l && i < l->evsels.nr; i++) {
		if (l->evsels.data[i]->name && !strcmp(l->evsels.data[i]->name, name))
			return true;
	}
	return false;
}

int export_check_event(const struct export_run *r)
{
	const struct perf_evlist *l = r->opts.events;
	clew_auto(buf_done) struct buf list = {0};

	if (!r->opts.event || has_event(l, r->opts.event))
		return CLI_OK;
	for (size_t i = 0; l && i < l->evsels.nr && i < MAX_LISTED; i++)
		buf_printf(&list, "%s%s", i ? ", " : "", l->evsels.data[i]->name);
	cli_error("%s: there is no event '%s'", r->in.path, r->opts.event);
	cli_hint("events: %s%s", buf_cstr(&list), l && l->evsels.nr > MAX_LISTED ? ", ..." : "");
	return CLI_USAGE;
}

/* What is copied, not only read. */
static int check_recording(const struct export_run *r)
{
	const char *name = r->opts.format->name;

	if (!r->opts.format->is_recording || (r->opts.file && !perf_file_is_swapped(r->opts.file)))
		return CLI_OK;
	if (r->opts.file)
		cli_error("%s: its records are of the other byte order, and %s copies them as they "
			  "are",
			  r->in.path, name);
	else
		cli_error("%s: it is a directory of trace, and %s copies the records of a "
			  "recording",
			  r->in.path, name);
	cli_hint(r->opts.file ? "export it on a machine of its byte order; all other formats are "
				"written here, too"
			      : "all other formats are written of it, too");
	return CLI_FAILED;
}

static void set_wishes(struct export_run *r)
{
	struct ana_opts *o = &r->in.opts;

	r->opts.budget = o->symbols.budget;
	o->wants_lines = !r->opts.no_inline || r->opts.format->wants_lines;
	o->wants_records = o->wants_outcomes = true;
}

static int open_input(struct export_run *r)
{
	const struct cli_itrace_wishes w = {.fold = TRACE_OPS_EACH};
	int status;

	set_wishes(r);
	r->itrace.is_sampled = true;
	if (!r->in.is_snapshot &&
	    analyze_open(&r->analysis, &r->in.input, &r->in.opts, &r->diag) != CLEW_OK)
		return cli_input_fail(&r->in, &r->diag);
	status = cli_itrace_open(&r->itrace, &r->in, r->analysis, &w);
	if (status != CLI_OK)
		return status;
	r->opts.file = r->analysis ? analyze_file(r->analysis) : NULL;
	r->opts.events = r->itrace.events ? trace_events_list(r->itrace.events)
		       : r->opts.file     ? perf_file_evlist(r->opts.file)
					  : NULL;
	status = check_recording(r);
	if (status != CLI_OK)
		return status;
	/* A pipe's events come with its records. */
	return r->opts.file && perf_file_is_pipe(r->opts.file) ? CLI_OK : export_check_event(r);
}

static enum clew_err write_all(struct export_run *r)
{
	struct ana_consumer consumer = {export_batch, NULL};
	enum clew_err err = export_new(&r->export, &r->opts, export_run_sink(r), &r->diag);

	if (err != CLEW_OK)
		return err;
	consumer.ctx = r->export;
	err = cli_itrace_run(&r->itrace, r->analysis, &consumer, &r->diag);
	r->summary = cli_itrace_summary(&r->itrace, r->analysis);
	r->is_damaged = err == CLEW_BAD_FILE && r->summary.nr_samples;
	if (r->is_damaged)
		cli_input_fail(&r->in, &r->diag);
	else if (err != CLEW_OK)
		return err;
	cli_progress_begin("writing", 0);
	return export_finish(r->export, &r->summary);
}

static int run(struct export_run *r)
{
	enum clew_err err = write_all(r);
	bool is_written;
	int status;

	if (err == CLEW_OK && export_check_event(r) != CLI_OK) {
		export_close_output(r, false);
		return CLI_USAGE;
	}
	status = export_end_output(r, err, &is_written);
	if (status != CLI_OK || !is_written)
		return status;
	export_run_report(r);
	return r->is_damaged ? CLI_FAILED : CLI_OK;
}

static int open_and_run(struct export_run *r)
{
	struct cli_jumps jumps = {0};
	int status = cli_jumps_read(&jumps, r);

	r->opts.jumps = &jumps.all;
	r->opts.call_start = call_start;
	if (status == CLI_OK)
		status = open_input(r);
	cli_pager_start();
	if (status == CLI_OK)
		status = export_open_output(r);
	if (status == CLI_OK)
		status = run(r);
	cli_pager_done();
	cli_jumps_done(&jumps);
	return status;
}

int export_run(struct export_run *r)
{
	int status = choose(r);

	if (status == CLI_OK)
		status = cli_input_open(&r->in);
	if (status != CLI_OK)
		return status;
	status = r->code ? export_code(r) : open_and_run(r);
	export_free(r->export);
	gzip_sink_free(r->gzip);
	cli_itrace_done(&r->itrace);
	analyze_free(r->analysis);
	cli_input_done(&r->in);
	return status;
}

int cmd_export(int argc, char **argv)
{
	struct export_run r = {.in.takes_snapshot = true, .file.fd = -1};
	int status = parse(&r, argc, argv);

	return status >= 0 ? status : export_run(&r);
}
