/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PROC_H
#define OS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct os_dir; /* a directory being listed */

/** @return NULL with *ret_errno set (NULL: not wanted). */
struct os_dir *os_dir_open(const char *path, int *ret_errno);

/** The next name but "." and ".."; NULL at the end. Valid until the next call. */
const char *os_dir_next(struct os_dir *d);

/** The next name that is a plain decimal number (a task in /proc), or -1 at the end. */
int os_dir_next_number(struct os_dir *d);

void os_dir_close(struct os_dir *d);

/** The next name of a subdirectory (not a link to one); NULL at the end. */
const char *os_dir_next_directory(struct os_dir *d);

/**
 * Append a whole small file of procfs or sysfs to @p b, of which at most @p limit bytes are taken.
 * @return bytes added, or -errno (ESRCH, ENOENT: the task is gone).
 */
long os_read_into(const char *path, size_t limit, struct buf *b);

/** One line without its newline. @return false: no such file, or empty. */
bool os_read_first_line(const char *path, char *ret, size_t size);

/** A line of a CPU's topology in sysfs, such as "core_id". @return false: there is none. */
bool os_topology_text(int cpu, const char *name, char *ret, size_t size);

/** A decimal or 0x number in a file. */
bool os_read_number(const char *path, unsigned long long *ret);

/** Device, inode and owner of a file, following links. @return 0 or -errno. */
struct os_file_id {
	unsigned long long dev, ino;
	unsigned int maj, min, uid; /* of dev; the owner */
};
int os_file_id(const char *path, struct os_file_id *ret);

/** The number of a user's name. */
bool os_user_number(const char *name, unsigned int *ret);

/** Kernel release and machine word of uname(2), host name. */
struct os_uname {
	char release[256], machine[256], node[256];
};
void os_uname(struct os_uname *ret);

/** Is the running kernel of this release or a later one? False also if unknown. */
bool os_kernel_is_from(unsigned int major, unsigned int minor);

int os_pid(void);

/** Give this thread the name it has: whoever records names gets a record. */
void os_rename_to_same(void);

/** Open @p path as a directory for a cgroup event. @return the descriptor or -errno. */
int os_open_directory(const char *path);

/** A control pipe or fifo: read end non-blocking, write end. @return the descriptor or -errno. */
int os_open_fifo(const char *path, bool is_write);

/** @return 0 or -errno. */
int os_set_nonblocking(int fd);

/** Let this process open as many files as its hard limit allows. */
void os_raise_file_limit(void);

/** SCHED_FIFO with @p priority for this thread. @return 0 or -errno. */
int os_set_realtime(int priority);

/** Memory a page takes. */
unsigned int os_page_bytes(void);

/** Addresses of user mode have so many bits, but for those that a program asks for. */
unsigned int os_address_bits(void);

/** The vDSO mapped into this process. @return false: there is none. */
bool os_own_vdso(const void **ret, size_t *ret_size);

/** Release of the running kernel, as `uname -r`; "" where the kernel does not say. */
void os_kernel_release(char *ret, size_t size);

/**
 * The task by which /proc shows what all threads of @p pid share: memory, files, root. It is
 * @p pid, or another of its threads where that one has ended before them. Itself if it is gone.
 */
uint32_t os_proc_living(uint32_t pid);

/** When the process @p pid started, in nanoseconds since 1970, to some hundredths of a second; 0:
 * unknown. */
uint64_t os_process_start_ns(uint32_t pid);

/** Inode of the mount namespace of @p pid (0: ourselves); 0: unknown. */
uint64_t os_mnt_ns(uint32_t pid);

/** @p pid's number in its own PID namespace; @p pid where it has no other. */
uint32_t os_pid_inside(uint32_t pid);

#endif
