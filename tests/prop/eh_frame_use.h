/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROP_EH_FRAME_USE_H
#define PROP_EH_FRAME_USE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* First byte of an input for eh_frame_use(): bits 0-1 machine, 2 other byte order, 3 .debug_frame,
 * 4 the second half is .eh_frame_hdr. 0x7f: the whole input is an ELF file. */
enum { EH_USE_SWAP = 4, EH_USE_DEBUG = 8, EH_USE_HDR = 16, EH_USE_TEXT = 0x10000 };

/** Compile what @p data holds, damaged or not, and look up everywhere.
 * @return NULL, or what is wrong: more rows than bytes, a table that is not right, ... */
const char *eh_frame_use(const uint8_t *data, size_t size);

/** Whole inputs to damage. @return false: there is none of that number. */
bool eh_frame_seed(unsigned int number, struct buf *ret);

#endif
