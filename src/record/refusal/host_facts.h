/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_REFUSAL_HOST_FACTS_H
#define RECORD_REFUSAL_HOST_FACTS_H

#include "os/caps.h"
#include "os/perf/perf_holder.h"
#include "record/plan/kernel_probes.h"

/** Facts about the machine that explain a refusal. */
struct rec_host_facts {
	struct os_caps caps;
	struct rec_features features;
	char program[512];     /* where this program's file is; "" unknown */
	char cpus_online[128]; /* "0-3" */
	char lockdown[64];     /* /sys/kernel/security/lockdown; "" none */
	int64_t max_rate, max_stack;
	bool has_core_pmu; /* the CPU's counters are within reach */
	bool is_uid_known; /* of the process pid */
	uint32_t pid_uid;
	struct os_perf_holder holder; /* of events; read where something is in use */
};

/** @p pid: a process of which the owner is wanted; 0 or below: none. */
void rec_host_facts_read(int pid, struct rec_host_facts *ret);

#endif
