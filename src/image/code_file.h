/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_CODE_FILE_H
#define IMAGE_CODE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>

#include "os/file.h"
#include "os/file_time.h"

/*
 * Binaries' bytes for rooms that do no I/O of their own: nothing of symbols here.
 */
struct code_file {
	struct os_file_identity id;
	struct os_map map;
	char *copy; /* instead of a mapping */
};

/** A larger file is mapped, whoever may write it. */
enum { CODE_FILE_MAX_COPY = 64 << 20 };

/** Which file stands at @p path now. One stat(2). */
bool code_file_id(const char *path, struct os_file_identity *ret);

/**
 * Map @p path, as it is for now; what others than root may write to is read instead, as a mapping
 * kills us when somebody cuts the file. Its id is that of these bytes unless it was replaced just
 * then.
 * @return CLEW_NOT_FOUND: no regular file there; else as os_map_file().
 */
enum clew_err code_file_open(struct code_file *f, const char *path);
void code_file_done(struct code_file *f);

/**
 * The separate debug file of a build id: DIR/.build-id/xx/yy.debug, mapped so that libelf may
 * unpack its sections in place. @return CLEW_NOT_FOUND: none; else as code_file_open().
 */
enum clew_err code_file_open_debug(struct code_file *f, const char *dir, const uint8_t *build_id,
				   size_t build_id_bytes);

/** The image of the vdso mapped into this process, which stays. @return false: there is none. */
bool code_own_vdso(const void **ret, size_t *ret_size);

/** Monotonic nanoseconds, to measure what work costs. */
uint64_t code_clock_ns(void);

#endif
