// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Long recordings for the costs of SPE and of who ran.
 *
 * Usage: who_make spe RECORDS CPUS FILE         SPE records with contexts, and switch records of 64
 * threads who_make threads THREADS SWITCHES FILE  as a pipe has them, spread over a day: births,
 * ends and switches; FILE may be /dev/stdout
 *
 * 10,000 switches a second for a day are 864,000,000, of 112 bytes each: to be read from a pipe.
 * Spec: Linux uapi/linux/perf_event.h; tools/perf/Documentation/perf.data-file-format.txt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "make/splitmix.h"

enum {
	MMAP = 1,
	COMM = 3,
	FORK = 7,
	AUX = 11,
	SWITCH_CPU_WIDE = 15,
	HEADER_ATTR = 64,
	FINISHED_ROUND = 68,
	AUXTRACE_INFO = 70,
	AUXTRACE = 71,
	TIME_CONV = 79
};
enum {
	SPE_PMU = 9,
	NR_RUNNING = 64,
	RECORDS_PER_SWITCH = 256,
	CHUNK_RECORDS = 16384,
	HEAD_BYTES = 104,
	ATTR_BYTES = 128,
	AUX_ID = 1,
	SIDEBAND_ID = 1000
};
static const uint64_t SAMPLE_TYPE = 0x10087; /* IP, TID, TIME, CPU, IDENTIFIER */
static const uint64_t SAMPLE_ID_ALL = 1 << 18, CONTEXT_SWITCH = 1 << 26,
		      COMM_TASK = 1 << 9 | 1 << 13, KERNEL_TEXT = 0xffff800080000000;

/** A file or pipe. */
struct out {
	FILE *file;
	uint64_t nr_bytes;
	struct {
		uint64_t at, bytes;
	} index[4096]; /* AUXTRACE records */
	uint64_t nr_traces;
};

static void put(struct out *o, const void *data, size_t bytes)
{
	if (fwrite(data, 1, bytes, o->file) != bytes) {
		perror("who_make");
		exit(1);
	}
	o->nr_bytes += bytes;
}

static uint8_t *store(uint8_t *p, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		*p++ = (uint8_t)(v >> 8 * i);
	return p;
}

/** One record under construction. */
struct rec {
	uint8_t data[256], *pos;
};

static struct rec begin(uint32_t type, uint16_t misc)
{
	struct rec r = {.pos = NULL};

	store(store(r.data, type, 4), misc, 2);
	return r;
}

static void field(struct rec *r, uint64_t v, unsigned int bytes)
{
	r->pos = store(r->pos ? r->pos : r->data + 8, v, bytes);
}

static void emit(struct out *o, struct rec *r)
{
	size_t bytes = r->pos ? (size_t)(r->pos - r->data) : 8;

	store(r->data + 6, bytes, 2);
	put(o, r->data, bytes);
}

struct stamp {
	uint64_t id, time;
	uint32_t cpu, tid;
};

/** The trailer, then the record is complete. */
static void emit_at(struct out *o, struct rec *r, struct stamp s)
{
	field(r, s.tid, 4);
	field(r, s.tid, 4);
	field(r, s.time, 8);
	field(r, s.cpu, 8);
	field(r, s.id, 8);
	emit(o, r);
}

static void attr(uint8_t *ret, uint32_t type, uint64_t config, uint64_t flags)
{
	memset(ret, 0, ATTR_BYTES);
	store(store(store(store(store(ret, type, 4), ATTR_BYTES, 4), config, 8), 1024, 8),
	      SAMPLE_TYPE, 8);
	store(ret + 40, flags | SAMPLE_ID_ALL, 8);
}

static void comm(struct out *o, struct stamp s)
{
	struct rec r = begin(COMM, 0);
	char name[16] = {0};

	snprintf(name, sizeof(name), "thread-%u", s.tid);
	field(&r, s.tid, 4);
	field(&r, s.tid, 4);
	memcpy(r.pos, name, sizeof(name));
	r.pos += sizeof(name);
	emit_at(o, &r, s);
}

