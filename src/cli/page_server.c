/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/page_server.h"

#include <errno.h>
#include <signal.h>

#include "base/mem.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/poll_set.h"
#include "os/signals.h"

enum {
	MAX_CLIENTS = 16,
	HEADER_ROOM = 2048,
	SLOW_SECONDS = 30, /* a client that neither sends nor takes anything */
	LEAVE_SECONDS = 10 /* after the last page was closed: a reload comes back by then */
};
static const uint64_t second_ns = 1000000000;

struct client {
	int fd;            /* -1: free */
	uint64_t since_ns; /* the last byte either way */
	size_t nr_in, nr_out, headers_bytes;
	bool is_page;
	char headers[HEADER_ROOM];
	char in[PAGE_HTTP_MAX_REQUEST];
};

struct serving {
	struct page_server *server;
	struct client *clients;
	struct os_poll poll;  /* both sockets, the signals, then clients in their order */
	uint64_t nr_open;     /* pages that said hello and no goodbye */
	uint64_t leave_at_ns; /* 0: not yet */
};
enum { AT_SIGNALS = 2, AT_CLIENTS = 3 };

int page_server_open(struct page_server *s, uint16_t port)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t random[PAGE_HTTP_TOKEN / 2];
	int err = os_random(random, sizeof(random));

	s->signals = -1;
	if (!err)
		err = os_listen_loopback(&s->listen, port);
	if (err)
		return err;
	s->signals = os_signal_open();
	if (s->signals < 0) {
		os_listen_done(&s->listen);
		return s->signals;
	}
	for (size_t i = 0; i < PAGE_HTTP_TOKEN; i++)
		s->site.token[i] = digits[random[i / 2] >> (i % 2 ? 0 : 4) & 15];
	s->site.port = s->listen.port;
	return 0;
}

void page_server_done(struct page_server *s)
{
	os_listen_done(&s->listen);
	os_signal_close(s->signals);
}

static void drop(struct client *c)
{
	if (c->fd >= 0)
		os_close(c->fd);
	c->fd = -1;
}

/* The one that has been idle for longest makes room. */
static struct client *free_client(struct serving *v)
{
	struct client *oldest = &v->clients[0];

	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		if (v->clients[i].fd < 0)
			return &v->clients[i];
		if (v->clients[i].since_ns < oldest->since_ns)
			oldest = &v->clients[i];
	}
	drop(oldest);
	return oldest;
}

static void accept_all(struct serving *v, int fd)
{
	int got;

	while ((got = os_accept(fd)) >= 0) {
		struct client *c = free_client(v);

		c->fd = got;
		c->since_ns = os_clock_ns();
		c->nr_in = c->nr_out = c->headers_bytes = 0;
		c->is_page = false;
	}
}

/* A reload asks for the page again, then says goodbye, then loads, then says hello. */
static void note(struct serving *v, enum page_http_answer answer)
{
	if (answer == PAGE_HTTP_HELLO)
		v->nr_open++;
	if (answer == PAGE_HTTP_HELLO || answer == PAGE_HTTP_PAGE)
		v->leave_at_ns = 0;
	if (answer != PAGE_HTTP_GOODBYE)
		return;
	v->nr_open -= v->nr_open > 0;
	if (!v->nr_open)
		v->leave_at_ns = os_clock_ns() + LEAVE_SECONDS * second_ns;
}

/* What is loaded now says hello when it is complete. */
static bool is_loaded(const struct serving *v)
{
	for (size_t i = 0; i < MAX_CLIENTS; i++) {
		if (v->clients[i].fd >= 0 && v->clients[i].is_page)
			return true;
	}
	return false;
}

static void judge(struct serving *v, struct client *c)
{
	enum page_http_answer answer = page_http_judge(&v->server->site, c->in, c->nr_in);

	if (answer == PAGE_HTTP_MORE)
		return;
	note(v, answer);
	c->is_page = answer == PAGE_HTTP_PAGE;
	c->headers_bytes = page_http_headers(answer, v->server->page_bytes, v->server->policy,
					     c->headers, sizeof(c->headers));
}

