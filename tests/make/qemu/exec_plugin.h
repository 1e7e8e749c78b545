/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_QEMU_EXEC_PLUGIN_H
#define TESTS_MAKE_QEMU_EXEC_PLUGIN_H

/*
 * What exec_plugin.so writes, in host byte order:
 *
 *   PREFIX.code    what was translated: u64 address, u32 instruction; of x86: u64 address, u8
 * length, 15 bytes; again when it changed PREFIX.<vcpu>  a thread's execution, one u32 each: which
 * of those, in bits 30:0. Written before the instruction runs: one that faults is there, too
 */
enum {
	EXEC_TOUCHED = -0x7fffffff - 1, /* bit 31: it read or wrote memory */
	EXEC_INDEX = 0x7fffffff,
	EXEC_BEGIN = 0x7fffffff, /* a new thread begins */
	EXEC_CODE_BYTES = 12,
	EXEC_X86_CODE_BYTES = 24,
};

#endif
