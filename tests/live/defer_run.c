/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "live/defer_run.h"

#include <link.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/event_open.h"
#include "record/stacks/tables/live_code.h"
#include "unwind/unw_store.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void on_request(void *ctx, const struct defer_request *q)
{
	struct run *r = ctx;

	if (!vec_push(&r->requests, *q))
		abort();
}

static void on_stack(void *ctx, const struct defer_stack *s)
{
	struct run *r = ctx;
	struct run_stack o = {.time = s->time,
			      .cookie = s->cookie,
			      .tid = s->tid,
			      .nr = s->nr,
			      .stop = s->stop,
			      .why = s->why,
			      .has_copy = s->regs != NULL,
			      .copy_bytes = s->stack_bytes,
			      .first = r->ips.nr};

	if (map_u64_get(&r->by_cookie, s->cookie))
		r->nr_twice++;
	else if (!map_u64_put(&r->by_cookie, s->cookie, r->stacks.nr))
		abort();
	for (uint32_t i = 0; i < s->nr; i++) {
		if (!vec_push(&r->ips, s->ips[i]) || !vec_push(&r->methods, s->methods[i]))
			abort();
	}
	if (!vec_push(&r->stacks, o))
		abort();
}

/* What children of the tests run, beside what this program has mapped itself. */
static const char *const programs[] = {"/proc/self/exe", "/bin/true"};

struct search {
	struct run *run;
	struct live_mapping mapping;
	const struct unw_code *code;
};

static int look_at(struct dl_phdr_info *i, size_t unused, void *ctx)
{
	struct search *s = ctx;
	struct stat file;

	(void)unused;
	if (s->code || stat(i->dlpi_name, &file))
		return 0;
	s->mapping.name = i->dlpi_name;
	s->mapping.ino = file.st_ino;
	s->code = live_code_find(s->run->store, &s->mapping);
	return 0;
}

/* A process that has ended cannot be asked for its files: then by name. */
static const struct unw_code *code_of(struct run *r, const struct defer_want *w)
{
	struct search s = {
		.run = r, .mapping = {.pid = w->pid, .start = w->start, .end = w->end}
        };

	if (defer_key_is_vdso(&w->key))
		return unw_store_get_vdso(r->store);
	defer_key_file(&w->key, &s.mapping.size, &s.mapping.mtime_ns);
	dl_iterate_phdr(look_at, &s);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		look_at(&(struct dl_phdr_info){.dlpi_name = programs[i]}, 0, &s);
	return s.code;
}

static void note_wanted(struct run *r, const struct defer_file_key *key)
{
	vec_for_each (&r->wanted, k)
		r->nr_wanted_again += !memcmp(k, key, sizeof(*key));
	if (!vec_push(&r->wanted, *key))
		abort();
}

static void on_want(void *ctx, const struct defer_want *w)
{
	struct run *r = ctx;
	const struct unw_code *code;
	uint64_t start = now_ns();

	r->nr_wants++;
	note_wanted(r, &w->key);
	if (r->no_tables)
		return;
	code = code_of(r, w);
	if (!code)
		defer_bpf_put_later(r->defer, &w->key);
	else if (!code->table.head || defer_bpf_put_table(r->defer, &w->key, code))
		defer_bpf_put_none(r->defer, &w->key);
	r->want_ns += now_ns() - start;
}

static const struct defer_sink *sink_of(struct run *r)
{
	static struct defer_sink s;

	s = (struct defer_sink){
		.request = on_request, .stack = on_stack, .want = on_want, .ctx = r};
	return &s;
}

int run_open(struct run *r, const struct defer_bpf_opts *o, struct rec_error *error)
{
	static const struct unw_store_opts none;
	struct defer_bpf_opts opts = *o;

	memset(r, 0, sizeof(*r));
	opts.nr_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	opts.clockid = CLOCK_MONOTONIC;
	r->store = unw_store_new(&none);
	return defer_bpf_open(&r->defer, &opts, error);
}

int run_add(struct run *r, int pid, enum run_event e, uint64_t freq)
{
	struct rec_error error;

	for (int cpu = 0; cpu < (int)sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
		int fd = event_open(e, pid, cpu, freq);
		enum defer_source source;

		if (fd < 0)
			return fd;
		r->fds[r->nr_fds++] = fd;
		if (e == RUN_SYSCALL_ENTER
			    ? !cpu && defer_bpf_attach_tracepoint(r->defer,
								  event_syscall_enter_id(), e,
								  &source, &error)
			    : defer_bpf_attach(r->defer, fd, e, DEFER_COUNTER, &error)) {
			printf("# %s\n", error.text);
			return -1;
		}
		event_enable(fd, true);
	}
	return 0;
}

void run_scan(struct run *r, int pid)
{
	if (defer_bpf_scan(r->defer, &pid, 1, sink_of(r)))
		printf("# the scan failed\n");
}

void run_for(struct run *r, unsigned int ms)
{
	uint64_t end = now_ns() + ms * 1000000ull;

	while (now_ns() < end) {
		struct pollfd p = {.fd = defer_bpf_fd(r->defer), .events = POLLIN};

		poll(&p, 1, 5);
		defer_bpf_poll(r->defer, sink_of(r));
	}
}

int run_until_end(struct run *r, int pid)
{
	int status = -1;

	while (!waitpid(pid, &status, WNOHANG))
		run_for(r, 5);
	return status;
}

void run_stop(struct run *r)
{
	for (int i = 0; i < r->nr_fds; i++)
		event_enable(r->fds[i], false);
	defer_bpf_stop(r->defer);
	r->nr_left = defer_bpf_finish(r->defer, sink_of(r));
	defer_bpf_poll(r->defer, sink_of(r));
	defer_bpf_counts(r->defer, &r->counts);
}

void run_done(struct run *r)
{
	for (int i = 0; i < r->nr_fds; i++)
		close(r->fds[i]);
	defer_bpf_free(r->defer);
	unw_store_free(r->store);
	vec_done(&r->requests);
	vec_done(&r->stacks);
	vec_done(&r->ips);
	vec_done(&r->methods);
	vec_done(&r->wanted);
	map_u64_done(&r->by_cookie);
}

int run_child(void (*body)(long), long arg, int *ret_go)
{
	int go[2], pid;
	char c;

	if (pipe(go))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			body(arg);
		_exit(0);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

void run_go(int go)
{
	if (write(go, "", 1) != 1)
		abort();
	close(go);
}

const struct run_stack *run_stack_of(const struct run *r, uint64_t cookie)
{
	const uint64_t *i = map_u64_get(&r->by_cookie, cookie);

	return i ? &r->stacks.data[*i] : NULL;
}
