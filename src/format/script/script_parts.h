/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_PARTS_H
#define FORMAT_SCRIPT_SCRIPT_PARTS_H

#include "base/buf.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_sample.h"

/* The rarer columns of a sample's line, each as perf 6.1 prints it. All append to @p b. */

/** Which names registers have. */
enum script_arch { SCRIPT_ARCH_X86, SCRIPT_ARCH_ARM64, SCRIPT_ARCH_OTHER };

/** @p name: as `uname -m` spells it; NULL: this machine's. */
enum script_arch script_arch_of(const char *name);

/** The name of bit @p bit in attr.sample_regs_*, or NULL. */
const char *script_reg_name(enum script_arch arch, unsigned int bit);

/** " ABI:2    AX:0x1 ..."; nothing where no registers were sampled. */
void script_add_regs(struct buf *b, enum script_arch arch, uint64_t abi, uint64_t mask,
		     const struct perf_words *words);

/** "P/-/-/12/CALL/-": what follows the addresses of a branch. */
void script_add_branch_flags(struct buf *b, const struct perf_branch *br);

/** "N/A", "4K", "2M", "1G", ... */
void script_add_page_size(struct buf *b, uint64_t bytes);

/** The misc letters in a column of six: K U H G g, E for exact, ... */
void script_add_misc(struct buf *b, uint32_t type, uint16_t misc);

/** "PERF_RECORD_COMM: ls:7/7\n" for records that @p shows (SCRIPT_SHOW_) asks for. @return whether
 * it does. */
bool script_record_text(struct buf *b, unsigned int shows, const struct perf_record *r);

/** bpf-output: offset, hex and text, 16 bytes per line. */
void script_add_bpf_output(struct buf *b, struct bytes raw);

#endif
