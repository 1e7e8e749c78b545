/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/ana_level.h"

struct level {
	const char *name;
	uint16_t misc;
	uint64_t mark;
};

static struct level level_of(uint8_t level)
{
	static const struct level levels[] = {
		[ANA_USER] = {"user",         PERF_RECORD_MISC_USER,         PERF_CONTEXT_USER  },
		[ANA_KERNEL] = {"kernel",       PERF_RECORD_MISC_KERNEL,       PERF_CONTEXT_KERNEL},
		[ANA_HYPERVISOR] = {"hypervisor",   PERF_RECORD_MISC_HYPERVISOR,   PERF_CONTEXT_HV    },
		[ANA_GUEST_USER] = {"guest-user",   PERF_RECORD_MISC_GUEST_USER,
                              PERF_CONTEXT_GUEST_USER                                           },
		[ANA_GUEST_KERNEL] = {"guest-kernel", PERF_RECORD_MISC_GUEST_KERNEL,
                              PERF_CONTEXT_GUEST_KERNEL                                         },
		[ANA_COOKIE] = {"cookie",       0,                             0                  },
	};

	return level < sizeof(levels) / sizeof(*levels) ? levels[level] : levels[ANA_UNKNOWN];
}

const char *ana_level_name(uint8_t level)
{
	return level_of(level).name;
}

uint16_t ana_misc_of_level(uint8_t level)
{
	return level_of(level).misc;
}

uint64_t ana_mark_of_level(uint8_t level)
{
	return level_of(level).mark;
}
