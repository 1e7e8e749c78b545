/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "who/who_ran_impl.h"

/* Host or guest, of records that say their level. Spec: attribution.md, section 10.1. */

static const char *number_after(const char *s, uint32_t *ret)
{
	uint64_t v = 0;
	const char *p = s;

	for (; *p >= '0' && *p <= '9' && v < UINT32_MAX; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	*ret = (uint32_t)v;
	return p == s || v >= UINT32_MAX ? NULL : p;
}

bool who_vcpu_of_name(const char *comm, uint32_t *ret)
{
	static const struct {
		const char *before, *after;
	} forms[] = {
		{"CPU ",        "/KVM"},
                {"fc_vcpu ",    ""    },
                {"vcpu",        ""    },
		{"crosvm_vcpu", ""    },
                {"kvm-vcpu-",   ""    },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		size_t n = strlen(forms[i].before);
		const char *end;

		if (strncmp(comm, forms[i].before, n))
			continue;
		end = number_after(comm + n, ret);
		if (end && !strcmp(end, forms[i].after))
			return true;
	}
	return false;
}

enum who_world who_world_of(const struct who_ran *w, const struct who_question *q, const char *comm)
{
	uint32_t vcpu;

	if (q->world != WHO_WORLD_OF_SPE)
		return q->world;
	if (w->facts.kernel_level != WHO_EL2)
		return WHO_WORLD_HOST;
	/* The host's kernel never runs at EL1, and then leaves EL1's packets off. */
	if (q->level == WHO_EL1 || q->has & WHO_Q_CONTEXT_EL1)
		return WHO_WORLD_GUEST;
	if (q->level != WHO_EL0 || !w->notes || !map_u64_get(&w->notes->leaks, q->cpu))
		return WHO_WORLD_HOST;
	/* Guests are sampled here without contexts: user code is the guest's or the host's. */
	return !comm || who_vcpu_of_name(comm, &vcpu) ? WHO_WORLD_UNKNOWN : WHO_WORLD_HOST;
}
