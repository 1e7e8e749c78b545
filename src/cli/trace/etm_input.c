/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/trace/etm_input.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "os/file.h"
#include "trace/perf/perf_trace.h"
#include "trace/snapshot/cs_snapshot.h"

static void report_note(void *ctx, const char *note)
{
	cli_note("%s: %s", (const char *)ctx, note);
}

int cli_etm_open_snapshot(const struct cli_input *in, struct trace_input **ret)
{
	const char *path = in->path, *note;
	struct clew_diag diag = {0};

	if (cs_snapshot_open_with_notes(ret, path, in->opts.symbols.budget, report_note,
					(void *)(uintptr_t)path, &diag)) {
		cli_fail(path, &diag);
		if (diag.code == CLEW_UNSUPPORTED)
			cli_hint("only ETMv4 and ETE are decoded");
		return CLI_FAILED;
	}
	(*ret)->progress = cli_progress();
	for (size_t i = 0; (note = cs_snapshot_note(*ret, i)); i++)
		cli_note("%s: %s", path, note);
	return CLI_OK;
}

static int open_input(struct cli_input *in, struct trace_input **ret)
{
	struct clew_diag diag = {0};
	int status;

	in->takes_snapshot = true;
	status = cli_input_open(in);
	if (status != CLI_OK)
		return status;
	if (in->is_snapshot) {
		status = cli_etm_open_snapshot(in, ret);
	} else if (perf_trace_open(ret, &in->input, &in->opts.symbols, &diag)) {
		status = cli_input_fail(in, &diag);
		if (diag.code == CLEW_UNSUPPORTED && in->input.data)
			cli_hint(
				"CoreSight is recorded with 'perf record -e cs_etm// ...', SPE with -e arm_spe//");
	}
	return status;
}

/* --- which units --- */

/** "0-2,5", or in hex for IDs. @return whether @p v is in it; *ret_ok: whether it can be read. */
static bool in_list(const char *list, int base, uint64_t v, bool *ret_ok)
{
	bool found = false;

	while (*list) {
		char *end;
		uint64_t from = strtoull(list, &end, base), to = from;

		if (end == list)
			break;
		if (*end == '-') {
			list = end + 1;
			to = strtoull(list, &end, base);
			if (end == list)
				break;
		}
		found |= v >= from && v <= to;
		list = end;
		if (*list != ',')
			break;
		list++;
	}
	*ret_ok = !*list;
	return found;
}

bool cli_etm_unit_at(const struct cli_etm *e, size_t i, struct cli_etm_unit *ret)
{
	if (e->trace) {
		const struct trace_unit *u = &e->trace->units[i];
		const char *why;

		if (i >= e->trace->nr_units)
			return false;
		why = u->why.what ? u->why.what : clew_err_name(u->why.code);
		*ret = (struct cli_etm_unit){u->id, u->cpu, u->name, u->is_decodable ? NULL : why};
	} else {
		const struct clew_trace_unit *u = clew_trace_unit(e->opened, i);

		if (!u)
			return false;
		*ret = (struct cli_etm_unit){u->id, u->cpu, u->name, u->why_not};
	}
	return true;
}

static size_t nr_units(const struct cli_etm *e)
{
	struct cli_etm_unit u;
	size_t nr = 0;

	while (cli_etm_unit_at(e, nr, &u))
		nr++;
	return nr;
}

/** Where the input ends inside a record: what is whole was decoded. */
static struct clew_diag cut_of(const struct cli_etm *e)
{
	const struct clew_trace_summary *s = clew_trace_summary(e->opened);

	if (e->trace)
		return e->trace->cut;
	return s ? (struct clew_diag){.code = s->end, .offset = s->end_offset}
		 : (struct clew_diag){0};
}

