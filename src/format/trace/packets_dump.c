/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/packets_dump.h"

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/mem.h"
#include "base/vec.h"
#include "format/sink_flush.h"
#include "format/trace/dump_bytes.h"

enum { FLUSH = 1 << 16 };

struct mark {
	uint64_t offset, file_offset;
};

struct count {
	uint64_t nr, bytes;
};

struct unit {
	void *reader; /* NULL: not begun */
	struct dump_bytes bytes;
	struct {
		VEC(struct mark);
	} marks;
	size_t mark;
	struct count *counts; /* by kind */
};

struct dump {
	const struct packets_dump_type *type;
	const struct trace_input *trace;
	const struct units_dump_opts *opts;
	const struct clew_sink *sink;
	struct unit *units;
	bool *skips; /* the caller's, and those of other protocols */
	struct buf out;
	size_t shown; /* unit that the last heading names */
};

/* --- one packet --- */

/** Where in its file the unit's byte @p offset was. */
static uint64_t input_offset(struct unit *u, uint64_t offset)
{
	while (u->mark + 1 < u->marks.nr && u->marks.data[u->mark + 1].offset <= offset)
		u->mark++;
	if (u->mark >= u->marks.nr || u->marks.data[u->mark].offset > offset)
		return offset;
	return u->marks.data[u->mark].file_offset + (offset - u->marks.data[u->mark].offset);
}

static void put_bytes(struct dump *d, struct buf *out, const struct unit *u,
		      const struct packets_dump_place *p, const char *apart)
{
	struct bytes same = d->type->same_bytes ? d->type->same_bytes(p->kind) : (struct bytes){0};
	uint8_t data[DUMP_BYTES_SHOWN];
	unsigned int nr = dump_bytes_at(&u->bytes, p->offset, p->bytes, data);

	if (bytes_left(&same) && bytes_left(&same) <= sizeof(data)) {
		nr = (unsigned int)bytes_left(&same);
		memcpy(data, same.pos, nr);
	}
	for (unsigned int i = 0; i < nr; i++) {
		if (i)
			buf_str(out, apart);
		buf_hex(out, data[i], 2, '0');
	}
	if (nr < p->bytes && *apart)
		buf_str(out, nr ? " .." : "..");
}

/** Who the lines after it are of: "# ID 10: ", "# cpu 3: ". */
static void put_unit(struct dump *d, size_t unit)
{
	const struct trace_unit *u = &d->trace->units[unit];

	if (d->type->has_ids)
		buf_printf(&d->out, "# ID %x: ", u->id);
	else
		escape_printf(&d->out, "# %s: ", u->name);
	d->shown = unit;
}

static void put_head(struct dump *d, size_t unit)
{
	const struct trace_unit *u = &d->trace->units[unit];
	struct buf *out = &d->out;

	put_unit(d, unit);
	if (d->type->has_ids && u->name && strncmp(u->name, "cpu ", 4))
		escape_printf(out, "%s, ", u->name);
	if (d->type->has_ids && u->cpu != UINT32_MAX)
		buf_printf(out, "cpu %u, ", u->cpu);
	if (d->type->has_ids && u->tid != UINT32_MAX)
		buf_printf(out, "tid %u, ", u->tid);
	d->type->version(out, u);
	if (u->file)
		escape_printf(out, ", %s", u->file);
	buf_char(out, '\n');
}

static void put_text(struct dump *d, size_t unit, const struct packets_dump_place *p)
{
	struct unit *u = &d->units[unit];
	size_t columns = d->type->hex_columns, start;
	struct buf *out = &d->out;

	if (!d->type->has_ids && d->shown != unit)
		put_head(d, unit);
	buf_dec(out, p->offset, 9, ' ');
	buf_dec(out, input_offset(u, p->offset), 10, ' ');
	if (d->type->has_ids)
		buf_hex(out, d->trace->units[unit].id, 4, ' ');
	buf_str(out, "  ");
	start = out->nr;
	put_bytes(d, out, u, p, " ");
	buf_fill(out, ' ', out->nr - start < columns ? columns - (out->nr - start) : 1);
	buf_field(out, d->type->name(p->kind), -(int)d->type->name_columns);
	buf_char(out, ' ');
	start = out->nr;
	d->type->text(out, u->reader);
	while (out->nr == start && out->data[out->nr - 1] == ' ')
		start = --out->nr;
	buf_char(out, '\n');
}

