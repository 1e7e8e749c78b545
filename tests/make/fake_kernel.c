/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/fake_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/child.h"
#include "os/file.h"
#include "os/perf/perf_event.h"
#include "os/perf/ring.h"
#include "os/pid_view.h"
#include "os/poll_set.h"
#include "os/proc.h"

enum { PAGE_BYTES = 4096, DATA_HEAD = 1024, AUX_HEAD = 1056, NS_PER_MS = 1000000 };

struct fake_kernel fake_kernel;

static struct fake_event *event_of(int fd)
{
	for (size_t i = fake_kernel.events.nr; i-- > 0;)
		if (fake_kernel.events.data[i].fd == fd && !fake_kernel.events.data[i].closed)
			return &fake_kernel.events.data[i];
	return NULL;
}

void fake_kernel_reset(void (*step)(struct fake_kernel *k, int n), void *ctx)
{
	vec_for_each (&fake_kernel.events, e)
		free(e->memory), free(e->aux);
	vec_done(&fake_kernel.events);
	fake_kernel = (struct fake_kernel){.step = step, .ctx = ctx, .now_ns = 1000000000};
}

struct fake_event *fake_kernel_newest(uint32_t type, uint64_t config)
{
	struct fake_event *found = NULL;

	vec_for_each (&fake_kernel.events, e)
		if (e->attr.type == type && e->attr.config == config)
			found = e;
	return found;
}

struct fake_event *fake_kernel_ring(size_t i)
{
	vec_for_each (&fake_kernel.events, e)
		if (e->memory && !i--)
			return e;
	return NULL;
}

static void write_ring(struct fake_event *e, struct perf_put *p)
{
	struct bytes record = put_result(p);
	uint64_t head;

	memcpy(&head, e->memory + DATA_HEAD, sizeof(head));
	for (; bytes_left(&record); record.pos++)
		e->memory[PAGE_BYTES + head++ % e->data_bytes] = *record.pos;
	memcpy(e->memory + DATA_HEAD, &head, sizeof(head));
	buf_done(&p->buf);
}

void fake_kernel_sample(struct fake_event *e, const struct perf_sample *s)
{
	struct perf_put p = {0};

	perf_encode_sample(&p, &e->attr, s);
	write_ring(e, &p);
}

void fake_kernel_record(struct fake_event *e, uint32_t type, const union perf_view *v,
			const struct perf_sample_id *id)
{
	struct perf_put p = {0};

	perf_encode_record(&p, type, 0, v, &e->attr, id);
	write_ring(e, &p);
}

void fake_kernel_trace(struct fake_event *e, uint8_t value, size_t n)
{
	uint64_t head;

	memcpy(&head, e->memory + AUX_HEAD, sizeof(head));
	for (; n; n--)
		e->aux[head++ % e->aux_bytes] = value;
	memcpy(e->memory + AUX_HEAD, &head, sizeof(head));
}

void fake_kernel_signal(int number)
{
	size_t i = 0;

	while (fake_kernel.signals[i])
		i++;
	fake_kernel.signals[i] = number;
}

void fake_kernel_child_ends(int status)
{
	fake_kernel.has_child_ended = true;
	fake_kernel.child_status = status;
	fake_kernel_signal(SIGCHLD);
}

void fake_kernel_tasks_end(void)
{
	vec_for_each (&fake_kernel.events, e)
		e->is_gone = true;
}

static void check_tracking(void)
{
	bool is_traced = false, is_tracked = false;

	vec_for_each (&fake_kernel.events, e) {
		is_traced |= e->aux && e->is_enabled;
		is_tracked |= e->attr.flags & PERF_ATTR_CONTEXT_SWITCH && e->is_enabled;
	}
	fake_kernel.nr_untracked += is_traced && !is_tracked;
}

/* --- in the place of os/perf/perf_event.h --- */

#define WRAP(name) __wrap_##name

int WRAP(os_perf_open)(const void *attr, int pid, int cpu, int group_fd, unsigned int flags);
int WRAP(os_perf_open)(const void *attr, int pid, int cpu, int group_fd, unsigned int flags)
{
	struct fake_event e = {.pid = pid,
			       .cpu = cpu,
			       .group = group_fd,
			       .flags = flags,
			       .id = 100 + fake_kernel.events.nr};
	uint32_t size;

	if (fake_kernel.refuses)
		return fake_kernel.refuses;
	memcpy(&size, (const uint8_t *)attr + 4, sizeof(size));
	if (perf_attr_parse(bytes_of(attr, size), false, &e.attr) != CLEW_OK)
		return -EINVAL;
	e.fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	e.is_enabled = !(e.attr.flags & PERF_ATTR_DISABLED);
	return vec_push(&fake_kernel.events, e) ? e.fd : -ENOMEM;
}

