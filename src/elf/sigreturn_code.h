/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ELF_SIGRETURN_CODE_H
#define ELF_SIGRETURN_CODE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * The code that a signal's handler returns to, by its bytes: it makes one system call, and its
 * caller is what the signal interrupted. Nothing else in a file needs to describe it.
 */

/** aarch64: mov x8, #139; svc #0 */
#define A64_MOV_SIGRETURN 0xd2801168u
#define A64_SVC           0xd4000001u

/** amd64: mov $15, %rax or %eax; syscall. @return its bytes; 0: that is not it. */
static inline size_t x86_sigreturn_bytes(const uint8_t *p, size_t nr)
{
	static const uint8_t rax[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
			     eax[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

	if (nr >= sizeof(rax) && !memcmp(p, rax, sizeof(rax)))
		return sizeof(rax);
	return nr >= sizeof(eax) && !memcmp(p, eax, sizeof(eax)) ? sizeof(eax) : 0;
}

/** The first one in @p code that starts at or after *at, which it becomes. @p machine: EM_X86_64,
 * EM_AARCH64; others have none. @return its bytes; 0: there is none. O(size). */
size_t sigreturn_code_next(uint16_t machine, const uint8_t *code, size_t size, size_t *at);

#endif
