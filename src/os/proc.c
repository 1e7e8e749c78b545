/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/path.h"

enum { READ_STEP = 16 * 1024, MAPS_MAX = 16 * 1024 * 1024, STATUS_MAX = 64 * 1024 };

struct os_dir {
	DIR *dir;
};

struct os_dir *os_dir_open(const char *path, int *ret_errno)
{
	struct os_dir *d = mem_alloc(sizeof(*d));

	if (!d) {
		errno = ENOMEM;
	} else {
		d->dir = opendir(path);
		if (d->dir)
			return d;
	}
	if (ret_errno)
		*ret_errno = errno;
	mem_free(d);
	return NULL;
}

static const struct dirent *next_entry(struct os_dir *d)
{
	const struct dirent *e;

	do {
		e = readdir(d->dir);
	} while (e && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")));
	return e;
}

const char *os_dir_next(struct os_dir *d)
{
	const struct dirent *e = next_entry(d);

	return e ? e->d_name : NULL;
}

const char *os_dir_next_directory(struct os_dir *d)
{
	const struct dirent *e;

	do {
		e = next_entry(d);
	} while (e && e->d_type != DT_DIR);
	return e ? e->d_name : NULL;
}

int os_dir_next_number(struct os_dir *d)
{
	const char *name;

	while ((name = os_dir_next(d))) {
		char *end;
		long v;

		if (name[0] < '1' || name[0] > '9')
			continue;
		v = strtol(name, &end, 10);
		if (!*end && v <= INT32_MAX)
			return (int)v;
	}
	return -1;
}

void os_dir_close(struct os_dir *d)
{
	if (!d)
		return;
	closedir(d->dir);
	mem_free(d);
}

long os_read_into(const char *path, size_t limit, struct buf *b)
{
	int fd = os_open_read(path);
	size_t start = b->nr;
	long n;

	if (fd < 0)
		return fd;
	do {
		if (!buf_reserve(b, READ_STEP)) {
			n = -ENOMEM;
			break;
		}
		n = os_read(fd, b->data + b->nr, READ_STEP);
		if (n > 0)
			b->nr += (size_t)n;
	} while (n > 0 && b->nr - start < limit);
	os_close(fd);
	if (n < 0)
		b->nr = start;
	return n < 0 ? n : (long)(b->nr - start);
}

bool os_read_first_line(const char *path, char *ret, size_t size)
{
	int fd = os_open_read(path);
	long n;

	if (fd < 0)
		return false;
	n = os_read(fd, ret, size - 1);
	os_close(fd);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	return true;
}

bool os_topology_text(int cpu, const char *name, char *ret, size_t size)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu, name);
	return os_read_first_line(path, ret, size);
}

bool os_read_number(const char *path, unsigned long long *ret)
{
	char line[64], *end;

	if (!os_read_first_line(path, line, sizeof(line)))
		return false;
	*ret = strtoull(line, &end, 0);
	return end != line;
}

int os_file_id(const char *path, struct os_file_id *ret)
{
	struct stat st;
	int err = os_path_stat(path, &st);

	if (err)
		return err;
	*ret = (struct os_file_id){st.st_dev, st.st_ino, major(st.st_dev), minor(st.st_dev),
				   st.st_uid};
	return 0;
}

bool os_user_number(const char *name, unsigned int *ret)
{
	struct passwd entry, *found = NULL;
	char text[4096];

	if (getpwnam_r(name, &entry, text, sizeof(text), &found) || !found)
		return false;
	*ret = found->pw_uid;
	return true;
}

void os_uname(struct os_uname *ret)
{
	struct utsname u;

	*ret = (struct os_uname){{0}};
	if (uname(&u))
		return;
	snprintf(ret->release, sizeof(ret->release), "%s", u.release);
	snprintf(ret->machine, sizeof(ret->machine), "%s", u.machine);
	snprintf(ret->node, sizeof(ret->node), "%s", u.nodename);
}

bool os_kernel_is_from(unsigned int major, unsigned int minor)
{
	struct os_uname name;
	unsigned long has_major, has_minor;
	char *end;

	os_uname(&name);
	has_major = strtoul(name.release, &end, 10);
	has_minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return has_major > major || (has_major == major && has_minor >= minor);
}

