/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "os/output.h"
#include "trace/events/guest_ids.h"
#include "trace/perf/perf_trace.h"

enum { MAX_LISTED = 8 };

/* --- options --- */

static bool parse_offset(const char *text, char **end, int64_t *ret)
{
	long long v;

	errno = 0;
	v = strtoll(text, end, 0);
	*ret = v;
	return *end != text && !errno;
}

static bool parse_scale(const char *text, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	return end != text && !*end;
}

static bool is_scale(double v)
{
	return v > 0.5 && v < 2;
}

static bool parse_rest(struct guest *g, char *text)
{
	char *end;
	unsigned long pid = strtoul(text, &end, 10);

	if (end == text || !pid || pid > INT32_MAX)
		return false;
	g->has_pid = true;
	g->pid = (uint32_t)pid;
	if (*end != ',')
		return !*end;
	if (!parse_offset(end + 1, &end, &g->given.offset))
		return false;
	g->has_offset = true;
	if (*end != ',')
		return !*end;
	return parse_scale(end + 1, &g->given.scale);
}

static int add_guest(void *to, const char *arg, bool is_negated)
{
	struct merge *m = to;
	struct guest *g = mem_zalloc(sizeof(*g));
	char *comma;

	(void)is_negated;
	if (!g || !vec_push(&m->guests, g))
		return cli_fail("--guest", &(struct clew_diag){.code = CLEW_NO_MEMORY});
	g->given.scale = 1;
	g->path = g->text = mem_strdup(arg);
	if (!g->text)
		return cli_fail("--guest", &(struct clew_diag){.code = CLEW_NO_MEMORY});
	comma = strchr(g->text, ',');
	if (comma)
		*comma = '\0';
	if (*g->text && (!comma || parse_rest(g, comma + 1)) && is_scale(g->given.scale))
		return 0;
	if (!is_scale(g->given.scale)) {
		cli_error("--guest=%s: SCALE has to be greater than 0.5 and less than 2", arg);
		return CLI_USAGE;
	}
	cli_error("--guest=%s: not FILE[,PID[,OFFSET[,SCALE]]]", arg);
	cli_hint("PID is the process on the host that runs the virtual machine, and "
		 "guest = host * SCALE + OFFSET");
	return CLI_USAGE;
}

/* --- which process --- */

static const struct merge_vmm *find_vmm(const struct merge *m, uint32_t pid)
{
	vec_for_each (&m->scan.vmms, v) {
		if (v->pid == pid)
			return v;
	}
	return NULL;
}

static int no_memory(void)
{
	return cli_fail("merge", &(struct clew_diag){.code = CLEW_NO_MEMORY});
}

/* Clocks of a match point into it. */
static void take_match(struct guest_match *to, struct guest_match *from)
{
	guest_match_done(to);
	*to = *from;
	from->fit = (struct fit_result){0};
	if (to->is_ticks) {
		to->host.conv = &to->convs[0];
		to->guest.conv = &to->convs[1];
	}
}

struct search {
	struct guest_match best;
	size_t nr_tried, nr_best; /* processes with the best verdict */
};

static bool is_better(const struct fit_result *a, const struct fit_result *b)
{
	if (a->verdict != b->verdict)
		return a->verdict > b->verdict;
	return a->nr_matched > b->nr_matched;
}

/** Is @p pid another guest's, as the user says or, with @p or_found, as was found? */
static bool is_of_another(const struct merge *m, const struct guest *g, uint32_t pid, bool or_found)
{
	vec_for_each (&m->guests, other) {
		const struct guest *o = *other;

		if (o == g)
			continue;
		if ((o->has_pid && o->pid == pid) ||
		    (or_found && o->match.pid == pid && o->match.fit.verdict != FIT_NOT_FOUND))
			return true;
	}
	return false;
}

static int try_all(const struct merge *m, struct guest *g, bool of_none_found, struct search *s)
{
	vec_for_each (&m->scan.vmms, v) {
		struct guest_match one;

		if (is_of_another(m, g, v->pid, of_none_found))
			continue;
		if (guest_match(&m->scan, v, &g->scan, NULL, &one))
			return no_memory();
		s->nr_best = s->nr_tried && one.fit.verdict == s->best.fit.verdict ? s->nr_best + 1
			   : !s->nr_tried || one.fit.verdict > s->best.fit.verdict ? 1
										   : s->nr_best;
		if (!s->nr_tried++ || is_better(&one.fit, &s->best.fit))
			take_match(&s->best, &one);
		guest_match_done(&one);
	}
	return CLI_OK;
}

