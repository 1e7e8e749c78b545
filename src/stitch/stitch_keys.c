/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "base/mem.h"
#include "stitch/stitch_impl.h"

enum { FIRST_BUCKETS = 256, MAX_KEYS = 1 << 30 };

void stitch_keys_init(struct stitch_keys *k)
{
	*k = (struct stitch_keys){
		.free_key = STITCH_NONE,
		.free_task = STITCH_NONE,
		.first_done = STITCH_NONE,
		.last_done = STITCH_NONE,
	};
}

void stitch_keys_done(struct stitch_keys *k)
{
	vec_done(&k->keys);
	vec_done(&k->tasks);
	map_u64_done(&k->by_tid);
	mem_free(k->buckets);
	stitch_keys_init(k);
}

static uint32_t *bucket_of(const struct stitch_keys *k, uint32_t tid, uint64_t cookie)
{
	return &k->buckets[hash_two(cookie, tid) & (k->nr_buckets - 1)];
}

uint32_t stitch_key_find(const struct stitch_keys *k, uint32_t tid, uint64_t cookie)
{
	uint32_t at;

	if (!k->nr_buckets)
		return STITCH_NONE;
	for (at = *bucket_of(k, tid, cookie); at != STITCH_NONE; at = k->keys.data[at].hash_next) {
		if (k->keys.data[at].cookie == cookie && k->keys.data[at].tid == tid)
			break;
	}
	return at;
}

uint32_t stitch_task_find(const struct stitch_keys *k, uint32_t tid)
{
	uint64_t *at = map_u64_get(&k->by_tid, tid);

	return at ? (uint32_t)*at : STITCH_NONE;
}

static bool grow_buckets(struct stitch_keys *k)
{
	size_t nr = k->nr_buckets ? k->nr_buckets * 2 : FIRST_BUCKETS;
	uint32_t *old = k->buckets, *buckets = mem_calloc(nr, sizeof(*buckets));
	size_t nr_old = k->nr_buckets;

	if (!buckets)
		return false;
	memset(buckets, 0xff, nr * sizeof(*buckets)); /* STITCH_NONE */
	k->buckets = buckets;
	k->nr_buckets = nr;
	for (size_t i = 0; i < nr_old; i++) {
		uint32_t next;

		for (uint32_t at = old[i]; at != STITCH_NONE; at = next) {
			struct stitch_key *key = &k->keys.data[at];
			uint32_t *bucket = bucket_of(k, key->tid, key->cookie);

			next = key->hash_next;
			key->hash_next = *bucket;
			*bucket = at;
		}
	}
	mem_free(old);
	return true;
}

/* The place of a free key or task, which stays free until it is taken. */
static bool reserve_key(struct stitch_keys *k)
{
	if (k->nr_keys >= MAX_KEYS || (k->nr_keys >= k->nr_buckets && !grow_buckets(k)))
		return false;
	if (k->free_key != STITCH_NONE)
		return true;
	if (!vec_push(&k->keys, (struct stitch_key){.hash_next = STITCH_NONE}))
		return false;
	k->free_key = (uint32_t)k->keys.nr - 1;
	return true;
}

static uint32_t task_get(struct stitch_keys *k, uint32_t tid)
{
	uint32_t at = stitch_task_find(k, tid);

	if (at != STITCH_NONE)
		return at;
	if (k->free_task == STITCH_NONE) {
		if (!vec_push(&k->tasks, (struct stitch_task){.oldest = STITCH_NONE}))
			return STITCH_NONE;
		k->free_task = (uint32_t)k->tasks.nr - 1;
	}
	at = k->free_task;
	if (!map_u64_put(&k->by_tid, tid, at))
		return STITCH_NONE;
	k->free_task = k->tasks.data[at].oldest;
	k->tasks.data[at] = (struct stitch_task){tid,         STITCH_NONE, STITCH_NONE,
						 STITCH_NONE, STITCH_NONE, STITCH_NONE};
	return at;
}

