/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_DSO_RUNNING_H
#define IMAGE_DSO_RUNNING_H

#include "image/dso_priv.h"

/** Why what the running kernel has is not of the recorded one, static text; NULL: it is. @p d: the
 * kernel, or a module of it. */
const char *dso_why_not_running(struct dso *d);

/** The same of what only its release decides, such as the vDSO. */
const char *dso_why_not_release(struct dso *d);

/** A kernel may have loaded a module of another build since then. */
bool dso_is_other_module(const struct dso *d);

struct dso_build_id dso_running_build_id(const struct dso_store *s);

/** Where the module is by the list at @p path. @return false: not loaded. */
bool dso_module_now(const struct dso *d, const char *path, uint64_t *ret);

/** dso_kernel.c: /proc/kallsyms with the reference symbol of @p d; NULL: unreadable. */
const struct kernel_syms *dso_running_syms(struct dso *d);

#endif
