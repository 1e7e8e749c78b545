/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_LIVE_EVENT_OPEN_H
#define TESTS_LIVE_EVENT_OPEN_H

#include <stdbool.h>
#include <stdint.h>

enum run_event { RUN_CPU_CLOCK, RUN_FAULTS, RUN_SWITCHES, RUN_SYSCALL_ENTER };

/** A disabled, inherited event without a buffer. @p freq 0: every one. @return descriptor or
 * -errno. */
int event_open(enum run_event e, int pid, int cpu, uint64_t freq);
uint64_t event_syscall_enter_id(void);
void event_enable(int fd, bool is_on);

#endif