static int choose_units(struct cli_etm *e)
{
	const char *cpus = e->in.opts.filter.cpus;
	bool ids_ok = true, cpus_ok = true;
	size_t nr = nr_units(e), nr_left = 0;
	struct cli_etm_unit u;

	e->skips = mem_calloc(nr ? nr : 1, sizeof(*e->skips));
	if (!e->skips)
		return cli_fail(e->in.path, &(struct clew_diag){.code = CLEW_NO_MEMORY});
	for (size_t i = 0; cli_etm_unit_at(e, i, &u); i++) {
		if (e->ids && !in_list(e->ids, 16, u.id, &ids_ok))
			e->skips[i] = true;
		if (cpus && !in_list(cpus, 10, u.cpu, &cpus_ok))
			e->skips[i] = true;
		nr_left += !e->skips[i];
	}
	if (!ids_ok || !cpus_ok) {
		cli_error("--%s takes a comma list such as %s, not '%s'", ids_ok ? "cpu" : "id",
			  ids_ok ? "0-2,5" : "10,12", ids_ok ? cpus : e->ids);
		return CLI_USAGE;
	}
	if (!nr) {
		const struct clew_diag cut = cut_of(e);

		cli_input_warn_cut(&e->in, &cut);
		cli_error("%s: it holds no bytes of trace", e->in.path);
		return CLI_FAILED;
	}
	if (!nr_left) {
		cli_error("%s: no trace unit is left by --id and --cpu", e->in.path);
		if (!e->raw.file)
			cli_hint("'clew trace -i %s' lists them", e->in.path);
		return CLI_FAILED;
	}
	return CLI_OK;
}

static void report_unit(const char *path, const struct cli_etm_unit *u)
{
	if (u->why_not)
		cli_note("%s: %s (ID %x) is not decoded: %s", path, u->name, u->id, u->why_not);
}

/** Once: units of one recording are alike. */
static void report_points(const char *path, const struct trace_input *t, const bool *skips)
{
	for (size_t i = 0; i < t->nr_units; i++) {
		if (t->units[i].why_points && !(skips && skips[i])) {
			cli_warn(
				"%s: instructions are unknown: %s; only places that packets name are "
				"reported",
				path, t->units[i].why_points);
			return;
		}
	}
}

void cli_etm_report_units(const char *path, const struct trace_input *t, const bool *skips)
{
	const struct cli_etm e = {.trace = (struct trace_input *)(uintptr_t)t};
	struct cli_etm_unit u;

	for (size_t i = 0; cli_etm_unit_at(&e, i, &u); i++) {
		if (!(skips && skips[i]))
			report_unit(path, &u);
	}
	report_points(path, t, skips);
}

static void report_units(const struct cli_etm *e)
{
	struct cli_etm_unit u;

	for (size_t i = 0; cli_etm_unit_at(e, i, &u); i++) {
		if (!e->skips[i])
			report_unit(e->in.path, &u);
	}
}

void cli_etm_report_dropped(const char *path, uint64_t nr)
{
	if (nr)
		cli_note("%s: %llu %s not followed: no address was known", path,
			 (unsigned long long)nr, nr == 1 ? "branch was" : "branches were");
}

/* --- warnings --- */

enum clew_err cli_etm_note_warning(struct cli_etm_warnings *t, const char *what, uint64_t number,
				   uint64_t offset)
{
	vec_for_each (t, e) {
		if (!strcmp(e->what, what)) {
			e->nr++;
			return CLEW_OK;
		}
	}
	return vec_push(t, (struct cli_etm_warning){what, 1, number, offset}) ? CLEW_OK
									      : CLEW_NO_MEMORY;
}

void cli_etm_report_warnings(const struct cli_etm_warnings *t, const char *path)
{
	vec_for_each (t, e) {
		clew_auto(buf_done) struct buf text = {0};

		buf_str(&text, e->what);
		if (e->first_number)
			buf_printf(&text, " (%llx%s)", (unsigned long long)e->first_number,
				   e->nr > 1 ? ", ..." : "");
		if (e->nr > 1)
			buf_printf(&text, ": %llu times, first", (unsigned long long)e->nr);
		cli_warn("%s: %s at 0x%llx", path, buf_cstr(&text),
			 (unsigned long long)e->first_offset);
	}
}

/* --- by the public API --- */

static void take_note(void *ctx, const char *note)
{
	cli_note("%s: %s", ((const struct cli_etm *)ctx)->in.path, note);
}

static struct clew_trace_opts public_opts(struct cli_etm *e)
{
	const struct dso_store_opts *symbols = &e->in.opts.symbols;

	return (struct clew_trace_opts){.size = sizeof(struct clew_trace_opts),
					.symfs = symbols->symfs,
					.vmlinux = symbols->vmlinux,
					.kallsyms = symbols->kallsyms,
					.guest_mount = symbols->guest_mount,
					.guest_kallsyms = symbols->guest_kallsyms,
					.guest_modules = symbols->guest_modules,
					.guest_vmlinux = symbols->guest_vmlinux,
					.build_ids = symbols->buildid_dir,
					.max_memory = e->in.budget.limit,
					.note = take_note,
					.ctx = e,
					.trusts_other_users = e->in.is_forced};
}

