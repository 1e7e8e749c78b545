/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/probe_defs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/number.h"
#include "os/file.h"
#include "os/perf/tracefs.h"
#include "os/poll_set.h"
#include "os/proc.h"

enum { MAX_LIST = 16 << 20, NAME_BYTES = 64, REMOVE_TRIES = 100, REMOVE_STEP_MS = 10 };

static const char list_name[] = "uprobe_events";

/* --- names --- */

static bool take_number(const char **s, const char *end, uint64_t *ret)
{
	const char *start = *s;

	return number_take(s, end, 10, ret) && *s > start;
}

static bool take_text(const char **s, const char *end, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(end - *s) < n || memcmp(*s, text, n) != 0)
		return false;
	*s += n;
	return true;
}

bool rec_probe_def_parse(const char *line, size_t n, const char **ret_name, size_t *ret_bytes,
			 uint64_t *ret_pid, uint64_t *ret_ns)
{
	const char *end = line + n, *s = memchr(line, ':', n);
	uint64_t number;

	if (!s)
		return false;
	*ret_name = ++s;
	if (!take_text(&s, end, "clew_") || !take_number(&s, end, ret_pid) ||
	    !take_text(&s, end, "_") || !take_number(&s, end, ret_ns) ||
	    !take_text(&s, end, "/u") || !take_number(&s, end, &number))
		return false;
	*ret_bytes = (size_t)(s - *ret_name);
	return s == end || *s == ' ';
}

static uint64_t own_namespace(void)
{
	struct os_file_id id;

	return os_file_id("/proc/self/ns/pid", &id) ? 0 : id.ino;
}

/* --- what others left --- */

/* One of another namespace of process numbers may live, whatever is here. */
static bool is_left_over(uint64_t pid, uint64_t ns)
{
	char path[64];

	if (ns != own_namespace())
		return false;
	snprintf(path, sizeof(path), "/proc/%llu", (unsigned long long)pid);
	return pid == (uint64_t)os_pid() || !os_exists(path);
}

static int remove_one(const char *root, const char *name, size_t n)
{
	char line[NAME_BYTES + 8];

	snprintf(line, sizeof(line), "-:%.*s", (int)n, name);
	return os_tracefs_write(root, list_name, line);
}

static void remove_left_over(const char *root)
{
	clew_auto(mem_free_at) char *text = NULL;
	char path[256];
	size_t size = 0, n;

	snprintf(path, sizeof(path), "%s/%s", root, list_name);
	if (os_read_file(path, MAX_LIST, &text, &size, NULL) != CLEW_OK)
		return;
	for (size_t at = 0; at < size; at += n + 1) {
		const char *line = text + at, *end = memchr(line, '\n', size - at), *name;
		uint64_t pid, ns;
		size_t bytes;

		n = end ? (size_t)(end - line) : size - at;
		if (rec_probe_def_parse(line, n, &name, &bytes, &pid, &ns) && bytes < NAME_BYTES &&
		    is_left_over(pid, ns))
			remove_one(root, name, bytes); /* in use after all: it stays */
	}
}

/* --- our own --- */

static bool is_uprobe(const struct rec_counter *e)
{
	return e->event && e->event->probe_path;
}

static bool is_return(const struct rec_counter *e)
{
	return e->attr.config & 1;
}

/* By a descriptor: the list takes no name with a space in it. @return 0 or -errno. */
static int define(const char *root, const struct rec_counter *e, const char *name)
{
	char line[256];
	int fd = os_open_regular(e->event->probe_path), err;

	if (fd < 0)
		return fd;
	snprintf(line, sizeof(line), "%c:%s /proc/self/fd/%d:%#llx", is_return(e) ? 'r' : 'p', name,
		 fd, (unsigned long long)e->attr.config2);
	err = os_tracefs_write(root, list_name, line);
	os_close(fd);
	return err;
}

static int make_one(struct rec_counters *c, struct rec_counter *e, size_t index)
{
	char name[NAME_BYTES], *slash;
	int err;

	snprintf(name, sizeof(name), "clew_%d_%llu/u%zu", os_pid(),
		 (unsigned long long)own_namespace(), index);
	err = define(c->tracefs, e, name);
	if (err)
		return err;
	e->probe_name = arena_strndup(&c->memory, name, strlen(name));
	slash = strchr(name, '/');
	*slash = '\0';
	if (e->probe_name &&
	    os_tracefs_event_id(c->tracefs, name, slash + 1, &e->probe_id, NULL) == CLEW_OK)
		return 0;
	*slash = '/';
	remove_one(c->tracefs, name, strlen(name));
	err = e->probe_name ? -ENOENT : -ENOMEM;
	e->probe_name = NULL;
	return err;
}

static bool find_tracefs(struct rec_counters *c)
{
	enum os_tracefs_state state = os_tracefs_find(&c->tracefs);

	if (state == OS_TRACEFS_NOT_MOUNTED && os_tracefs_mount(NULL) == CLEW_OK)
		state = os_tracefs_find(&c->tracefs);
	return state == OS_TRACEFS_READABLE;
}

static void say_why(const struct rec_counters *c, const struct rec_counter *e, int err,
		    const struct rec_ui *ui)
{
	if (!(e->attr.flags & PERF_ATTR_INHERIT) || c->target->is_system_wide)
		return;
	rec_say(ui, REC_WARNING, "'%s' is not inherited by new processes and threads: %s/%s: %s",
		e->name, c->tracefs, list_name, err ? strerror(-err) : "not within reach");
}

enum clew_err rec_probe_defs_make(struct rec_counters *c, const struct rec_ui *ui)
{
	bool has_list = false, is_first = true;

	vec_for_each (&c->list, e) {
		int err = 0;

		if (!is_uprobe(e))
			continue;
		if (is_first && (has_list = find_tracefs(c)))
			remove_left_over(c->tracefs);
		is_first = false;
		if (has_list)
			err = make_one(c, e, (size_t)(e - c->list.data));
		if (err == -ENOMEM)
			return CLEW_NO_MEMORY;
		if (!e->probe_name)
			say_why(c, e, err, ui);
	}
	return CLEW_OK;
}

/* A task that is just ending may still hold its copy of the event. */
void rec_probe_defs_remove(struct rec_counters *c)
{
	vec_for_each (&c->list, e) {
		int err = -EBUSY;

		for (int i = 0; e->probe_name && err == -EBUSY && i < REMOVE_TRIES; i++) {
			struct os_poll none = {0};

			if (i)
				os_poll_wait(&none, REMOVE_STEP_MS);
			err = remove_one(c->tracefs, e->probe_name, strlen(e->probe_name));
		}
		e->probe_name = NULL;
	}
}
