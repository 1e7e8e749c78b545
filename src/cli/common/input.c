/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/recorded_on.h"
#include "api/left_out.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/path_name.h"
#include "cli/common/cache_dir.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "format/user_stacks.h"
#include "os/file.h"
#include "os/file_time.h"
#include "os/memory.h"
#include "os/output.h"
#include "os/path.h"
#include "os/proc.h"
#include "trace/snapshot/cs_snapshot.h"

enum { STDIN = 0, NS_DIGITS = 9 };

int cli_input_set_demangle(void *no_demangle, const char *arg, bool is_negated)
{
	(void)arg;
	*(bool *)no_demangle = is_negated;
	return 0;
}

int cli_input_set_max_memory(void *budget, const char *arg, bool is_negated)
{
	struct budget *b = budget;

	(void)is_negated;
	if (cli_parse_size(arg, &b->limit) && b->limit)
		return 0;
	cli_error("--max-memory takes a size such as 500M or 2G, not '%s'", arg);
	return CLI_USAGE;
}

struct budget *cli_input_budget(struct cli_input *in)
{
	if (!in->budget.limit)
		in->budget.limit = os_memory_share();
	in->opts.symbols.budget = in->input.budget = &in->budget;
	return &in->budget;
}

/* "1.5 GiB", "600 KiB" */
static const char *size_text(char ret[32], uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)bytes;
	size_t unit = 0;

	for (; v >= 1024; unit++)
		v /= 1024;
	snprintf(ret, 32, v < 10 && unit ? "%.1f %s" : "%.0f %s", v, units[unit]);
	return ret;
}

void cli_input_warn_left_out(const struct cli_input *in, const struct clew_left_out *l)
{
	clew_auto(buf_done) struct buf what = {0};
	char limit[32], size[32];

	if (!l->nr)
		return;
	buf_printf(&what, "%s %s", l->first_what, l->first_input[0] ? l->first_input : in->path);
	if (l->first_bytes)
		buf_printf(&what, " (%s)", size_text(size, l->first_bytes));
	if (l->nr > 1)
		buf_printf(&what, " and %llu more", (unsigned long long)l->nr - 1);
	cli_warn("%s: the memory budget of %s was used up; skipped: %s", in->path,
		 size_text(limit, l->limit), buf_cstr(&what));
	cli_hint("--max-memory SIZE allows more");
}

static long read_stdin(void *ctx, void *buf, size_t size)
{
	(void)ctx;
	return os_read(STDIN, buf, size);
}

/* "12.5" to ns; "" is @p missing. */
static bool parse_seconds(const char *s, size_t len, uint64_t missing, uint64_t *ret)
{
	const char *at = s, *end = s + len;
	uint64_t ns = 0, seconds = 0;
	size_t nr_digits = 0;

	if (!len) {
		*ret = missing;
		return true;
	}
	if (!number_take(&at, end, 10, &seconds))
		return false;
	if (at < end && *at == '.') {
		for (at++; at < end && *at >= '0' && *at <= '9' && nr_digits < NS_DIGITS; at++)
			ns = ns * 10 + (uint64_t)(*at - '0'), nr_digits++;
	}
	for (; nr_digits < NS_DIGITS; nr_digits++)
		ns *= 10;
	if (at != end || __builtin_mul_overflow(seconds, (uint64_t)1000000000, &seconds))
		return false;
	return !__builtin_add_overflow(seconds, ns, ret);
}

/* A number and its percent sign; *at moves after both. */
static bool parse_percent(const char **at, double *ret)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	*ret = strtod(*at, &end);
	if (*end != '%' || !(*ret >= 0) || *ret > 100)
		return false;
	*at = end + 1;
	return true;
}

static const char *parse_percents(const char *text, uint64_t first, uint64_t last,
				  uint64_t *ret_from, uint64_t *ret_to)
{
	static const char bad[] =
		"percents are A%-B% or A%/N, N from 1, and stay within 100%; one range only";
	double a = 0, b, total = (double)(last - first);
	const char *at = text;

	if (!parse_percent(&at, &a))
		return bad;
	if (*at == '-') {
		at++;
		if (!parse_percent(&at, &b) || *at)
			return bad;
	} else {
		char *end;
		unsigned long n = 1;

		if (*at == '/') {
			n = strtoul(at + 1, &end, 10);
			at = end;
		}
		b = a * (double)n;
		a = b - a;
		if (*at || !n)
			return bad;
	}
	if (a > b || b > 100)
		return bad;
	if (first == UINT64_MAX || last == UINT64_MAX || last < first)
		return "this recording has no start and end time, which percents need; give "
		       "seconds";
	*ret_from = first + (uint64_t)(a / 100 * total + 0.5);
	*ret_to = first + (uint64_t)(b / 100 * total + 0.5);
	/* Neighbouring parts share no sample: only the last one includes its end. */
	if (*ret_to > *ret_from && *ret_to != last)
		--*ret_to;
	return NULL;
}