static void put_unit_json(struct dump *d, struct json_put *j, size_t unit)
{
	const struct trace_unit *u = &d->trace->units[unit];

	json_put_u64(j, "unit", unit);
	if (d->type->has_ids)
		json_put_u64(j, "id", u->id);
	if (u->cpu != UINT32_MAX)
		json_put_u64(j, "cpu", u->cpu);
	if (u->tid != UINT32_MAX)
		json_put_u64(j, "tid", u->tid);
}

static void put_json(struct dump *d, size_t unit, const struct packets_dump_place *p)
{
	clew_auto(buf_done) struct buf hex = {0};
	struct json_put j = {.out = &d->out};
	struct unit *u = &d->units[unit];

	json_open(&j, '{');
	json_put_u64(&j, "offset", p->offset);
	json_put_u64(&j, "input", input_offset(u, p->offset));
	put_unit_json(d, &j, unit);
	json_put_u64(&j, "size", p->bytes);
	put_bytes(d, &hex, u, p, "");
	json_put_string(&j, "bytes", buf_cstr(&hex));
	json_put_string(&j, "packet", d->type->name(p->kind));
	d->type->json(&j, u->reader);
	json_close(&j, '}');
	buf_char(&d->out, '\n');
}

static enum clew_err take_packet(struct dump *d, size_t unit, const struct packets_dump_place *p)
{
	struct unit *u = &d->units[unit];

	u->counts[p->kind].nr++;
	u->counts[p->kind].bytes += p->bytes;
	if (d->opts->is_stat || (d->opts->kinds && !d->opts->kinds[p->kind]))
		return CLEW_OK;
	if (d->opts->is_json)
		put_json(d, unit, p);
	else
		put_text(d, unit, p);
	return sink_flush(d->sink, &d->out, FLUSH);
}

/* --- the run --- */

static bool has_heads(const struct dump *d)
{
	return !d->opts->is_stat && !d->opts->is_json;
}

static enum clew_err begin(struct dump *d, size_t unit)
{
	struct unit *u = &d->units[unit];

	if (u->reader)
		return CLEW_OK;
	u->reader = mem_zalloc(d->type->reader_bytes);
	u->counts = mem_calloc(d->type->nr_kinds, sizeof(*u->counts));
	if (!u->reader || !u->counts)
		return CLEW_NO_MEMORY;
	d->type->init(u->reader, &d->trace->units[unit]);
	if (has_heads(d))
		put_head(d, unit);
	return CLEW_OK;
}

static void drop_marks(struct unit *u)
{
	if (!u->mark)
		return;
	memmove(u->marks.data, u->marks.data + u->mark,
		(u->marks.nr - u->mark) * sizeof(*u->marks.data));
	u->marks.nr -= u->mark;
	u->mark = 0;
}

static enum clew_err take_bytes(void *ctx, size_t unit, struct bytes in, uint64_t offset)
{
	struct dump *d = ctx;
	struct unit *u = &d->units[unit];
	enum clew_err err = d->skips[unit] ? CLEW_OK : begin(d, unit);
	struct packets_dump_place p;

	if (err || d->skips[unit])
		return err;
	if (!d->opts->is_stat)
		dump_bytes_add(&u->bytes, in, offset);
	while (!err && d->type->next(u->reader, &in, &p) == CLEW_OK)
		err = take_packet(d, unit, &p);
	if (!d->opts->is_stat) {
		dump_bytes_keep(&u->bytes, d->type->offset(u->reader));
		input_offset(u, d->type->offset(u->reader));
		drop_marks(u);
	}
	return err;
}

static enum clew_err finish(struct dump *d, size_t unit)
{
	struct unit *u = &d->units[unit];
	enum clew_err err = CLEW_OK;
	struct packets_dump_place p;

	while (!err && u->reader && d->type->finish(u->reader, &p) == CLEW_OK)
		err = take_packet(d, unit, &p);
	dump_bytes_reset(&u->bytes);
	return err;
}

static enum clew_err take_restart(void *ctx, size_t unit, uint64_t offset)
{
	struct dump *d = ctx;
	struct unit *u = &d->units[unit];
	enum clew_err err;

	if (d->skips[unit])
		return CLEW_OK;
	err = finish(d, unit);
	if (!err)
		err = begin(d, unit);
	if (err)
		return err;
	d->type->reset(u->reader, offset);
	if (offset && has_heads(d)) {
		put_unit(d, unit);
		buf_str(&d->out, "discontinuity\n");
	}
	return CLEW_OK;
}

static enum clew_err take_mark(void *ctx, size_t unit, uint64_t offset, uint64_t file_offset)
{
	struct dump *d = ctx;
	struct unit *u = &d->units[unit];

