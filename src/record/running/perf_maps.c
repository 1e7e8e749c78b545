/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/running/perf_maps.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "os/caps.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/file_time.h"
#include "os/path.h"
#include "os/proc.h"
#include "perfdata/map_name.h"
#include "perfdata/perf_kept_maps.h"

enum {
	MAX_PROCESSES = 4096,
	MAX_OPEN = 256,
	MAX_ALL_BYTES = 256 << 20,
	CHUNK = 256 * 1024,
	RETRY_NS = 100 * 1000 * 1000, /* and for each that waits: */
	RETRY_EACH_NS = 2 * 1000 * 1000,
	SLACK_NS = 20 * 1000 * 1000 /* of the times of files and starts */
};

void rec_perf_maps_init(struct rec_perf_maps *m)
{
	os_pid_view_read(&m->view);
}

static void close_fd(struct rec_perf_maps *m, int *fd)
{
	if (*fd < 0)
		return;
	os_close(*fd);
	*fd = -1;
	m->nr_open--;
}

static void close_root(struct rec_perf_maps *m, struct rec_perf_map *e)
{
	m->nr_waiting -= e->root >= 0;
	close_fd(m, &e->root);
}

/* --- reading --- */

/* From its start, as far as it is written. @return false: it is too large, or cannot be read. */
static bool read_text(int fd, size_t most, struct buf *ret)
{
	long n = 1;

	while (n > 0 && ret->nr <= most && buf_reserve(ret, CHUNK)) {
		n = os_read_at(fd, ret->data + ret->nr, CHUNK, ret->nr);
		ret->nr += n > 0 ? (size_t)n : 0;
	}
	return !n && ret->nr <= most && !ret->is_failed;
}

/* The last line of a program that runs may be half written. */
static void drop_half_line(struct buf *text)
{
	while (text->nr && text->data[text->nr - 1] != '\n')
		text->nr--;
}

/* Adds the packed text. @return its bytes before; 0: none. */
static size_t pack(struct rec_perf_maps *m, const struct rec_perf_map *e, size_t most,
		   struct buf *packed)
{
	clew_auto(buf_done) struct buf text = {0};

	if (!read_text(e->fd, most < PERF_KEPT_MAP_MAX ? most : PERF_KEPT_MAP_MAX, &text)) {
		m->nr_left_out++;
		return 0;
	}
	if (!e->is_over)
		drop_half_line(&text);
	if (text.nr)
		perf_pack_kept_map(packed, text.data, text.nr);
	return packed->is_failed ? 0 : text.nr;
}

/* Too many are open: what is there now is read, of the one that was seen first. */
static void read_early(struct rec_perf_maps *m)
{
	for (; m->next_read < m->all.nr; m->next_read++) {
		struct rec_perf_map *e = &m->all.data[m->next_read];

		if (e->fd < 0 && e->root < 0)
			continue;
		close_root(m, e);
		if (e->fd >= 0)
			e->packed_of = pack(m, e, PERF_KEPT_MAP_MAX, &e->packed);
		close_fd(m, &e->fd);
		return;
	}
}

/* --- finding --- */

static void open_root(struct rec_perf_maps *m, struct rec_perf_map *e)
{
	int root = os_path_root(e->procfs);

	if (root < 0)
		return;
	close_root(m, e);
	e->root = root;
	m->nr_open++;
	m->nr_waiting++;
}

/* What another process of that number left there is not its map. */
static bool is_older(const struct rec_perf_map *e, int fd)
{
	struct os_file_identity id;

	return e->start_ns && !os_fd_identity(fd, &id) && id.mtime_ns + SLACK_NS < e->start_ns;
}

static void look(struct rec_perf_maps *m, struct rec_perf_map *e)
{
	char path[48];
	int fd;

	if (e->root < 0)
		return;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", e->inside);
	fd = os_open_trusted_in(e->root, path, e->uid);
	if (fd < 0)
		return;
	if (is_older(e, fd)) {
		os_close(fd);
		return;
	}
	e->fd = fd;
	m->nr_open++;
	close_root(m, e);
}

