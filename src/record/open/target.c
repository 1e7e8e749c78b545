/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "os/pid_view.h"
#include "os/proc.h"
#include "os/ptrace.h"

enum { MAX_CPU = 1 << 16, STAT_BYTES = 4 << 20 };

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void sort_unique(struct rec_ints *v)
{
	size_t nr = 0;

	if (!v->nr)
		return;
	qsort(v->data, v->nr, sizeof(*v->data), compare_ints);
	for (size_t i = 0; i < v->nr; i++)
		if (!nr || v->data[nr - 1] != v->data[i])
			v->data[nr++] = v->data[i];
	v->nr = nr;
}

/* One number of a list; steps past it. */
static bool number(const char **text, long limit, int *ret)
{
	char *end;
	long v;

	if (**text < '0' || **text > '9')
		return false;
	v = strtol(*text, &end, 10);
	if (v < 0 || v >= limit)
		return false;
	*text = end;
	*ret = (int)v;
	return true;
}

static bool add_cpu_range(const char **text, struct rec_ints *ret)
{
	int from, to;

	if (!number(text, MAX_CPU, &from))
		return false;
	to = from;
	if (**text == '-' && (++*text, !number(text, MAX_CPU, &to)))
		return false;
	for (int cpu = from; cpu <= to; cpu++)
		if (!vec_push(ret, cpu))
			return false;
	return from <= to;
}

enum clew_err rec_cpus_parse(const char *text, struct rec_ints *ret, struct rec_error *error)
{
	const char *at = text;

	do {
		if (!add_cpu_range(&at, ret))
			break;
		if (!*at || *at == '\n') {
			sort_unique(ret);
			return CLEW_OK;
		}
	} while (*at++ == ',');
	vec_done(ret);
	return rec_fail(error, CLEW_INVALID,
			"'%s' is not a list of CPUs; such a list looks like 0,2-5", text);
}

/* A line for each CPU that is online: "cpu0 ...". */
static enum clew_err cpus_of_stat(struct rec_ints *ret, struct rec_error *error)
{
	clew_auto(buf_done) struct buf stat = {0};
	int cpu;

	os_read_into("/proc/stat", STAT_BYTES, &stat);
	for (const char *at = buf_cstr(&stat); (at = strstr(at, "\ncpu"));) {
		at += strlen("\ncpu");
		if (number(&at, MAX_CPU, &cpu) && !vec_push(ret, cpu))
			return rec_fail_memory(error);
	}
	return ret->nr ? CLEW_OK
		       : rec_fail(error, CLEW_OS,
				  "which CPUs are online is unknown: neither "
				  "/sys/devices/system/cpu/online nor /proc/stat can be read");
}

/* In some containers and roots there is no sysfs. */
static enum clew_err online_cpus(struct rec_ints *ret, struct rec_error *error)
{
	char text[4096];

	if (!os_read_first_line("/sys/devices/system/cpu/online", text, sizeof(text)))
		return cpus_of_stat(ret, error);
	return rec_cpus_parse(text, ret, error);
}

uint32_t rec_nr_possible_cpus(void)
{
	struct rec_ints cpus = {0};
	struct rec_error error;
	uint32_t nr = 1;
	char text[4096];

	if (os_read_first_line("/sys/devices/system/cpu/possible", text, sizeof(text)) &&
	    rec_cpus_parse(text, &cpus, &error) == CLEW_OK && cpus.nr)
		nr = (uint32_t)cpus.data[cpus.nr - 1] + 1;
	vec_done(&cpus);
	return nr;
}

static enum clew_err choose_cpus(struct rec_target *t, const struct rec_options *o,
				 struct rec_error *error)
{
	struct rec_ints online = {0};
	enum clew_err err;

	if (o->is_per_thread || (o->is_counting && !t->is_system_wide && !o->cpus))
		return vec_push(&t->cpus, -1) ? CLEW_OK : rec_fail_memory(error);
	err = online_cpus(&online, error);
	if (err != CLEW_OK || !o->cpus) {
		t->cpus = online;
		return err;
	}
	err = rec_cpus_parse(o->cpus, &t->cpus, error);
	for (size_t i = 0; i < t->cpus.nr && err == CLEW_OK; i++)
		if (!bsearch(&t->cpus.data[i], online.data, online.nr, sizeof(int), compare_ints))
			err = rec_fail(error, CLEW_NOT_FOUND,
				       "CPU %d is not online; /sys/devices/system/cpu/online lists "
				       "those that are",
				       t->cpus.data[i]);
	vec_done(&online);
	return err;
}

/* The id that the kernel knows a thread of /proc by; 0: it is gone. */
static uint32_t local_tid(const struct os_pid_view *v, uint32_t procfs, int tid)
{
	struct os_ns_ids ids;
	char path[64];

	if (v->is_own)
		return (uint32_t)tid;
	snprintf(path, sizeof(path), "/proc/%u/task/%d/status", procfs, tid);
	if (!os_ns_ids_read(path, &ids) || !v->depth || ids.nr < v->depth)
		return 0;
	return ids.id[v->depth - 1];
}

/* @return false when memory is short; a process that is gone adds nothing. */
static bool add_threads(struct rec_target *t, const struct os_pid_view *v, int pid)
{
	uint32_t procfs = v->is_own ? (uint32_t)pid : os_pid_procfs((uint32_t)pid), local;
	char path[64];
	struct os_dir *d;
	int tid;
	bool ok = true;

	snprintf(path, sizeof(path), "/proc/%u/task", procfs);
	d = os_dir_open(path, NULL);
	if (!d)
		return true;
	while (ok && (tid = os_dir_next_number(d)) >= 0) {
		local = local_tid(v, procfs, tid);
		ok = !local || vec_push(&t->tids, (int)local);
	}
	os_dir_close(d);
	return ok && vec_push(&t->pids, pid);
}

