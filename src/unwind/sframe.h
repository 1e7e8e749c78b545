/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_SFRAME_H
#define UNWIND_SFRAME_H

#include "unwind/unw_image.h"
#include "unwind/unw_table.h"

/*
 * SFrame sections, versions 1, 2 and 3, for amd64, aarch64 (both byte orders) and s390x.
 * The reader below gives what is in the bytes (for dump and check); sframe_rows() compiles them.
 * Spec: "The SFrame Format" of GNU binutils, versions 1, 2 errata 1 and 3; spec/sframe.md.
 */

/** Compile the section of @p image to rows. Validates everything before the first row; a damaged
 * function is a row of UNW_WHY_BAD where its extent is known, else the section is refused.
 * @return CLEW_BAD_FILE with diag.what naming what is wrong. */
enum clew_err sframe_rows(const struct unw_image *image, struct unw_list *ret,
			  struct clew_diag *diag);

#endif