/* A task without keys is nothing to remember. */
static void task_put(struct stitch_keys *k, uint32_t at)
{
	struct stitch_task *t = &k->tasks.data[at];

	if (t->oldest != STITCH_NONE || t->done != STITCH_NONE || t->done_before != STITCH_NONE ||
	    t->own != STITCH_NONE)
		return;
	map_u64_remove(&k->by_tid, t->tid);
	t->oldest = k->free_task;
	k->free_task = at;
}

/* Keys linked by before and after. */
static void link_last(struct stitch_keys *k, uint32_t at, uint32_t *first, uint32_t *last)
{
	struct stitch_key *key = &k->keys.data[at];

	key->before = *last;
	key->after = STITCH_NONE;
	*(*last == STITCH_NONE ? first : &k->keys.data[*last].after) = at;
	*last = at;
}

static void unlink_key(struct stitch_keys *k, uint32_t at, uint32_t *first, uint32_t *last)
{
	struct stitch_key *key = &k->keys.data[at];

	*(key->before == STITCH_NONE ? first : &k->keys.data[key->before].after) = key->after;
	*(key->after == STITCH_NONE ? last : &k->keys.data[key->after].before) = key->before;
}

uint32_t stitch_key_add(struct stitch_keys *k, uint32_t tid, uint64_t cookie)
{
	uint32_t task, at, *bucket;

	if (!reserve_key(k))
		return STITCH_NONE;
	task = task_get(k, tid);
	if (task == STITCH_NONE)
		return STITCH_NONE;
	at = k->free_key;
	k->free_key = k->keys.data[at].hash_next;
	bucket = bucket_of(k, tid, cookie);
	k->keys.data[at] = (struct stitch_key){
		.cookie = cookie,
		.first = UINT64_MAX,
		.last = UINT64_MAX,
		.tid = tid,
		.task = task,
		.hash_next = *bucket,
	};
	*bucket = at;
	k->nr_keys++;
	link_last(k, at, &k->tasks.data[task].oldest, &k->tasks.data[task].newest);
	return at;
}

void stitch_key_remove(struct stitch_keys *k, uint32_t at)
{
	struct stitch_key *key = &k->keys.data[at];
	struct stitch_task *t = &k->tasks.data[key->task];
	uint32_t *link = bucket_of(k, key->tid, key->cookie);

	while (*link != at)
		link = &k->keys.data[*link].hash_next;
	*link = key->hash_next;
	if (!key->kept) {
		unlink_key(k, at, &t->oldest, &t->newest);
	} else {
		unlink_key(k, at, &k->first_done, &k->last_done);
		if (t->done == at)
			t->done = STITCH_NONE;
		if (t->done_before == at)
			t->done_before = STITCH_NONE;
		if (t->own == at)
			t->own = STITCH_NONE;
	}
	task_put(k, key->task);
	key->hash_next = k->free_key;
	k->free_key = at;
	k->nr_keys--;
}

void stitch_key_touch(struct stitch_keys *k, uint32_t at)
{
	struct stitch_task *t = &k->tasks.data[k->keys.data[at].task];

	if (t->newest == at)
		return;
	unlink_key(k, at, &t->oldest, &t->newest);
	link_last(k, at, &t->oldest, &t->newest);
}

uint32_t stitch_key_settle(struct stitch_keys *k, uint32_t at, struct stitch_kept *kept)
{
	struct stitch_task *t = &k->tasks.data[k->keys.data[at].task];
	uint32_t ended = t->done_before;

	unlink_key(k, at, &t->oldest, &t->newest);
	k->keys.data[at].kept = kept;
	k->keys.data[at].first = k->keys.data[at].last = UINT64_MAX;
	link_last(k, at, &k->first_done, &k->last_done);
	if (kept->stack.is_own) {
		ended = t->own;
		t->own = at;
		return ended;
	}
	t->done_before = t->done;
	t->done = at;
	return ended;
}
