/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_REGS_H
#define PERFDATA_PERF_REGS_H

/* Registers in sample_regs_user and sample_regs_intr: the bit of each. Spec: Linux 7.3
 * arch/{x86,arm64}/include/uapi/asm/perf_regs.h. */

enum perf_reg_x86 {
	PERF_REG_X86_AX,
	PERF_REG_X86_BX,
	PERF_REG_X86_CX,
	PERF_REG_X86_DX,
	PERF_REG_X86_SI,
	PERF_REG_X86_DI,
	PERF_REG_X86_BP,
	PERF_REG_X86_SP,
	PERF_REG_X86_IP,
	PERF_REG_X86_FLAGS,
	PERF_REG_X86_CS,
	PERF_REG_X86_SS,
	PERF_REG_X86_R8 = 16, /* after the segment registers DS, ES, FS and GS */
	PERF_REG_X86_R15 = 23,
};

enum perf_reg_arm64 {
	PERF_REG_ARM64_X0,
	PERF_REG_ARM64_X29 = 29,
	PERF_REG_ARM64_LR,
	PERF_REG_ARM64_SP,
	PERF_REG_ARM64_PC,
};

/* A task's general registers, without the segment registers that a 64-bit task has no use for. */
#define PERF_REGS_X86   0xff0fffull
#define PERF_REGS_ARM64 0x1ffffffffull

#endif
