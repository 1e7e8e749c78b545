/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/trace_decode.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "os/helper.h"
#include "os/thread.h"

enum {
	DEFAULT_CACHE = 32 << 20,
	MIN_CACHE = 1 << 20,
	MAX_WORKERS = 4,
	HELPED_BYTES = 16 << 20 /* two threads meet after each piece */
};

/** A flow's consumer, which passes the unit on too. */
struct decoder {
	struct decode *decode;
	size_t unit;
	struct flow *flow;         /* NULL: not begun, or over */
	bool is_fed;               /* since the last delivery */
	uint64_t offset;           /* of the first byte of a flow that has not begun */
	void *ops;                 /* reader of operations; as flow */
	struct clew_perf_ns bound; /* of the operations that come */
};

struct decode {
	struct trace_input *trace;
	const struct trace_decode_opts *opts;
	struct decoder *decoders; /* one per unit */
	bool *skips;              /* the consumer's, and what cannot be decoded */
	size_t share;             /* of the cache, of each unit that has begun */
	struct os_helper *helper; /* of readers that count; NULL: none */
	struct {
		VEC(size_t);
	} fed; /* units */
};

static enum clew_err take_batch(void *ctx, const struct flow_batch *b)
{
	const struct decoder *d = ctx;
	const struct trace_decode_opts *opts = d->decode->opts;

	return opts->batch(opts->ctx, d->unit, b);
}

static bool is_wanted(const struct decode *c, size_t unit)
{
	return !c->skips[unit];
}

/** Units are decoded side by side, and share what there is; but most of a session may be idle. */
static void share_cache(struct decode *c, size_t nr)
{
	size_t all = c->opts->max_cache_bytes ? c->opts->max_cache_bytes : DEFAULT_CACHE;
	size_t share = all / nr > MIN_CACHE ? all / nr : MIN_CACHE;

	if (nr > 1 && share > c->share)
		share = c->share; /* those that are open have begun with so much */
	for (size_t i = 0; i < c->trace->nr_units; i++) {
		if (c->decoders[i].flow)
			flow_set_max_cache(c->decoders[i].flow, share);
	}
	c->share = share;
}

static size_t nr_open(const struct decode *c)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->trace->nr_units; i++)
		nr += c->decoders[i].flow != NULL;
	return nr;
}

static unsigned int threads(const struct decode *c, size_t nr)
{
	unsigned int wanted = c->opts->nr_threads ? c->opts->nr_threads : os_nr_cpus_usable();

	/* What is decoded ahead waits in memory, each thread's. */
	if (wanted > MAX_WORKERS / nr)
		wanted = (unsigned int)(MAX_WORKERS / nr);
	return wanted ? wanted : 1;
}

static struct flow *new_flow(struct decode *c, size_t unit, size_t nr)
{
	const struct trace_unit *u = &c->trace->units[unit];
	const struct flow_opts opts = {
		.code = u->code,
		.batch = c->opts->batch ? take_batch : NULL,
		.ctx = &c->decoders[unit],
		.max_cache_bytes = c->share,
		.nr_threads = threads(c, nr),
		.detail = c->opts->detail,
		.has_cycles = c->opts->has_cycles,
	};

	return u->decoder->flow_new(u->config, &opts, c->opts->splits_source_ranges);
}

/** NULL: out of memory. */
static struct flow *flow_of(struct decode *c, size_t unit)
{
	struct decoder *d = &c->decoders[unit];

	if (!d->is_fed && !vec_push(&c->fed, unit))
		return NULL;
	d->is_fed = true;
	if (!d->flow) {
		size_t nr = nr_open(c) + 1;

		share_cache(c, nr);
		d->flow = new_flow(c, unit, nr);
		if (d->flow && d->offset && flow_restart(d->flow, d->offset))
			return NULL;
	}
	return d->flow;
}

/* --- operations --- */

static const struct trace_ops_reader_type *ops_type(const struct decode *c, size_t unit)
{
	const struct trace_decoder *d = c->trace->units[unit].decoder;

	return d ? d->ops : NULL;
}

static enum clew_err take_ops(void *ctx, const struct trace_op *ops, size_t nr)
{
	const struct decoder *d = ctx;
	const struct trace_decode_opts *opts = d->decode->opts;
	const struct trace_ops_batch b = {ops, nr, d->bound};

