/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "os/file.h"

enum { PATH_BYTES = 4096, MAX_FORMAT = 4 << 20 };

#define MOUNT_POINT "/sys/kernel/tracing"

/* The first two are where it is looked for; debugfs mounts it there by itself when entered. */
static const char *const places[] = {MOUNT_POINT, "/sys/kernel/debug/tracing"};

enum os_tracefs_state os_tracefs_find(const char **ret_path)
{
	enum os_tracefs_state state =
		os_exists(MOUNT_POINT) ? OS_TRACEFS_NOT_MOUNTED : OS_TRACEFS_NOT_BUILT;

	*ret_path = MOUNT_POINT;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char events[64];

		snprintf(events, sizeof(events), "%s/events", places[i]);
		if (access(events, R_OK | X_OK) == 0) {
			*ret_path = places[i];
			return OS_TRACEFS_READABLE;
		}
		/* debugfs is closed to others whether or not tracefs is below it. */
		if (errno == EACCES && i == 0)
			state = OS_TRACEFS_NO_ACCESS;
	}
	return state;
}

enum clew_err os_tracefs_mount(struct clew_diag *diag)
{
	if (mount("nodev", MOUNT_POINT, "tracefs", 0, NULL) && errno != EBUSY)
		return clew_fail_os(diag, errno, "mount");
	return CLEW_OK;
}

static bool event_path(char ret[PATH_BYTES], const char *root, const char *system, const char *name,
		       const char *file)
{
	return snprintf(ret, PATH_BYTES, "%s/events/%s/%s/%s", root, system, name, file) <
	       PATH_BYTES;
}

struct event_file {
	const char *root, *system, *name, *file;
};

static enum clew_err read_event_file(const struct event_file *f, char **ret, size_t *ret_size,
				     struct clew_diag *diag)
{
	char path[PATH_BYTES];
	struct clew_diag why = {0};
	enum clew_err err;

	if (!event_path(path, f->root, f->system, f->name, f->file))
		return clew_fail(diag, CLEW_NOT_FOUND, 0, "name too long");
	err = os_read_file(path, MAX_FORMAT, ret, ret_size, &why);
	if (err == CLEW_OS && (why.os_errno == ENOENT || why.os_errno == ENOTDIR))
		return clew_fail(diag, CLEW_NOT_FOUND, 0, "no such tracepoint");
	if (err && diag)
		*diag = why;
	return err;
}

enum clew_err os_tracefs_event_id(const char *root, const char *system, const char *name,
				  uint32_t *ret, struct clew_diag *diag)
{
	char *text, *end;
	size_t n;
	unsigned long id;
	const struct event_file f = {root, system, name, "id"};
	enum clew_err err = read_event_file(&f, &text, &n, diag);

	if (err)
		return err;
	id = strtoul(text, &end, 10);
	if (end == text || id > UINT32_MAX)
		err = clew_fail(diag, CLEW_BAD_FILE, 0, "the tracepoint's id is not a number");
	else
		*ret = (uint32_t)id;
	mem_free(text);
	return err;
}

enum clew_err os_tracefs_names(const char *root, const char *system, struct arena *arena,
			       struct os_names *ret, struct clew_diag *diag)
{
	char dir[PATH_BYTES], path[PATH_BYTES * 2];
	struct os_names all = {0};
	enum clew_err err;

	if (snprintf(dir, sizeof(dir), "%s/events%s%s", root, system ? "/" : "",
		     system ? system : "") >= PATH_BYTES)
		return clew_fail(diag, CLEW_NOT_FOUND, 0, "name too long");
	err = os_dir_names(dir, arena, &all, diag);
	for (size_t i = 0; !err && i < all.nr; i++) {
		struct stat st;

		snprintf(path, sizeof(path), "%s/%s", dir, all.data[i]);
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && !vec_push(ret, all.data[i]))
			err = clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	}
	vec_done(&all);
	return err;
}

int os_tracefs_write(const char *root, const char *file, const char *line)
{
	char path[PATH_BYTES];
	int fd, err;

	if (snprintf(path, sizeof(path), "%s/%s", root, file) >= PATH_BYTES)
		return -ENAMETOOLONG;
	/* Opened otherwise, all that others have defined would be removed. */
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = os_write_all(fd, line, strlen(line));
	os_close(fd);
	return err;
}

enum clew_err os_tracefs_format(const char *root, const char *system, const char *name, char **ret,
				size_t *ret_size, struct clew_diag *diag)
{
	const struct event_file f = {root, system, name, "format"};

	return read_event_file(&f, ret, ret_size, diag);
}
