// SPDX-License-Identifier: LGPL-2.1-or-later
/* Usage: frame_bench FILE [ROUNDS]: demultiplex FILE's 16-byte frames, fed in pieces of 64 KiB with
 * the streams emptied after each, and as a whole; the best round of each. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "packet/coresight/cs_frame.h"

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t drain(struct cs_demux *d)
{
	uint64_t nr = 0;

	for (unsigned int id = 0; id < CS_NR_IDS; id++) {
		struct cs_stream *s = cs_demux_stream(d, id);

		if (!s)
			continue;
		nr += s->bytes.nr;
		s->bytes.nr = s->marks.nr = 0;
	}
	return nr;
}

static uint64_t take_apart(const uint8_t *data, size_t bytes, size_t piece)
{
	struct cs_demux *d = cs_demux_new(CS_MEMORY);
	uint64_t nr = 0, offset;
	enum cs_event event;

	for (size_t at = 0; at < bytes; at += piece) {
		struct bytes in = bytes_of(data + at, bytes - at < piece ? bytes - at : piece);

		do {
			if (!d || !cs_demux_feed(d, &in, &event, &offset))
				exit(1);
		} while (event != CS_DONE);
		nr += drain(d);
	}
	cs_demux_free(d);
	return nr;
}

static void measure(const char *what, const uint8_t *data, size_t bytes, size_t piece, int rounds)
{
	uint64_t nr = 0;
	double best = 0;

	for (int i = 0; i < rounds; i++) {
		double start = now_ns(), took;

		nr = take_apart(data, bytes, piece);
		took = now_ns() - start;
		if (!i || took < best)
			best = took;
	}
	printf("%-16s %8zu frames %9llu bytes out %9.3f ms %6.2f ns a frame\n", what, bytes / 16,
	       (unsigned long long)nr, best / 1e6, best / (double)(bytes / 16));
}

int main(int argc, char **argv)
{
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
	int rounds = argc > 2 ? atoi(argv[2]) : 50;
	uint8_t *data = malloc(64 << 20);
	size_t bytes;

	if (!f || !data)
		return 1;
	bytes = fread(data, 1, 64 << 20, f);
	fclose(f);
	if (bytes < 16)
		return 1;
	measure("pieces of 64 KiB", data, bytes, 64 << 10, rounds);
	measure("as a whole", data, bytes, bytes, rounds);
	free(data);
	return 0;
}