	return opts->ops ? opts->ops(opts->ctx, d->unit, &b) : CLEW_OK;
}

static struct trace_stay stay_of(void *ctx, const struct trace_op *op)
{
	const struct decoder *d = ctx;
	const struct trace_decode_opts *opts = d->decode->opts;
	const struct code_key key = trace_op_key(op, d->bound);

	return opts->ops_stay(opts->ctx, d->unit, &key);
}

static void release(void *ctx, struct bytes in)
{
	const struct decoder *d = ctx;
	const struct trace_input *t = d->decode->trace;

	if (t->ops->release)
		t->ops->release(t, in);
}

/** NULL: out of memory. */
static void *ops_of(struct decode *c, size_t unit)
{
	struct decoder *d = &c->decoders[unit];
	const struct trace_ops_sink sink = {.ops = take_ops,
					    .fold = c->opts->ops_fold,
					    .stay = stay_of,
					    .helper = c->helper,
					    .release = release,
					    .kept = c->trace->kept ? &c->trace->kept[unit] : NULL,
					    .keeps = c->opts->ops_keeps,
					    .ctx = d,
					    .listener = c->opts->listener};

	if (!d->ops)
		d->ops = ops_type(c, unit)->reader_new(&c->trace->units[unit], &sink);
	return d->ops;
}

static enum clew_err end_ops(struct decode *c, size_t unit)
{
	const struct trace_ops_reader_type *type = ops_type(c, unit);
	struct decoder *d = &c->decoders[unit];
	enum clew_err err = ops_of(c, unit) ? type->restart(d->ops) : CLEW_NO_MEMORY;

	if (!err && c->opts->ops_end)
		err = c->opts->ops_end(c->opts->ctx, unit, type->counts(d->ops));
	type->reader_free(d->ops);
	d->ops = NULL;
	return err;
}

/* --- the sink --- */

static enum clew_err take_bytes(void *ctx, size_t unit, struct bytes in, uint64_t offset)
{
	struct flow *flow;

	if (!is_wanted(ctx, unit))
		return CLEW_OK;
	if (ops_type(ctx, unit))
		return ops_of(ctx, unit) ? ops_type(ctx, unit)->feed(ops_of(ctx, unit), in, offset)
					 : CLEW_NO_MEMORY;
	flow = flow_of(ctx, unit);
	return flow ? flow_feed(flow, in) : CLEW_NO_MEMORY;
}

static enum clew_err take_restart(void *ctx, size_t unit, uint64_t offset)
{
	struct decode *c = ctx;
	struct flow *flow = c->decoders[unit].flow;

	if (c->decoders[unit].ops)
		return ops_type(c, unit)->restart(c->decoders[unit].ops);
	/* Before its first byte there is nothing to break off. */
	if (!flow) {
		c->decoders[unit].offset = offset;
		return CLEW_OK;
	}
	flow = flow_of(ctx, unit);
	return flow ? flow_restart(flow, offset) : CLEW_NO_MEMORY;
}

static enum clew_err take_bound(void *ctx, size_t unit, struct clew_perf_ns bound)
{
	struct decode *c = ctx;
	struct flow *flow;

	if (!is_wanted(c, unit))
		return CLEW_OK;
	c->decoders[unit].bound = bound;
	if (ops_type(c, unit))
		return CLEW_OK;
	flow = flow_of(c, unit);
	if (!flow)
		return CLEW_NO_MEMORY;
	flow_set_bound(flow, bound);
	return CLEW_OK;
}

static enum clew_err take_end(void *ctx, size_t unit)
{
	struct decode *c = ctx;
	struct flow *flow;
	enum clew_err err;

	if (!is_wanted(c, unit))
		return CLEW_OK;
	if (ops_type(c, unit))
		return end_ops(c, unit);
	flow = flow_of(c, unit);
	err = flow ? flow_finish(flow) : CLEW_NO_MEMORY;
	if (!err && c->opts->unit_end)
		err = c->opts->unit_end(c->opts->ctx, unit, flow);
	flow_free(flow);
	c->decoders[unit].flow = NULL;
	return err;
}

