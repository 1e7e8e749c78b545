/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/etm_dump.h"

#include "base/escape.h"
#include "base/vec.h"
#include "format/sink_flush.h"
#include "format/trace/etm_frames_text.h"
#include "format/trace/etm_packet_text.h"
#include "format/trace/units_dump.h"
#include "trace/cs_listener.h"
#include "trace/etm_decoder.h"

enum { FLUSH = 1 << 16, MAX_KEPT = 64, MAX_HEX = 20, HEX_COLUMNS = 36, NAME_COLUMNS = 20 };

struct mark {
	uint64_t offset, file_offset;
};

struct unit {
	struct etm_packets packets;
	/* Bytes of the packet that the last piece cut, for its hex. */
	struct buf kept;
	uint64_t kept_at;
	struct bytes view; /* what can be shown, from view_at on */
	uint64_t view_at;
	struct {
		VEC(struct mark);
	} marks;
	size_t mark;
	bool is_begun;
	uint64_t nr[NR_ETM_KINDS], bytes[NR_ETM_KINDS];
};

struct dump {
	const struct trace_input *trace;
	const struct etm_dump_opts *opts;
	const struct clew_sink *sink;
	struct unit *units;
	bool *skips; /* the caller's, and what cannot be decoded */
	struct cs_leftover frames;
	struct buf out;
};

static bool is_wanted(const struct dump *d, size_t unit)
{
	return !d->skips[unit];
}

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

static void put_bytes(struct buf *out, const struct unit *u, const struct etm_packet *p,
		      const char *apart)
{
	uint64_t nr = p->bytes < MAX_HEX ? p->bytes : MAX_HEX;
	uint64_t from = p->offset - u->view_at;

	if (p->offset < u->view_at || from > bytes_left(&u->view))
		nr = 0;
	else if (nr > bytes_left(&u->view) - from)
		nr = bytes_left(&u->view) - from;
	for (uint64_t i = 0; i < nr; i++) {
		if (i)
			buf_str(out, apart);
		buf_hex(out, u->view.pos[from + i], 2, '0');
	}
	if (nr < p->bytes && *apart)
		buf_str(out, nr ? " .." : "..");
}

static void put_text(struct dump *d, size_t unit, const struct etm_packet *p)
{
	struct unit *u = &d->units[unit];
	struct buf *out = &d->out;
	size_t start;

	buf_dec(out, p->offset, 9, ' ');
	buf_dec(out, input_offset(u, p->offset), 10, ' ');
	buf_hex(out, d->trace->units[unit].id, 4, ' ');
	buf_str(out, "  ");
	start = out->nr;
	put_bytes(out, u, p, " ");
	buf_fill(out, ' ', out->nr - start < HEX_COLUMNS ? HEX_COLUMNS - (out->nr - start) : 1);
	buf_field(out, etm_kind_name((enum etm_kind)p->kind), -NAME_COLUMNS);
	buf_char(out, ' ');
	start = out->nr;
	etm_packet_text(out, u->packets.config, p);
	while (out->nr == start && out->data[out->nr - 1] == ' ')
		start = --out->nr;
	buf_char(out, '\n');
}

static void put_cpu(struct json_put *j, const struct trace_unit *u)
{
	if (u->cpu == UINT32_MAX)
		return;
	json_put_u64(j, "cpu", u->cpu);
}

static void put_json(struct dump *d, size_t unit, const struct etm_packet *p)
{
	struct json_put j = {.out = &d->out};
	struct unit *u = &d->units[unit];
	struct buf hex = {0};

	json_open(&j, '{');
	json_put_u64(&j, "offset", p->offset);
	json_put_u64(&j, "input", input_offset(u, p->offset));
	json_put_u64(&j, "unit", unit);
	json_put_u64(&j, "id", d->trace->units[unit].id);
	put_cpu(&j, &d->trace->units[unit]);
	json_put_u64(&j, "size", p->bytes);
	put_bytes(&hex, u, p, "");
	json_put_string(&j, "bytes", buf_cstr(&hex));
	buf_done(&hex);
	json_put_string(&j, "packet", etm_kind_name((enum etm_kind)p->kind));
	etm_packet_json(&j, u->packets.config, p);
	json_close(&j, '}');
	buf_char(&d->out, '\n');
}

static enum clew_err take_packet(struct dump *d, size_t unit, const struct etm_packet *p)
{
	struct unit *u = &d->units[unit];

	u->nr[p->kind]++;
	u->bytes[p->kind] += p->bytes;
	if (d->opts->is_stat || (d->opts->kinds && !d->opts->kinds[p->kind]))
		return CLEW_OK;
	if (d->opts->is_json)
		put_json(d, unit, p);
	else
		put_text(d, unit, p);
	return sink_flush(d->sink, &d->out, FLUSH);
}

