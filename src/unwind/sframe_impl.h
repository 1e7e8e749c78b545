/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_SFRAME_IMPL_H
#define UNWIND_SFRAME_IMPL_H

#include "unwind/sframe.h"

/*
 * The format's numbers, for those who read it and those who write it: sframe_*.c alone.
 */

/** The info byte of a function, and the type in the one after it (version 3). */
enum {
	SFRAME_INFO_START = 0x0f,
	SFRAME_INFO_MASK = 0x10,
	SFRAME_INFO_KEY_B = 0x20,
	SFRAME_INFO_SIGNAL = 0x80, /* version 3 */
	SFRAME_INFO2_TYPE = 0x1f,
	SFRAME_TYPE_FLEX = 1,
};

/** The info byte of a row, and the control words of FLEX rows. */
enum {
	SFRAME_ROW_BASE_SP = 0x01,
	SFRAME_ROW_SIGNED = 0x80,
	SFRAME_CONTROL_REG_P = 0x1,
	SFRAME_CONTROL_DEREF = 0x2,
	SFRAME_CONTROL_REG = 3, /* shift */
};

/** s390x: the ABI's CFA lies this far above SP at entry, and words of it count in eights. */
enum { SFRAME_S390X_CFA_BIAS = 160, SFRAME_S390X_CFA_SCALE = 8 };

/** x86-64: where RA is, from the CFA; bytes of an entry of a lazy PLT. */
enum { SFRAME_AMD64_RA = -8, SFRAME_PLT_ENTRY = 16 };

struct sframe_version {
	uint8_t fde_bytes, flags; /* of a function; that a header may have */
};

/** By version, 1 to 3. */
extern const struct sframe_version sframe_versions[];

struct sframe_machine {
	enum unw_arch arch;
	bool is_big;
};

/** By enum sframe_abi. */
extern const struct sframe_machine sframe_machines[];

#endif
