/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "perfdata/perf_deferred.h"
#include "record/bpf/cookie_state.h"
#include "record/stacks/bpf/defer_bpf_impl.h"
#include "unwind/sframe.h"

_Static_assert(COOKIE_OWN == PERF_COOKIE_OWN, "one word for the programs and the file");

/* Registers and pieces of a task come in order, before its stack, and those of several tasks mixed.
 * The oldest gives way. */
static struct defer_copy *copy_of(struct defer_bpf *d, uint64_t cookie)
{
	for (size_t i = 0; i < DEFER_NR_COPIES; i++) {
		if (d->copies[i].cookie == cookie)
			return &d->copies[i];
	}
	return NULL;
}

static void on_regs(struct defer_bpf *d, const struct cb_regs *r)
{
	struct defer_copy *c = &d->copies[d->next_copy++ % DEFER_NR_COPIES];

	c->cookie = 0;
	if (!c->data)
		c->data = mem_alloc(CB_MAX_COPY);
	if (!c->data)
		return;
	memset(&c->regs, 0, sizeof(c->regs));
	c->regs.pc = r->pc;
	memcpy(c->regs.r, r->r, sizeof(r->r));
	c->regs.known = r->known;
	c->start = r->r[sframe_sp(UNW_OWN_ARCH)];
	c->bytes = 0;
	c->cookie = r->cookie;
}

static void on_piece(struct defer_bpf *d, const struct cb_piece *p)
{
	struct defer_copy *c = copy_of(d, p->cookie);
	size_t size = (size_t)p->nr_words * 8;

	if (!c || p->nr_words > CB_WINDOW_WORDS || p->start != c->start + c->bytes ||
	    size > CB_MAX_COPY - c->bytes)
		return;
	memcpy(c->data + c->bytes, p->word, size);
	c->bytes += size;
}

static void on_whole(struct defer_bpf *d, const struct cb_stack *s, size_t size)
{
	const uint8_t *ips = (const uint8_t *)(s + 1);
	struct defer_copy *c = s->has_copy ? copy_of(d, s->cookie) : NULL;
	struct defer_stack out = {.time = s->time,
				  .cookie = s->cookie,
				  .pid = s->pid,
				  .tid = s->tid,
				  .cpu = s->cpu,
				  .ips = d->ips,
				  .methods = d->methods,
				  .nr = s->nr,
				  .stop = s->stop,
				  .why = s->why};
	size_t words = s->nr;

	if (s->method == CB_MIXED)
		words += (s->nr + 15u) / 16;
	if (s->nr > CB_MAX_DEPTH || size < sizeof(*s) + 8 * words)
		return;
	memcpy(d->ips, ips, 8 * (size_t)s->nr);
	for (size_t i = 0; i < s->nr; i++) {
		if (s->method == CB_MIXED)
			d->methods[i] = ips[8 * s->nr + i / 2] >> (i & 1) * 4 & 15;
		else
			d->methods[i] = i ? s->method : UNW_NO_ORIGIN;
	}
	if (c) {
		out.regs = &c->regs;
		out.stack = c->data;
		out.stack_start = c->start;
		out.stack_bytes = c->bytes;
	}
	d->sink->stack(d->sink->ctx, &out);
	if (c)
		c->cookie = 0;
}

void defer_put_want(const struct defer_sink *sink, const struct cb_want *w)
{
	struct defer_want out = {.pid = w->pid, .start = w->start, .end = w->end};

	memcpy(&out.key, &w->key, sizeof(out.key));
	sink->want(sink->ctx, &out);
}

int defer_on_stack(void *ctx, void *data, size_t size)
{
	struct defer_bpf *d = ctx;
	uint32_t kind;

	if (size < sizeof(kind) || !d->sink)
		return 0;
	memcpy(&kind, data, sizeof(kind));
	if (kind == CB_STACK && size >= sizeof(struct cb_stack))
		on_whole(d, data, size);
	else if (kind == CB_WANT && size >= sizeof(struct cb_want))
		defer_put_want(d->sink, data);
	else if (kind == CB_REGS && size >= sizeof(struct cb_regs))
		on_regs(d, data);
	else if (kind == CB_PIECE && size >= sizeof(struct cb_piece))
		on_piece(d, data);
	return 0;
}

void defer_copies_done(struct defer_bpf *d)
{
	for (size_t i = 0; i < DEFER_NR_COPIES; i++)
		mem_free(d->copies[i].data);
}
