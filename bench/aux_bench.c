// SPDX-License-Identifier: LGPL-2.1-or-later
/* Usage: aux_bench FILE [MiB]: drain a made-up AUX area of 4 MiB, half of it at a time, into FILE,
 * as a recording does, and write the same bytes with write(2) alone; the CPU time of each in ms per
 * GiB, the least of five rounds by turns. FILE is overwritten. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "record/aux/aux_drain.h"
#include "record/plan/rec_file.h"

enum { AREA = 4 << 20, PIECE = AREA / 2, AT_AUX_HEAD = 1056, ROUNDS = 5 };

static uint64_t page[512];

static double cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static double drain(const char *path, const uint8_t *area, size_t nr_pieces)
{
	static const struct rec_aux_place place = {.tid = UINT32_MAX};
	struct os_ring r = {.page = page, .aux = area, .aux_bytes = AREA};
	struct perf_evlist none = {0};
	struct rec_error error = {0};
	struct rec_file f = {0};
	uint64_t bytes = 0;
	double from;

	page[AT_AUX_HEAD / 8] = 0;
	if (rec_file_open(&f, path, &none, &(struct perf_writer_opts){0}, &error))
		exit(1);
	from = cpu_ms();
	for (size_t i = 0; i < nr_pieces; i++) {
		page[AT_AUX_HEAD / 8] += PIECE;
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

int main(int argc, char **argv)
{
	size_t nr = (argc > 2 ? strtoul(argv[2], NULL, 0) : 1024) * (1 << 20) / PIECE;
	double scale = 1024.0 * (1 << 20) / PIECE / (double)nr, best[2] = {1e9, 1e9};
	uint8_t *area = malloc(AREA);

	if (argc < 2 || !area || !nr)
		return 2;
	memset(area, 0x5a, AREA);
	for (int i = 0; i < ROUNDS; i++) {
		double ms[2];

		unlink(argv[1]);
		ms[0] = drain(argv[1], area, nr);
		unlink(argv[1]);
		ms[1] = write_alone(argv[1], area, nr);
		for (int k = 0; k < 2; k++)
			best[k] = ms[k] < best[k] ? ms[k] : best[k];
	}
	unlink(argv[1]);
	free(area);
	printf("drain: %.0f ms of CPU per GiB; write(2) alone: %.0f; ratio %.3f\n", best[0] * scale,
	       best[1] * scale, best[0] / best[1]);
	return 0;
}
