/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/spe_units_dump.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "format/json_put.h"
#include "format/sink_flush.h"
#include "format/trace/spe_dump.h"
#include "trace/spe_decoder.h"

enum { FLUSH = 256 << 10, MAX_PACKET = 16, HEX_COLUMNS = 30 };

struct unit {
	uint8_t kept[MAX_PACKET]; /* the start of a packet that the next piece may complete */
	size_t nr_kept;
	uint64_t offset;      /* of kept[0], or of the next byte */
	uint64_t file_offset; /* - offset: where the bytes are in the file */
	bool is_begun;
	uint64_t nr[NR_SPE_KINDS], bytes[NR_SPE_KINDS];
};

struct dump {
	struct trace_input *trace;
	const struct units_dump_opts *opts;
	const struct clew_sink *sink;
	struct unit *units;
	bool *skips;
	struct buf out;
	size_t shown; /* unit that the last heading names */
};

static const char *const kind_names[NR_SPE_KINDS] = {
	[SPE_RESERVED] = "bad",        [SPE_PAD] = "PAD",         [SPE_END] = "END",
	[SPE_ALIGNMENT] = "ALIGNMENT", [SPE_EVENTS] = "EV",       [SPE_DATA_SOURCE] = "DATA-SOURCE",
	[SPE_OPERATION] = "OP-TYPE",   [SPE_CONTEXT] = "CONTEXT", [SPE_TIMESTAMP] = "TS",
	[SPE_COUNTER] = "LAT",         [SPE_ADDRESS] = "ADDR",
};

const char *spe_dump_kind(unsigned int kind)
{
	return kind_names[kind];
}

static enum spe_core core_of(const struct trace_unit *u)
{
	const struct spe_config *c = spe_config_of(u);

	return spe_core_of(c->has_midr ? c->midr : 0);
}

/* Before the first packet of a unit, and where its packets follow those of another. */
static void put_heading(struct dump *d, size_t unit)
{
	buf_printf(&d->out, "# %s: SPE\n", d->trace->units[unit].name);
	d->shown = unit;
}

static void put_hex(struct buf *out, const uint8_t *data, uint64_t bytes, const char *apart)
{
	for (uint64_t i = 0; i < bytes && i < MAX_PACKET; i++) {
		buf_str(out, i ? apart : "");
		buf_hex(out, data[i], 2, '0');
	}
}

static void put_text(struct dump *d, size_t unit, const uint8_t *data, uint64_t bytes,
		     const struct spe_packet *p)
{
	const struct unit *u = &d->units[unit];
	struct buf *out = &d->out;
	size_t from;

	buf_dec(out, u->offset, 9, ' ');
	buf_dec(out, u->offset + u->file_offset, 10, ' ');
	buf_str(out, "  ");
	from = out->nr;
	if (p->kind != SPE_PAD)
		put_hex(out, data, bytes, " ");
	buf_fill(out, ' ', out->nr - from < HEX_COLUMNS ? HEX_COLUMNS - (out->nr - from) : 1);
	spe_packet_text(out, p, core_of(&d->trace->units[unit]));
	if (p->kind == SPE_PAD && bytes > 1)
		buf_printf(out, " %llu", (unsigned long long)bytes);
	buf_char(out, '\n');
}

static void put_json(struct dump *d, size_t unit, const uint8_t *data, uint64_t bytes,
		     const struct spe_packet *p)
{
	clew_auto(buf_done) struct buf text = {0}, hex = {0};
	const struct trace_unit *u = &d->trace->units[unit];
	struct json_put j = {.out = &d->out};

	spe_packet_text(&text, p, core_of(u));
	if (p->kind != SPE_PAD)
		put_hex(&hex, data, bytes, "");
	json_open(&j, '{');
	json_put_u64(&j, "offset", d->units[unit].offset);
	json_put_u64(&j, "input", d->units[unit].offset + d->units[unit].file_offset);
	json_put_u64(&j, "unit", unit);
	if (u->cpu != UINT32_MAX)
		json_put_u64(&j, "cpu", u->cpu);
	if (u->tid != UINT32_MAX)
		json_put_u64(&j, "tid", u->tid);
	json_put_u64(&j, "size", bytes);
	json_put_string(&j, "bytes", buf_cstr(&hex));
	json_put_string(&j, "packet", kind_names[p->kind]);
	json_put_string(&j, "text", buf_cstr(&text));
	json_close(&j, '}');
	buf_char(&d->out, '\n');
}

static bool is_wanted(const struct dump *d, unsigned int kind)
{
	return !d->opts->is_stat && (!d->opts->kinds || d->opts->kinds[kind]);
}

static enum clew_err take_packet(struct dump *d, size_t unit, const uint8_t *data, uint64_t bytes,
				 const struct spe_packet *p)
{
	struct unit *u = &d->units[unit];

	u->nr[p->kind] += p->kind == SPE_PAD ? bytes : 1;
	u->bytes[p->kind] += bytes;
	if (is_wanted(d, p->kind) && d->opts->is_json)
		put_json(d, unit, data, bytes, p);
	else if (is_wanted(d, p->kind)) {
		if (d->shown != unit)
			put_heading(d, unit);
		put_text(d, unit, data, bytes, p);
	}
	u->offset += bytes;
	return sink_flush(d->sink, &d->out, FLUSH);
}

static void begin(struct dump *d, size_t unit)
{
	if (d->units[unit].is_begun)
		return;
	d->units[unit].is_begun = true;
	if (!d->opts->is_json && !d->opts->is_stat)
		put_heading(d, unit);
}

/** All whole packets of @p in; of the last ones, too, if @p is_last. @return bytes used. */
static size_t take_packets(struct dump *d, size_t unit, struct bytes in, bool is_last,
			   enum clew_err *ret_err)
{
	const uint8_t *pos = in.pos;