void rec_perf_maps_see(struct rec_perf_maps *m, uint32_t pid, uint32_t procfs, uint64_t time)
{
	struct rec_perf_map e = {.pid = pid, .procfs = procfs, .time = time, .root = -1, .fd = -1};

	if (m->is_off || map_u64_get(&m->by_pid, pid))
		return;
	if (m->all.nr == MAX_PROCESSES || !vec_reserve(&m->all, m->all.nr + 1)) {
		m->nr_left_out++;
		return;
	}
	if (m->nr_open >= MAX_OPEN)
		read_early(m);
	if (procfs && os_process_uid((int)procfs, &e.uid)) {
		e.inside = os_pid_inside(procfs);
		e.start_ns = os_process_start_ns(procfs);
		open_root(m, &e);
		look(m, &e);
	}
	m->all.data[m->all.nr++] = e;
	if (!map_u64_put(&m->by_pid, pid, m->all.nr - 1))
		m->nr_left_out++; /* what is open is closed in the end */
}

void rec_perf_maps_take(struct rec_perf_maps *m, const struct perf_mmap *map, uint64_t time)
{
	uint32_t procfs = map->pid;

	if (m->is_off || map->is_data || map_u64_get(&m->by_pid, map->pid) ||
	    !(map_name_is_anonymous(map->filename, map->flags) ||
	      map_name_may_be_made(map->filename)))
		return;
	if (!m->view.is_own)
		procfs = os_pid_procfs(map->pid);
	rec_perf_maps_see(m, map->pid, procfs, time);
}

void rec_perf_maps_end(struct rec_perf_maps *m, uint32_t pid, uint64_t time)
{
	const uint64_t *at = map_u64_get(&m->by_pid, pid);
	struct rec_perf_map *e = at ? &m->all.data[*at] : NULL;

	if (!e || (time && e->time > time))
		return;
	look(m, e);
	close_root(m, e);
	e->is_over = true;
	map_u64_remove(&m->by_pid, pid);
}

void rec_perf_maps_retry(struct rec_perf_maps *m)
{
	uint64_t now;

	if (!m->nr_waiting)
		return;
	now = os_clock_ns();
	if (now < m->retry_ns)
		return;
	m->retry_ns = now + RETRY_NS + m->nr_waiting * RETRY_EACH_NS;
	vec_for_each (&m->all, e) {
		if (e->root < 0)
			continue;
		look(m, e);
		if (e->root >= 0) { /* it may have another root by now */
			open_root(m, e);
			look(m, e);
		}
	}
}

/* --- writing --- */

static void put(struct rec_perf_maps *m, const struct rec_perf_map *e, uint64_t *left,
		struct buf *b)
{
	struct perf_kept_map kept = {.pid = e->pid, .time = e->time, .bytes = e->packed_of};
	clew_auto(buf_done) struct buf packed = {0};
	const struct buf *from = &e->packed;

	if (e->fd >= 0) {
		kept.bytes = pack(m, e, *left, &packed);
		from = &packed;
	}
	if (kept.bytes > *left) {
		m->nr_left_out++;
		kept.bytes = 0;
	}
	if (kept.bytes)
		kept.packed = bytes_of(from->data, from->nr);
	*left -= kept.bytes;
	perf_put_kept_map(b, &kept);
}

void rec_perf_maps_put(struct rec_perf_maps *m, struct buf *b)
{
	struct map_u64 with_map = {0};
	uint64_t left = MAX_ALL_BYTES;

	vec_for_each (&m->all, e) {
		look(m, e);
		if (e->fd >= 0 || e->packed_of)
			map_u64_put(&with_map, e->pid, 1);
	}
	if (with_map.nr)
		perf_put_kept_maps(b);
	vec_for_each (&m->all, e) {
		if (map_u64_get(&with_map, e->pid)) /* without one: another program had it */
			put(m, e, &left, b);
	}
	map_u64_done(&with_map);
}

static void drop(struct rec_perf_maps *m, struct rec_perf_map *e)
{
	close_root(m, e);
	close_fd(m, &e->fd);
	buf_done(&e->packed);
}

void rec_perf_maps_next_file(struct rec_perf_maps *m)
{
	size_t nr = 0;

	vec_for_each (&m->all, e) {
		if (e->is_over) {
			drop(m, e);
			continue;
		}
		map_u64_put(&m->by_pid, e->pid, nr); /* the key is there: nothing is allocated */
		m->all.data[nr++] = *e;
	}
	m->all.nr = nr;
	m->next_read = 0;
	m->nr_left_out = 0;
}

void rec_perf_maps_done(struct rec_perf_maps *m)
{
	vec_for_each (&m->all, e)
		drop(m, e);
	vec_done(&m->all);
	map_u64_done(&m->by_pid);
}
