/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/snapshot/pt_raw.h"

#include "base/err.h"
#include "base/mem.h"
#include "os/file.h"
#include "trace/pt_decoder.h"

enum { PIECE_BYTES = 64 << 10, RELEASE_BYTES = 1 << 20 };

struct pt_raw {
	struct trace_input trace; /* first: what callers hold */
	struct trace_unit unit;
	struct ipt_config config;
	struct os_map map;
};

static enum clew_err give(struct pt_raw *p, const struct trace_sink *sink)
{
	size_t most = sink->piece_bytes ? sink->piece_bytes : PIECE_BYTES;
	struct bytes in = bytes_of(p->map.data, p->map.size), piece;
	enum clew_err err = sink->mark ? sink->mark(sink->ctx, 0, 0, 0) : CLEW_OK;
	size_t at = 0, released = 0;

	while (!err && bytes_left(&in)) {
		bytes_take(&in, bytes_left(&in) < most ? bytes_left(&in) : most, &piece);
		err = sink->bytes(sink->ctx, 0, piece, at);
		at += bytes_left(&piece);
		trace_input_gave(&p->trace, bytes_left(&piece));
		if (at - released >= RELEASE_BYTES) {
			os_map_release(&p->map, released, at);
			released = at;
		}
	}
	return err;
}

static enum clew_err run(struct trace_input *t, const struct trace_sink *sink,
			 struct clew_diag *diag)
{
	struct pt_raw *p = (struct pt_raw *)t;
	enum clew_err err = CLEW_OK;

	trace_input_begin(t, p->map.size);
	if (!sink->skips || !sink->skips[0])
		err = give(p, sink);
	if (!err && sink->end)
		err = sink->end(sink->ctx, 0);
	return err == CLEW_NO_MEMORY ? clew_fail(diag, err, 0, "out of memory") : err;
}

static void free_raw(struct trace_input *t)
{
	os_map_done(&((struct pt_raw *)t)->map);
	mem_free(t);
}

static const struct trace_input_ops ops = {.run = run, .free = free_raw};

enum clew_err pt_raw_open(struct trace_input **ret, const char *file, struct clew_diag *diag)
{
	struct pt_raw *p = mem_zalloc(sizeof(*p));
	enum clew_err err;

	if (!p)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	err = os_map_file(file, &p->map, diag);
	if (err) {
		mem_free(p);
		return err;
	}
	p->unit = (struct trace_unit){.cpu = UINT32_MAX,
				      .tid = UINT32_MAX,
				      .name = file,
				      .is_decodable = true,
				      .decoder = &pt_decoder,
				      .config = &p->config};
	p->trace = (struct trace_input){
		.units = &p->unit, .nr_units = 1, .ops = &ops, .nr_bytes = p->map.size};
	*ret = &p->trace;
	return CLEW_OK;
}