static void hint_processes(const struct merge *m, const struct guest *g)
{
	clew_auto(buf_done) struct buf list = {0};
	size_t nr = 0;

	vec_for_each (&m->scan.vmms, v) {
		if (!is_of_another(m, g, v->pid, true) && nr++ < MAX_LISTED)
			buf_printf(&list, "%s%u", nr > 1 ? ", " : "", v->pid);
	}
	if (list.nr)
		cli_hint("processes with threads of virtual CPUs%s: %s%s",
			 nr < m->scan.vmms.nr ? " that no other guest has" : "", buf_cstr(&list),
			 nr > MAX_LISTED ? ", ..." : "");
	else if (m->scan.vmms.nr)
		cli_hint("each process with threads of virtual CPUs is another guest's");
	else
		cli_hint(
			"no thread of the host has the name of a virtual CPU, such as 'CPU 0/KVM'");
}

static int refuse(const struct merge *m, const struct guest *g, const struct guest_match *match)
{
	const struct fit_result *f = &match->fit;

	cli_error("%s: the offset of its clock was not found: %s", g->path,
		  f->why ? f->why : "no process fits");
	merge_report_fit(g, match);
	if (g->has_pid)
		hint_processes(m, g);
	cli_hint("record both longer and at the same time: the offset shows where the guest idles, "
		 "or where its virtual CPUs do not run because the host is busy");
	cli_hint("if the offset is known: --guest=%s,PID,OFFSET", g->path);
	return CLI_FAILED;
}

/* Without a PID: the one process that fits. */
static int choose(const struct merge *m, struct guest *g)
{
	struct search s = {0};
	int status = try_all(m, g, false, &s);

	if (status == CLI_OK && !s.nr_tried) {
		cli_error("%s: there is no process that it could be of", g->path);
		hint_processes(m, g);
		return CLI_FAILED;
	}
	if (status != CLI_OK)
		return status;
	take_match(&g->match, &s.best);
	if (g->match.fit.verdict == FIT_NOT_FOUND)
		return refuse(m, g, &g->match);
	if (s.nr_best > 1) {
		cli_error("%s: %zu processes fit alike: name one with --guest=%s,PID", g->path,
			  s.nr_best, g->path);
		return CLI_FAILED;
	}
	merge_report_fit(g, &g->match);
	return CLI_OK;
}

/* With a PID that does not fit: does another? */
static int refuse_pid(const struct merge *m, struct guest *g)
{
	struct search s = {0};
	int status = try_all(m, g, true, &s);

	if (status == CLI_OK)
		status = refuse(m, g, &g->match);
	if (s.nr_tried && s.best.fit.verdict != FIT_NOT_FOUND) {
		cli_hint("it fits process %u:", s.best.pid);
		merge_report_fit(g, &s.best);
	}
	guest_match_done(&s.best);
	return status;
}

/* Is it what the switches say? A given offset is used in any case. */
static int check_given(const struct merge *m, struct guest *g, const struct merge_vmm *v)
{
	struct guest_match found;

	if (guest_match(&m->scan, v, &g->scan, &g->given, &g->match))
		return no_memory();
	merge_report_given(g);
	if (g->match.fit.verdict != FIT_NOT_FOUND)
		return CLI_OK;
	if (guest_match(&m->scan, v, &g->scan, NULL, &found))
		return no_memory();
	if (found.fit.verdict == FIT_NOT_FOUND) {
		cli_warn("%s: the offset %lld could not be verified: %s", g->path,
			 (long long)g->given.offset, g->match.fit.why);
	} else {
		cli_warn("%s: the given offset %lld is wrong: the switches say %lld %s "
			 "(%s); it is used as given",
			 g->path, (long long)g->given.offset, (long long)guest_match_offset(&found),
			 found.is_ticks ? "ticks" : "ns", merge_verdict_name(found.fit.verdict));
		merge_report_fit(g, &found);
	}
	guest_match_done(&found);
	return CLI_OK;
}

static int match_guest(const struct merge *m, struct guest *g)
{
	const struct merge_vmm *v;

	if (!g->has_pid)
		return choose(m, g);
	v = find_vmm(m, g->pid);
	if (!v) {
		cli_error("%s: process %u has no thread of a virtual CPU", g->path, g->pid);
		hint_processes(m, g);
		return CLI_FAILED;
	}
	if (g->has_offset)
		return check_given(m, g, v);
	if (guest_match(&m->scan, v, &g->scan, NULL, &g->match))
		return no_memory();
	if (g->match.fit.verdict == FIT_NOT_FOUND)
		return refuse_pid(m, g);
	merge_report_fit(g, &g->match);
	return CLI_OK;
}

