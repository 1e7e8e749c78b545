/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "os/file.h"
#include "os/perf/perf_event.h"
#include "perfdata/perf_attr.h"
#include "record/stacks/bpf/defer_bpf_impl.h"

enum {
	COPY_BYTES = 4 << 20, /* between two polls */
	MAX_ROUNDS = 1000,
};

/* --- opening --- */

static int on_request(void *ctx, void *data, size_t size)
{
	struct defer_bpf *d = ctx;
	const struct cb_request *r = data;
	struct defer_request out;

	if (size < sizeof(*r) || !d->sink)
		return 0;
	out = (struct defer_request){.time = r->time,
				     .cookie = r->cookie,
				     .tid = r->tid,
				     .cpu = r->cpu,
				     .event = r->event};
	d->sink->request(d->sink->ctx, &out);
	return 0;
}

static enum clew_err map_rings(struct defer_bpf *d, struct rec_error *error)
{
	struct defer_log log;
	int err = 0;

	defer_log_begin(&log);
	d->rings = ring_buffer__new(defer_map_fd(d, "requests"), on_request, d, NULL);
	if (!d->rings)
		err = -errno;
	else
		err = ring_buffer__add(d->rings, defer_map_fd(d, "stacks"), defer_on_stack, d);
	defer_log_end(&log);
	if (!err)
		return CLEW_OK;
	return rec_fail_os(error, err, "cannot map the rings of stacks%s%.400s",
			   log.text[0] ? ": " : "", log.text);
}

static enum clew_err open_rings(struct defer_bpf *d, struct rec_error *error)
{
	struct bpf_program *left = bpf_object__find_program_by_name(d->object, "requests_left");

	d->left_fd = left ? bpf_program__fd(left) : -1;
	d->tables_fd = defer_map_fd(d, "tables");
	d->files_fd = defer_map_fd(d, "files");
	d->memo_fd = defer_map_fd(d, "memo");
	d->controls_fd = defer_map_fd(d, "controls");
	d->counts_fd = defer_map_fd(d, "counts");
	return map_rings(d, error);
}

static enum clew_err attach_exit(struct defer_bpf *d, struct rec_error *error)
{
	struct bpf_program *p = bpf_object__find_program_by_name(d->object, "on_exit");

	if (d->opts.is_immediate || !p)
		return CLEW_OK;
	d->exit_link = bpf_raw_tracepoint_open("sched_process_exit", bpf_program__fd(p));
	if (d->exit_link < 0)
		return rec_fail_os(error, d->exit_link,
				   "cannot attach to the tracepoint sched_process_exit");
	return CLEW_OK;
}

enum clew_err defer_bpf_open(struct defer_bpf **ret, const struct defer_bpf_opts *o,
			     struct rec_error *error)
{
	enum defer_task_work task_work;
	enum clew_err err = defer_check_kernel(o, &task_work, error);
	struct defer_bpf *d;

	if (err)
		return err;
	d = mem_zalloc(sizeof(*d));
	if (!d)
		return rec_fail_memory(error);
	d->opts = *o;
	d->task_work = task_work;
	d->exit_link = -1;
	err = defer_load(d, error);
	if (!err)
		err = open_rings(d, error);
	if (!err)
		err = attach_exit(d, error);
	if (err) {
		defer_bpf_free(d);
		return err;
	}
	defer_set(d, CB_COPY_BYTES, COPY_BYTES);
	*ret = d;
	return CLEW_OK;
}

void defer_bpf_free(struct defer_bpf *d)
{
	if (!d)
		return;
	vec_for_each (&d->links, l) {
		os_close(*l);
	}
	vec_done(&d->links);
	if (d->exit_link >= 0)
		os_close(d->exit_link);
	ring_buffer__free(d->rings);
	defer_unload(d);
	defer_copies_done(d);
	defer_tables_done(d);
	mem_free(d);
}

/* --- running --- */

/* Programs that walk at the sample have names of their own. */
static struct bpf_program *program(struct defer_bpf *d, const char *put_off, const char *immediate,
				   struct rec_error *error)
{
	return defer_program(d, d->opts.is_immediate ? immediate : put_off, error);
}

static struct bpf_program *for_tracepoints(struct defer_bpf *d, struct rec_error *error)
{
	return program(d, "on_tracepoint", "on_tracepoint_now", error);
}

static struct bpf_program *for_probes(struct defer_bpf *d, enum defer_source source,
				      struct rec_error *error)
{
	return program(d, source == DEFER_UPROBE ? "on_uprobe" : "on_probe", "on_probe_now", error);
}

/* Not libbpf's attach function: that one enables the event. */
static enum clew_err link_to(struct defer_bpf *d, const struct bpf_program *p, int perf_fd,
			     uint32_t event, int *ret, struct rec_error *error)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = event);

	*ret = 0;
	if (!p)
		return CLEW_OS;
	if (!vec_reserve(&d->links, d->links.nr + 1))
		return rec_fail_memory(error);
	*ret = bpf_link_create(bpf_program__fd(p), perf_fd, BPF_PERF_EVENT, &opts);
	if (*ret < 0)
		return rec_fail_os(error, *ret, "cannot run a BPF program on the event");
	d->links.data[d->links.nr++] = *ret;
	return CLEW_OK;
}

