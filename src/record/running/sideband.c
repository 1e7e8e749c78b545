/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/running/sideband.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "os/proc.h"
#include "os/proc_map.h"
#include "perfdata/map_name.h"
#include "perfdata/record_put.h"
#include "record/running/file_build_id.h"

enum {
	FLUSH_BYTES = 256 * 1024,
	STATUS_LIMIT = 64 * 1024,
	NR_NAMESPACES = 7,
	NAME_MAX_BYTES = 4096,
	COMM_BYTES = 16,
};

bool rec_sideband_init(struct rec_sideband *s, const struct rec_counters *c,
		       const struct rec_options *o, struct rec_build_ids *build_ids,
		       struct rec_file *f)
{
	*s = (struct rec_sideband){.options = o, .build_ids = build_ids, .file = f};
	os_pid_view_read(&s->view);
	vec_for_each (&c->list, e) {
		if (e->is_tracking) {
			s->tracker = &e->attr;
			s->tracker_id = e->ids[0];
		}
	}
	return true;
}

enum clew_err rec_sideband_flush(struct rec_sideband *s)
{
	if (s->out.is_failed && s->err == CLEW_OK)
		s->err = CLEW_NO_MEMORY;
	if (!s->file)
		return s->err;
	if (s->err == CLEW_OK && s->out.nr)
		s->err = perf_writer_records(s->file->writer, s->out.data, s->out.nr);
	buf_clear(&s->out);
	return s->err;
}

/* Begin a record; the size is filled in by rec_sideband_end(). @return where it starts. */
size_t rec_sideband_begin(struct rec_sideband *s, uint32_t type, uint16_t misc)
{
	return perf_record_begin(&s->out, type, misc);
}

void rec_sideband_u32(struct rec_sideband *s, uint32_t v)
{
	buf_add(&s->out, &v, sizeof(v));
}

void rec_sideband_u64(struct rec_sideband *s, uint64_t v)
{
	buf_add(&s->out, &v, sizeof(v));
}

/* NUL-terminated, padded to 8. */
void rec_sideband_text(struct rec_sideband *s, const char *text, size_t len)
{
	buf_add(&s->out, text, len);
	buf_fill(&s->out, '\0', 8 - len % 8);
}

/* Records of tools have no trailer. */
void rec_sideband_end_plain(struct rec_sideband *s, size_t at)
{
	perf_record_end(&s->out, at);
}

static void end_record(struct rec_sideband *s, size_t at, const struct perf_sample_id *id)
{
	if (s->tracker)
		perf_sample_id_put(&s->out, s->tracker, id);
	rec_sideband_end_plain(s, at);
	if (!s->out.is_failed && s->out.nr >= FLUSH_BYTES)
		rec_sideband_flush(s);
}

void rec_sideband_end(struct rec_sideband *s, size_t at, uint32_t pid, uint32_t tid)
{
	/* Time 0: before all else. */
	const struct perf_sample_id id = {.id = s->tracker_id, .pid = pid, .tid = tid};

	end_record(s, at, &id);
}

static void add_comm(struct rec_sideband *s, int pid, int tid, const char *comm)
{
	size_t len = strnlen(comm, COMM_BYTES - 1);
	size_t at = rec_sideband_begin(s, PERF_RECORD_COMM, 0);

	rec_sideband_u32(s, (uint32_t)pid);
	rec_sideband_u32(s, (uint32_t)tid);
	rec_sideband_text(s, comm, len);
	rec_sideband_end(s, at, (uint32_t)pid, (uint32_t)tid);
}

static void add_fork(struct rec_sideband *s, int pid, int tid, int ppid, int ptid)
{
	size_t at = rec_sideband_begin(s, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC);

	rec_sideband_u32(s, (uint32_t)pid);
	rec_sideband_u32(s, (uint32_t)ppid);
	rec_sideband_u32(s, (uint32_t)tid);
	rec_sideband_u32(s, (uint32_t)ptid);
	rec_sideband_u64(s, 0);
	rec_sideband_end(s, at, (uint32_t)pid, (uint32_t)tid);
}

