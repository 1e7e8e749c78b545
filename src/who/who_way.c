/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_way.h"

#include <string.h>

static enum who_world by_entry(enum who_entry e)
{
	static const enum who_world worlds[] = {[WHO_ENTRY_UNKNOWN] = WHO_WORLD_UNKNOWN,
						[WHO_ENTRY_OF_HOST] = WHO_WORLD_HOST,
						[WHO_ENTRY_OF_GUEST] = WHO_WORLD_GUEST};

	return worlds[e];
}

/** VHE: the host never runs at EL1. */
static enum who_world at_user(const struct who_way *w)
{
	switch (w->upper) {
	case WHO_EL1:
		return WHO_WORLD_GUEST;
	case WHO_EL2:
		return by_entry(w->entry);
	case WHO_EL0:
	case WHO_EL3:
	case WHO_LEVEL_UNKNOWN:
	case WHO_X86_USER:
	case WHO_X86_KERNEL:
		break;
	}
	return w->start;
}

static enum who_world below_hypervisor(const struct who_way *w)
{
	if (w->has_vmid)
		return w->vmid ? WHO_WORLD_GUEST : WHO_WORLD_HOST;
	return by_entry(w->entry);
}

enum who_world who_world_of_way(enum who_level kernel, const struct who_way *w)
{
	if (w->level != WHO_EL0 && w->level != WHO_EL1)
		return WHO_WORLD_HOST;
	switch (kernel) {
	case WHO_EL2:
		return w->level == WHO_EL1 ? WHO_WORLD_GUEST : at_user(w);
	case WHO_EL1:
		return below_hypervisor(w);
	case WHO_EL0:
	case WHO_EL3:
	case WHO_LEVEL_UNKNOWN:
	case WHO_X86_USER:
	case WHO_X86_KERNEL:
		break;
	}
	return w->has_vmid && w->vmid ? WHO_WORLD_GUEST : WHO_WORLD_HOST;
}

bool who_enters_guest(const char *symbol)
{
	/* arch/arm64/kvm/hyp: entry.S, and the exits of hyp-entry.S that go back at once. */
	static const char *const names[] = {
		"__guest_enter", "__kvm_hyp_vector", "__bp_harden_hyp_vecs",
		"el1_sync",      "el1_trap",         "wa_epilogue"};
	static const char nvhe[] = "__kvm_nvhe_";

	if (!strncmp(symbol, nvhe, sizeof(nvhe) - 1))
		symbol += sizeof(nvhe) - 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(symbol, names[i]))
			return true;
	}
	return false;
}
