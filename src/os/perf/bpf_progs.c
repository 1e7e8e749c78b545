/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/perf/bpf_progs.h"

#include <linux/bpf.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/file.h"
#include "os/proc.h"

enum { MAX_PROGS = 1 << 16, MAX_BTF = 16 << 20 };

static int call(enum bpf_cmd command, union bpf_attr *attr)
{
	long n = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return n < 0 ? -errno : (int)n;
}

static int next_id(uint32_t *id)
{
	union bpf_attr attr = {.start_id = *id};
	int err = call(BPF_PROG_GET_NEXT_ID, &attr);

	if (!err)
		*id = attr.next_id;
	return err;
}

static int prog_fd(uint32_t id)
{
	union bpf_attr attr = {.prog_id = id};

	return call(BPF_PROG_GET_FD_BY_ID, &attr);
}

static bool get_info(int fd, void *info, uint32_t size)
{
	union bpf_attr attr = {
		.info = {.bpf_fd = (uint32_t)fd, .info_len = size, .info = (uintptr_t)info}
        };

	return !call(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

/* What the kernel fills in for each part, array by array. */
struct parts {
	uint64_t start[OS_BPF_MAX_PARTS];
	uint32_t bytes[OS_BPF_MAX_PARTS];
	uint8_t tag[OS_BPF_MAX_PARTS][OS_BPF_TAG_BYTES];
	struct bpf_func_info function[OS_BPF_MAX_PARTS];
};

static bool get_parts(int fd, struct bpf_prog_info *info, struct parts *p)
{
	bool has_types = info->func_info_rec_size == sizeof(*p->function) &&
			 info->nr_func_info == info->nr_jited_ksyms;
	uint32_t nr = info->nr_jited_ksyms;

	if (!nr || nr > OS_BPF_MAX_PARTS || info->nr_jited_func_lens != nr ||
	    info->nr_prog_tags != nr)
		return false;
	*info = (struct bpf_prog_info){.nr_jited_ksyms = nr,
				       .jited_ksyms = (uintptr_t)p->start,
				       .nr_jited_func_lens = nr,
				       .jited_func_lens = (uintptr_t)p->bytes,
				       .nr_prog_tags = nr,
				       .prog_tags = (uintptr_t)p->tag};
	memset(p->function, 0, sizeof(p->function));
	if (has_types) {
		info->nr_func_info = nr;
		info->func_info_rec_size = sizeof(*p->function);
		info->func_info = (uintptr_t)p->function;
	}
	/* Addresses that we may not see are none. */
	return get_info(fd, info, sizeof(*info)) && info->nr_jited_ksyms == nr && p->start[0];
}

static bool get_prog(int fd, struct os_bpf_prog *ret)
{
	struct bpf_prog_info info = {0};
	struct parts p;

	if (!get_info(fd, &info, sizeof(info)))
		return false;
	ret->id = info.id;
	ret->btf_id = info.btf_id;
	memcpy(ret->tag, info.tag, sizeof(ret->tag));
	snprintf(ret->name, sizeof(ret->name), "%.*s", OS_BPF_NAME_BYTES, info.name);
	ret->nr = info.nr_jited_ksyms;
	if (!get_parts(fd, &info, &p))
		ret->nr = 0;
	for (uint32_t i = 0; i < ret->nr; i++) {
		ret->part[i] =
			(struct os_bpf_part){p.start[i], p.bytes[i], p.function[i].type_id, {0}};
		memcpy(ret->part[i].tag, p.tag[i], sizeof(p.tag[i]));
	}
	return true;
}

/* The next descriptor of this process that is a @p kind ("bpf-prog", "btf"); -1: no more. */
static int next_own(struct os_dir *d, const char *kind)
{
	static const char before[] = "anon_inode:";
	char path[64], link[64];
	int fd;

	while (d && (fd = os_dir_next_number(d)) >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (os_read_link(path, link, sizeof(link)) >= 0 &&
		    !strncmp(link, before, strlen(before)) && !strcmp(link + strlen(before), kind))
			return fd;
	}
	return -1;
}

static void own_progs(struct os_bpf_prog *room,
		      void (*each)(void *ctx, const struct os_bpf_prog *p), void *ctx)
{
	struct os_dir *d = os_dir_open("/proc/self/fd", NULL);
	int fd;

	while ((fd = next_own(d, "bpf-prog")) >= 0)
		if (get_prog(fd, room))
			each(ctx, room);
	os_dir_close(d);
}

void os_bpf_progs(struct os_bpf_prog *room, void (*each)(void *ctx, const struct os_bpf_prog *p),
		  void *ctx)
{
	uint32_t id = 0;
	int err = next_id(&id), fd;

	if (err == -EPERM) {
		own_progs(room, each, ctx);
		return;
	}
	for (uint32_t nr = 0; !err && nr < MAX_PROGS; nr++, err = next_id(&id)) {
		fd = prog_fd(id);
		if (fd >= 0 && get_prog(fd, room))
			each(ctx, room);
		if (fd >= 0)
			os_close(fd);
	}
}

static bool read_btf(int fd, struct buf *ret)
{
	struct bpf_btf_info info = {0};
	uint32_t size;

	if (!get_info(fd, &info, sizeof(info)) || !info.btf_size || info.btf_size > MAX_BTF)
		return false;
	size = info.btf_size;
	if (!buf_reserve(ret, size))
		return false;
	info = (struct bpf_btf_info){.btf = (uintptr_t)ret->data, .btf_size = size};
	if (!get_info(fd, &info, sizeof(info)))
		return false;
	ret->nr = size;
	return true;
}

static bool read_own_btf(uint32_t id, struct buf *ret)
{
	struct os_dir *d = os_dir_open("/proc/self/fd", NULL);
	bool is_read = false;
	int fd;

	while (!is_read && (fd = next_own(d, "btf")) >= 0) {
		struct bpf_btf_info info = {0};

		if (get_info(fd, &info, sizeof(info)) && info.id == id)
			is_read = read_btf(fd, ret);
	}
	os_dir_close(d);
	return is_read;
}

bool os_bpf_btf(uint32_t id, struct buf *ret)
{
	union bpf_attr attr = {.btf_id = id};
	int fd = id ? call(BPF_BTF_GET_FD_BY_ID, &attr) : -ENOENT;
	bool is_read;

	buf_clear(ret);
	if (fd < 0)
		return fd == -EPERM && read_own_btf(id, ret);
	is_read = read_btf(fd, ret);
	os_close(fd);
	return is_read;
}
