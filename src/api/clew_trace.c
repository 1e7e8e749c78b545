/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/recorded_on.h"
#include "api/frame.h"
#include "api/left_out.h"
#include "api/misuse.h"
#include "api/opts.h"
#include "api/trace_impl.h"
#include "base/err.h"
#include "base/mem.h"
#include "os/memory.h"
#include "trace/etm_decoder.h"
#include "trace/perf/perf_trace.h"
#include "trace/pt_decoder.h"
#include "trace/snapshot/cs_snapshot.h"
#include "trace/snapshot/pt_raw.h"
#include "trace/spe_decoder.h"

/* --- opening --- */

/** @p caller: where the trace will be returned. */
static enum clew_err begin(struct clew_trace **caller, struct clew_trace **ret,
			   const struct clew_trace_opts *opts, struct clew_trace_opts *ret_opts,
			   struct clew_diag *diag)
{
	static const struct opts_type type = OPTS_TYPE(struct clew_trace_opts);
	struct clew_trace *t;
	enum clew_err err = caller ? opts_take(ret_opts, &type, opts, diag)
				   : api_misuse(diag, "an argument is NULL");

	if (err != CLEW_OK)
		return err;
	t = mem_zalloc(sizeof(*t));
	if (!t)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	t->budget.limit = ret_opts->max_memory ? ret_opts->max_memory : os_memory_share();
	t->symbols = (struct dso_store_opts){.budget = &t->budget,
					     .symfs = ret_opts->symfs,
					     .vmlinux = ret_opts->vmlinux,
					     .kallsyms = ret_opts->kallsyms,
					     .guest_mount = ret_opts->guest_mount,
					     .guest_kallsyms = ret_opts->guest_kallsyms,
					     .guest_modules = ret_opts->guest_modules,
					     .guest_vmlinux = ret_opts->guest_vmlinux,
					     .buildid_dir = ret_opts->build_ids,
					     .force = ret_opts->trusts_other_users};
	*ret = t;
	return CLEW_OK;
}

static uint8_t protocol_of(const struct trace_unit *u)
{
	const struct etm_config *etm = etm_config_of(u);

	if (!u->is_decodable)
		return CLEW_PROTOCOL_UNKNOWN;
	if (spe_config_of(u))
		return CLEW_PROTOCOL_SPE;
	if (pt_config_of(u))
		return CLEW_PROTOCOL_INTEL_PT;
	if (!etm)
		return CLEW_PROTOCOL_UNKNOWN;
	return etm->is_ete ? CLEW_PROTOCOL_ETE : CLEW_PROTOCOL_ETM;
}

static struct clew_trace_unit unit_of(const struct trace_unit *u)
{
	const char *why = u->why.what ? u->why.what : clew_err_name(u->why.code);

	return (struct clew_trace_unit){
		.id = u->id,
		.cpu = u->cpu,
		.tid = u->tid,
		.session = u->session,
		.protocol = protocol_of(u),
		.name = u->name,
		.why_not = u->is_decodable ? NULL : why,
	};
}

static enum clew_err list_units(struct clew_trace *t, struct clew_diag *diag)
{
	size_t nr = t->trace->nr_units;

	t->units = mem_calloc(nr + 1, sizeof(*t->units));
	t->states = mem_calloc(nr + 1, sizeof(*t->states));
	if (!t->units || !t->states)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	for (size_t i = 0; i < nr; i++)
		t->units[i] = unit_of(&t->trace->units[i]);
	return CLEW_OK;
}

/** What is opened with result @p err becomes the caller's. */
static enum clew_err end(struct clew_trace **ret, struct clew_trace *t, enum clew_err err,
			 struct clew_diag *diag)
{
	if (err == CLEW_OK)
		err = list_units(t, diag);
	if (err == CLEW_OK)
		*ret = t;
	else
		clew_trace_free(t);
	return err;
}

static void pass_on_notes(const struct clew_trace *t, const struct clew_trace_opts *o)
{
	const char *note;

	for (size_t i = 0; o->note && (note = cs_snapshot_note(t->trace, i)); i++)
		o->note(o->ctx, note);
}

static enum clew_err open_snapshot(struct clew_trace *t, const char *path,
				   const struct clew_trace_opts *o, struct clew_diag *diag)
{
	enum clew_err err =
		cs_snapshot_open_with_notes(&t->trace, path, &t->budget, o->note, o->ctx, diag);

	t->is_snapshot = true;
	if (err == CLEW_OK)
		pass_on_notes(t, o);
	return err;
}

static long read_stream(void *ctx, void *buf, size_t size)
{
	const struct clew_trace *t = ctx;

	return os_read(t->fd, buf, size);
}

static enum clew_err open_recording(struct clew_trace *t, enum clew_err err, struct clew_diag *diag)
{
	struct recorded_on r;

	if (err == CLEW_OK && !t->map.data)
		err = clew_fail(diag, CLEW_BAD_FILE, 0, "the file is empty");
	if (err != CLEW_OK)
		return err;
	t->input = (struct perf_input){
		.data = t->map.data, .size = t->map.size, .budget = &t->budget, .is_mapped = true};
	r = recorded_on(&t->input);
	recorded_on_set_symbols(&r, &t->symbols);
	return perf_trace_open(&t->trace, &t->input, &t->symbols, diag);
}