/** A program of some megabytes, so that user code of the thread is no surprise. */
static void map_program(struct out *o, struct stamp s)
{
	static const char path[16] = "/usr/bin/bench";
	struct rec r = begin(MMAP, 2 /* user */);

	field(&r, s.tid, 4);
	field(&r, s.tid, 4);
	field(&r, 0x400000, 8);
	field(&r, 0x400000, 8);
	field(&r, 0, 8);
	memcpy(r.pos, path, sizeof(path));
	r.pos += sizeof(path);
	emit_at(o, &r, s);
}

static void task(struct out *o, uint32_t type, struct stamp s, uint32_t parent)
{
	struct rec r = begin(type, 0);

	field(&r, s.tid, 4);
	field(&r, parent, 4);
	field(&r, s.tid, 4);
	field(&r, parent, 4);
	field(&r, s.time, 8);
	s.tid = type == FORK ? parent : s.tid;
	emit_at(o, &r, s);
}

static void switched(struct out *o, uint16_t misc, struct stamp s, uint32_t other)
{
	struct rec r = begin(SWITCH_CPU_WIDE, misc);

	field(&r, other, 4);
	field(&r, other, 4);
	emit_at(o, &r, s);
}

/** OUT of @p from.tid, 20 ns later IN of @p to. */
static void switch_to(struct out *o, struct stamp from, uint32_t to)
{
	struct stamp in = {from.id, from.time + 20, from.cpu, to};

	switched(o, 1 << 13 | 1 << 14, from, to);
	switched(o, 0, in, from.tid);
}

static void round_end(struct out *o)
{
	struct rec r = begin(FINISHED_ROUND, 0);

	emit(o, &r);
}

/* SPE. */

static size_t spe_record(uint8_t *ret, uint64_t *seed, uint32_t context, uint64_t ticks)
{
	uint64_t random = splitmix64(seed), pc = random & 0x3fffc;
	uint8_t *p = ret;
	bool is_user = random >> 60 < 12;
	uint64_t top = (uint64_t)1 << 63 | (is_user ? 0 : (uint64_t)2 << 61);

	p = store(store(p, 0xb0, 1),
		  top | (is_user ? 0x400000 + pc : (KERNEL_TEXT + pc) & 0xffffffffffffff), 8);
	p = store(store(store(store(p, 0x65, 1), context, 4), 0x99, 1), 4, 2);
	p = store(store(p, 0x98, 1), 4 + (random >> 20) % 300, 2);
	if (random >> 40 & 1) {
		p = store(store(store(store(p, 0x52, 1), 0x16, 2), 0x49, 1), random >> 41 & 1, 1);
		p = store(store(p, 0xb2, 1),
			  (splitmix64(seed) & 0x7fffffffffff) |
				  (is_user ? 0 : (uint64_t)0x1ffff << 47),
			  8);
		p = store(store(store(store(p, 0x9a, 1), 1, 2), 0x43, 1), random >> 42 & 0xb, 1);
	} else {
		p = store(store(store(store(p, 0x52, 1), 0x42, 2), 0x4a, 1), 1, 1);
		p = store(store(p, 0xb1, 1),
			  top | (is_user ? 0x400000 + (pc ^ 0x40)
					 : (KERNEL_TEXT + (pc ^ 0x40)) & 0xffffffffffffff),
			  8);
	}
	return (size_t)(store(store(p, 0x71, 1), ticks, 8) - ret);
}

/** A CPU while it is recorded. */
struct cpu {
	uint32_t number, running, nr_taken;
	uint64_t ticks, aux_offset, seed;
};

