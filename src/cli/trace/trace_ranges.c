/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/common/progress.h"
#include "cli/trace/trace.h"

enum { FLUSH = 64 * 1024 };

struct ranges {
	struct trace_command *command;
	struct trace_ranges_text text;
	bool *skips;           /* all units but one */
	bool was_decoded[128]; /* by ID */
	bool has_progress;
};

static void show_progress(struct ranges *r)
{
	uint64_t done, total;

	clew_trace_progress(r->command->etm.opened, &done, &total);
	if (!r->has_progress)
		cli_progress_begin("decoding trace", total);
	r->has_progress = true;
	cli_progress_at(done);
}

static enum clew_err take_batch(void *ctx, const struct clew_trace_batch *b)
{
	struct ranges *r = ctx;
	enum clew_err err = trace_ranges_text_batch(&r->text, b);

	show_progress(r);
	return err || r->text.out.nr < FLUSH ? err : trace_write(r->command, &r->text.out);
}

static enum clew_err take_end(void *ctx, size_t unit)
{
	struct ranges *r = ctx;

	(void)unit;
	trace_ranges_text_end(&r->text);
	return trace_write(r->command, &r->text.out);
}

static enum clew_err take_warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	const struct ranges *r = ctx;

	return trace_note_warning(r->command, what, number, offset);
}

static struct clew_trace_run_opts run_opts(const struct ranges *r, bool notes_warnings)
{
	const struct trace_command *c = r->command;

	return (struct clew_trace_run_opts){
		.size = sizeof(struct clew_trace_run_opts),
		.skips = r->skips,
		.nr_threads = c->nr_threads > UINT16_MAX ? 0 : (unsigned int)c->nr_threads,
		.piece_bytes = c->piece_bytes > UINT32_MAX ? 0 : (unsigned int)c->piece_bytes,
		.splits_source_ranges = c->splits_source_ranges,
		.wants_who = c->wants_who,
		.warning = notes_warnings ? take_warning : NULL,
		.unit_end = take_end,
	};
}

static enum clew_err print_unit(struct ranges *r, size_t unit, uint32_t id, bool is_first,
				struct clew_diag *diag)
{
	const struct trace_command *c = r->command;
	struct clew_trace_run_opts opts = run_opts(r, is_first);
	enum clew_err err;

	r->text = (struct trace_ranges_text){
		.id = id,
		.is_json = c->is_json,
		.is_later = r->was_decoded[id & 0x7f],
		.wants = c->wanted_events,
	};
	trace_ranges_text_init(&r->text);
	r->has_progress = false;
	r->skips[unit] = false;
	err = clew_trace_run(c->etm.opened, take_batch, r, &opts, diag);
	r->skips[unit] = true;
	trace_ranges_text_done(&r->text);
	r->was_decoded[id & 0x7f] = true;
	return err == CLEW_TRUNCATED ? CLEW_OK : err; /* cli_etm_finish() says so, once */
}

static size_t nr_units(const struct clew_trace *t)
{
	size_t nr = 0;

	while (clew_trace_unit(t, nr))
		nr++;
	return nr;
}

static void report_operations(struct trace_command *c)
{
	const struct clew_trace_unit *u;

	for (size_t i = 0; (u = clew_trace_unit(c->etm.opened, i)); i++) {
		if (c->etm.skips[i] || u->protocol != CLEW_PROTOCOL_SPE)
			continue;
		trace_report_operations(c);
		return;
	}
}

/** One unit after the other, each in a pass of its own: nothing has to be kept to bring their lines
 * in an order that does not depend on how the trace was cut up. */
static enum clew_err print_ranges(struct trace_command *c, struct clew_diag *diag)
{
	const struct clew_trace_unit *u;
	size_t nr = nr_units(c->etm.opened);
	clew_auto(mem_free_at) bool *skips = mem_alloc(nr ? nr : 1);
	struct ranges r = {.command = c, .skips = skips};
	bool is_first = true;
	enum clew_err err = CLEW_OK;

	if (!skips)
		return CLEW_NO_MEMORY;
	memset(skips, true, nr);
	report_operations(c);
	for (size_t i = 0; !err && (u = clew_trace_unit(c->etm.opened, i)); i++) {
		if (c->etm.skips[i] || u->why_not)
			continue;
		err = print_unit(&r, i, u->id, is_first, diag);
		is_first = false;
	}
	return err;
}

static int print_all(struct trace_command *c)
{
	struct clew_diag diag = {0};
	enum clew_err err;

	c->sink = cli_stdout_sink(&c->sink_diag);
	cli_pager_start();
	err = print_ranges(c, &diag);
	cli_pager_done();
	return cli_etm_finish(&c->etm, err, &diag, &c->sink_diag, true);
}

int trace_ranges(struct trace_command *c)
{
	int status = cli_etm_begin_public(&c->etm);

	if (status == CLI_OK)
		status = print_all(c);
	cli_etm_done(&c->etm);
	return status;
}
