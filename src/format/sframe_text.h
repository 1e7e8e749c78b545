/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SFRAME_TEXT_H
#define FORMAT_SFRAME_TEXT_H

#include "base/buf.h"
#include "unwind/sframe.h"

/*
 * The text of `objdump --sframe`, in the words of the binutils that wrote sections of that version:
 * 2.40 for version 1, 2.44 for 2, 2.47 for 3. docs/decisions/sframe.md.
 */

/** What objdump prints before a file's sections, and after the words "Function Index". */
void sframe_text_head(struct buf *out, const char *file, const struct sframe *s);

/**
 * Function @p i with its rows. @p left: rows that may still be printed in all, counted down.
 * @return why it could not be read to its end; what was read before is printed.
 */
enum clew_err sframe_text_function(struct buf *out, const struct sframe *s, uint32_t i,
				   uint64_t *left, struct clew_diag *diag);

/** The location of the caller's frame, frame pointer and return address in a row. */
enum sframe_part { SFRAME_CFA, SFRAME_FP, SFRAME_RA };
void sframe_text_part(struct buf *out, const struct sframe *s, const struct sframe_function *f,
		      const struct sframe_row *r, enum sframe_part part);

/** "elf64-x86-64"; "": an unknown ABI. */
const char *sframe_text_abi(const struct sframe *s);

/** A compiled rule in the same spelling: "sp+16 fp=c-16 ra=c-8 signal"; NULL: "nothing". */
void sframe_text_rule(struct buf *out, enum unw_arch arch, const struct unw_rule *rule);

#endif
