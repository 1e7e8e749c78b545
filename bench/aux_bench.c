// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Usage: aux_bench FILE [MiB]: what reading made-up AUX areas costs, into FILE, which is
 * overwritten (FILE.2, too). Of drain, threads and snapshot the best of five rounds by turns.
 *
 * drain: half an area of 4 MiB at a time, as a recording does; the same bytes with write(2) alone.
 * pass: what a recorder does for the same besides write(2): a whole pass over its rings, with one
 * AUX record, and its area; the output is thrown away. pace: areas that fill at 1 GB/s, read by one
 * thread in real time: what is lost, if the machine does nothing else. threads: the bytes of two
 * areas by one thread; by a thread for each into places of the one file; into a file each.
 * snapshot: for how long the traces of two areas of 64 MiB stand still: copied, as a recording
 * does; or written.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "os/thread.h"
#include "record/aux/aux_area.h"
#include "record/aux/aux_drain.h"
#include "record/aux/aux_source.h"
#include "record/plan/rec_file.h"
#include "record/session/drain.h"
#include "record/session/ring_source.h"

enum { AREA = 4 << 20, PIECE = AREA / 2, SNAPSHOT_AREA = 64 << 20, ROUNDS = 5 };
enum { AT_DATA_HEAD = 1024, AT_AUX_HEAD = 1056 };

static uint64_t page[2][512];

static double cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static double wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void open_file(struct rec_file *f, const char *path)
{
	struct perf_evlist none = {0};
	struct rec_error error = {0};

	unlink(path);
	*f = (struct rec_file){0};
	if (rec_file_open(f, path, &none, &(struct perf_writer_opts){0}, &error))
		exit(1);
}

/* --- drain --- */

static double drain(const char *path, const uint8_t *area, size_t nr_pieces)
{
	static const struct rec_aux_place place = {.tid = UINT32_MAX};
	struct os_ring r = {.page = page[0], .aux = area, .aux_bytes = AREA};
	struct rec_file f;
	uint64_t bytes = 0;
	double from;

	page[0][AT_AUX_HEAD / 8] = 0;
	open_file(&f, path);
	from = cpu_ms();
	for (size_t i = 0; i < nr_pieces; i++) {
		page[0][AT_AUX_HEAD / 8] += PIECE;
		if (rec_aux_drain(&r, &place, f.writer, &bytes) || rec_file_flush(&f))
			exit(1);
	}
	from = cpu_ms() - from;
	rec_file_done(&f);
	return from;
}

static double write_alone(const char *path, const uint8_t *area, size_t nr_pieces)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	double from = cpu_ms();

	for (size_t i = 0; i < nr_pieces; i++)
		if (write(fd, area + i % 2 * PIECE, PIECE) != PIECE)
			exit(1);
	from = cpu_ms() - from;
	close(fd);
	return from;
}

static void bench_drain(const char *path, const uint8_t *area, size_t nr)
{
	double scale = 1024.0 * (1 << 20) / PIECE / (double)nr, best[2] = {1e9, 1e9};

	for (int i = 0; i < ROUNDS; i++) {
		double ms[2];

		ms[0] = drain(path, area, nr);
		unlink(path);
		ms[1] = write_alone(path, area, nr);
		for (int k = 0; k < 2; k++)
			best[k] = ms[k] < best[k] ? ms[k] : best[k];
	}
	printf("drain: %.0f ms of CPU per GiB; write(2) alone: %.0f; ratio %.3f\n", best[0] * scale,
	       best[1] * scale, best[0] / best[1]);
}

/* --- pass --- */

static enum clew_err throw_away(void *ctx, const void *bytes, size_t size)
{
	(void)bytes;
	*(uint64_t *)ctx += size;
	return CLEW_OK;
}

static enum clew_err rewrite_nothing(void *ctx, uint64_t offset, const void *bytes, size_t size)
{
	(void)ctx;
	(void)offset;
	(void)bytes;
	(void)size;
	return CLEW_OK;
}

/* A recorder of one CPU. */
struct recorder {
	struct rec_counters counters;
	struct rec_sources sources;
	struct rec_drain drain;
	struct rec_file file;
	struct rec_options options;
	uint64_t thrown_away;
};

static void begin_recorder(struct recorder *w, const uint8_t *area)
{
	static uint8_t data[4096];
	static struct rec_build_ids ids;
	static const struct rec_ui ui;
	const struct perf_writer_out out = {
		{throw_away, &w->thrown_away},
                rewrite_nothing
        };
	const struct perf_evlist none = {0};
	const struct rec_ring ring = {
		.fd = -1,
		.tid = -1,
		.ring = {.page = page[0],
			 .data = data,
			 .data_bytes = sizeof(data),
			 .aux = area,
			 .aux_bytes = AREA}
        };
	struct rec_counter event = {
		.attr = {.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
			 .flags = PERF_ATTR_SAMPLE_ID_ALL}
        };
	struct rec_source source;

	memset(page, 0, sizeof(page));
	for (uint64_t i = 0; i < sizeof(data); i += 64) {
		const uint64_t words[8] = {PERF_RECORD_AUX | 64ull << 48, 0, PIECE, 0, 7, 1000 + i};

		memcpy(data + i, words, sizeof(words));
	}
	vec_push(&w->counters.list, event);
	vec_push(&w->counters.rings, ring);
	rec_sources_add(&w->sources, ring_source_new(&w->counters, false));
	if (aux_source_new(&source, &w->counters, &w->options, &ui) ||
	    !rec_sources_add(&w->sources, source) ||
	    perf_writer_open(&w->file.writer, &out, &none, &(struct perf_writer_opts){0}))
		exit(1);
	rec_drain_init(&w->drain, &w->counters, &w->sources, &ids, false);
}