int WRAP(os_perf_enable)(int fd);
int WRAP(os_perf_enable)(int fd)
{
	event_of(fd)->is_enabled = true;
	event_of(fd)->nr_enables++;
	check_tracking();
	fake_kernel.nr_enables++;
	return 0;
}

int WRAP(os_perf_disable)(int fd);
int WRAP(os_perf_disable)(int fd)
{
	event_of(fd)->is_enabled = false;
	check_tracking();
	fake_kernel.nr_disables++;
	return 0;
}

int WRAP(os_perf_set_output)(int fd, int to_fd);
int WRAP(os_perf_set_output)(int fd, int to_fd)
{
	return event_of(fd) && event_of(to_fd) ? 0 : -EBADF;
}

int WRAP(os_perf_set_filter)(int fd, const char *filter);
int WRAP(os_perf_set_filter)(int fd, const char *filter)
{
	return event_of(fd) && filter ? 0 : -EBADF;
}

int WRAP(os_perf_pause_output)(int fd, int is_paused);
int WRAP(os_perf_pause_output)(int fd, int is_paused)
{
	(void)is_paused;
	return event_of(fd) ? 0 : -EBADF;
}

int WRAP(os_perf_id)(int fd, uint64_t *ret);
int WRAP(os_perf_id)(int fd, uint64_t *ret)
{
	*ret = event_of(fd)->id;
	return 0;
}

/* --- os/file.h: of events; of other descriptors it is os's own --- */

void __real_os_close(int fd);
void WRAP(os_close)(int fd);
void WRAP(os_close)(int fd)
{
	struct fake_event *e = fd >= 0 ? event_of(fd) : NULL;

	if (e)
		e->closed = ++fake_kernel.nr_closes;
	__real_os_close(fd);
}

long __real_os_read(int fd, void *to, size_t size);
static bool is_in_group(const struct fake_event *e, const struct fake_event *leader)
{
	return !e->closed && (e == leader || e->group == leader->fd);
}

static uint64_t nr_in_group(const struct fake_event *leader)
{
	uint64_t nr = 0;

	vec_for_each (&fake_kernel.events, e)
		nr += is_in_group(e, leader);
	return nr;
}

/* The leader is first; the members follow, here from the last to the first. */
static long read_group(const struct fake_event *leader, uint64_t *words, size_t n, void *to,
		       size_t size)
{
	words[n++] = leader->count;
	words[n++] = leader->id;
	for (size_t i = fake_kernel.events.nr; i-- > 0 && n + 2 <= 32;) {
		const struct fake_event *e = &fake_kernel.events.data[i];

		if (e == leader || !is_in_group(e, leader))
			continue;
		words[n++] = e->count;
		words[n++] = e->id;
	}
	if (size < n * 8)
		return -ENOSPC;
	memcpy(to, words, n * 8);
	return (long)(n * 8);
}

long WRAP(os_read)(int fd, void *to, size_t size);
long WRAP(os_read)(int fd, void *to, size_t size)
{
	const uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	const struct fake_event *e = event_of(fd);
	uint64_t words[32];
	size_t n = 0;

	if (!e)
		return __real_os_read(fd, to, size);
	if (!(e->attr.read_format & PERF_FORMAT_GROUP))
		words[n++] = e->count;
	else
		words[n++] = nr_in_group(e);
	if (e->attr.read_format & times) {
		words[n++] = fake_kernel.now_ns;
		words[n++] = fake_kernel.now_ns / 100 * (100 - e->waits_percent);
	}
	if (e->attr.read_format & PERF_FORMAT_GROUP)
		return read_group(e, words, n, to, size);
	if (e->attr.read_format & PERF_FORMAT_ID)
		words[n++] = e->id;
	if (e->attr.read_format & PERF_FORMAT_LOST)
		words[n++] = 0;
	if (size < n * 8)
		return -ENOSPC;
	memcpy(to, words, n * 8);
	return (long)(n * 8);
}

/* --- os/perf/ring.h: only the mapping; reading is os's own --- */

int WRAP(os_ring_map)(int fd, size_t data_bytes, bool is_backward, struct os_ring *ret);
int WRAP(os_ring_map)(int fd, size_t data_bytes, bool is_backward, struct os_ring *ret)
{
	struct fake_event *e = event_of(fd);

	e->memory = calloc(1, PAGE_BYTES + data_bytes);
	e->data_bytes = data_bytes;
	*ret = (struct os_ring){.page = e->memory,
				.data = e->memory + PAGE_BYTES,
				.data_bytes = data_bytes,
				.is_backward = is_backward};
	return e->memory ? 0 : -ENOMEM;
}

