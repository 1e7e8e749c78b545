/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_DSO_CODE_H
#define IMAGE_DSO_CODE_H

#include "image/code_source.h"
#include "image/dso.h"

/*
 * A dso's code as the traced machine ran it: files of other machines are not taken. Modules, which
 * have to be relocated, only of Arm cores.
 */

/**
 * The bytes around @p rel, in the dso's own terms (image/dso.h). They live as long as the store.
 * Opens the file on first use. Thread: one at a time per store.
 * @return false: none there.
 */
bool dso_find_code(struct dso *d, enum code_arch arch, uint64_t rel, struct code_region *ret);

/** Why it has none: static words; NULL: it has some, or was never asked. */
const char *dso_why_no_code(const struct dso *d);

#endif
