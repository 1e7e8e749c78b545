/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/vcpu_name.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *before, *after;
} names[] = {
	{"CPU ",        "/KVM"},
        {"CPU ",        "/TCG"},
        {"fc_vcpu ",    ""    },
	{"vcpu",        ""    },
        {"crosvm_vcpu", ""    },
        {"kvm-vcpu-",   ""    },
};

enum { MAX_VCPU = 65535 };

static bool number_of(const char *text, const char *after, uint32_t *ret)
{
	uint32_t v = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9' && v <= MAX_VCPU; p++)
		v = 10 * v + (uint32_t)(*p - '0');
	if (p == text || v > MAX_VCPU || strcmp(p, after))
		return false;
	*ret = v;
	return true;
}

bool who_vcpu_of_name(const char *comm, uint32_t *ret)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i].before);

		if (!strncmp(comm, names[i].before, n) && number_of(comm + n, names[i].after, ret))
			return true;
	}
	return false;
}