	if (d->skips[unit] || d->opts->is_stat)
		return CLEW_OK;
	return vec_push(&u->marks, (struct mark){offset, file_offset}) ? CLEW_OK : CLEW_NO_MEMORY;
}

/* --- counts --- */

static bool is_listed(const struct dump *d, const struct unit *u, unsigned int kind)
{
	return u->counts[kind].nr && (!d->opts->kinds || d->opts->kinds[kind]);
}

static void stat_line(struct dump *d, const char *name, const struct count *c)
{
	struct buf *out = &d->out;

	buf_str(out, "  ");
	buf_field(out, name, -20);
	buf_dec(out, c->nr, 12, ' ');
	buf_dec(out, c->bytes, 12, ' ');
}

static void stat_text(struct dump *d, size_t unit, const struct count *all)
{
	const struct unit *u = &d->units[unit];

	put_head(d, unit);
	for (unsigned int k = 0; k < d->type->nr_kinds; k++) {
		if (!is_listed(d, u, k))
			continue;
		stat_line(d, d->type->name(k), &u->counts[k]);
		buf_printf(&d->out, " %5.1f%%\n",
			   100.0 * (double)u->counts[k].bytes / (double)all->bytes);
	}
	stat_line(d, "all", all);
	buf_char(&d->out, '\n');
}

static void stat_json(struct dump *d, size_t unit, const struct count *all)
{
	const struct unit *u = &d->units[unit];
	struct json_put j = {.out = &d->out};

	json_open(&j, '{');
	put_unit_json(d, &j, unit);
	json_put_u64(&j, "nr", all->nr);
	json_put_u64(&j, "size", all->bytes);
	json_key(&j, "packets");
	json_open(&j, '{');
	for (unsigned int k = 0; k < d->type->nr_kinds; k++) {
		if (!is_listed(d, u, k))
			continue;
		json_key(&j, d->type->name(k));
		json_open(&j, '{');
		json_put_u64(&j, "nr", u->counts[k].nr);
		json_put_u64(&j, "size", u->counts[k].bytes);
		json_close(&j, '}');
	}
	json_close(&j, '}');
	json_close(&j, '}');
	buf_char(&d->out, '\n');
}

static void put_stat(struct dump *d, size_t unit)
{
	const struct unit *u = &d->units[unit];
	struct count all = {0};

	for (unsigned int k = 0; u->counts && k < d->type->nr_kinds; k++) {
		all.nr += u->counts[k].nr;
		all.bytes += u->counts[k].bytes;
	}
	if (!all.nr)
		return;
	if (d->opts->is_json)
		stat_json(d, unit, &all);
	else
		stat_text(d, unit, &all);
}

static enum clew_err end_all(struct dump *d)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && i < d->trace->nr_units; i++) {
		err = finish(d, i);
		if (d->opts->is_stat)
			put_stat(d, i);
	}
	return err;
}

static enum clew_err run(struct dump *d, struct trace_input *t, const struct cs_listener *coresight,
			 struct clew_diag *diag, bool *ret_is_any)
{
	struct trace_sink take = {.bytes = take_bytes,
				  .restart = take_restart,
				  .mark = take_mark,
				  .piece_bytes = d->opts->piece_bytes,
				  .ctx = d,
				  .listener = d->opts->listener,
				  .coresight = coresight};

	if (!d->units)
		return CLEW_NO_MEMORY;
	return units_dump_run(t, d->type->is_of, d->opts->skips, &take, d->skips, diag, ret_is_any);
}

static void done(struct dump *d)
{
	for (size_t i = 0; d->units && i < d->trace->nr_units; i++) {
		vec_done(&d->units[i].marks);
		mem_free(d->units[i].reader);
		mem_free(d->units[i].counts);
	}
	mem_free(d->units);
	mem_free(d->skips);
	buf_done(&d->out);
}

enum clew_err packets_dump(struct trace_input *t, const struct packets_dump_type *type,
			   const struct units_dump_opts *opts, const struct cs_listener *coresight,
			   const struct clew_sink *sink, struct clew_diag *diag, bool *ret_is_any)
{
	struct dump d = {
		.type = type,
		.trace = t,
		.opts = opts,
		.sink = sink,
		.units = mem_calloc(t->nr_units + 1, sizeof(*d.units)),
		.skips = mem_calloc(t->nr_units + 1, sizeof(*d.skips)),
	};
	enum clew_err err = run(&d, t, coresight, diag, ret_is_any), flushed;

	if (!err)
		err = end_all(&d);
	flushed = sink_flush(d.sink, &d.out, 0);
	done(&d);
	return err ? err : flushed;
}
