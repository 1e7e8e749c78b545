/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_UNW_CALL_SITE_H
#define UNWIND_UNW_CALL_SITE_H

#include <stddef.h>
#include <stdint.h>

/** What the code of an ELF file shows of an address that stands in a chain of callers. */
enum unw_call_site {
	UNW_SITE_UNKNOWN,       /* no code before it, or of another machine */
	UNW_SITE_AFTER_CALL,    /* a call may end there; of x86 bytes alone do not prove it */
	UNW_SITE_AFTER_SYSCALL, /* a system call ends there, and no call */
	UNW_SITE_NO_CALL,       /* neither: no call returns there */
	UNW_SITE_SIGRETURN,     /* a signal's trampoline begins there: no call led to it */
};

/**
 * @p file: the whole file, not trusted; @p rel: offset in it. O(1), any thread.
 *
 * Spec: Intel SDM volume 2; Arm ARM (DDI 0487), "A64 Base Instruction Descriptions"; Linux 7.3
 * arch/x86/kernel/signal_32.c and entry/vdso/vdso32/sigreturn.S,
 * arch/arm64/kernel/vdso/sigreturn.S.
 */
enum unw_call_site unw_call_site_of(const uint8_t *file, size_t size, uint64_t rel);

#endif