/** CHUNK_RECORDS records and the switches among them. */
static void chunk(struct out *o, struct cpu *c, uint32_t nr_records)
{
	static uint8_t data[CHUNK_RECORDS * 64 + 8];
	size_t bytes = 0, padded;
	struct rec r = begin(AUX, 0);

	for (uint32_t i = 0; i < nr_records; i++, c->ticks += 37) {
		bytes += spe_record(data + bytes, &c->seed, 100 + c->running, c->ticks);
		if (++c->nr_taken % RECORDS_PER_SWITCH)
			continue;
		switch_to(o,
			  (struct stamp){SIDEBAND_ID + c->number, c->ticks + 8, c->number,
					 100 + c->running},
			  100 + (c->running + 1) % NR_RUNNING);
		c->running = (c->running + 1) % NR_RUNNING;
	}
	padded = (bytes + 7) & ~(size_t)7;
	memset(data + bytes, 0, padded - bytes);
	field(&r, c->aux_offset, 8);
	field(&r, padded, 8);
	field(&r, 0, 8);
	emit_at(o, &r, (struct stamp){AUX_ID + c->number, c->ticks, c->number, 100 + c->running});
	o->index[o->nr_traces].at = o->nr_bytes;
	o->index[o->nr_traces++].bytes = 48;
	r = begin(AUXTRACE, 0);
	for (int i = 0; i < 3; i++)
		field(&r, i == 0 ? padded : i == 1 ? c->aux_offset : c->ticks, 8);
	field(&r, c->number, 4);
	field(&r, UINT32_MAX, 4);
	field(&r, c->number, 4);
	field(&r, 0, 4);
	emit(o, &r);
	put(o, data, padded);
	c->aux_offset += padded;
}

static void spe_start(struct out *o)
{
	struct rec r = begin(TIME_CONV, 0);

	for (int i = 0; i < 5; i++)
		field(&r, i == 1, 8); /* shift 0, mult 1, zero, cycles, mask */
	field(&r, 1, 8);
	emit(o, &r);
	r = begin(AUXTRACE_INFO, 0);
	field(&r, 4, 8);
	field(&r, SPE_PMU, 8);
	field(&r, 1, 8);
	emit(o, &r);
	for (uint32_t i = 0; i < NR_RUNNING; i++) {
		comm(o, (struct stamp){SIDEBAND_ID, 0, 0, 100 + i});
		map_program(o, (struct stamp){SIDEBAND_ID, 0, 0, 100 + i});
	}
}

/** What is before the records of a file: header, ids, attrs. */
static void file_head(struct out *o, uint32_t nr_cpus, uint64_t data_bytes)
{
	uint64_t ids = (uint64_t)nr_cpus * 2 * 8,
		 words[12] = {HEAD_BYTES,
			      ATTR_BYTES + 16,
			      HEAD_BYTES + ids,
			      2 * (ATTR_BYTES + 16),
			      HEAD_BYTES + ids + 2 * (ATTR_BYTES + 16),
			      data_bytes,
			      0,
			      0,
			      data_bytes ? 1 << 18 : 0};
	uint8_t head[HEAD_BYTES] = "PERFILE2", one[ATTR_BYTES + 16], id[8];

	for (size_t i = 0; i < 12; i++)
		store(head + 8 + 8 * i, words[i], 8);
	put(o, head, sizeof(head));
	for (uint32_t i = 0; i < 2 * nr_cpus; i++) {
		store(id, i < nr_cpus ? AUX_ID + i : SIDEBAND_ID + i - nr_cpus, 8);
		put(o, id, sizeof(id));
	}
	for (uint32_t i = 0; i < 2; i++) {
		attr(one, i ? 1 : SPE_PMU, i ? 9 : (uint64_t)7 << 32 | 1,
		     i ? CONTEXT_SWITCH | COMM_TASK : 0);
		store(store(one + ATTR_BYTES, HEAD_BYTES + (uint64_t)i * nr_cpus * 8, 8),
		      (uint64_t)nr_cpus * 8, 8);
		put(o, one, sizeof(one));
	}
}

