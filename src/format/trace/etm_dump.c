/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/etm_dump.h"

#include "base/cleanup.h"
#include "format/sink_flush.h"
#include "format/trace/etm_frames_text.h"
#include "format/trace/etm_packet_text.h"
#include "format/trace/packets_dump.h"
#include "trace/cs_listener.h"
#include "trace/etm_decoder.h"

struct reader {
	struct etm_packets packets;
	struct etm_packet last;
};

static bool is_etm(const struct trace_unit *u)
{
	return u->is_decodable && etm_config_of(u);
}

static void version(struct buf *out, const struct trace_unit *u)
{
	etm_version_text(out, etm_config_of(u));
}

static const char *name_of(unsigned int kind)
{
	return etm_kind_name((enum etm_kind)kind);
}

static void init(void *reader, const struct trace_unit *u)
{
	struct reader *r = reader;

	etm_packets_init(&r->packets, etm_config_of(u));
}

static void reset(void *reader, uint64_t offset)
{
	struct reader *r = reader;

	etm_packets_reset(&r->packets, offset);
}

static uint64_t offset_of(const void *reader)
{
	const struct reader *r = reader;

	return r->packets.offset;
}

static enum clew_err returned(const struct reader *r, enum clew_err err,
			      struct packets_dump_place *ret)
{
	if (!err)
		*ret = (struct packets_dump_place){r->last.offset, r->last.bytes, r->last.kind};
	return err;
}

static enum clew_err next(void *reader, struct bytes *in, struct packets_dump_place *ret)
{
	struct reader *r = reader;

	return returned(r, etm_packets_next(&r->packets, in, &r->last), ret);
}

static enum clew_err finish(void *reader, struct packets_dump_place *ret)
{
	struct reader *r = reader;

	return returned(r, etm_packets_finish(&r->packets, &r->last), ret);
}

static void text(struct buf *out, const void *reader)
{
	const struct reader *r = reader;

	etm_packet_text(out, r->packets.config, &r->last);
}

static void json(struct json_put *j, const void *reader)
{
	const struct reader *r = reader;

	etm_packet_json(j, r->packets.config, &r->last);
}

static const struct packets_dump_type etm_type = {
	.reader_bytes = sizeof(struct reader),
	.nr_kinds = NR_ETM_KINDS,
	.hex_columns = 36,
	.name_columns = 20,
	.has_ids = true,
	.is_of = is_etm,
	.version = version,
	.name = name_of,
	.init = init,
	.reset = reset,
	.offset = offset_of,
	.next = next,
	.finish = finish,
	.text = text,
	.json = json,
};

static enum clew_err take_frames(void *ctx, const struct cs_leftover *f)
{
	*(struct cs_leftover *)ctx = *f;
	return CLEW_OK;
}

enum clew_err etm_dump(struct trace_input *t, const struct units_dump_opts *opts,
		       const struct clew_sink *sink, struct clew_diag *diag, bool *ret_is_any)
{
	clew_auto(buf_done) struct buf out = {0};
	struct cs_leftover leftover = {0};
	const struct cs_listener frames = {.frames = take_frames, .ctx = &leftover};
	enum clew_err err = packets_dump(t, &etm_type, opts, &frames, sink, diag, ret_is_any);

	if (err || !opts->is_stat)
		return err;
	if (opts->is_json)
		etm_frames_json(&out, &leftover);
	else
		etm_frames_text(&out, &leftover);
	return sink_flush(sink, &out, 0);
}

const char *etm_dump_kind(unsigned int kind)
{
	return name_of(kind) + 2; /* without I_ */
}
