/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What making and compiling an SFrame section of a binary costs: sframe_bench FILE...
 * The section is made from .eh_frame, in versions 2 and 3. Times are the least of several runs.
 */
#include <stdio.h>
#include <time.h>

#include "elf/elf_file.h"
#include "os/file.h"
#include "unwind/eh_frame.h"
#include "unwind/sframe_write.h"
#include "unwind/unw_list.h"

enum { RUNS = 7 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double least(double a, double b)
{
	return a < 0 || b < a ? b : a;
}

static double rows_ms(const struct unw_image *image)
{
	double best = -1;

	for (int i = 0; i < RUNS; i++) {
		struct unw_list *l = unw_list_new();
		double from = now_ms();

		if (l && !sframe_rows(image, l, NULL))
			best = least(best, now_ms() - from);
		unw_list_free(l);
	}
	return best;
}

static void bench(const char *path, const struct unw_image *image, uint8_t version)
{
	const struct sframe_write_opts opts = {.version = version,
					       .abi = sframe_abi_of(image->arch, false)};
	struct unw_image with = *image;
	struct sframe_written n = {0};
	double make = -1;
	struct buf b = {0};

	for (int i = 0; i < RUNS; i++) {
		struct unw_list *l = unw_list_new();
		struct eh_frame_counts counts;
		double from = now_ms();

		buf_clear(&b);
		if (l && !eh_frame_rows(image, false, l, &counts) &&
		    !sframe_make(image, l, &opts, &b, &n))
			make = least(make, now_ms() - from);
		unw_list_free(l);
	}
	with.sframe = (struct unw_section){(uint8_t *)b.data, b.nr, 0};
	printf("%-56s %7u %8.2f %8.2f %9llu %10zu %10zu\n", path, version, make, rows_ms(&with),
	       (unsigned long long)n.nr_rows, b.nr, image->eh_frame.size);
	buf_done(&b);
}

int main(int argc, char **argv)
{
	printf("%-56s %7s %8s %8s %9s %10s %10s\n", "binary", "version", "make ms", "read ms",
	       "rows", "bytes", ".eh_frame");
	for (int i = 1; i < argc; i++) {
		struct os_map map;
		struct elf_file f = {0};
		struct unw_image image;

		if (os_map_file_private(argv[i], &map, NULL))
			continue;
		if (!elf_file_open(&f, map.data, map.size, NULL) && !unw_image_of_elf(&image, &f)) {
			bench(argv[i], &image, 2);
			bench(argv[i], &image, 3);
		}
		elf_file_done(&f);
		os_map_done(&map);
	}
	return 0;
}