int WRAP(os_ring_map_aux)(struct os_ring *r, int fd, size_t aux_bytes, bool is_overwrite);
int WRAP(os_ring_map_aux)(struct os_ring *r, int fd, size_t aux_bytes, bool is_overwrite)
{
	struct fake_event *e = event_of(fd);

	e->aux = calloc(1, aux_bytes);
	e->aux_bytes = r->aux_bytes = aux_bytes;
	e->is_aux_overwritten = r->is_aux_overwrite = is_overwrite;
	r->aux = e->aux;
	return e->aux ? 0 : -ENOMEM;
}

void WRAP(os_ring_unmap)(struct os_ring *r);
void WRAP(os_ring_unmap)(struct os_ring *r)
{
	*r = (struct os_ring){0}; /* fake_kernel_reset() frees it */
}

/* --- os/pid_view.h --- */

void WRAP(os_pid_view_read)(struct os_pid_view *ret);
void WRAP(os_pid_view_read)(struct os_pid_view *ret)
{
	uint32_t self = (uint32_t)os_pid();
	enum os_pid_ns ns = fake_kernel.is_inside ? OS_PID_NS_OTHER : OS_PID_NS_INITIAL;

	*ret = (struct os_pid_view){.is_own = true,
				    .own = ns,
				    .procs = ns,
				    .inode = fake_kernel.is_inside ? 4026532000 : 0xeffffffc,
				    .local = self,
				    .procfs = self,
				    .depth = 1};
}

/* --- os/poll_set.h, os/clock.h, os/signals.h --- */

int WRAP(os_poll_wait)(struct os_poll *p, int timeout_ms);
int WRAP(os_poll_wait)(struct os_poll *p, int timeout_ms)
{
	int nr = 0;

	fake_kernel.now_ns += (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * NS_PER_MS;
	if (p->nr && fake_kernel.step)
		fake_kernel.step(&fake_kernel, fake_kernel.nr_waits++);
	vec_for_each (p, f) {
		const struct fake_event *e = f->fd >= 0 ? event_of(f->fd) : NULL;

		f->revents = e && e->is_gone ? POLLHUP : 0;
		nr += f->revents != 0;
	}
	return nr;
}

uint64_t WRAP(os_clock_ns)(void);
uint64_t WRAP(os_clock_ns)(void)
{
	return fake_kernel.now_ns;
}

int WRAP(os_signal_open)(void);
int WRAP(os_signal_open)(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int WRAP(os_signal_next)(int fd);
int WRAP(os_signal_next)(int fd)
{
	int first = fake_kernel.signals[0];

	(void)fd;
	memmove(fake_kernel.signals, fake_kernel.signals + 1,
		sizeof(fake_kernel.signals) - sizeof(first));
	return first;
}

void WRAP(os_signal_close)(int fd);
void WRAP(os_signal_close)(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* --- os/child.h: the command has our own number, so that /proc knows it --- */

int WRAP(os_child_check)(const char *name, const char *search_path);
int WRAP(os_child_check)(const char *name, const char *search_path)
{
	(void)search_path;
	return strcmp(name, "missing") ? 0 : -ENOENT;
}

int WRAP(os_child_fork)(struct os_child *ret, char *const argv[]);
int WRAP(os_child_fork)(struct os_child *ret, char *const argv[])
{
	*ret = (struct os_child){.pid = argv[0] ? getpid() : 0, .go_fd = -1, .error_fd = -1};
	return 0;
}

int WRAP(os_child_go)(struct os_child *c);
int WRAP(os_child_go)(struct os_child *c)
{
	c->is_running = true;
	fake_kernel.nr_starts++;
	return 0;
}

bool WRAP(os_child_reap)(struct os_child *c, bool is_blocking);
bool WRAP(os_child_reap)(struct os_child *c, bool is_blocking)
{
	(void)is_blocking;
	c->is_ended = fake_kernel.has_child_ended;
	c->status = fake_kernel.child_status;
	return c->is_ended;
}

void WRAP(os_child_signal)(struct os_child *c, int signal);
void WRAP(os_child_signal)(struct os_child *c, int signal)
{
	if (c->is_ended)
		return;
	fake_kernel.signal_of_child = signal;
	fake_kernel_child_ends(signal);
}

void WRAP(os_child_done)(struct os_child *c);
void WRAP(os_child_done)(struct os_child *c)
{
	*c = (struct os_child){0};
}