/* --- the run --- */

static void put_head(struct dump *d, size_t unit)
{
	const struct trace_unit *u = &d->trace->units[unit];
	struct buf *out = &d->out;

	buf_printf(out, "# ID %x: ", u->id);
	if (u->name && strncmp(u->name, "cpu ", 4))
		escape_printf(out, "%s, ", u->name);
	if (u->cpu != UINT32_MAX)
		buf_printf(out, "cpu %u, ", u->cpu);
	if (u->tid != UINT32_MAX)
		buf_printf(out, "tid %u, ", u->tid);
	etm_version_text(out, etm_config_of(u));
	if (u->file)
		escape_printf(out, ", %s", u->file);
	buf_char(out, '\n');
}

static void begin(struct dump *d, size_t unit)
{
	struct unit *u = &d->units[unit];

	if (u->is_begun)
		return;
	u->is_begun = true;
	etm_packets_init(&u->packets, etm_config_of(&d->trace->units[unit]));
	if (!d->opts->is_stat && !d->opts->is_json)
		put_head(d, unit);
}

/** Show the bytes held from before together with @p in. @return false: out of memory. */
static bool look_at(struct unit *u, struct bytes in, uint64_t offset)
{
	if (!u->kept.nr) {
		u->view = in;
		u->view_at = offset;
		return true;
	}
	buf_add(&u->kept, in.pos, bytes_left(&in));
	u->view = bytes_of(u->kept.data, u->kept.nr);
	u->view_at = u->kept_at;
	return !u->kept.is_failed;
}

/** Keep what the next piece may complete. Of skipped bytes nothing is kept. */
static bool keep_rest(struct unit *u)
{
	struct bytes rest = u->view;
	uint64_t done = u->packets.offset - u->view_at;

	if (u->packets.offset < u->view_at || bytes_left(&rest) - done > MAX_KEPT)
		done = bytes_left(&rest);
	u->kept_at = u->view_at + done;
	rest.pos += done;
	if (u->kept.nr) {
		memmove(u->kept.data, rest.pos, bytes_left(&rest));
		u->kept.nr = bytes_left(&rest);
	} else {
		buf_add(&u->kept, rest.pos, bytes_left(&rest));
	}
	u->view = bytes_of(u->kept.data, u->kept.nr);
	u->view_at = u->kept_at;
	return !u->kept.is_failed;
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
	enum clew_err err = CLEW_OK;
	struct etm_packet p;

	if (!is_wanted(d, unit))
		return CLEW_OK;
	begin(d, unit);
	if (!look_at(u, in, offset))
		return CLEW_NO_MEMORY;
	while (!err && etm_packets_next(&u->packets, &in, &p) == CLEW_OK)
		err = take_packet(d, unit, &p);
	drop_marks(u);
	return err || keep_rest(u) ? err : CLEW_NO_MEMORY;
}

static enum clew_err finish(struct dump *d, size_t unit)
{
	struct unit *u = &d->units[unit];
	enum clew_err err = CLEW_OK;
	struct etm_packet p;

	while (!err && u->is_begun && etm_packets_finish(&u->packets, &p) == CLEW_OK)
		err = take_packet(d, unit, &p);
	buf_clear(&u->kept);
	return err;
}

static enum clew_err take_restart(void *ctx, size_t unit, uint64_t offset)
{
	struct dump *d = ctx;
	struct unit *u = &d->units[unit];
	enum clew_err err;

	if (!is_wanted(d, unit))
		return CLEW_OK;
	err = finish(d, unit);
	begin(d, unit);
	etm_packets_reset(&u->packets, offset);
	if (offset && !d->opts->is_stat && !d->opts->is_json)
		buf_printf(&d->out, "# ID %x: discontinuity\n", d->trace->units[unit].id);
	return err;
}

static enum clew_err take_mark(void *ctx, size_t unit, uint64_t offset, uint64_t file_offset)
{
	struct dump *d = ctx;
	struct unit *u = &d->units[unit];

