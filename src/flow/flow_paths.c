/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow_paths.h"

enum { FIRST_BITS = 13, MAX_BITS = 30 };

#define ALL (~0ull)
const uint64_t flow_path_first_letters[FLOW_PATH_LETTERS + 1] = {
	0, ALL >> 56, ALL >> 48, ALL >> 40, ALL >> 32, ALL >> 24, ALL >> 16, ALL >> 8, ALL,
};

static size_t slots_bytes(unsigned int bits)
{
	return (((size_t)1 << bits) + FLOW_PATH_PROBES) * sizeof(uint32_t);
}

static bool set_slots(struct flow_paths *t, unsigned int bits)
{
	size_t bytes = slots_bytes(bits);
	uint32_t *slots = os_heap_grow(t->heap, NULL, 0, &bytes);

	if (!slots)
		return false;
	memset(slots, 0xff, slots_bytes(bits));
	if (t->slots)
		os_heap_free(t->heap, t->slots, slots_bytes(64 - t->shift));
	t->slots = slots;
	t->shift = 64 - bits;
	return true;
}

bool flow_paths_init(struct flow_paths *t, struct os_heap *heap)
{
	*t = (struct flow_paths){.heap = heap};
	return set_slots(t, FIRST_BITS);
}

void flow_paths_clear(struct flow_paths *t)
{
	t->all.nr = t->words.nr = t->pushed.nr = 0;
	memset(t->slots, 0xff, slots_bytes(64 - t->shift));
}

size_t flow_paths_bytes(const struct flow_paths *t)
{
	return t->all.nr * (sizeof(*t->all.data) + 2 * sizeof(*t->slots)) +
	       t->words.nr * sizeof(*t->words.data) + t->pushed.nr * sizeof(*t->pushed.data);
}

static void put(struct flow_paths *t, const struct flow_blocks *blocks, uint32_t nr)
{
	const struct flow_path *p = &t->all.data[nr];
	const struct flow_block *b = &blocks->all.data[p->from >> FLOW_FROM_BITS];
	size_t at = flow_path_slot(t, b->space, flow_block_place(b), p->key, p->to), i = 0;

	/* Where too many meet, the last one gives way: it will be walked again. */
	while (i + 1 < FLOW_PATH_PROBES && t->slots[at + i] != FLOW_NO_PATH)
		i++;
	t->slots[at + i] = nr;
}

bool flow_paths_grow(struct flow_paths *t, const struct flow_blocks *blocks)
{
	unsigned int bits = 64 - t->shift;

	if (t->all.nr * 2 < (size_t)1 << bits || bits == MAX_BITS)
		return true;
	if (!set_slots(t, bits + 2))
		return false;
	for (size_t i = 0; i < t->all.nr; i++)
		put(t, blocks, (uint32_t)i);
	return true;
}

struct flow_path *flow_paths_add(struct flow_paths *t, const struct flow_blocks *blocks,
				 const struct flow_path *p)
{
	t->all.data[t->all.nr++] = *p;
	put(t, blocks, (uint32_t)t->all.nr - 1);
	return &t->all.data[t->all.nr - 1];
}
