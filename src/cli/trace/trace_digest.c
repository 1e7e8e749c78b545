/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "base/err.h"
#include "cli/trace/trace.h"
#include "cli/trace/trace_sha256.h"
#include "format/trace/trace_addresses.h"
#include "trace/pt_decoder.h"

enum { NR_IDS = 128 };

/** One trace ID, in all sessions; or one AUX ring, where the trace has no IDs. */
struct id_digest {
	const struct trace_sha256 *by;
	void *sha; /* NULL: not begun */
	uint64_t nr_insns;
};

struct digest {
	struct trace_command *command;
	struct trace_sha256 *by;
	struct id_digest ids[NR_IDS];
	struct id_digest *rings;           /* one per unit */
	struct trace_addresses *addresses; /* one per unit */
};

static struct id_digest *id_of(struct digest *d, size_t unit)
{
	const struct trace_unit *u = &d->command->etm.trace->units[unit];

	return pt_config_of(u) ? &d->rings[unit] : &d->ids[u->id % NR_IDS];
}

static enum clew_err hash(void *ctx, struct buf *out)
{
	struct id_digest *id = ctx;
	bool ok = trace_sha256_add(id->by, id->sha, out->data, out->nr);

	buf_clear(out);
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	return trace_addresses_batch(&((struct digest *)ctx)->addresses[unit], b);
}

static enum clew_err take_end(void *ctx, size_t unit, struct flow *flow)
{
	struct digest *d = ctx;
	enum clew_err err = hash(id_of(d, unit), &d->addresses[unit].out);

	id_of(d, unit)->nr_insns += flow_totals(flow)->nr_insns;
	trace_addresses_done(&d->addresses[unit]);
	return err;
}

static bool begin(struct digest *d)
{
	const struct trace_input *t = d->command->etm.trace;

	d->addresses = mem_calloc(t->nr_units, sizeof(*d->addresses));
	d->rings = mem_calloc(t->nr_units, sizeof(*d->rings));
	for (size_t i = 0; d->addresses && d->rings && i < t->nr_units; i++) {
		const struct trace_unit *u = &t->units[i];
		struct id_digest *id = id_of(d, i);

		d->addresses[i].full = hash;
		d->addresses[i].ctx = id;
		if (u->decoder)
			flow_code_init(&d->addresses[i].code, u->code, u->decoder->insns, false);
		if (id->sha || !u->is_decodable || d->command->etm.skips[i])
			continue;
		id->by = d->by;
		id->sha = trace_sha256_begin(d->by);
		if (!id->sha)
			return false;
	}
	return d->addresses && d->rings;
}

/** @p name: what was hashed, text or the member of an object. */
static bool put_line(const struct digest *d, const char *name, const struct id_digest *id,
		     struct buf *out)
{
	uint8_t sum[TRACE_SHA256_BYTES];

	if (!trace_sha256_end(id->by, id->sha, sum))
		return false;
	buf_str(out, d->command->is_json ? "{" : "");
	buf_str(out, name);
	buf_str(out, d->command->is_json ? ",\"instructions\":" : " ");
	buf_dec(out, id->nr_insns, 0, ' ');
	buf_str(out, d->command->is_json ? ",\"sha256\":\"" : " ");
	buf_hex_bytes(out, sum, sizeof(sum));
	buf_str(out, d->command->is_json ? "\"}\n" : "\n");
	return true;
}

static enum clew_err put_lines(struct digest *d)
{
	const struct trace_input *t = d->command->etm.trace;
	bool is_json = d->command->is_json;
	enum clew_err err = CLEW_OK;
	struct buf out = {0};
	char name[48];

	for (unsigned int id = 0; !err && id < NR_IDS; id++) {
		snprintf(name, sizeof(name), is_json ? "\"id\":\"0x%x\"" : "%x", id);
		if (d->ids[id].sha && !put_line(d, name, &d->ids[id], &out))
			err = CLEW_NO_MEMORY;
	}
	for (size_t i = 0; !err && i < t->nr_units; i++) {
		snprintf(name, sizeof(name), is_json ? "\"unit\":\"%s\"" : "%s", t->units[i].name);
		if (d->rings[i].sha && !put_line(d, name, &d->rings[i], &out))
			err = CLEW_NO_MEMORY;
	}
	if (!err)
		err = trace_write(d->command, &out);
	buf_done(&out);
	return err;
}

enum clew_err trace_print_digest(struct trace_command *c, struct clew_diag *diag)
{
	struct digest d = {.command = c};
	struct trace_decode_opts opts = trace_opts_of(c, true);
	enum clew_err err;

	d.by = trace_sha256_new();
	if (!d.by)
		return clew_fail(diag, CLEW_UNSUPPORTED, 0,
				 "digests need the library libcrypto, which is not installed");
	err = begin(&d) ? CLEW_OK : CLEW_NO_MEMORY;
	opts.batch = take_batch;
	opts.unit_end = take_end;
	opts.ctx = &d;
	if (!err)
		err = trace_decode(c->etm.trace, &opts, diag);
	if (!err)
		err = put_lines(&d);
	for (size_t i = 0; d.addresses && d.rings && i < c->etm.trace->nr_units; i++) {
		trace_addresses_done(&d.addresses[i]);
		trace_sha256_drop(d.by, d.rings[i].sha);
	}
	for (unsigned int id = 0; id < NR_IDS; id++)
		trace_sha256_drop(d.by, d.ids[id].sha);
	trace_sha256_free(d.by);
	mem_free(d.rings);
	mem_free(d.addresses);
	return err;
}