	while (!*ret_err && pos < in.end) {
		size_t left = (size_t)(in.end - pos), size;
		struct spe_packet p;

		spe_packet_at(pos, left, d->units[unit].offset, &p);
		if (p.is_cut && !is_last)
			break;
		size = p.kind == SPE_PAD ? spe_padding(pos, left) : p.bytes;
		if (p.is_cut) {
			size = 1;
			p = (struct spe_packet){.kind = SPE_RESERVED, .bytes = 1};
		}
		*ret_err = take_packet(d, unit, pos, size, &p);
		pos += size;
	}
	return (size_t)(pos - in.pos);
}

/** Complete the packet that was kept, byte by byte: what it turns out to be may end before the last
 * of them. *@p in moves past what it took. */
static enum clew_err complete_kept(struct dump *d, size_t unit, struct bytes *in)
{
	struct unit *u = &d->units[unit];
	enum clew_err err = CLEW_OK;

	while (!err && u->nr_kept && in->pos < in->end) {
		size_t used;

		u->kept[u->nr_kept++] = *in->pos++;
		used = take_packets(d, unit, bytes_of(u->kept, u->nr_kept), false, &err);
		u->nr_kept -= used;
		memmove(u->kept, u->kept + used, u->nr_kept);
	}
	return err;
}

static enum clew_err take_bytes(void *ctx, size_t unit, struct bytes in, uint64_t offset)
{
	struct dump *d = ctx;
	struct unit *u = &d->units[unit];
	enum clew_err err;

	if (d->skips[unit])
		return CLEW_OK;
	begin(d, unit);
	if (!u->nr_kept)
		u->offset = offset;
	err = complete_kept(d, unit, &in);
	if (err)
		return err;
	in.pos += take_packets(d, unit, in, false, &err);
	if (err || bytes_left(&in) > MAX_PACKET)
		return err;
	for (; in.pos < in.end; in.pos++)
		u->kept[u->nr_kept++] = *in.pos;
	return CLEW_OK;
}

static enum clew_err finish(struct dump *d, size_t unit)
{
	struct unit *u = &d->units[unit];
	struct bytes rest = bytes_of(u->kept, u->nr_kept);
	enum clew_err err = CLEW_OK;

	u->nr_kept = 0;
	take_packets(d, unit, rest, true, &err);
	return err;
}

static enum clew_err take_restart(void *ctx, size_t unit, uint64_t offset)
{
	(void)offset;
	return finish(ctx, unit);
}

static enum clew_err take_mark(void *ctx, size_t unit, uint64_t offset, uint64_t file_offset)
{
	struct dump *d = ctx;

	d->units[unit].file_offset = file_offset - offset;
	return CLEW_OK;
}

static void put_stat(struct dump *d, size_t unit)
{
	const struct unit *u = &d->units[unit];
	struct json_put j = {.out = &d->out};
	uint64_t all = 0;

	for (int k = 0; k < NR_SPE_KINDS; k++)
		all += u->bytes[k];
	if (!d->opts->is_json)
		put_heading(d, unit);
	if (d->opts->is_json) {
		json_open(&j, '{');
		json_put_u64(&j, "unit", unit);
		json_put_string(&j, "name", d->trace->units[unit].name);
		json_key(&j, "packets");
		json_open(&j, '{');
	}
	for (int k = 0; k < NR_SPE_KINDS; k++) {
		if (!u->nr[k] || (d->opts->kinds && !d->opts->kinds[k]))
			continue;
		if (d->opts->is_json)
			json_put_u64(&j, kind_names[k], u->nr[k]);
		else
			buf_printf(&d->out, "  %-20s %11llu %11llu %5.1f%%\n", kind_names[k],
				   (unsigned long long)u->nr[k], (unsigned long long)u->bytes[k],
				   100.0 * (double)u->bytes[k] / (double)all);
	}
	if (!d->opts->is_json)
		return;
	json_close(&j, '}');
	json_close(&j, '}');
	buf_char(&d->out, '\n');
}

static enum clew_err end_all(struct dump *d)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && i < d->trace->nr_units; i++) {
		if (!d->units[i].is_begun)
			continue;
		err = finish(d, i);
		if (d->opts->is_stat)
			put_stat(d, i);
	}
	return err ? err : sink_flush(d->sink, &d->out, 0);
}

static bool is_spe(const struct trace_unit *u)
{
	return spe_config_of(u);
}

static enum clew_err run(struct dump *d, struct clew_diag *diag, bool *ret_is_any)
{
	struct trace_sink take = {.bytes = take_bytes,
				  .restart = take_restart,
				  .mark = take_mark,
				  .piece_bytes = d->opts->piece_bytes,
				  .ctx = d,
				  .listener = d->opts->listener};

	if (!d->units)
		return CLEW_NO_MEMORY;
	return units_dump_run(d->trace, is_spe, d->opts->skips, &take, d->skips, diag, ret_is_any);
}

enum clew_err spe_units_dump(struct trace_input *t, const struct units_dump_opts *opts,
			     const struct clew_sink *sink, struct clew_diag *diag, bool *ret_is_any)
{
	struct dump d = {
		.trace = t,
		.opts = opts,
		.sink = sink,
		.units = mem_calloc(t->nr_units + 1, sizeof(*d.units)),
		.skips = mem_calloc(t->nr_units + 1, sizeof(*d.skips)),
	};
	enum clew_err err = run(&d, diag, ret_is_any);

	err = err ? err : end_all(&d);
	mem_free(d.units);
	mem_free(d.skips);
	buf_done(&d.out);
	return err;
}
