/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/intern.h"

#include "base/hash.h"

static size_t slot_of(const struct intern *t, const char *s, size_t len)
{
	size_t i = hash_bytes(s, len) & (t->cap - 1);

	for (; t->slots[i]; i = (i + 1) & (t->cap - 1)) {
		const struct intern_str *e = &t->strs.data[t->slots[i] - 1];

		if (e->len == len && !memcmp(e->s, s, len))
			break;
	}
	return i;
}

static bool grow(struct intern *t)
{
	struct intern next = *t;

	next.cap = t->cap ? t->cap * 2 : 64;
	next.slots = mem_calloc(next.cap, sizeof(*next.slots));
	if (!next.slots)
		return false;
	for (uint32_t id = 0; id < t->strs.nr; id++)
		next.slots[slot_of(&next, t->strs.data[id].s, t->strs.data[id].len)] = id + 1;
	mem_free(t->slots);
	*t = next;
	return true;
}

static uint32_t add_new(struct intern *t, const char *s, size_t len)
{
	char *copy;

	if (t->strs.nr * 2 >= t->cap && !grow(t))
		return INTERN_FAILED;
	copy = arena_strndup(&t->text, s, len);
	if (!copy || !vec_push(&t->strs, (struct intern_str){copy, (uint32_t)len}))
		return INTERN_FAILED;
	t->slots[slot_of(t, s, len)] = (uint32_t)t->strs.nr;
	return (uint32_t)t->strs.nr - 1;
}

uint32_t intern_add(struct intern *t, const char *s, size_t len)
{
	size_t i;

	if (len >= UINT32_MAX || t->strs.nr >= INTERN_FAILED - 1)
		return INTERN_FAILED;
	if (!t->strs.nr && add_new(t, "", 0) == INTERN_FAILED)
		return INTERN_FAILED;
	i = slot_of(t, s, len);
	return t->slots[i] ? t->slots[i] - 1 : add_new(t, s, len);
}

uint32_t intern_find(const struct intern *t, const char *s, size_t len)
{
	size_t i = t->cap ? slot_of(t, s, len) : 0;

	return t->cap && t->slots[i] ? t->slots[i] - 1 : INTERN_FAILED;
}

bool intern_has(const struct intern *t, const char *s)
{
	return intern_find(t, s, strlen(s)) != INTERN_FAILED;
}

void intern_done(struct intern *t)
{
	arena_done(&t->text);
	vec_done(&t->strs);
	mem_free(t->slots);
	*t = (struct intern){0};
}