static void bench_pass(const uint8_t *area, size_t nr)
{
	struct recorder w = {.thrown_away = 0};
	double ms;

	begin_recorder(&w, area);
	ms = cpu_ms();
	for (size_t i = 0; i < nr; i++) {
		page[0][AT_DATA_HEAD / 8] += 64;
		page[0][AT_AUX_HEAD / 8] += PIECE;
		if (rec_drain_pass(&w.drain, &w.file, false))
			exit(1);
	}
	ms = cpu_ms() - ms;
	if (w.thrown_away < nr * PIECE)
		exit(1);
	printf("pass: besides write(2) %.3f ms of CPU per GiB: %.2f %% of a core at 1 GB/s\n",
	       ms * 1024 * (1 << 20) / PIECE / (double)nr, ms / (double)nr / PIECE * 1e8);
	rec_sources_done(&w.sources);
	rec_drain_done(&w.drain);
	perf_writer_free(w.file.writer);
	vec_done(&w.counters.list);
	vec_done(&w.counters.rings);
}

/* --- pace --- */

struct pace {
	struct os_ring ring[2];
	uint64_t lost;   /* bytes that found no room */
	uint64_t behind; /* the most bytes that lay unread */
	double at;       /* ms: all that came until then is counted */
};

/* What came since the last look, at 1 GB/s for each area. */
static void produce(struct pace *p)
{
	double now = wall_ms();
	uint64_t bytes = (uint64_t)((now - p->at) * 1e6);

	for (int k = 0; k < 2; k++) {
		uint64_t *head = &page[k][AT_AUX_HEAD / 8];
		uint64_t room = p->ring[k].aux_bytes - (*head - p->ring[k].aux_tail);
		uint64_t come = bytes < room ? bytes : room;

		*head += come;
		p->lost += bytes - come;
		if (*head - p->ring[k].aux_tail > p->behind)
			p->behind = *head - p->ring[k].aux_tail;
	}
	p->at = now;
}

/* Each area is read when it is half full. @return bytes read. */
static uint64_t read_areas(struct pace *p, struct rec_file *f)
{
	uint64_t bytes = 0;

	for (uint32_t k = 0; k < 2; k++) {
		const struct rec_aux_place place = {.idx = k, .tid = UINT32_MAX, .cpu = k};
		struct os_ring *r = &p->ring[k];

		produce(p);
		if (page[k][AT_AUX_HEAD / 8] - r->aux_tail >= r->aux_bytes / 2 &&
		    (rec_aux_drain(r, &place, f->writer, &bytes) || rec_file_flush(f)))
			exit(1);
	}
	return bytes;
}

static void keep_pace(const char *path, const uint8_t *area, size_t area_bytes, double ms)
{
	struct pace p = {.at = 0};
	struct rec_file f;
	uint64_t bytes = 0;
	double from, cpu;

	open_file(&f, path);
	for (int k = 0; k < 2; k++) {
		p.ring[k] = (struct os_ring){.page = page[k], .aux = area, .aux_bytes = area_bytes};
		page[k][AT_AUX_HEAD / 8] = 0;
	}
	cpu = cpu_ms();
	from = p.at = wall_ms();
	while (p.at < from + ms) {
		uint64_t nr = read_areas(&p, &f);

		bytes += nr;
		if (!nr)
			nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
	}
	printf("pace: two areas of %zu MiB: %.2f %% lost, at most %.0f %% of an area unread; "
	       "%.0f %% of a core\n",
	       area_bytes >> 20, 100.0 * (double)p.lost / (double)(p.lost + bytes + 1),
	       100.0 * (double)p.behind / (double)area_bytes,
	       100 * (cpu_ms() - cpu) / (wall_ms() - from));
	rec_file_done(&f);
}

static void bench_pace(const char *path)
{
	uint8_t *area = malloc(SNAPSHOT_AREA);

	if (!area)
		exit(1);
	memset(area, 0x5a, SNAPSHOT_AREA);
	for (size_t bytes = 4 << 20; bytes <= SNAPSHOT_AREA; bytes *= 4)
		keep_pace(path, area, bytes, 400);
	free(area);
}

/* --- threads --- */

struct stream { /* every step-th piece of a file, from the first on */
	const uint8_t *area;
	size_t first, step, nr;
	int fd;
};