static int refuse_two(const struct merge *m)
{
	for (size_t i = 0; i < m->guests.nr; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct guest *a = m->guests.data[k], *b = m->guests.data[i];

			if (a->match.pid != b->match.pid)
				continue;
			cli_error("%s and %s are both of process %u", a->path, b->path,
				  a->match.pid);
			return CLI_USAGE;
		}
	}
	return CLI_OK;
}

/* --- input --- */

static int refuse_stream(const char *path)
{
	cli_error("%s: a pipe cannot be read twice", path);
	cli_hint("save the recording to a file");
	return CLI_USAGE;
}

static int open_one(struct cli_input *in)
{
	int status = cli_input_open(in);

	return status == CLI_OK && !in->input.data ? refuse_stream(in->path) : status;
}

static bool take_id(void *scan, uint32_t tid, struct clew_perf_ns ns, uint32_t id)
{
	return merge_scan_add_id(scan, tid, ns.ns, id);
}

/** Threads of guests in the host's trace. A trace that cannot be read has none. */
static int read_ids(struct merge *m)
{
	const struct guest_ids_sink sink = {take_id, &m->scan};
	struct clew_diag diag = {0};
	struct trace_input *trace;
	enum clew_err err = perf_trace_open(&trace, &m->in.input, &m->in.opts.symbols, &diag);

	if (!err) {
		err = guest_ids_read(trace, &sink);
		trace_input_free(trace);
		merge_scan_sort_ids(&m->scan);
	}
	return err == CLEW_NO_MEMORY ? no_memory() : CLI_OK;
}

static int scan_host(struct merge *m)
{
	struct clew_diag diag = {0};
	enum clew_err err = merge_scan_host(&m->in.input, &m->scan, &diag);

	if (err == CLEW_UNSUPPORTED) {
		cli_error("%s: guests cannot be merged into it: %s", m->in.path, diag.what);
		return CLI_FAILED;
	}
	if (err)
		return cli_input_fail(&m->in, &diag);
	if (!m->scan.nr_switches) {
		cli_error("%s: it has no context switches, by which clocks are compared",
			  m->in.path);
		cli_hint("record the host with 'clew record -a --switch-events'");
		return CLI_FAILED;
	}
	return m->scan.threads.nr ? read_ids(m) : CLI_OK;
}

static int scan_guest(struct guest *g)
{
	struct clew_diag diag = {0};
	enum clew_err err;
	int status;

	g->in.path = g->path;
	g->in.named_by =
		"--guest=FILE, a recording of the guest with 'clew record -a --switch-events'";
	status = open_one(&g->in);
	if (status != CLI_OK)
		return status;
	err = merge_scan_guest(&g->in.input, &g->scan, &diag);
	if (err == CLEW_UNSUPPORTED) {
		cli_error("%s: it cannot be merged: %s", g->path, diag.what);
		cli_hint("record the guest with 'clew record -a --switch-events'");
		return CLI_FAILED;
	}
	if (err)
		return cli_input_fail(&g->in, &diag);
	if (g->scan.is_cut)
		cli_warn("%s: only the first %llu switches and samples are compared", g->path,
			 (unsigned long long)g->scan.nr_edges);
	return CLI_OK;
}

/* --- output --- */

static enum clew_err write_some(void *out, const void *data, size_t size)
{
	return os_output_add(out, data, size) ? CLEW_OS : CLEW_OK;
}

/* Part of it may still be in the buffer. */
static enum clew_err rewrite_some(void *out, uint64_t offset, const void *data, size_t size)
{
	return os_output_flush(out) || os_output_rewrite(out, offset, data, size) ? CLEW_OS
										  : CLEW_OK;
}

static int write_merged(struct merge *m, struct os_output *out)
{
	const struct perf_writer_out to = {
		.sink = {write_some, out},
                  .rewrite = rewrite_some
        };
	struct guest_merge_in *ins = mem_calloc(m->guests.nr, sizeof(*ins));
	struct guest_merge_counts counts;
	struct clew_diag diag = {0};
	enum clew_err err;

	if (!ins)
		return no_memory();
	for (size_t i = 0; i < m->guests.nr; i++) {
		const struct guest *g = m->guests.data[i];

		ins[i] = (struct guest_merge_in){g->path, &g->in.input, &g->scan, &g->match};
	}
	err = guest_merge(&m->in.input, &m->scan, ins, m->guests.nr, &to, &counts, &diag);
	mem_free(ins);
	cli_progress_end();
	if (err)
		return err == CLEW_OS ? cli_fail(m->out_path, &diag)
				      : cli_input_fail(&m->in, &diag);
	merge_report(m, &counts);
	return CLI_OK;
}

