/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_X86_INSNS_H
#define TESTS_MAKE_X86_INSNS_H

#include "flow/flow_code.h"

/** 64-bit x86 for make/toy.h: nothing is special but far transfers. */
extern const struct flow_insns x86_insns;

/** @return its bytes; 0: not readable, or none. */
unsigned int x86_insn_at(struct flow_code *c, uint32_t space, uint64_t addr, struct insn *ret);

#endif
