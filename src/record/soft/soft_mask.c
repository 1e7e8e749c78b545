/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>

#include "record/soft/soft_thread.h"

/* A breakpoint of a thread that blocks SIGTRAP makes the kernel unblock it, and take away the
 * program's handler for it (force_sig()). So it is not blocked while the thread runs in user mode;
 * wherever the mask matters, in system calls and for the frame of a handler, it is again.
 * Spec: Linux 6.18 kernel/signal.c, "force_sig_info_to_task". */

#define TRAP_BIT (UINT64_C(1) << (SIGTRAP - 1))

void soft_mask_hide(struct soft_thread *t)
{
	uint64_t mask;

	if (os_ptrace_mask(t->tid, &mask) || !(mask & TRAP_BIT))
		return;
	t->hides_trap = !os_ptrace_set_mask(t->tid, mask & ~TRAP_BIT);
}

void soft_mask_show(struct soft_thread *t)
{
	uint64_t mask;

	if (t->hides_trap && !os_ptrace_mask(t->tid, &mask))
		os_ptrace_set_mask(t->tid, mask | TRAP_BIT);
	t->hides_trap = false;
}