/* @p at_proc: the thread's id in /proc. A first thread that has ended has those of the others. */
static void add_namespaces(struct rec_sideband *s, uint32_t at_proc, int pid, int tid)
{
	static const char *const names[NR_NAMESPACES] = {"net",  "uts", "ipc",   "pid",
							 "user", "mnt", "cgroup"};
	size_t at = rec_sideband_begin(s, PERF_RECORD_NAMESPACES, 0);

	at_proc = os_proc_living(at_proc);
	rec_sideband_u32(s, (uint32_t)pid);
	rec_sideband_u32(s, (uint32_t)tid);
	rec_sideband_u64(s, NR_NAMESPACES);
	for (int i = 0; i < NR_NAMESPACES; i++) {
		struct os_file_id id = {0};
		char path[64];

		snprintf(path, sizeof(path), "/proc/%u/ns/%s", at_proc, names[i]);
		os_file_id(path, &id);
		rec_sideband_u64(s, id.dev);
		rec_sideband_u64(s, id.ino);
	}
	rec_sideband_end(s, at, (uint32_t)pid, (uint32_t)tid);
}

/* The build id of a mapped file, looked up once a file however many processes map it. */
static const struct rec_found_id *build_id_of(struct rec_sideband *s, uint32_t procfs,
					      const struct proc_map *m)
{
	uint64_t key = hash_two((uint64_t)m->maj << 32 | m->min, m->ino);
	const uint64_t *known = map_u64_get(&s->files, key);
	struct rec_found_id found = {0};
	char path[PROC_MAP_FILE_BYTES];

	if (known)
		return &s->ids.data[*known];
	/* Through map_files, so that it is the file that is mapped: in its own mount namespace,
	 * replaced or deleted. */
	proc_map_file(path, procfs, m->start, m->end);
	found.bytes = (uint8_t)rec_file_build_id(path, found.id);
	if (!vec_push(&s->ids, found) || !map_u64_put(&s->files, key, s->ids.nr - 1))
		return NULL;
	return &s->ids.data[s->ids.nr - 1];
}

static void put_build_id_or_inode(struct rec_sideband *s, const struct proc_map *m,
				  const struct rec_found_id *id)
{
	const uint8_t head[4] = {id ? id->bytes : 0};

	if (id && id->bytes) {
		buf_add(&s->out, head, sizeof(head));
		buf_add(&s->out, id->id, sizeof(id->id));
		return;
	}
	rec_sideband_u32(s, m->maj);
	rec_sideband_u32(s, m->min);
	rec_sideband_u64(s, m->ino);
	rec_sideband_u64(s, 0); /* generation */
}

enum { NAME_AT = 72 /* in a record MMAP2 */ };

/* @p at: the record that is made of the mapping. */
static void note_made_code(struct rec_sideband *s, uint32_t procfs, size_t at,
			   const struct proc_map *m)
{
	const char *name = s->out.data + at + NAME_AT;

	if (s->perf_maps && m->prot & PROC_MAP_X && !s->out.is_failed &&
	    (map_name_is_anonymous(name, m->flags) || map_name_may_be_made(name)))
		rec_perf_maps_see(s->perf_maps, load_u32(s->out.data + at + 8, false), procfs, 0);
}