const char *cli_parse_time(const char *text, uint64_t first, uint64_t last, uint64_t *ret_from,
			   uint64_t *ret_to)
{
	const char *comma = strchr(text, ',');
	uint64_t from, to;

	if (strchr(text, '%'))
		return parse_percents(text, first, last, ret_from, ret_to);
	if (strchr(text, ' '))
		return "several ranges are not supported; give one";
	if (!comma)
		return "a time range is FROM,TO; either may be omitted";
	if (!parse_seconds(text, (size_t)(comma - text), 0, &from) ||
	    !parse_seconds(comma + 1, strlen(comma + 1), 0, &to))
		return "times are seconds, such as 1234.567891";
	if (to && to < from)
		return "the time range ends before it begins";
	*ret_from = from;
	*ret_to = to;
	return NULL;
}

static int set_time(struct cli_input *in, const struct recorded_on *r)
{
	const char *why;

	if (!in->time)
		return CLI_OK;
	why = cli_parse_time(in->time, r->first_time.ns, r->last_time.ns,
			     &in->opts.filter.time_from.ns, &in->opts.filter.time_to.ns);
	if (!why)
		return CLI_OK;
	cli_error("--time %s: %s", in->time, why);
	return CLI_USAGE;
}

int cli_input_set_build_ids(struct cli_input *in)
{
	const char *home = getenv("HOME");
	size_t size;

	if (!home || in->opts.symbols.buildid_dir)
		return CLI_OK;
	size = strlen(home) + sizeof("/.debug");
	in->buildid_dir = mem_alloc(size);
	if (!in->buildid_dir)
		return CLI_FAILED;
	snprintf(in->buildid_dir, size, "%s/.debug", home);
	in->opts.symbols.buildid_dir = in->buildid_dir;
	return CLI_OK;
}

static int set_unwind_cache(struct cli_input *in)
{
	clew_auto(buf_done) struct buf path = {0};

	if (!cli_unwind_cache_dir(&path))
		return CLI_OK;
	in->unwind_cache = path.is_failed ? NULL : mem_strdup(buf_cstr(&path));
	in->opts.unwind_cache = in->unwind_cache;
	return in->unwind_cache ? CLI_OK : CLI_FAILED;
}

static bool is_missing(const struct clew_diag *d)
{
	return d->code == CLEW_OS && d->os_errno == ENOENT;
}

int cli_input_refuse_snapshot(const struct cli_input *in)
{
	cli_error("%s is a snapshot of trace: it has neither records nor a header", in->path);
	cli_hint("'clew dump -i %s' shows the trace's packets", in->path);
	return CLI_USAGE;
}

int cli_input_fail_open(const struct cli_input *in, const struct clew_diag *diag)
{
	cli_input_fail(in, diag);
	if (os_is_directory(in->path))
		cli_hint("if the recording is a directory, name the file in it: -i %s/data; "
			 "a snapshot of trace has a snapshot.ini",
			 in->path);
	if (!is_missing(diag))
		return CLI_FAILED;
	if (in->named_by)
		cli_hint("name it with %s", in->named_by);
	else
		cli_hint("record one with 'clew record -g -- PROGRAM', or name it with -i FILE");
	return CLI_FAILED;
}

void cli_input_find(struct cli_input *in)
{
	if (!in->path)
		in->path = os_is_pipe(STDIN) && !os_exists("perf.data") ? "-" : "perf.data";
	in->is_stdin = !strcmp(in->path, "-");
	in->is_snapshot = !in->is_stdin && cs_is_snapshot(in->path);
}

/* 'perf record --kcore' makes a directory: the recording, and copies of what the kernel had. */
static bool find_data(struct cli_input *in)
{
	struct buf path = {0};

	buf_printf(&path, "%s/data", in->path);
	if (os_is_directory(in->path) && os_is_regular(buf_cstr(&path))) {
		in->data_path = mem_strdup(buf_cstr(&path));
		in->dir_path = in->path;
		in->path = in->data_path ? in->data_path : in->path;
	}
	buf_done(&path);
	return in->data_path || !in->dir_path;
}

static bool find_kcore(struct cli_input *in)
{
	const char *name = path_name(in->path);
	struct buf path = {0};
	bool ok;

	if (in->opts.symbols.kcore_dir || strcmp(name, "data") != 0)
		return true;
	buf_add(&path, in->path, (size_t)(name - in->path));
	buf_str(&path, "kcore_dir");
	if (os_is_directory(buf_cstr(&path)))
		in->opts.symbols.kcore_dir = in->kcore_dir = mem_strdup(buf_cstr(&path));
	ok = !path.is_failed;
	buf_done(&path);
	return ok;
}