enum clew_err defer_bpf_attach(struct defer_bpf *d, int perf_fd, uint32_t event,
			       enum defer_source source, struct rec_error *error)
{
	struct bpf_program *p = source == DEFER_COUNTER
				      ? program(d, "on_sample", "on_sample_now", error)
				      : for_probes(d, source, error);
	int link;

	return link_to(d, p, perf_fd, event, &link, error);
}

/* A tracepoint, or a probe that was made through tracefs: the kernel takes only its own kind. */
static enum clew_err link_to_any(struct defer_bpf *d, int perf_fd, uint32_t event,
				 enum defer_source *ret_source, struct rec_error *error)
{
	enum clew_err err;
	int link;

	*ret_source = DEFER_COUNTER;
	err = link_to(d, for_tracepoints(d, error), perf_fd, event, &link, error);
	if (link == -EINVAL) {
		*ret_source = DEFER_UPROBE;
		err = link_to(d, for_probes(d, DEFER_UPROBE, error), perf_fd, event, &link, error);
	}
	if (link == -EINVAL) {
		*ret_source = DEFER_KPROBE;
		err = link_to(d, for_probes(d, DEFER_KPROBE, error), perf_fd, event, &link, error);
	}
	/* Another event of the same tracepoint. */
	return link == -EEXIST ? CLEW_OK : err;
}

enum clew_err defer_bpf_attach_tracepoint(struct defer_bpf *d, uint64_t id, uint32_t event,
					  enum defer_source *ret_source, struct rec_error *error)
{
	struct perf_attr attr = {.size = PERF_ATTR_SIZE_VER0,
				 .type = PERF_TYPE_TRACEPOINT,
				 .config = id,
				 .sample_period = 1,
				 .flags = PERF_ATTR_DISABLED};
	uint8_t bytes[PERF_ATTR_SIZE_VER9];
	int fd;

	if (!vec_reserve(&d->links, d->links.nr + 2))
		return rec_fail_memory(error);
	perf_attr_for_kernel(&attr, bytes);
	fd = os_perf_open(bytes, 0, -1, -1, 0);
	if (fd < 0)
		return rec_fail_os(error, fd, "cannot open the tracepoint");
	d->links.data[d->links.nr++] = fd;
	return link_to_any(d, fd, event, ret_source, error);
}

bool defer_bpf_has_unread(const struct defer_bpf *d)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return d->left_fd >= 0 && !bpf_prog_test_run_opts(d->left_fd, &opts) && opts.retval;
}

enum clew_err defer_bpf_poll(struct defer_bpf *d, const struct defer_sink *sink)
{
	int n = 0;

	defer_set(d, CB_COPY_BYTES, COPY_BYTES);
	d->sink = sink;
	/* The reader stops at a record that another CPU is just writing, which may stand before
	 * whole ones. */
	for (int i = 0; i < MAX_ROUNDS && n >= 0; i++) {
		n = ring_buffer__consume(d->rings);
		if (!defer_bpf_has_unread(d))
			break;
	}
	d->sink = NULL;
	return n < 0 ? CLEW_OS : CLEW_OK;
}

int defer_bpf_fd(const struct defer_bpf *d)
{
	return ring_buffer__epoll_fd(d->rings);
}

void defer_bpf_stop(struct defer_bpf *d)
{
	defer_set(d, CB_STOPPED, 1);
}

/* Over all CPUs. */
static uint64_t sum_of(const struct defer_bpf *d, enum cb_count what)
{
	int nr_cpus = libbpf_num_possible_cpus();
	clew_auto(mem_free_at) uint64_t *of_cpu = NULL;
	uint32_t key = what;
	uint64_t sum = 0;

	of_cpu = nr_cpus > 0 ? mem_calloc((size_t)nr_cpus, sizeof(*of_cpu)) : NULL;
	if (!of_cpu || bpf_map_lookup_elem(d->counts_fd, &key, of_cpu))
		return 0;
	for (int cpu = 0; cpu < nr_cpus; cpu++)
		sum += of_cpu[cpu];
	return sum;
}

uint64_t defer_bpf_nr_ring_full(const struct defer_bpf *d)
{
	return sum_of(d, CB_RING_FULL);
}

void defer_bpf_counts(const struct defer_bpf *d, struct defer_counts *ret)
{
	*ret = (struct defer_counts){.nr_requests = sum_of(d, CB_REQUESTS),
				     .nr_entries = sum_of(d, CB_ENTRIES),
				     .nr_stacks = sum_of(d, CB_STACKS),
				     .nr_refused = sum_of(d, CB_REFUSED),
				     .nr_map_full = sum_of(d, CB_MAP_FULL),
				     .nr_ring_full = sum_of(d, CB_RING_FULL),
				     .nr_kernel_tasks = sum_of(d, CB_KERNEL_TASKS),
				     .nr_at_once = sum_of(d, CB_AT_ONCE),
				     .nr_no_copy = sum_of(d, CB_NO_COPY),
				     .nr_late = sum_of(d, CB_LATE),
				     .nr_no_scratch = sum_of(d, CB_NO_SCRATCH),
				     .nr_tables = d->nr_tables,
				     .table_bytes = d->table_bytes,
				     .nr_evicted = d->nr_evicted};
}