	if (!is_wanted(d, unit) || d->opts->is_stat)
		return CLEW_OK;
	return vec_push(&u->marks, (struct mark){offset, file_offset}) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err take_frames(void *ctx, const struct cs_leftover *f)
{
	((struct dump *)ctx)->frames = *f;
	return CLEW_OK;
}

/* --- counts --- */

static void stat_text(struct dump *d, size_t unit, uint64_t nr, uint64_t bytes)
{
	const struct unit *u = &d->units[unit];
	struct buf *out = &d->out;

	put_head(d, unit);
	for (int k = 0; k < NR_ETM_KINDS; k++) {
		if (!u->nr[k] || (d->opts->kinds && !d->opts->kinds[k]))
			continue;
		buf_str(out, "  ");
		buf_field(out, etm_kind_name((enum etm_kind)k), -NAME_COLUMNS);
		buf_dec(out, u->nr[k], 12, ' ');
		buf_dec(out, u->bytes[k], 12, ' ');
		buf_printf(out, " %5.1f%%\n", 100.0 * (double)u->bytes[k] / (double)bytes);
	}
	buf_str(out, "  ");
	buf_field(out, "all", -NAME_COLUMNS);
	buf_dec(out, nr, 12, ' ');
	buf_dec(out, bytes, 12, ' ');
	buf_char(out, '\n');
}

static void stat_json(struct dump *d, size_t unit, uint64_t nr, uint64_t bytes)
{
	const struct unit *u = &d->units[unit];
	struct json_put j = {.out = &d->out};

	json_open(&j, '{');
	json_put_u64(&j, "unit", unit);
	json_put_u64(&j, "id", d->trace->units[unit].id);
	put_cpu(&j, &d->trace->units[unit]);
	json_put_u64(&j, "nr", nr);
	json_put_u64(&j, "size", bytes);
	json_key(&j, "packets");
	json_open(&j, '{');
	for (int k = 0; k < NR_ETM_KINDS; k++) {
		if (!u->nr[k] || (d->opts->kinds && !d->opts->kinds[k]))
			continue;
		json_key(&j, etm_kind_name((enum etm_kind)k));
		json_open(&j, '{');
		json_put_u64(&j, "nr", u->nr[k]);
		json_put_u64(&j, "size", u->bytes[k]);
		json_close(&j, '}');
	}
	json_close(&j, '}');
	json_close(&j, '}');
	buf_char(&d->out, '\n');
}

static void put_stat(struct dump *d, size_t unit)
{
	const struct unit *u = &d->units[unit];
	uint64_t nr = 0, bytes = 0;

	for (int k = 0; k < NR_ETM_KINDS; k++) {
		nr += u->nr[k];
		bytes += u->bytes[k];
	}
	if (!nr)
		return;
	if (d->opts->is_json)
		stat_json(d, unit, nr, bytes);
	else
		stat_text(d, unit, nr, bytes);
}

static enum clew_err end_all(struct dump *d)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; !err && i < d->trace->nr_units; i++) {
		err = finish(d, i);
		if (d->opts->is_stat)
			put_stat(d, i);
	}
	if (d->opts->is_stat && d->opts->is_json)
		etm_frames_json(&d->out, &d->frames);
	else if (d->opts->is_stat)
		etm_frames_text(&d->out, &d->frames);
	return err ? err : sink_flush(d->sink, &d->out, 0);
}

static bool is_etm(const struct trace_unit *u)
{
	return u->is_decodable && etm_config_of(u);
}

static enum clew_err run(struct dump *d, struct trace_input *t, struct clew_diag *diag)
{
	const struct cs_listener frames = {.frames = take_frames, .ctx = d};
	struct trace_sink take = {.bytes = take_bytes,
				  .restart = take_restart,
				  .mark = take_mark,
				  .ctx = d,
				  .listener = d->opts->listener,
				  .coresight = &frames};
	bool is_any;

	if (!d->units)
		return CLEW_NO_MEMORY;
	return units_dump_run(t, is_etm, d->opts->skips, &take, d->skips, diag, &is_any);
}

enum clew_err etm_dump(struct trace_input *t, const struct etm_dump_opts *opts,
		       const struct clew_sink *sink, struct clew_diag *diag)
{
	struct dump d = {
		.trace = t,
		.opts = opts,
		.sink = sink,
		.units = mem_calloc(t->nr_units + 1, sizeof(*d.units)),
		.skips = mem_calloc(t->nr_units + 1, sizeof(*d.skips)),
	};
	enum clew_err err = run(&d, t, diag);

	if (!err)
		err = end_all(&d);
	else
		sink_flush(d.sink, &d.out, 0);
	for (size_t i = 0; d.units && i < t->nr_units; i++) {
		vec_done(&d.units[i].marks);
		buf_done(&d.units[i].kept);
	}
	mem_free(d.units);
	mem_free(d.skips);
	buf_done(&d.out);
	return err;
}

const char *etm_dump_kind(unsigned int kind)
{
	return etm_kind_name((enum etm_kind)kind) + 2; /* without I_ */
}
