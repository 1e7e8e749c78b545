/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "rows/report_feed_impl.h"

enum { FIRST_SLOTS = 1024 };

/* The part of a frame that distinguishes it. */
struct identity {
	uint64_t place, address, inlined;
};

static struct identity identity_of(const struct feed_frames *t, const struct feed_frame *f)
{
	struct identity id = {(uintptr_t)f->dso, f->rel, 0};

	/* One address may be a caller's, and that of the next instruction. */
	if (t->is_exact && f->is_return)
		id.inlined = 1;
	if (f->function) {
		id.inlined ^= hash_two((uintptr_t)f->function, f->line);
		id.address = t->is_exact ? f->rel : 0;
	} else if (f->sym) {
		id.place = (uintptr_t)f->sym;
		id.address = t->is_exact ? f->rel : 0;
	}
	return id;
}

static bool is_same(struct identity a, struct identity b)
{
	return a.place == b.place && a.address == b.address && a.inlined == b.inlined;
}

static uint32_t *slot_of(const struct feed_frames *t, struct identity id)
{
	size_t i = hash_two(hash_two(id.place, id.address), id.inlined) & (t->cap - 1);

	for (; t->slots[i]; i = (i + 1) & (t->cap - 1)) {
		if (is_same(identity_of(t, &t->all.data[t->slots[i] - 1]), id))
			break;
	}
	return &t->slots[i];
}

static bool grow(struct feed_frames *t)
{
	struct feed_frames next = *t;

	next.cap = t->cap ? t->cap * 2 : FIRST_SLOTS;
	next.slots = mem_calloc(next.cap, sizeof(*next.slots));
	if (!next.slots)
		return false;
	for (uint32_t i = 0; i < t->all.nr; i++)
		*slot_of(&next, identity_of(t, &t->all.data[i])) = i + 1;
	mem_free(t->slots);
	*t = next;
	return true;
}

uint32_t feed_frame_add(struct feed_frames *t, const struct feed_frame *frame)
{
	/* Hostile addresses: above the limit they are all one place without a name. */
	static const struct feed_frame other = {.rel = UINT64_MAX};
	uint32_t *slot;

	if (t->all.nr * 2 >= t->cap && !grow(t))
		return REPORT_NONE;
	slot = slot_of(t, identity_of(t, frame));
	if (*slot)
		return *slot - 1;
	if (t->all.nr >= FEED_MAX_FRAMES ||
	    !budget_account_take(&t->account, FEED_FRAME_BYTES, "functions of")) {
		frame = &other;
		slot = slot_of(t, identity_of(t, frame));
		if (*slot)
			return *slot - 1;
	}
	if (!vec_push(&t->all, *frame))
		return REPORT_NONE;
	*slot = (uint32_t)t->all.nr;
	return (uint32_t)t->all.nr - 1;
}

void feed_frames_done(struct feed_frames *t)
{
	vec_done(&t->all);
	mem_free(t->slots);
	budget_account_done(&t->account);
	*t = (struct feed_frames){0};
}

const char *feed_dso_name(const struct dso *dso)
{
	return dso ? dso_short_name(dso) : "[unknown]";
}

char feed_level_letter(uint8_t level)
{
	switch ((enum ana_level)level) {
	case ANA_KERNEL:
		return 'k';
	case ANA_USER:
		return '.';
	case ANA_HYPERVISOR:
		return 'H';
	case ANA_GUEST_USER:
		return 'u';
	case ANA_GUEST_KERNEL:
		return 'g';
	case ANA_COOKIE:
	case ANA_UNKNOWN:
		break;
	}
	return '!';
}
