/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_RUNNING_HOST_TOPOLOGY_H
#define RECORD_RUNNING_HOST_TOPOLOGY_H

#include "base/buf.h"

/* The header features that describe how CPUs, caches and memory are laid out, from
 * /sys/devices/system. Nothing is added where sysfs says nothing. */
void rec_put_nr_cpus(struct buf *b);
void rec_put_cpu_topology(struct buf *b);
void rec_put_numa_topology(struct buf *b);
void rec_put_cache(struct buf *b);

#endif