static void add_map(struct rec_sideband *s, uint32_t procfs, int pid, const struct proc_map *m)
{
	const struct rec_found_id *id = NULL;
	uint16_t misc = PERF_RECORD_MISC_USER;
	const char *name = m->name;
	size_t len = m->name_bytes, at;

	if (!len) {
		name = "//anon"; /* as the kernel calls it */
		len = 6;
	}
	if (len > NAME_MAX_BYTES - 1)
		len = NAME_MAX_BYTES - 1;
	if (m->ino && !s->options->no_build_ids && m->prot & PROC_MAP_X)
		id = build_id_of(s, procfs, m);
	if (id && id->bytes)
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	if (!(m->prot & PROC_MAP_X))
		misc |= PERF_RECORD_MISC_MMAP_DATA;
	at = rec_sideband_begin(s, PERF_RECORD_MMAP2, misc);
	rec_sideband_u32(s, (uint32_t)pid);
	rec_sideband_u32(s, (uint32_t)pid);
	rec_sideband_u64(s, m->start);
	rec_sideband_u64(s, m->end - m->start);
	rec_sideband_u64(s, m->offset);
	put_build_id_or_inode(s, m, id);
	rec_sideband_u32(s, m->prot);
	rec_sideband_u32(s, m->flags);
	rec_sideband_text(s, name, len);
	if (id && id->bytes && !s->out.is_failed)
		rec_build_ids_add(s->build_ids, false, id->id, id->bytes,
				  s->out.data + at + NAME_AT);
	note_made_code(s, procfs, at, m);
	rec_sideband_end(s, at, (uint32_t)pid, (uint32_t)pid);
}

static void add_maps(struct rec_sideband *s, uint32_t procfs, int pid)
{
	bool with_data = s->options->with_addr || s->options->with_phys_addr;
	struct proc_map m;
	const char *at;

	if (!proc_maps_read(procfs, &s->text))
		return;
	for (at = buf_cstr(&s->text); proc_map_next(&at, &m);)
		if (m.prot & PROC_MAP_X || with_data)
			add_map(s, procfs, pid, &m);
}

/* Of /proc/PID/status. */
struct status {
	char comm[COMM_BYTES + 1];
	uint32_t ppid; /* in /proc */
	struct os_ns_ids ids;
};

static bool read_status(struct rec_sideband *s, const char *path, struct status *ret)
{
	const char *name, *ppid;
	size_t len;

	buf_clear(&s->text);
	if (os_read_into(path, STATUS_LIMIT, &s->text) <= 0)
		return false;
	name = buf_cstr(&s->text);
	ppid = strstr(name, "\nPPid:");
	if (strncmp(name, "Name:\t", 6) != 0 || !ppid)
		return false;
	len = strcspn(name + 6, "\n");
	if (len > COMM_BYTES)
		len = COMM_BYTES;
	memcpy(ret->comm, name + 6, len);
	ret->comm[len] = '\0';
	ret->ppid = (uint32_t)strtoul(ppid + 6, NULL, 10);
	os_ns_ids_parse(name, &ret->ids);
	return true;
}

static bool read_process(struct rec_sideband *s, uint32_t procfs, struct status *ret)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/status", procfs);
	return read_status(s, path, ret);
}

static void add_task(struct rec_sideband *s, uint32_t procfs, const struct status *st, int pid,
		     int tid, int ppid)
{
	/* The first process of a container has its parent outside: no thread of ours. */
	if (ppid || s->view.own != OS_PID_NS_OTHER)
		add_fork(s, pid, tid, ppid, ppid);
	add_comm(s, pid, tid, st->comm);
	if (s->options->with_namespaces)
		add_namespaces(s, procfs, pid, tid);
	rec_sideband_note_ids(s, procfs, (uint32_t)tid, &st->ids);
}

/* Of a thread without other ids the name is all that its status would say, for a third of the cost.
 */
static bool read_thread(struct rec_sideband *s, uint32_t procfs, int tid, bool has_ids,
			struct status *ret)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/task/%d/%s", procfs, tid,
		 has_ids ? "status" : "comm");
	if (has_ids)
		return read_status(s, path, ret);
	ret->ids.nr = 0;
	return os_read_first_line(path, ret->comm, sizeof(ret->comm));
}

