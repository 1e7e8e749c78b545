/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/stacks/user_stacks_impl.h"

/* Stacks that came, and the samples that asked for them or may still do. */

enum { MAX_UNASKED = 256 << 10 /* bytes that wait for longer than a pass */ };

/* A tracepoint's program runs at every hit, and only some of them are samples. Stacks wait one pass
 * for a sample of theirs, and longer while their task has no newer one: it may have lost its CPU
 * before the sample was made. */
static size_t size_at(const struct buf *b, size_t at)
{
	return load_u16(b->data + at + offsetof(struct perf_event_header, size), false);
}

static uint64_t cookie_at(const struct buf *b, size_t at)
{
	return load_u64(b->data + at + sizeof(struct perf_event_header), false);
}

/* The task, and whether the stack is of one sample alone: its sample may be made after other stacks
 * of the task, as a clock interrupts it in between. */
static uint64_t owner_at(const struct user_stacks *u, const struct buf *b, size_t at)
{
	const uint8_t *body = (const uint8_t *)b->data + at + sizeof(struct perf_event_header);
	struct perf_sample_id id = {0};

	perf_sample_id_parse((struct bytes){body, (const uint8_t *)b->data + at + size_at(b, at)},
			     false, &u->tracker->attr, &id);
	return (uint64_t)id.tid << 1 | !!(cookie_at(b, at) & PERF_COOKIE_OWN);
}

/* That of a newer stack counts from the next pass on: of this one not all samples were seen. */
static bool is_newest(const struct user_stacks *u, const struct buf *b, size_t at)
{
	const uint64_t *cookie = map_u64_get(&u->newest, owner_at(u, b, at));

	return cookie && *cookie == cookie_at(b, at) && u->unasked.nr < MAX_UNASKED;
}

static void keep_wanted(struct user_stacks *u, struct buf *from, bool is_last)
{
	for (size_t at = 0; at < from->nr; at += size_at(from, at)) {
		if (defer_join_is_wanted(&u->join, cookie_at(from, at)))
			buf_add(&u->out, from->data + at, size_at(from, at));
		else if (!is_last || is_newest(u, from, at))
			buf_add(&u->unasked, from->data + at, size_at(from, at));
		else
			u->counts.nr_unasked++;
	}
}

static void note_newest(struct user_stacks *u)
{
	for (size_t at = 0; at < u->stacks.nr; at += size_at(&u->stacks, at))
		map_u64_put(&u->newest, owner_at(u, &u->stacks, at), cookie_at(&u->stacks, at));
}

void user_stacks_settle(struct user_stacks *u)
{
	struct buf older = u->unasked;

	u->unasked = u->spare;
	keep_wanted(u, &older, true);
	keep_wanted(u, &u->stacks, false);
	note_newest(u);
	buf_clear(&older);
	buf_clear(&u->stacks);
	u->spare = older;
	u->is_failed |= u->stacks.is_failed || u->unasked.is_failed;
}

uint64_t user_stacks_nr_unasked(const struct user_stacks *u)
{
	uint64_t nr = u->counts.nr_unasked;

	for (size_t at = 0; at < u->unasked.nr; at += size_at(&u->unasked, at))
		nr++;
	return nr;
}