static int open_raw_publicly(struct cli_etm *e)
{
	const struct clew_trace_opts opts = public_opts(e);
	const struct clew_trace_raw raw = {.size = sizeof(raw),
					   .file = e->raw.file,
					   .format = e->raw.format,
					   .protocol = e->raw.type,
					   .registers = e->raw.regs,
					   .memory = e->raw.memory};
	struct clew_diag diag = {0};

	cli_progress_begin("opening", 0);
	if (clew_trace_open_raw(&e->opened, &raw, &opts, &diag) == CLEW_OK)
		return CLI_OK;
	return cli_etm_fail_raw(&e->raw, &diag);
}

static bool is_regular(const char *path)
{
	int fd = os_open_regular(path);

	if (fd < 0)
		return false;
	os_close(fd);
	return true;
}

static int fail_open(const struct cli_etm *e, const struct clew_diag *diag)
{
	if (e->in.is_snapshot)
		cli_fail(e->in.path, diag);
	else
		cli_input_fail_open(&e->in, diag);
	if (diag->code == CLEW_UNSUPPORTED && e->in.is_snapshot)
		cli_hint("only ETMv4 and ETE are decoded");
	else if (diag->code == CLEW_UNSUPPORTED && is_regular(e->in.path))
		cli_hint(
			"CoreSight is recorded with 'perf record -e cs_etm// ...', SPE with -e arm_spe//");
	return CLI_FAILED;
}

static int open_publicly(struct cli_etm *e)
{
	struct clew_diag diag = {0};
	struct clew_trace_opts opts;
	enum clew_err err;

	cli_progress_begin("opening", 0);
	cli_input_find(&e->in);
	if (cli_input_set_build_ids(&e->in) != CLI_OK)
		return CLI_FAILED;
	opts = public_opts(e);
	if (e->in.is_stdin)
		err = clew_trace_open_fd(&e->opened, STDIN_FILENO, &opts, &diag);
	else
		err = clew_trace_open(&e->opened, e->in.path, &opts, &diag);
	return err == CLEW_OK ? CLI_OK : fail_open(e, &diag);
}

int cli_etm_begin_public(struct cli_etm *e)
{
	int status = cli_etm_check_raw(&e->in, &e->raw);

	if (status == CLI_OK)
		status = e->raw.file ? open_raw_publicly(e) : open_publicly(e);
	return status == CLI_OK ? choose_units(e) : status;
}

/* --- a command's run --- */

int cli_etm_begin(struct cli_etm *e)
{
	int status = e->takes_raw_pt && cli_raw_is_pt(&e->raw)
			   ? cli_pt_open_raw(&e->in, &e->raw, &e->trace)
			   : cli_etm_open_raw(&e->in, &e->raw, &e->trace);

	if (status == CLI_OK && !e->trace)
		status = open_input(&e->in, &e->trace);
	return status == CLI_OK ? choose_units(e) : status;
}

static bool is_any_decodable(const struct cli_etm *e)
{
	struct cli_etm_unit u;

	for (size_t i = 0; cli_etm_unit_at(e, i, &u); i++) {
		if (!e->skips[i] && !u.why_not)
			return true;
	}
	return false;
}

int cli_etm_finish(struct cli_etm *e, enum clew_err err, struct clew_diag *diag,
		   const struct clew_diag *sink_diag, bool lists_units)
{
	struct clew_diag cut;

	if (err == CLEW_STOPPED)
		return CLI_OK;
	if (sink_diag->code != CLEW_OK)
		return cli_fail("standard output", sink_diag);
	if (lists_units)
		report_units(e);
	cli_etm_report_warnings(&e->warnings, e->in.path);
	cut = cut_of(e);
	cli_input_warn_cut(&e->in, &cut);
	if (!diag->code)
		diag->code = err;
	if (err)
		return cli_fail(e->in.path, diag);
	if (is_any_decodable(e))
		return CLI_OK;
	cli_error("%s: there is nothing to decode", e->in.path);
	return CLI_FAILED;
}

void cli_etm_done(struct cli_etm *e)
{
	if (e->opened)
		cli_input_warn_left_out(&e->in, clew_trace_left_out(e->opened));
	clew_trace_free(e->opened);
	trace_input_free(e->trace);
	cli_input_done(&e->in);
	mem_free(e->skips);
	vec_done(&e->warnings);
}