/* A thread is in its process's PID namespace, so its ids are in the same columns. */
static void add_thread(struct rec_sideband *s, uint32_t procfs, int pid, int tid, bool has_ids)
{
	struct status st;

	if (!read_thread(s, procfs, tid, has_ids, &st))
		return;
	if (s->view.is_own)
		add_task(s, (uint32_t)tid, &st, pid, tid, pid);
	else if (st.ids.nr >= s->view.depth)
		add_task(s, (uint32_t)tid, &st, pid, (int)st.ids.id[s->view.depth - 1], pid);
}

static void add_threads(struct rec_sideband *s, uint32_t procfs, int pid,
			const struct os_ns_ids *ids)
{
	bool has_ids = !s->view.is_own || ids->nr > 1;
	char path[64];
	struct os_dir *d;
	int tid;

	snprintf(path, sizeof(path), "/proc/%u/task", procfs);
	d = os_dir_open(path, NULL);
	while (d && (tid = os_dir_next_number(d)) >= 0)
		if ((uint32_t)tid != procfs)
			add_thread(s, procfs, pid, tid, has_ids);
	os_dir_close(d);
}

/* @return 0: our namespace does not contain it. */
static uint32_t local_of(struct rec_sideband *s, uint32_t procfs)
{
	struct status st;

	if (s->view.is_own)
		return procfs;
	return procfs && read_process(s, procfs, &st) ? os_pid_local(&s->view, procfs, &st.ids) : 0;
}

static void add_process(struct rec_sideband *s, uint32_t procfs)
{
	struct status st;
	uint32_t pid;

	if (!read_process(s, procfs, &st))
		return;
	pid = os_pid_local(&s->view, procfs, &st.ids);
	if (!rec_sideband_count_process(s, pid)) {
		/* Root ids that are outside, for who reads them in contexts. */
		if (s->view.procs == OS_PID_NS_INITIAL)
			rec_sideband_note_ids(s, procfs, 0, &st.ids);
		return;
	}
	add_task(s, procfs, &st, (int)pid, (int)pid, (int)local_of(s, st.ppid));
	add_maps(s, procfs, (int)pid);
	add_threads(s, procfs, (int)pid, &st.ids);
}

void rec_sideband_process(struct rec_sideband *s, int pid)
{
	uint32_t procfs = s->view.is_own ? (uint32_t)pid : os_pid_procfs((uint32_t)pid);

	if (procfs)
		add_process(s, procfs);
	else
		rec_sideband_count_process(s, 0);
}

void rec_sideband_command(struct rec_sideband *s, int pid)
{
	uint32_t procfs = s->view.is_own ? (uint32_t)pid : os_pid_procfs((uint32_t)pid);
	struct status st;

	if (!procfs || !read_process(s, procfs, &st))
		return;
	add_comm(s, pid, pid, st.comm);
	if (s->options->with_namespaces)
		add_namespaces(s, procfs, pid, pid);
	rec_sideband_note_ids(s, procfs, (uint32_t)pid, &st.ids);
}

void rec_sideband_all(struct rec_sideband *s)
{
	struct os_dir *d = os_dir_open("/proc", NULL);
	int pid;

	while (d && s->err == CLEW_OK && (pid = os_dir_next_number(d)) >= 0)
		add_process(s, (uint32_t)pid);
	os_dir_close(d);
}

void rec_sideband_lost(struct rec_sideband *s, const struct rec_lost *lost)
{
	size_t at = rec_sideband_begin(s, PERF_RECORD_LOST_SAMPLES, 0);
	const struct perf_sample_id id = {.id = lost->id}; /* the event that lost them */

	rec_sideband_u64(s, lost->lost);
	end_record(s, at, &id);
}

void rec_sideband_done(struct rec_sideband *s)
{
	buf_done(&s->out);
	buf_done(&s->text);
	map_u64_done(&s->files);
	vec_done(&s->ids);
	perf_who_facts_done(&s->facts);
}
