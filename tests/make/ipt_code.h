/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_IPT_CODE_H
#define TESTS_MAKE_IPT_CODE_H

#include "base/buf.h"
#include "base/vec.h"

/*
 * Random x86 code with a known meaning, because it was made from the meaning: no decoder is asked.
 * Encodings: Intel SDM volume 2.
 */
enum ipt_class {
	IPT_CLASS_OTHER,
	IPT_CLASS_COND,
	IPT_CLASS_JUMP,
	IPT_CLASS_CALL,
	IPT_CLASS_JUMP_TO, /* indirect */
	IPT_CLASS_CALL_TO,
	IPT_CLASS_RETURN,
	IPT_CLASS_FAR, /* jump, call, return, IRET */
	IPT_CLASS_SYSCALL,
	IPT_CLASS_SYSRET,
	IPT_CLASS_INT, /* not shown: its FUP has its own address */
	IPT_CLASS_VM_ENTRY,
	IPT_CLASS_VM_CALL,
	IPT_CLASS_MOV_CR3,
	IPT_CLASS_VMPTRLD,
	IPT_CLASS_XBEGIN,
	IPT_CLASS_XEND,
	IPT_CLASS_XABORT,
	IPT_CLASS_PTWRITE,
};

struct ipt_code_insn {
	uint32_t offset;
	uint32_t to; /* of a displacement: index of the target; IPT_OUTSIDE */
	uint8_t bytes, class;
	uint8_t nr_rel; /* of the displacement, the last bytes; 0: none */
};

enum { IPT_OUTSIDE = -1 };

/** Code at one place, in one mode. */
struct ipt_region {
	uint64_t start;
	uint8_t bits;
	bool is_outside; /* of the filter of addresses */
	struct buf code;
	struct {
		VEC(struct ipt_code_insn);
	} insns;
};

struct ipt_code_opts {
	uint64_t *random;
	bool has_far, has_os, has_vm, has_transactions, has_ptwrite;
	/** Not NULL: some direct branches go there, out of the filter. */
	const struct ipt_region *outside;
};

/** @p r: start, bits and is_outside are set. Unconditional direct branches go forward only: what
 * runs between two packets has an end. */
void ipt_code_make(struct ipt_region *r, unsigned int nr_blocks, const struct ipt_code_opts *o);
void ipt_code_done(struct ipt_region *r);

static inline uint64_t ipt_code_address(const struct ipt_region *r, uint32_t i)
{
	return r->start + r->insns.data[i].offset;
}

#endif