/** The AUXTRACE index, and the sizes in the header. */
static void file_end(struct out *o, uint32_t nr_cpus, uint64_t data_at)
{
	uint64_t end = o->nr_bytes;
	uint8_t word[8];

	for (uint64_t i = 0; i < 3 + 2 * o->nr_traces; i++) {
		uint64_t k = i - 3, section[3] = {end + 16, 8 + 16 * o->nr_traces, o->nr_traces};

		store(word,
		      i < 3   ? section[i]
		      : k % 2 ? o->index[k / 2].bytes
			      : o->index[k / 2].at,
		      8);
		put(o, word, sizeof(word));
	}
	rewind(o->file);
	file_head(o, nr_cpus, end - data_at);
}

static int make_spe(struct out *o, uint64_t nr_records, uint32_t nr_cpus)
{
	struct cpu cpus[64];
	uint64_t data_at, nr_left;

	if (!nr_cpus || nr_cpus > 64 ||
	    nr_records / CHUNK_RECORDS + nr_cpus > sizeof(o->index) / sizeof(*o->index))
		return 2;
	file_head(o, nr_cpus, 0);
	data_at = o->nr_bytes;
	spe_start(o);
	for (uint32_t i = 0; i < nr_cpus; i++)
		cpus[i] = (struct cpu){.number = i, .running = i, .ticks = 1000000 + i, .seed = i};
	for (uint64_t done = 0, n = 0; done < nr_records; n++) {
		nr_left = nr_records - done;
		chunk(o, &cpus[n % nr_cpus],
		      nr_left < CHUNK_RECORDS ? (uint32_t)nr_left : CHUNK_RECORDS);
		done += CHUNK_RECORDS;
		if (n % nr_cpus == nr_cpus - 1)
			round_end(o);
	}
	round_end(o);
	file_end(o, nr_cpus, data_at);
	return 0;
}

/* A day of switches. */

static int make_threads(struct out *o, uint32_t nr_threads, uint64_t nr_switches)
{
	enum { NR_CPUS = 8, ROUND_SWITCHES = 4096 };
	const uint64_t step = (uint64_t)86400 * 1000000000 / (nr_switches + 1);
	uint32_t running[NR_CPUS] = {0}, nr_born = 0;
	struct rec r = begin(HEADER_ATTR, 0);
	uint8_t head[16] = "PERFILE2";
	uint64_t seed = 1;

	store(head + 8, sizeof(head), 8);
	put(o, head, sizeof(head));
	attr(r.data + 8, 1, 9, CONTEXT_SWITCH | COMM_TASK);
	r.pos = r.data + 8 + ATTR_BYTES;
	field(&r, SIDEBAND_ID, 8);
	emit(o, &r);
	for (uint64_t n = 0; n < nr_switches; n++) {
		uint32_t cpu = (uint32_t)(n % NR_CPUS), from = running[cpu];
		struct stamp s = {SIDEBAND_ID, 1000000000 + n * step, cpu, from};

		if (nr_born < nr_threads && n * nr_threads >= nr_born * nr_switches) {
			uint32_t parent = from ? from : 1;

			s.tid = 10 + nr_born++;
			task(o, FORK, s, parent);
			comm(o, s);
			s.tid = from;
		}
		running[cpu] = nr_born ? 10 + (uint32_t)(splitmix64(&seed) % nr_born) : 1;
		s.time += 100;
		switch_to(o, s, running[cpu]);
		if (n % ROUND_SWITCHES == ROUND_SWITCHES - 1)
			round_end(o);
	}
	round_end(o);
	return 0;
}

int main(int argc, char **argv)
{
	static struct out o;
	int status = 2;

	if (argc == 5)
		o.file = fopen(argv[4], "wb");
	if (o.file && !strcmp(argv[1], "spe"))
		status = make_spe(&o, strtoull(argv[2], NULL, 10),
				  (uint32_t)strtoul(argv[3], NULL, 10));
	else if (o.file && !strcmp(argv[1], "threads"))
		status = make_threads(&o, (uint32_t)strtoul(argv[2], NULL, 10),
				      strtoull(argv[3], NULL, 10));
	if (status)
		fputs("Usage: who_make spe RECORDS CPUS FILE | who_make threads THREADS SWITCHES FILE\n",
		      stderr);
	return o.file && fclose(o.file) ? 1 : status;
}