static void read_some(struct serving *v, struct client *c)
{
	long n = os_receive(c->fd, c->in + c->nr_in, sizeof(c->in) - c->nr_in);

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->nr_in += (size_t)n;
	c->since_ns = os_clock_ns();
	judge(v, c);
}

/* Headers, then the page, as far as the other side takes them. */
static void write_some(struct serving *v, struct client *c)
{
	size_t all = c->headers_bytes + (c->is_page ? v->server->page_bytes : 0);
	bool in_headers = c->nr_out < c->headers_bytes;
	const char *from = in_headers ? c->headers + c->nr_out
				      : v->server->page + (c->nr_out - c->headers_bytes);
	long n = os_send(c->fd, from, (in_headers ? c->headers_bytes : all) - c->nr_out);

	if (n == -EAGAIN || n == -EINTR)
		return;
	if (n >= 0) {
		c->nr_out += (size_t)n;
		c->since_ns = os_clock_ns();
	}
	if (c->nr_out == all && c->is_page && v->leave_at_ns)
		v->leave_at_ns = os_clock_ns() + LEAVE_SECONDS * second_ns;
	if (n < 0 || c->nr_out == all)
		drop(c);
}

static void attend(struct serving *v, struct client *c, const struct os_poll_fd *p)
{
	if (c->fd < 0 || c->fd != p->fd)
		return;
	if (p->revents && !c->headers_bytes)
		read_some(v, c);
	else if (p->revents)
		write_some(v, c);
	if (c->fd >= 0 && os_clock_ns() - c->since_ns > SLOW_SECONDS * second_ns)
		drop(c);
}

/* For ever, or until something may have to be ended. */
static int timeout_of(const struct serving *v)
{
	bool has_client = false;

	for (size_t i = 0; i < MAX_CLIENTS; i++)
		has_client |= v->clients[i].fd >= 0;
	return has_client || v->leave_at_ns ? 500 : -1;
}

static bool is_ended(const struct serving *v)
{
	int s;

	while ((s = os_signal_next(v->server->signals))) {
		if (s != SIGCHLD && s != SIGUSR2)
			return true;
	}
	return v->leave_at_ns && os_clock_ns() >= v->leave_at_ns && !is_loaded(v);
}

static int serve(struct serving *v)
{
	int err = 0;

	while (err >= 0 && !is_ended(v)) {
		for (int i = 0; i < MAX_CLIENTS; i++) {
			v->poll.data[AT_CLIENTS + i].fd = v->clients[i].fd;
			os_poll_want_write(&v->poll, AT_CLIENTS + i, v->clients[i].headers_bytes);
		}
		err = os_poll_wait(&v->poll, timeout_of(v));
		for (size_t i = 0; i < MAX_CLIENTS && err >= 0; i++)
			attend(v, &v->clients[i], &v->poll.data[AT_CLIENTS + i]);
		for (int i = 0; i < AT_SIGNALS && err >= 0; i++) {
			if (v->poll.data[i].revents)
				accept_all(v, v->poll.data[i].fd);
		}
	}
	return err < 0 ? err : 0;
}

static int prepare(struct serving *v)
{
	bool ok;

	v->clients = mem_calloc(MAX_CLIENTS, sizeof(*v->clients));
	for (size_t i = 0; i < MAX_CLIENTS && v->clients; i++)
		v->clients[i].fd = -1;
	ok = v->clients && os_poll_add(&v->poll, v->server->listen.fds[0]) >= 0 &&
	     os_poll_add(&v->poll, v->server->listen.fds[1]) >= 0 &&
	     os_poll_add(&v->poll, v->server->signals) >= 0;
	for (size_t i = 0; i < MAX_CLIENTS && ok; i++)
		ok = os_poll_add(&v->poll, -1) >= 0;
	return ok ? 0 : -ENOMEM;
}

int page_server_run(struct page_server *s)
{
	struct serving v = {.server = s};
	int err = prepare(&v);

	if (!err)
		err = serve(&v);
	for (size_t i = 0; i < MAX_CLIENTS && v.clients; i++)
		drop(&v.clients[i]);
	mem_free(v.clients);
	os_poll_done(&v.poll);
	return err;
}