static int write_file(struct merge *m)
{
	struct os_output out;
	int os_err = os_output_create(&out, m->out_path), status;

	if (os_err) {
		cli_error("%s: %s", m->out_path, strerror(-os_err));
		return CLI_FAILED;
	}
	if (!out.created.is_new) {
		os_output_close(&out);
		cli_error("-o %s: not a plain file", m->out_path);
		return CLI_USAGE;
	}
	status = write_merged(m, &out);
	if (status != CLI_OK) {
		os_output_discard(&out, m->out_path);
		return status;
	}
	os_err = os_output_close(&out);
	if (os_err)
		cli_error("%s: %s", m->out_path, strerror(-os_err));
	return os_err ? CLI_FAILED : CLI_OK;
}

/* --- the command --- */

static int run(struct merge *m)
{
	int status = open_one(&m->in);

	if (status == CLI_OK)
		status = scan_host(m);
	for (size_t i = 0; i < m->guests.nr && status == CLI_OK; i++) {
		status = scan_guest(m->guests.data[i]);
		if (status == CLI_OK)
			status = match_guest(m, m->guests.data[i]);
	}
	if (status == CLI_OK)
		status = refuse_two(m);
	return status == CLI_OK ? write_file(m) : status;
}

static void done(struct merge *m)
{
	vec_for_each (&m->guests, g) {
		guest_match_done(&(*g)->match);
		merge_scan_done(&(*g)->scan);
		if ((*g)->in.path)
			cli_input_done(&(*g)->in);
		mem_free((*g)->text);
		mem_free(*g);
	}
	vec_done(&m->guests);
	merge_scan_done(&m->scan);
	cli_input_done(&m->in);
}

static int check_arguments(struct merge *m, int argc, char **argv, int first)
{
	if (first < argc && !m->in.path)
		m->in.path = argv[first++];
	if (first < argc) {
		cli_error("merge takes one host, and no argument '%s'", argv[first]);
		cli_hint("each recording of a guest is named with --guest=FILE");
		return CLI_USAGE;
	}
	if (!m->guests.nr) {
		cli_error("merge needs the recording of a guest: --guest=FILE");
		return CLI_USAGE;
	}
	if (!m->out_path || !strcmp(m->out_path, "-")) {
		cli_error("merge writes a recording: name it with -o FILE");
		return CLI_USAGE;
	}
	return CLI_OK;
}

int cmd_merge(int argc, char **argv)
{
	struct merge m = {0};
	/* clang-format off */
	const struct cli_option options[] = {
		{0, "Guests", NULL, NULL, CLI_SECTION},
		{0, "guest", "FILE[,PID[,OFFSET[,SCALE]]]", "recording made inside a virtual machine; PID of the "
		 "process that runs it (default: the one that fits); guest = host * SCALE + OFFSET in ticks, or "
		 "ns where they are unknown (default: found by the switches)", CLI_CALL, &m, add_guest},
		{0, "guest-data", "FILE[,PID[,OFFSET[,SCALE]]]", NULL, CLI_CALL, &m, add_guest},
		{0, "Output", NULL, NULL, CLI_SECTION},
		{'o', "output", "FILE", "write the merged recording there", CLI_STRING, &m.out_path},
		{0, "json", NULL, "print the clocks that were found and what was merged as one JSON object", CLI_FLAG, &m.is_json},
		{0, "Input", NULL, NULL, CLI_SECTION},
		{'i', "input", "FILE", "the host's recording (default: perf.data)", CLI_STRING, &m.in.path},
		{'f', "force", NULL, NULL, CLI_FLAG, &m.in.is_forced},
		CLI_MAX_MEMORY_OPTION(&m.in),
		{0},
	};
	/* clang-format on */
	const struct cli_command command = {
		.name = "merge",
		.usage = "--guest=FILE[,PID[,OFFSET[,SCALE]]] ... [-i] HOST -o FILE",
		.summary =
			"Put recordings made inside virtual machines into the recording of their "
			"host, on its clock.",
		.options = options,
		.examples = "  clew record -a --switch-events -o host.data -- sleep 10\n"
			    "  clew merge --guest=guest.data host.data -o merged.data\n"
			    "  clew script --guestmount=/mnt/guests -i merged.data\n",
	};
	int first = cli_parse(&command, argc, argv), status;

	if (first < 0)
		status = -1 - first;
	else
		status = check_arguments(&m, argc, argv, first);
	if (first >= 0 && status == CLI_OK)
		status = run(&m);
	done(&m);
	return status;
}
