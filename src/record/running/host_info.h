/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_RUNNING_HOST_INFO_H
#define RECORD_RUNNING_HOST_INFO_H

#include "perfdata/perf_writer.h"
#include "record/plan/rec_options.h"

/**
 * The features that describe the machine: HOSTNAME, OSRELEASE, VERSION, ARCH, NRCPUS, CPUDESC,
 * CPUID, TOTAL_MEM, CMDLINE, CPU_TOPOLOGY, NUMA_TOPOLOGY, PMU_MAPPINGS, CACHE, MEM_TOPOLOGY,
 * CPU_PMU_CAPS, and with a chosen clock CLOCKID and CLOCK_DATA. What this machine does not provide
 * is omitted. Reads some tens of small files of procfs and sysfs.
 */
enum clew_err rec_host_info(struct perf_writer *w, const struct rec_options *o);

#endif