static int open_path(struct cli_input *in)
{
	struct clew_diag diag = {0};
	bool is_stdin = in->is_stdin;
	enum clew_err err;

	if (in->is_snapshot)
		return in->takes_snapshot ? CLI_OK : cli_input_refuse_snapshot(in);
	err = is_stdin || (find_data(in) && find_kcore(in)) ? CLEW_OK : CLEW_NO_MEMORY;
	if (err == CLEW_OK)
		err = is_stdin ? os_map_fd(STDIN, &in->map, &diag)
			       : os_map_file(in->path, &in->map, &diag);
	if (err == CLEW_OK) {
		in->input.data = in->map.data ? in->map.data : (const uint8_t *)"";
		in->input.size = in->map.size;
		in->opts.is_mapped = in->input.is_mapped = in->map.data != NULL;
		return CLI_OK;
	}
	if (is_stdin && err == CLEW_UNSUPPORTED) {
		in->input.read = read_stdin;
		return CLI_OK;
	}
	return cli_input_fail_open(in, &diag);
}

/* A name that is wrong would look like a file without symbols. */
static void warn_missing(const struct cli_input *in)
{
	const char *const files[][2] = {
		{"--vmlinux",       in->opts.symbols.vmlinux       },
		{"--kallsyms",      in->opts.symbols.kallsyms      },
		{"--guestmount",    in->opts.symbols.guest_mount   },
		{"--guestkallsyms", in->opts.symbols.guest_kallsyms},
		{"--guestmodules",  in->opts.symbols.guest_modules },
		{"--guestvmlinux",  in->opts.symbols.guest_vmlinux },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (files[i][1] && !os_exists(files[i][1]))
			cli_warn("%s=%s: it does not exist", files[i][0], files[i][1]);
	}
}

int cli_input_open(struct cli_input *in)
{
	struct recorded_on r;
	int status;

	cli_progress_begin("opening", 0);
	cli_input_find(in);
	cli_input_budget(in);
	status = open_path(in);
	in->input.progress = cli_progress();
	if (status == CLI_OK) {
		r = recorded_on(&in->input);
		recorded_on_set_symbols(&r, &in->opts.symbols);
		if (strcmp(in->path, "-") != 0)
			recorded_on_set_end(in->path, &in->opts.symbols);
		in->opts.symbols.force |= in->is_forced;
		warn_missing(in);
		status = set_time(in, &r);
	}
	if (status == CLI_OK)
		status = cli_input_set_build_ids(in);
	if (status == CLI_OK)
		status = set_unwind_cache(in);
	if (status != CLI_OK)
		cli_input_done(in);
	return status;
}

void cli_input_done(struct cli_input *in)
{
	struct clew_left_out left_out = left_out_of(&in->budget);

	cli_progress_end();
	cli_input_warn_left_out(in, &left_out);
	in->budget.nr_refused = 0;
	os_map_done(&in->map);
	mem_free(in->buildid_dir);
	mem_free(in->unwind_cache);
	mem_free(in->kcore_dir);
	mem_free(in->data_path);
	if (in->dir_path)
		in->path = in->dir_path;
	in->buildid_dir = in->unwind_cache = in->kcore_dir = in->data_path = NULL;
	in->dir_path = in->opts.symbols.kcore_dir = NULL;
	in->input = (struct perf_input){0};
}

int cli_input_fail(const struct cli_input *in, const struct clew_diag *diag)
{
	cli_fail(strcmp(in->path, "-") ? in->path : "standard input", diag);
	if (diag->code == CLEW_BAD_FILE && !diag->offset)
		cli_hint("clew reads the recordings of 'clew record' and 'perf record'");
	return CLI_FAILED;
}

const char *cli_input_date(const struct cli_input *in, char *text, size_t size)
{
	int64_t seconds;
	struct tm tm;
	time_t t;

	if (!strcmp(in->path, "-") || os_file_changed(in->path, &seconds) < 0)
		return NULL;
	t = (time_t)seconds;
	return localtime_r(&t, &tm) && strftime(text, size, "%a %b %e %H:%M:%S %Y", &tm) ? text
											 : NULL;
}

void cli_input_warn_cut(const struct cli_input *in, const struct clew_diag *end)
{
	if (end->code == CLEW_TRUNCATED)
		cli_warn("%s ends inside a record, at offset 0x%llx: its writer was stopped, or it "
			 "was cut",
			 in->path, (unsigned long long)end->offset);
}

void cli_input_warn_end(const struct cli_input *in, const struct ana_summary *s)
{
	cli_input_warn_cut(in, &s->end);
}

void cli_input_warn(const struct cli_input *in, const struct ana_summary *s)
{
	clew_auto(buf_done) struct buf text = {0};

	user_stacks_unknown_text(&text, s);
	if (text.nr)
		cli_warn("%s: %s", in->path, buf_cstr(&text));
}
