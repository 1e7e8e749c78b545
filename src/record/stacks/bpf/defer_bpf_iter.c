/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>

#include "os/file.h"
#include "record/stacks/bpf/defer_bpf_impl.h"

/* One run of an iterator program. */
struct iteration {
	const char *program;
	int pid;     /* 0: all */
	size_t item; /* bytes of what it writes at once */
	void (*take)(void *ctx, const uint8_t *data);
	void *ctx;
};

static int iterate(struct defer_bpf *d, const struct iteration *it)
{
	struct rec_error error;
	struct bpf_program *p = defer_program(d, it->program, &error);
	union bpf_iter_link_info info = {.task.pid = (uint32_t)it->pid};
	LIBBPF_OPTS(bpf_iter_attach_opts, opts);
	uint8_t data[4096];
	struct bpf_link *link;
	size_t have = 0;
	int fd;
	long n;

	if (it->pid) {
		opts.link_info = &info;
		opts.link_info_len = sizeof(info);
	}
	link = p ? bpf_program__attach_iter(p, &opts) : NULL;
	if (!link)
		return p ? -errno : -ENOENT;
	fd = bpf_iter_create(bpf_link__fd(link));
	while (fd >= 0 && (n = os_read(fd, data + have, sizeof(data) - have)) > 0) {
		have += (size_t)n;
		for (size_t at = 0; at + it->item <= have; at += it->item)
			it->take(it->ctx, data + at);
		memmove(data, data + have - have % it->item, have % it->item);
		have %= it->item;
	}
	if (fd >= 0)
		os_close(fd);
	bpf_link__destroy(link);
	return fd < 0 ? fd : n < 0 ? (int)n : 0;
}

struct scan {
	struct defer_bpf *d;
	const struct defer_sink *sink;
};

static void on_mapping(void *ctx, const uint8_t *data)
{
	const struct cb_file wanted = {.state = CB_FILE_WANTED};
	struct scan *s = ctx;
	struct cb_want w;

	memcpy(&w, data, sizeof(w));
	if (!bpf_map_update_elem(s->d->files_fd, &w.key, &wanted, BPF_NOEXIST))
		defer_put_want(s->sink, &w);
}

enum clew_err defer_bpf_scan(struct defer_bpf *d, const int *pids, size_t nr,
			     const struct defer_sink *sink)
{
	struct scan s = {d, sink};
	struct defer_log log;
	int err = 0;

	defer_log_begin(&log);
	for (size_t i = 0; i < nr + !nr; i++) {
		const struct iteration it = {"on_each_vma", nr ? pids[i] : 0,
					     sizeof(struct cb_want), on_mapping, &s};
		int e = iterate(d, &it);

		/* A process that has ended has no mappings. */
		if (e && e != -ESRCH)
			err = e;
	}
	defer_log_end(&log);
	return err ? CLEW_OS : CLEW_OK;
}

static void on_left(void *ctx, const uint8_t *data)
{
	(void)data;
	++*(size_t *)ctx;
}

size_t defer_bpf_finish(struct defer_bpf *d, const struct defer_sink *sink)
{
	struct defer_log log;
	size_t nr = 0;

	if (!d->opts.is_immediate) {
		defer_log_begin(&log);
		iterate(d, &(struct iteration){"on_pending_task", 0, 1, on_left, &nr});
		defer_log_end(&log);
	}
	defer_bpf_poll(d, sink);
	return nr;
}
