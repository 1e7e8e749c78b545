/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/buf.h"
#include "format/trace/etm_dump.h"
#include "format/trace/ipt_dump.h"
#include "make/etm_any.h"
#include "make/ipt_any.h"
#include "make/splitmix.h"
#include "trace/etm_decoder.h"
#include "trace/pt_decoder.h"
#include "unit/tap.h"

/* The text of a dump is the same, however the input is cut. */

enum { NR_SEEDS = 12, NR_PACKETS = 300, RANDOM = 0 };
static const size_t pieces[] = {1, 7, 16, 4096, RANDOM};
static const struct ipt_config pt_configs[] = {{0}, {UINT16_MAX}};

typedef enum clew_err dump_fn(struct trace_input *, const struct units_dump_opts *,
			      const struct clew_sink *, struct clew_diag *, bool *);

/** One unit whose bytes come in two parts that do not continue each other. */
struct input {
	struct trace_input trace; /* first */
	struct trace_unit unit;
	struct bytes in;
};

static enum clew_err run(struct trace_input *t, const struct trace_sink *sink,
			 struct clew_diag *diag)
{
	struct bytes in = ((struct input *)t)->in, piece;
	uint64_t random = 1, at = 0;
	size_t half = bytes_left(&in) / 2, n;
	enum clew_err err = CLEW_OK;

	(void)diag;
	while (!err && bytes_left(&in)) {
		n = sink->piece_bytes != RANDOM ? sink->piece_bytes : splitmix64(&random) % 40 + 1;
		n = n < bytes_left(&in) ? n : bytes_left(&in);
		if (at < half && n > half - at)
			n = half - at;
		bytes_take(&in, n, &piece);
		err = !at || at == half ? sink->restart(sink->ctx, 0, at) : CLEW_OK;
		if (!err)
			err = sink->mark(sink->ctx, 0, at, at + (at < half ? 1000 : 5000));
		if (!err)
			err = sink->bytes(sink->ctx, 0, piece, at);
		at += n;
	}
	return err;
}

static const struct trace_input_ops ops = {.run = run};

static enum clew_err add(void *ctx, const void *data, size_t size)
{
	buf_add(ctx, data, size);
	return CLEW_OK;
}

static void dump(struct input *in, dump_fn *fn, bool is_json, size_t piece, struct buf *ret)
{
	const struct units_dump_opts opts = {.is_json = is_json, .piece_bytes = piece};
	const struct clew_sink sink = {add, ret};
	bool is_any;

	buf_clear(ret);
	if (fn(&in->trace, &opts, &sink, NULL, &is_any) || !is_any)
		buf_str(ret, "failed");
	buf_cstr(ret);
}

static void compare(struct input *in, dump_fn *fn, const char *name, unsigned int seed)
{
	struct buf whole = {0}, cut = {0};

	in->trace = (struct trace_input){.units = &in->unit, .nr_units = 1, .ops = &ops};
	for (int is_json = 0; is_json < 2; is_json++) {
		unsigned int nr_other = 0;

		dump(in, fn, is_json, SIZE_MAX, &whole);
		for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
			dump(in, fn, is_json, pieces[i], &cut);
			nr_other += cut.nr != whole.nr || memcmp(cut.data, whole.data, cut.nr);
		}
		CHECK(!nr_other && whole.nr > NR_PACKETS, "%s, %u: %zu bytes of %s", name, seed,
		      whole.nr, is_json ? "JSON" : "text");
	}
	buf_done(&whole);
	buf_done(&cut);
}

static void pt(unsigned int seed)
{
	struct ipt_any a = {.random = seed};
	struct input in = {
		.unit = {.name = "cpu 3",
			 .cpu = 3,
			 .tid = UINT32_MAX,
			 .decoder = &pt_decoder,
			 .config = &pt_configs[seed & 1]}
        };
	struct buf b = {0};

	buf_str(&b,
		"before the first PSB: far more than what is kept of it, or shown, in any one line");
	ipt_any_stream(&a, &b, NR_PACKETS, true);
	for (int i = 0; i < 100; i++) /* PSBs without end, one after the other */
		buf_str(&b, "\x02\x82");
	buf_str(&b, "\x02\x23");
	ipt_any_stream(&a, &b, NR_PACKETS, true);
	in.in = bytes_of(b.data, b.nr);
	compare(&in, ipt_dump, "Intel PT", seed);
	buf_done(&b);
}

static void etm(unsigned int seed)
{
	struct etm_config c = etm_any_config(seed);
	struct etm_any a = {.random = seed, .config = &c};
	struct input in = {
		.unit = {.name = "ETM_0",
			 .id = 16,
			 .cpu = 3,
			 .tid = UINT32_MAX,
			 .is_decodable = true,
			 .decoder = &etm_decoder,
			 .config = &c}
        };
	struct buf b = {0};

	etm_any_stream(&a, &b, NR_PACKETS, true);
	in.in = bytes_of(b.data, b.nr);
	compare(&in, etm_dump, "ETM", seed);
	buf_done(&b);
}

int main(void)
{
	for (unsigned int seed = 1; seed <= NR_SEEDS; seed++) {
		pt(seed);
		etm(seed);
	}
	return tap_done();
}
