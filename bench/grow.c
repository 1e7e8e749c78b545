// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Make a perf.data file of any size out of a real recording, the same output for the same input.
 *
 * Usage: grow IN OUT NR_SAMPLES
 *
 * The recording is repeated until it holds NR_SAMPLES samples. Each round is later in time by the
 * length of the recording, and every process that was born during the recording gets new numbers
 * in each round, so a round is one more stretch of the same life, not the same samples again.
 * Records without a time (what the recorder made up for running processes) stand in the first
 * round only.
 *
 * IN: file mode, little-endian, not compressed, one sample_type for all events, sample_id_all.
 * Spec: tools/perf/Documentation/perf.data-file-format.txt; include/uapi/linux/perf_event.h.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "perfdata/perf_abi.h"

enum { MAX_PID = 1 << 22, HEADER_WORDS = PERF_FILE_HEADER_SIZE / 8, NR_FEATURE_WORDS = 4 };

/** Where a sample or a trailer keeps its numbers: bytes from the start of it, or its end. */
struct layout {
	size_t sample_tid, sample_time;   /* from the end of the record's header */
	size_t trailer_tid, trailer_time; /* back from the end of the record */
};

struct grow {
	const uint8_t *in;
	uint64_t in_bytes;
	uint64_t header[HEADER_WORDS];
	struct layout layout;
	uint8_t *is_born;    /* per pid: forked during the recording */
	uint32_t pid_stride; /* added to a born pid, once a round */
	uint64_t first_time, last_time;
	uint64_t nr_samples, nr_in; /* written; of one round */
	FILE *out;
};

static void stop(const char *why)
{
	fprintf(stderr, "grow: %s\n", why);
	exit(1);
}

static uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void read_layout(struct grow *g)
{
	uint64_t attr_bytes = g->header[2], at = g->header[3], end = at + g->header[4];
	uint64_t type = get_u64(g->in + at + offsetof(struct perf_attr, sample_type));
	bool has_id = type & PERF_SAMPLE_IDENTIFIER;
	size_t trailer = 0;

	for (; at < end; at += attr_bytes) {
		const uint8_t *attr = g->in + at;

		if (get_u64(attr + offsetof(struct perf_attr, sample_type)) != type)
			stop("events with different sample_type");
		if (!(get_u64(attr + offsetof(struct perf_attr, flags)) & PERF_ATTR_SAMPLE_ID_ALL))
			stop("an event without sample_id_all");
	}
	if (!(type & PERF_SAMPLE_TID) || !(type & PERF_SAMPLE_TIME))
		stop("samples without tid or time");
	g->layout.sample_tid = (has_id ? 8u : 0u) + (type & PERF_SAMPLE_IP ? 8u : 0u);
	g->layout.sample_time = g->layout.sample_tid + 8;
	for (uint64_t rest = type & (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
				     PERF_SAMPLE_IDENTIFIER);
	     rest; rest &= rest - 1)
		trailer += 8;
	g->layout.trailer_time = trailer + 8;
	g->layout.trailer_tid = trailer + 16;
}

static bool has_trailer(const struct perf_event_header *h)
{
	return h->type < PERF_RECORD_HEADER_ATTR && h->type != PERF_RECORD_SAMPLE;
}

static uint64_t time_of(const struct grow *g, const uint8_t *p, const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_SAMPLE)
		return get_u64(p + sizeof(*h) + g->layout.sample_time);
	return has_trailer(h) ? get_u64(p + h->size - g->layout.trailer_time) : 0;
}

typedef void record_fn(struct grow *g, const uint8_t *p, const struct perf_event_header *h,
		       uint32_t round);

static void for_each_record(struct grow *g, record_fn *visit, uint32_t round)
{
	uint64_t at = g->header[5], end = at + g->header[6];
	struct perf_event_header h;

	for (; end - at >= sizeof(h); at += h.size) {
		memcpy(&h, g->in + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > end - at)
			stop("a record that does not fit");
		visit(g, g->in + at, &h, round);
	}
}

static void learn_record(struct grow *g, const uint8_t *p, const struct perf_event_header *h,
			 uint32_t round)
{
	uint64_t time = time_of(g, p, h);
	uint32_t pid;

	(void)round;
	if (h->type == PERF_RECORD_COMPRESSED || h->type == PERF_RECORD_COMPRESSED2)
		stop("a compressed recording");
	g->nr_in += h->type == PERF_RECORD_SAMPLE;
	if (time == 0)
		return;
	g->first_time = time < g->first_time ? time : g->first_time;
	g->last_time = time > g->last_time ? time : g->last_time;
	if (h->type != PERF_RECORD_FORK)
		return;
	for (int i = 0; i < 2; i++) { /* pid, ppid, tid, ptid */
		pid = get_u32(p + sizeof(*h) + (i ? 8 : 0));
		if (pid >= MAX_PID)
			stop("a pid above the kernel's limit");
		if (i == 1 || pid != get_u32(p + sizeof(*h) + 4))
			g->is_born[pid] = 1;
		g->pid_stride = pid >= g->pid_stride ? pid + 1 : g->pid_stride;
	}
}

