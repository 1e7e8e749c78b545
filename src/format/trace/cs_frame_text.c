/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/cs_frame_text.h"

#include "base/escape.h"
#include "format/json_put.h"
#include "format/sink_flush.h"
#include "trace/cs_listener.h"

enum { FLUSH = 1 << 16, NOT_KNOWN = 0xff, FIRST_RESERVED = 0x70 };

struct dump {
	const struct cs_frame_text_opts *opts;
	const struct clew_sink *sink;
	const char *file; /* that was named last */
	bool is_begun;
	struct buf out;
};

static const char *const words[NR_CS_SEEN] = {
	[CS_SEEN_FRAME] = "FRAME",     [CS_SEEN_BARRIER] = "BARRIER", [CS_SEEN_BROKEN] = "BROKEN",
	[CS_SEEN_FSYNC] = "FSYNC",     [CS_SEEN_HSYNC] = "HSYNC",     [CS_SEEN_FOOTER] = "FOOTER",
	[CS_SEEN_SKIPPED] = "SKIPPED",
};

static void put_hex(struct buf *out, const uint8_t *bytes, const char *apart)
{
	for (unsigned int i = 0; i < CS_FRAME_BYTES; i++) {
		if (i)
			buf_str(out, apart);
		buf_hex(out, bytes[i], 2, '0');
	}
}

static void put_part(struct buf *out, const struct cs_part *p)
{
	if (p->id == NOT_KNOWN)
		buf_str(out, " ?");
	else if (!p->id)
		buf_str(out, " pad");
	else
		buf_printf(out, " %x%s", p->id, p->id >= FIRST_RESERVED ? "!" : "");
	buf_printf(out, "[%u", p->at);
	if (p->size > 1)
		buf_printf(out, "-%u", p->at + p->size - 1u);
	buf_char(out, ']');
}

static void put_text(struct buf *out, const struct cs_seen *s)
{
	struct cs_part parts[CS_MAX_PARTS];
	unsigned int nr;

	buf_dec(out, s->offset, 10, ' ');
	buf_str(out, "  ");
	buf_field(out, words[s->kind], s->bytes ? -8 : -7);
	if (s->bytes)
		put_hex(out, s->bytes, " ");
	else
		buf_printf(out, " %llu bytes", (unsigned long long)s->size);
	if (s->kind == CS_SEEN_FRAME) {
		nr = cs_frame_parts(s->bytes, s->id, parts);
		buf_char(out, ' ');
		for (unsigned int i = 0; i < nr; i++)
			put_part(out, &parts[i]);
	}
	buf_char(out, '\n');
}

static void json_parts(struct json_put *j, const struct cs_seen *s)
{
	struct cs_part parts[CS_MAX_PARTS];
	unsigned int nr = cs_frame_parts(s->bytes, s->id, parts);

	json_key(j, "parts");
	json_open(j, '[');
	for (unsigned int i = 0; i < nr; i++) {
		json_open(j, '{');
		if (parts[i].id != NOT_KNOWN)
			json_put_u64(j, "id", parts[i].id);
		json_put_u64(j, "at", parts[i].at);
		json_put_u64(j, "size", parts[i].size);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_json(struct buf *out, const char *file, const struct cs_seen *s)
{
	struct json_put j = {.out = out};
	struct buf hex = {0};

	json_open(&j, '{');
	if (file)
		json_put_string(&j, "file", file);
	json_put_u64(&j, "input", s->offset);
	json_put_u64(&j, "size", s->size);
	json_put_string(&j, "what", words[s->kind]);
	if (s->bytes) {
		put_hex(&hex, s->bytes, "");
		json_put_string(&j, "bytes", buf_cstr(&hex));
	}
	if (s->kind == CS_SEEN_FRAME)
		json_parts(&j, s);
	json_close(&j, '}');
	buf_char(out, '\n');
	buf_done(&hex);
}

static enum clew_err take_seen(void *ctx, const char *file, const struct cs_seen *s)
{
	struct dump *d = ctx;

	if (!d->is_begun || d->file != file) {
		if (file && !d->opts->is_json)
			escape_printf(&d->out, "# %s\n", file);
		d->file = file;
		d->is_begun = true;
	}
	if (d->opts->is_json)
		put_json(&d->out, file, s);
	else
		put_text(&d->out, s);
	return sink_flush(d->sink, &d->out, FLUSH);
}

/* --- the units' trace is not looked at --- */

static enum clew_err pass_bytes(void *ctx, size_t unit, struct bytes in, uint64_t offset)
{
	(void)ctx, (void)unit, (void)in, (void)offset;
	return CLEW_OK;
}

static enum clew_err pass_restart(void *ctx, size_t unit, uint64_t offset)
{
	(void)ctx, (void)unit, (void)offset;
	return CLEW_OK;
}

enum clew_err cs_frame_text(struct trace_input *t, const struct cs_frame_text_opts *opts,
			    const struct clew_sink *sink, struct clew_diag *diag, bool *ret_any)
{
	struct dump d = {.opts = opts, .sink = sink};
	const struct cs_listener frames = {.seen = take_seen, .ctx = &d};
	const struct trace_sink take = {.bytes = pass_bytes,
					.restart = pass_restart,
					.skips = opts->skips,
					.ctx = &d,
					.coresight = &frames};
	enum clew_err err = t->ops->run(t, &take, diag), last = sink_flush(d.sink, &d.out, 0);

	*ret_any = d.is_begun;
	buf_done(&d.out);
	return err ? err : last;
}