static void write_stream(void *ctx)
{
	const struct stream *s = ctx;

	for (size_t i = 0; i < s->nr; i++)
		if (pwrite(s->fd, s->area, PIECE, (off_t)(s->first + i * s->step) * PIECE) != PIECE)
			exit(1);
}

static double two_streams(const char *const path[2], const uint8_t *area, size_t nr, int nr_threads,
			  int nr_files)
{
	struct os_thread *thread[2] = {NULL, NULL};
	struct stream s[2];
	double from;
	int fd[2];

	for (int k = 0; k < nr_files; k++)
		fd[k] = open(path[k], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (size_t k = 0; k < 2; k++)
		s[k] = (struct stream){area + k * PIECE, nr_files == 2 ? 0 : k,
				       nr_files == 2 ? 1 : 2, nr / 2, fd[nr_files == 2 ? k : 0]};
	if (nr_threads == 1)
		s[0] = (struct stream){area, 0, 1, nr, fd[0]};
	from = wall_ms();
	for (int k = 0; k < nr_threads; k++)
		thread[k] = os_thread_start(write_stream, &s[k]);
	for (int k = 0; k < nr_threads; k++)
		os_thread_join(thread[k]);
	from = wall_ms() - from;
	for (int k = 0; k < nr_files; k++) {
		close(fd[k]);
		unlink(path[k]);
	}
	return from;
}

static void bench_threads(const char *const path[2], const uint8_t *area, size_t nr)
{
	double gib = (double)nr * PIECE / 1024 / (1 << 20) * 1e3, best[3] = {1e9, 1e9, 1e9};

	for (int i = 0; i < ROUNDS; i++) {
		const double ms[3] = {two_streams(path, area, nr, 1, 1),
				      two_streams(path, area, nr, 2, 1),
				      two_streams(path, area, nr, 2, 2)};

		for (int k = 0; k < 3; k++)
			best[k] = ms[k] < best[k] ? ms[k] : best[k];
	}
	printf("threads: one %.2f GiB/s; two into one file %.2f; two into a file each %.2f\n",
	       gib / best[0], gib / best[1], gib / best[2]);
}

/* --- snapshot --- */

/* For how long the traces stand still: @to holds what is taken, or NULL and it is written
 * meanwhile. */
static double snapshot(const char *path, const uint8_t *area, uint8_t *to)
{
	struct rec_ring ring[2];
	struct aux_area areas[2];
	struct rec_file f;
	double from;

	open_file(&f, path);
	for (uint32_t k = 0; k < 2; k++) {
		ring[k] = (struct rec_ring){.cpu = (int)k, .tid = -1};
		ring[k].ring = (struct os_ring){.page = page[k],
						.aux = area,
						.aux_bytes = SNAPSHOT_AREA,
						.is_aux_overwrite = true};
		page[k][AT_AUX_HEAD / 8] = 3ull * SNAPSHOT_AREA + 640;
		if (!aux_area_init(&areas[k], &ring[k], k))
			exit(1);
	}
	from = wall_ms();
	for (int k = 0; k < 2; k++)
		if (aux_area_take(&areas[k], 0, to ? to + (size_t)k * SNAPSHOT_AREA : NULL) !=
		    SNAPSHOT_AREA)
			exit(1);
	for (int k = 0; !to && k < 2; k++)
		if (aux_area_put(&areas[k], &(struct rec_pass){.file = &f}))
			exit(1);
	from = wall_ms() - from;
	rec_file_done(&f);
	for (int k = 0; k < 2; k++)
		aux_area_done(&areas[k]);
	return from;
}

static void bench_snapshot(const char *path)
{
	double best[2] = {1e9, 1e9};
	uint8_t *area = malloc(SNAPSHOT_AREA), *to = malloc(2 * SNAPSHOT_AREA);

	if (!area || !to)
		exit(1);
	memset(area, 0x5a, SNAPSHOT_AREA);
	memset(to, 0xff, 2 * SNAPSHOT_AREA);
	for (int i = 0; i < ROUNDS; i++) {
		const double ms[2] = {snapshot(path, area, to), snapshot(path, area, NULL)};

		for (int k = 0; k < 2; k++)
			best[k] = ms[k] < best[k] ? ms[k] : best[k];
	}
	free(area);
	free(to);
	printf("snapshot: traces stand still for %.0f ms; if it were written meanwhile, %.0f\n",
	       best[0], best[1]);
}

int main(int argc, char **argv)
{
	size_t nr = (argc > 2 ? strtoul(argv[2], NULL, 0) : 1024) * (1 << 20) / PIECE;
	uint8_t *area = malloc(AREA);
	char second[4096];
	const char *const path[2] = {argv[1], second};

	if (argc < 2 || !area || !nr)
		return 2;
	snprintf(second, sizeof(second), "%s.2", argv[1]);
	memset(area, 0x5a, AREA);
	bench_drain(argv[1], area, nr);
	bench_pass(area, nr);
	bench_pace(argv[1]);
	bench_threads(path, area, nr);
	bench_snapshot(argv[1]);
	unlink(argv[1]);
	free(area);
	return 0;
}