static void move_pid(const struct grow *g, uint8_t *p, uint32_t round)
{
	uint32_t pid = get_u32(p);

	if (pid >= MAX_PID || !g->is_born[pid])
		return;
	pid += round * g->pid_stride;
	memcpy(p, &pid, sizeof(pid));
}

static void move_time(const struct grow *g, uint8_t *p, uint32_t round)
{
	uint64_t time = get_u64(p) + round * (g->last_time - g->first_time + 1);

	memcpy(p, &time, sizeof(time));
}

static void move_body(const struct grow *g, uint8_t *body, uint32_t type, uint32_t round)
{
	switch (type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		for (size_t i = 0; i < 4; i++)
			move_pid(g, body + 4 * i, round);
		move_time(g, body + 16, round);
		break;
	case PERF_RECORD_COMM:
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_NAMESPACES:
		move_pid(g, body, round);
		move_pid(g, body + 4, round);
		break;
	default:
		break;
	}
}

static void write_bytes(struct grow *g, const void *data, size_t size)
{
	if (fwrite(data, 1, size, g->out) != size)
		stop("cannot write the output");
}

static void write_record(struct grow *g, const uint8_t *p, const struct perf_event_header *h,
			 uint32_t round)
{
	uint8_t copy[UINT16_MAX];
	uint8_t *id = copy + h->size - g->layout.trailer_tid;

	if (round > 0 && time_of(g, p, h) == 0 && h->type != PERF_RECORD_FINISHED_ROUND)
		return;
	memcpy(copy, p, h->size);
	if (h->type == PERF_RECORD_SAMPLE) {
		g->nr_samples++;
		id = copy + sizeof(*h) + g->layout.sample_tid;
	} else if (has_trailer(h)) {
		move_body(g, copy + sizeof(*h), h->type, round);
	}
	if (round > 0 && h->type < PERF_RECORD_HEADER_ATTR) {
		move_pid(g, id, round);
		move_pid(g, id + 4, round);
		move_time(g, id + 8, round);
	}
	write_bytes(g, copy, h->size);
}

static void write_features(struct grow *g, uint64_t data_end, uint32_t last_round)
{
	uint64_t table = g->header[5] + g->header[6];
	uint64_t span = g->last_time - g->first_time + 1;
	size_t nr = 0;

	for (size_t i = 0; i < NR_FEATURE_WORDS; i++)
		nr += (size_t)__builtin_popcountll(g->header[HEADER_WORDS - NR_FEATURE_WORDS + i]);
	if (table > g->in_bytes || nr * 16 > g->in_bytes - table)
		stop("a feature table that does not fit");
	for (size_t i = 0; i < nr; i++) {
		uint64_t section[2];

		memcpy(section, g->in + table + 16 * i, sizeof(section));
		section[0] += data_end - table;
		write_bytes(g, section, sizeof(section));
	}
	table += nr * 16;
	for (; table < g->in_bytes; table++) {
		uint64_t time;

		/* SAMPLE_TIME holds the last time; it stands nowhere else in these sections. */
		if (g->in_bytes - table >= 8 && (time = get_u64(g->in + table)) == g->last_time) {
			time += last_round * span;
			write_bytes(g, &time, sizeof(time));
			table += 7;
		} else {
			write_bytes(g, g->in + table, 1);
		}
	}
}

static void open_input(struct grow *g, const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) || st.st_size < PERF_FILE_HEADER_SIZE)
		stop("cannot read the input");
	g->in_bytes = (uint64_t)st.st_size;
	g->in = mmap(NULL, g->in_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (g->in == MAP_FAILED)
		stop("cannot map the input");
	memcpy(g->header, g->in, sizeof(g->header));
	if (g->header[0] != PERF_MAGIC2 || g->header[2] < PERF_ATTR_SIZE_VER0 ||
	    g->header[3] + g->header[4] > g->in_bytes || g->header[5] + g->header[6] > g->in_bytes)
		stop("not a perf.data file in file mode");
}

int main(int argc, char **argv)
{
	struct grow g = {.first_time = UINT64_MAX};
	uint64_t wanted = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
	uint32_t round = 0;

	if (wanted == 0)
		stop("usage: grow IN OUT NR_SAMPLES");
	open_input(&g, argv[1]);
	read_layout(&g);
	g.is_born = calloc(MAX_PID, 1);
	g.out = fopen(argv[2], "w");
	if (!g.is_born || !g.out)
		stop("cannot open the output");
	for_each_record(&g, learn_record, 0);
	if (g.nr_in == 0)
		stop("no samples in the input");
	write_bytes(&g, g.in, g.header[5]);
	for (; g.nr_samples < wanted; round++)
		for_each_record(&g, write_record, round);
	g.header[6] = (uint64_t)ftello(g.out) - g.header[5];
	{
		uint64_t data_bytes = g.header[6];

		memcpy(g.header, g.in, sizeof(g.header));
		write_features(&g, g.header[5] + data_bytes, round - 1);
		g.header[6] = data_bytes;
	}
	if (fseeko(g.out, 0, SEEK_SET))
		stop("cannot write the output");
	write_bytes(&g, g.header, sizeof(g.header));
	if (fclose(g.out))
		stop("cannot write the output");
	printf("%s: %llu samples in %u rounds\n", argv[2], (unsigned long long)g.nr_samples, round);
	free(g.is_born);
	return 0;
}