int os_pid(void)
{
	return getpid();
}

void os_rename_to_same(void)
{
	char name[16];

	if (!prctl(PR_GET_NAME, name))
		prctl(PR_SET_NAME, name);
}

int os_open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int os_open_fifo(const char *path, bool is_write)
{
	/* Read-write never blocks on a fifo and never sees an end when a writer goes away. */
	int fd = open(path, (is_write ? O_RDWR : O_RDWR | O_NONBLOCK) | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int os_set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

void os_raise_file_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur == r.rlim_max)
		return;
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

int os_set_realtime(int priority)
{
	struct sched_param p = {.sched_priority = priority};

	return sched_setscheduler(0, SCHED_FIFO, &p) ? -errno : 0;
}

unsigned int os_page_bytes(void)
{
	return (unsigned int)sysconf(_SC_PAGESIZE);
}

/* The kernel puts the stack of a process near the end of its address space, and nothing above. */
unsigned int os_address_bits(void)
{
	unsigned long on_stack = getauxval(AT_RANDOM);

	return on_stack ? 64 - (unsigned int)__builtin_clzl(on_stack) : 64;
}

bool os_own_vdso(const void **ret, size_t *ret_size)
{
	unsigned long base = getauxval(AT_SYSINFO_EHDR);
	clew_auto(mem_free_at) char *maps = NULL;
	size_t size;
	char want[32], *line, *end;

	if (!base || os_read_file("/proc/self/maps", MAPS_MAX, &maps, &size, NULL))
		return false;
	snprintf(want, sizeof(want), "%lx-", base);
	line = strstr(maps, want);
	if (!line || (line > maps && line[-1] != '\n'))
		return false;
	end = line + strlen(want);
	*ret_size = strtoul(end, NULL, 16) - base;
	/* A pointer, which the kernel gives as a number. */
	*ret = (const void *)base;
	return true;
}

void os_kernel_release(char *ret, size_t size)
{
	struct utsname u;

	snprintf(ret, size, "%s", uname(&u) ? "" : u.release);
}

/* No program: of a kernel thread, and of one that has ended. */
static bool has_no_exe(uint32_t pid)
{
	char path[40], name[16];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return os_read_link(path, name, sizeof(name)) == -ENOENT;
}

uint32_t os_proc_living(uint32_t pid)
{
	uint32_t found = pid;
	struct os_dir *d;
	char path[40];
	int tid;

	if (!has_no_exe(pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = os_dir_open(path, NULL);
	while (d && found == pid && (tid = os_dir_next_number(d)) >= 0)
		if (!has_no_exe((uint32_t)tid))
			found = (uint32_t)tid;
	os_dir_close(d);
	return found;
}

uint64_t os_mnt_ns(uint32_t pid)
{
	char path[40];
	struct stat st;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%u/ns/mnt", os_proc_living(pid));
	else
		snprintf(path, sizeof(path), "/proc/self/ns/mnt");
	return stat(path, &st) ? 0 : st.st_ino;
}

uint32_t os_pid_inside(uint32_t pid)
{
	clew_auto(mem_free_at) char *status = NULL;
	const char *at, *last;
	char path[40];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (os_read_file(path, STATUS_MAX, &status, &size, NULL))
		return pid;
	at = strstr(status, "\nNStgid:");
	if (!at)
		return pid;
	at += strlen("\nNStgid:");
	for (last = at; *at && *at != '\n'; at++) {
		if (*at == '\t')
			last = at + 1;
	}
	return (uint32_t)strtoul(last, NULL, 10);
}

uint64_t os_process_start_ns(uint32_t pid)
{
	enum { NR_START = 22, FIRST_AFTER_NAME = 3 };
	clew_auto(buf_done) struct buf b = {0};
	uint64_t now, ignored, ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	const char *at;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (os_read_into(path, 4096, &b) <= 0 || !os_clock_read(CLOCK_BOOTTIME, &now, &ignored))
		return 0;
	at = strrchr(buf_cstr(&b), ')'); /* a name may hold anything */
	for (int i = FIRST_AFTER_NAME; at && i <= NR_START; i++)
		at = strchr(at + 1, ' ');
	return at ? os_wall_ns() - now + strtoull(at, NULL, 10) * (1000000000 / ticks) : 0;
}
