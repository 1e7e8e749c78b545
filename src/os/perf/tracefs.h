/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PERF_TRACEFS_H
#define OS_PERF_TRACEFS_H

#include <stdint.h>

#include <clew/err.h>

#include "os/dir.h"

/* Where tracepoints are named and described. Spec: Linux Documentation/trace/events.rst. */

enum os_tracefs_state {
	OS_TRACEFS_READABLE,
	OS_TRACEFS_NO_ACCESS,   /* mounted, and closed to this user */
	OS_TRACEFS_NOT_MOUNTED, /* the kernel has it, but it is not mounted */
	OS_TRACEFS_NOT_BUILT,   /* the kernel has none */
};

/** @param ret_path static text: where it is, or where it would be mounted. */
enum os_tracefs_state os_tracefs_find(const char **ret_path);

/** Mount tracefs at /sys/kernel/tracing. Needs CAP_SYS_ADMIN. @return CLEW_OK, CLEW_OS. */
enum clew_err os_tracefs_mount(struct clew_diag *diag);

/** The number of @p system:@p name, attr.config of its event. @p root: as os_tracefs_find() says.
 * @return CLEW_OK; CLEW_NOT_FOUND: no such tracepoint; CLEW_OS: not readable (diag). */
enum clew_err os_tracefs_event_id(const char *root, const char *system, const char *name,
				  uint32_t *ret, struct clew_diag *diag);

/** Event systems, or with @p system the events of it; appended to @p ret, sorted. */
enum clew_err os_tracefs_names(const char *root, const char *system, struct arena *arena,
			       struct os_names *ret, struct clew_diag *diag);

/** The format file of an event: fields and print format. Freed with mem_free(). */
enum clew_err os_tracefs_format(const char *root, const char *system, const char *name, char **ret,
				size_t *ret_size, struct clew_diag *diag);

/** Write @p line to the control file @p file, which adds it to what is there. @return 0 or -errno.
 */
int os_tracefs_write(const char *root, const char *file, const char *line);

#endif
