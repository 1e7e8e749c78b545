/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_SEND_H
#define RECORD_BPF_BPF_SEND_H

#include "record/bpf/bpf_walk.h"

/* The memory of a walk, and the way of its stack into the ring. */

static __always_inline struct walk *get_scratch(uint32_t hint)
{
	uint32_t i;

	for (i = 0; i < 16; i++) {
		uint32_t key = (hint + i * 7) & (config.nr_scratch - 1);
		struct walk *w = bpf_map_lookup_elem(&scratch, &key);

		if (w && !__sync_val_compare_and_swap(&w->is_busy, 0, 1))
			return w;
	}
	count(CB_NO_SCRATCH);
	return NULL;
}

static __always_inline void put_scratch(struct walk *w)
{
	__sync_val_compare_and_swap(&w->is_busy, 1, 0);
}

/* After the frames, where they are not all alike, how each was found. */
static __always_inline uint32_t put_methods(struct walk *w, uint32_t n)
{
	uint32_t i, nr = (n + 15) >> 4;

	w->methods[(n >> 4) & (CB_MAX_DEPTH / 16 - 1)] = w->method_word;
	for (i = 0; i < CB_MAX_DEPTH / 16 && i < nr; i++) {
		uint64_t to = n + i;

		/* Else the index that is used is not the one that is checked. */
		__asm__ volatile("" : "+r"(to));
		if (to >= CB_MAX_DEPTH + CB_MAX_DEPTH / 16)
			break;
		w->ips[to] = w->methods[i];
	}
	return nr;
}

__weak __noinline int send_stack(struct walk *w)
{
	uint32_t n, words, size;

	if (!w)
		return 0;
	n = words = w->out.nr;
	w->out.kind = CB_STACK;
	w->out.stop = w->stop;
	w->out.why = w->why;
	w->out.method = w->uniform;
	if (w->uniform == CB_MIXED)
		words += put_methods(w, n);
	size = (uint32_t)sizeof(w->out) + words * 8;
	if (size > sizeof(w->out) + sizeof(w->ips))
		return 0;
	if (bpf_ringbuf_output(&stacks, &w->out, size, stack_flags()))
		count(CB_RING_FULL);
	else
		count(CB_STACKS);
	return 0;
}

static __always_inline void name_stack(struct walk *w, struct task_struct *t, uint64_t cookie)
{
	w->out.time = now();
	w->out.cookie = cookie;
	w->out.pid = (uint32_t)t->tgid;
	w->out.tid = (uint32_t)t->pid;
	w->out.cpu = bpf_get_smp_processor_id();
}

/* What @p cookie asked for is gone: @p stop says why. */
static __always_inline void send_none(struct task_struct *t, uint64_t cookie, uint8_t stop)
{
	struct cb_stack s = {.kind = CB_STACK,
			     .pid = (uint32_t)t->tgid,
			     .tid = (uint32_t)t->pid,
			     .cpu = bpf_get_smp_processor_id(),
			     .time = now(),
			     .cookie = cookie,
			     .stop = stop};

	if (stop == UNW_STOP_LATE)
		count(CB_LATE);
	if (bpf_ringbuf_output(&stacks, &s, sizeof(s), stack_flags()))
		count(CB_RING_FULL);
}

#endif
