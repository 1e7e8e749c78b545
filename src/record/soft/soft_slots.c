/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/soft/soft_thread.h"

/* The debug registers of a thread: first those of the space's spots, then as a ring the places
 * where it was to stop last, as loops come back to them. A place that is no longer waited for is a
 * branch as well, and is not reached before the one that is. */

static void set_on(struct soft_thread *t, uint8_t on)
{
	if (t->slots_on != on && !os_ptrace_switch(t->tid, on))
		t->slots_on = on;
}

static bool set(struct soft_thread *t, unsigned int slot, uint64_t address)
{
	if (os_ptrace_breakpoint(t->tid, slot, address))
		return false;
	t->slots[slot] = address;
	set_on(t, (uint8_t)(t->slots_on | 1u << slot));
	return t->slots_on >> slot & 1;
}

/* Spots come first; where the machine has fewer breakpoints, the last ones do not stop. */
static void set_fixed(struct soft_thread *t)
{
	const struct soft_space *s = t->space;
	uint8_t nr = 0;

	if (t->epoch == s->epoch)
		return;
	t->epoch = s->epoch;
	set_on(t, 0);
	for (uint32_t i = 0; i < s->nr_spots; i++)
		nr = (uint8_t)(nr + set(t, nr, s->spots[i].address));
	if (s->watch && nr < OS_NR_BREAKPOINTS)
		nr = (uint8_t)(nr + set(t, nr, s->watch));
	t->nr_fixed = nr;
	t->next_slot = nr;
}

bool soft_is_armed(const struct soft_thread *t, uint64_t address)
{
	for (unsigned int i = 0; i < OS_NR_BREAKPOINTS; i++)
		if (t->slots_on >> i & 1 && t->slots[i] == address)
			return true;
	return false;
}

bool soft_is_spot(const struct soft_thread *t, uint64_t address)
{
	for (unsigned int i = 0; i < t->nr_fixed; i++)
		if (t->slots_on >> i & 1 && t->slots[i] == address)
			return true;
	return false;
}

bool soft_arm(struct soft_thread *t, uint64_t address)
{
	set_fixed(t);
	if (soft_is_armed(t, address))
		return true;
	while (t->nr_fixed < t->nr_usable) {
		if (t->next_slot >= t->nr_usable || t->next_slot < t->nr_fixed)
			t->next_slot = t->nr_fixed;
		if (set(t, t->next_slot, address)) {
			t->next_slot++;
			return true;
		}
		t->nr_usable--;
	}
	return false;
}

void soft_disarm(struct soft_thread *t)
{
	set_fixed(t);
	set_on(t, (uint8_t)((1u << t->nr_fixed) - 1));
}

void soft_clear(struct soft_thread *t)
{
	set_on(t, 0);
	for (unsigned int i = 0; i < OS_NR_BREAKPOINTS; i++)
		if (t->slots[i])
			os_ptrace_breakpoint(t->tid, i, 0);
}