static enum clew_err open_stream(struct clew_trace *t, struct clew_diag *diag)
{
	t->input = (struct perf_input){.read = read_stream, .ctx = t, .budget = &t->budget};
	return perf_trace_open(&t->trace, &t->input, &t->symbols, diag);
}

enum clew_err clew_trace_open(struct clew_trace **ret, const char *path,
			      const struct clew_trace_opts *opts, struct clew_diag *diag)
{
	struct clew_trace_opts o = {0};
	struct clew_trace *t;
	enum clew_err err =
		path ? begin(ret, &t, opts, &o, diag) : api_misuse(diag, "an argument is NULL");

	if (err != CLEW_OK)
		return err;
	recorded_on_set_end(path, &t->symbols);
	if (cs_is_snapshot(path))
		err = open_snapshot(t, path, &o, diag);
	else
		err = open_recording(t, os_map_file(path, &t->map, diag), diag);
	return end(ret, t, err, diag);
}

enum clew_err clew_trace_open_fd(struct clew_trace **ret, int fd,
				 const struct clew_trace_opts *opts, struct clew_diag *diag)
{
	struct clew_trace_opts o = {0};
	struct clew_trace *t;
	enum clew_err err = begin(ret, &t, opts, &o, diag);

	if (err != CLEW_OK)
		return err;
	t->fd = fd;
	err = os_map_fd(fd, &t->map, diag);
	err = err == CLEW_UNSUPPORTED ? open_stream(t, diag) : open_recording(t, err, diag);
	return end(ret, t, err, diag);
}

static bool is_pt(const char *protocol)
{
	return protocol && (!strcmp(protocol, "PT") || !strcmp(protocol, "INTEL_PT"));
}

static enum clew_err open_raw_pt(struct clew_trace *t, const struct clew_trace_raw *r,
				 struct clew_diag *diag)
{
	const struct pt_raw_opts opts = {
		.file = r->file, .registers = r->registers, .memory = r->memory};

	if (r->format && strcmp(r->format, "source_data") != 0)
		return api_misuse(diag, "Intel PT has no frames: its format is source_data");
	return pt_raw_open(&t->trace, &opts, diag);
}

static enum clew_err open_raw_cs(struct clew_trace *t, const struct clew_trace_raw *r,
				 const struct clew_trace_opts *o, struct clew_diag *diag)
{
	const struct cs_raw raw = {.file = r->file,
				   .format = r->format,
				   .type = r->protocol,
				   .regs = r->registers,
				   .memory = r->memory};
	enum clew_err err;

	t->is_snapshot = true;
	err = cs_snapshot_open_raw(&t->trace, &raw, &t->budget, o->note, o->ctx, diag);
	if (err == CLEW_OK)
		pass_on_notes(t, o);
	return err;
}

enum clew_err clew_trace_open_raw(struct clew_trace **ret, const struct clew_trace_raw *raw,
				  const struct clew_trace_opts *opts, struct clew_diag *diag)
{
	static const struct opts_type type = {.bytes = sizeof(struct clew_trace_raw)};
	struct clew_trace_opts o = {0};
	struct clew_trace_raw r = {0};
	struct clew_trace *t;
	enum clew_err err = opts_take(&r, &type, raw, diag);

	if (err == CLEW_OK && !r.file)
		err = api_misuse(diag, "no file of raw trace is named");
	if (err == CLEW_OK)
		err = begin(ret, &t, opts, &o, diag);
	if (err != CLEW_OK)
		return err;
	err = is_pt(r.protocol) ? open_raw_pt(t, &r, diag) : open_raw_cs(t, &r, &o, diag);
	return end(ret, t, err, diag);
}

void clew_trace_free(struct clew_trace *t)
{
	if (!t)
		return;
	trace_pull_done(&t->pull);
	for (size_t i = 0; t->states && i < t->trace->nr_units; i++)
		trace_state_done(&t->states[i]);
	trace_input_free(t->trace);
	os_map_done(&t->map);
	vec_done(&t->made.events);
	vec_done(&t->made.partial);
	buf_done(&t->who);
	mem_free(t->units);
	mem_free(t->states);
	mem_free(t);
}

/* --- what it holds --- */

const struct clew_trace_unit *clew_trace_unit(const struct clew_trace *t, size_t i)
{
	return t && i < t->trace->nr_units ? &t->units[i] : NULL;
}

enum clew_err clew_trace_resolve(struct clew_trace *t, uint32_t space, uint64_t address,
				 const struct clew_frame **ret)
{
	const struct ana_loc *loc;

	if (!t || !ret)
		return CLEW_INVALID;
	loc = t->trace->ops->locate(t->trace, space, address);
	if (!loc)
		return CLEW_NO_MEMORY;
	t->frame = api_frame_of(loc);
	*ret = &t->frame;
	return CLEW_OK;
}

const struct clew_left_out *clew_trace_left_out(struct clew_trace *t)
{
	if (!t)
		return NULL;
	t->left_out = left_out_of(&t->budget);
	return &t->left_out;
}

const struct clew_trace_summary *clew_trace_summary(struct clew_trace *t)
{
	const struct clew_diag *end;

	if (!t)
		return NULL;
	end = t->pull.pass == TRACE_NEW ? &t->trace->cut : &t->end;
	t->summary = (struct clew_trace_summary){
		.end = end->code,
		.end_offset = end->offset,
		.nr_aux_bytes = t->trace->nr_bytes,
		.nr_aux_missing = t->trace->nr_missing_bytes,
		.left_out = clew_trace_left_out(t),
	};
	return &t->summary;
}