/* Of which process is a thread? Without a /proc that shows it, it stands for itself. */
static bool add_thread(struct rec_target *t, const struct os_pid_view *v, int tid)
{
	int pid = v->is_own ? os_task_process(tid) : 0;

	return vec_push(&t->tids, tid) && vec_push(&t->pids, pid ? pid : tid);
}

static enum clew_err add_listed(struct rec_target *t, const char *list, bool is_tid,
				struct rec_error *error)
{
	const char *at = list, *what = is_tid ? "thread" : "process";
	struct os_pid_view view;

	os_pid_view_read(&view);
	do {
		int id;

		if (!number(&at, INT32_MAX, &id) || id == 0 || (*at && *at != ','))
			return rec_fail(error, CLEW_INVALID,
					"'%s' is not a list of %s ids; such a list looks like "
					"1234,1240",
					list, what);
		if (!os_task_exists((uint32_t)id))
			return rec_fail(error, CLEW_NOT_FOUND, "there is no %s %d (any more)", what,
					id);
		if (!is_tid && !view.is_own && !os_pid_procfs((uint32_t)id))
			return rec_fail(
				error, CLEW_NOT_FOUND,
				"process %d is not in /proc, which shows another PID namespace",
				id);
		if (is_tid ? !add_thread(t, &view, id) : !add_threads(t, &view, id))
			return rec_fail_memory(error);
	} while (*at == ',' && at++);
	return CLEW_OK;
}

/* @p procfs: as /proc has it. */
static bool add_process(struct rec_target *t, const struct os_pid_view *v, int procfs)
{
	uint32_t local = (uint32_t)procfs;
	struct os_ns_ids ids;
	char path[64];

	if (!v->is_own) {
		snprintf(path, sizeof(path), "/proc/%d/status", procfs);
		local = os_ns_ids_read(path, &ids) ? os_pid_local(v, local, &ids) : 0;
	}
	return !local || add_threads(t, v, (int)local);
}

static enum clew_err add_user(struct rec_target *t, const char *user, struct rec_error *error)
{
	struct os_pid_view view;
	struct os_dir *d;
	unsigned int uid;
	char *end, path[64];
	int pid;
	bool ok = true;

	uid = (unsigned int)strtoul(user, &end, 10);
	if ((end == user || *end) && !os_user_number(user, &uid))
		return rec_fail(error, CLEW_NOT_FOUND, "there is no user '%s'", user);
	d = os_dir_open("/proc", NULL);
	if (!d)
		return rec_fail(error, CLEW_NOT_FOUND,
				"/proc is not mounted, so that no process of a user can be found");
	os_pid_view_read(&view);
	while (ok && (pid = os_dir_next_number(d)) >= 0) {
		struct os_file_id id;

		snprintf(path, sizeof(path), "/proc/%d", pid);
		if (os_file_id(path, &id) == 0 && id.uid == uid)
			ok = add_process(t, &view, pid);
	}
	os_dir_close(d);
	if (ok && !t->tids.nr)
		return rec_fail(error, CLEW_NOT_FOUND, "user '%s' has no process now", user);
	return ok ? CLEW_OK : rec_fail_memory(error);
}

static enum clew_err choose_tasks(struct rec_target *t, const struct rec_options *o,
				  const struct rec_ui *ui, struct rec_error *error)
{
	bool wants_tasks = o->pids || o->tids || o->user;
	enum clew_err err = CLEW_OK;

	t->is_attached = wants_tasks;
	t->is_system_wide = !wants_tasks && (o->is_system_wide || o->cpus || !o->argv);
	if (wants_tasks && o->is_system_wide)
		rec_say(ui, REC_WARNING, "-a is overridden: only the named tasks are recorded");
	if (o->is_per_thread && t->is_system_wide)
		return rec_fail(
			error, CLEW_INVALID,
			"--per-thread needs tasks: a command, -p, -t or -u, without -a and -C");
	if (!wants_tasks)
		return vec_push(&t->tids, t->is_system_wide ? -1 : 0) ? CLEW_OK
								      : rec_fail_memory(error);
	if (o->pids)
		err = add_listed(t, o->pids, false, error);
	if (err == CLEW_OK && o->tids)
		err = add_listed(t, o->tids, true, error);
	if (err == CLEW_OK && o->user)
		err = add_user(t, o->user, error);
	sort_unique(&t->tids);
	sort_unique(&t->pids);
	if (err == CLEW_OK && !t->tids.nr)
		return rec_fail(error, CLEW_NOT_FOUND, "all named tasks have ended");
	return err;
}

enum clew_err rec_target_resolve(struct rec_target *ret, const struct rec_options *o,
				 const struct rec_ui *ui, struct rec_error *error)
{
	enum clew_err err;

	*ret = (struct rec_target){0};
	err = choose_tasks(ret, o, ui, error);
	if (err == CLEW_OK)
		err = choose_cpus(ret, o, error);
	/* The kernel maps no buffer for an inherited event that follows its task over all CPUs. */
	ret->is_inherited = o->inherit != REC_NO && !o->is_per_thread &&
			    !(o->tids && o->inherit == REC_DEFAULT && !o->is_counting);
	if (err != CLEW_OK)
		rec_target_done(ret);
	return err;
}

void rec_target_done(struct rec_target *t)
{
	vec_done(&t->tids);
	vec_done(&t->cpus);
	vec_done(&t->pids);
}
