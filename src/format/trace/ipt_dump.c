/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/trace/ipt_dump.h"

#include "format/trace/ipt_packet_text.h"
#include "format/trace/packets_dump.h"
#include "packet/pt/ipt_headers.h"
#include "trace/pt_decoder.h"

struct reader {
	struct ipt_packets packets;
	struct ipt_packet last;
};

static bool is_pt(const struct trace_unit *u)
{
	return pt_config_of(u);
}

static void version(struct buf *out, const struct trace_unit *u)
{
	(void)u;
	buf_str(out, "Intel PT");
}

static const char *name_of(unsigned int kind)
{
	return ipt_kind_name((enum ipt_kind)kind);
}

/** A run of PSBs may be long, and is known only at its end. */
static struct bytes same_bytes(unsigned int kind)
{
	return kind == IPT_PSB ? bytes_of(ipt_psb, IPT_PSB_BYTES) : (struct bytes){0};
}

static void init(void *reader, const struct trace_unit *u)
{
	struct reader *r = reader;

	ipt_packets_init(&r->packets, pt_config_of(u));
}

static void reset(void *reader, uint64_t offset)
{
	struct reader *r = reader;

	ipt_packets_reset(&r->packets, offset);
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

	return returned(r, ipt_packets_next(&r->packets, in, &r->last), ret);
}

static enum clew_err finish(void *reader, struct packets_dump_place *ret)
{
	struct reader *r = reader;

	return returned(r, ipt_packets_finish(&r->packets, &r->last), ret);
}

static void text(struct buf *out, const void *reader)
{
	const struct reader *r = reader;

	ipt_packet_text(out, &r->last);
}

static void json(struct json_put *j, const void *reader)
{
	const struct reader *r = reader;

	ipt_packet_json(j, &r->last);
}

static const struct packets_dump_type pt_type = {
	.reader_bytes = sizeof(struct reader),
	.nr_kinds = NR_IPT_KINDS,
	.hex_columns = 48,
	.name_columns = 10,
	.is_of = is_pt,
	.version = version,
	.name = name_of,
	.same_bytes = same_bytes,
	.init = init,
	.reset = reset,
	.offset = offset_of,
	.next = next,
	.finish = finish,
	.text = text,
	.json = json,
};

enum clew_err ipt_dump(struct trace_input *t, const struct units_dump_opts *opts,
		       const struct clew_sink *sink, struct clew_diag *diag, bool *ret_is_any)
{
	return packets_dump(t, &pt_type, opts, NULL, sink, diag, ret_is_any);
}

const char *ipt_dump_kind(unsigned int kind)
{
	/* No packet is of this kind: MODE names its two forms. */
	return kind == IPT_MODE ? "" : name_of(kind);
}
