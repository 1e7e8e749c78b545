/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_DSO_KCORE_H
#define IMAGE_DSO_KCORE_H

#include "image/code_source.h"
#include "image/dso_priv.h"

/*
 * Memory of the running kernel, by /proc/kcore: an ELF file without end, read in pieces as far as
 * it is asked for. Whether it is the kernel that was recorded, and where that lies now, is
 * dso_running_delta()'s to say.
 */
struct dso_kcore;

/** Bytes around today's @p address; they live as long as the store. @return NULL, or why there are
 * none: static words. */
const char *dso_kcore_find(struct dso_store *s, uint64_t address, struct code_region *ret);
void dso_kcore_free(struct dso_kcore *k);

/** What the running kernel says of itself. */
enum dso_running {
	DSO_RUNNING_KCORE,
	DSO_RUNNING_KALLSYMS,
	DSO_RUNNING_MODULES,
	DSO_RUNNING_NOTES
};
void dso_running_path(const struct dso_store *s, enum dso_running what, struct buf *ret);

/** What to add to a recorded address of the kernel or module @p d to get today's. @return NULL, or
 * why it is unproven that the running kernel is the recorded one. */
const char *dso_running_delta(struct dso *d, uint64_t *ret);

#endif