static enum clew_err begin(struct decode *c, struct trace_input *t,
			   const struct trace_decode_opts *opts)
{
	*c = (struct decode){
		.trace = t,
		.opts = opts,
		.decoders = mem_calloc(t->nr_units + 1, sizeof(*c->decoders)),
		.skips = mem_calloc(t->nr_units + 1, sizeof(*c->skips)),
	};
	if (!c->skips || !c->decoders)
		return CLEW_NO_MEMORY;
	if (opts->ops_fold != TRACE_OPS_EACH && !opts->has_no_helper && os_nr_cpus_usable() > 1)
		c->helper = os_helper_new();
	for (size_t i = 0; i < t->nr_units; i++) {
		c->decoders[i] = (struct decoder){.decode = c, .unit = i};
		c->skips[i] = !t->units[i].is_decodable || !t->units[i].decoder ||
			      (opts->skips && opts->skips[i]);
	}
	return CLEW_OK;
}

static void done(struct decode *c)
{
	for (size_t i = 0; c->decoders && i < c->trace->nr_units; i++) {
		flow_free(c->decoders[i].flow);
		if (c->decoders[i].ops)
			ops_type(c, i)->reader_free(c->decoders[i].ops);
	}
	os_helper_free(c->helper);
	mem_free(c->decoders);
	mem_free(c->skips);
	vec_done(&c->fed);
}

static struct trace_sink sink_of(struct decode *c)
{
	return (struct trace_sink){
		.bytes = take_bytes,
		.restart = take_restart,
		.bound = take_bound,
		.end = take_end,
		.skips = c->skips,
		.piece_bytes = c->helper ? HELPED_BYTES : 0,
		.ctx = c,
		.listener = c->opts->listener,
		.coresight = c->opts->coresight,
	};
}

enum clew_err trace_decode(struct trace_input *t, const struct trace_decode_opts *opts,
			   struct clew_diag *diag)
{
	struct decode c;
	enum clew_err err = begin(&c, t, opts);
	const struct trace_sink sink = sink_of(&c);

	if (!err)
		err = t->ops->run(t, &sink, diag);
	done(&c);
	return err == CLEW_NO_MEMORY ? clew_fail(diag, err, 0, "out of memory") : err;
}

/* --- in steps --- */

struct trace_decoding {
	struct decode decode;
	struct trace_decode_opts opts;
	struct trace_sink sink;
	struct trace_steps *steps;
};

typedef struct trace_steps *(*steps_new)(struct trace_input *t, const struct trace_sink *sink);

static enum clew_err decoding_new(struct trace_decoding **ret, struct trace_input *t,
				  const struct trace_decode_opts *opts, steps_new begin_steps)
{
	struct trace_decoding *d = mem_zalloc(sizeof(*d));

	*ret = NULL;
	if (!d)
		return CLEW_NO_MEMORY;
	d->opts = *opts;
	if (begin(&d->decode, t, &d->opts) == CLEW_OK) {
		d->sink = sink_of(&d->decode);
		d->steps = begin_steps(t, &d->sink);
	}
	if (!d->steps) {
		trace_decoding_free(d);
		return CLEW_NO_MEMORY;
	}
	*ret = d;
	return CLEW_OK;
}

enum clew_err trace_decoding_new(struct trace_decoding **ret, struct trace_input *t,
				 const struct trace_decode_opts *opts)
{
	return decoding_new(ret, t, opts, t->ops->steps_new);
}

enum clew_err trace_decoding_new_streams(struct trace_decoding **ret, struct trace_input *t,
					 const struct trace_decode_opts *opts)
{
	*ret = NULL;
	return t->ops->streams_new ? decoding_new(ret, t, opts, t->ops->streams_new) : CLEW_OK;
}

void trace_decoding_free(struct trace_decoding *d)
{
	if (!d)
		return;
	if (d->steps)
		d->decode.trace->ops->steps_free(d->steps);
	done(&d->decode);
	mem_free(d);
}

size_t trace_decoding_streams(const struct trace_decoding *d)
{
	return d->decode.trace->ops->nr_streams(d->steps);
}

enum clew_err trace_decoding_step(struct trace_decoding *d, size_t stream)
{
	struct decode *c = &d->decode;
	enum clew_err err = c->trace->ops->step(d->steps, stream);

	vec_for_each (&c->fed, unit) {
		struct decoder *fed = &c->decoders[*unit];

		fed->is_fed = false;
		if (fed->flow && (err == CLEW_OK || err == CLEW_END)) {
			enum clew_err why = flow_flush(fed->flow);

			err = why ? why : err;
		}
	}
	c->fed.nr = 0;
	return err;
}
