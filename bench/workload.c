// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A program worth profiling: threads that build, print, parse and evaluate random expressions, by
 * functions that call each other to a depth of 10 to 40, with system calls, page faults and
 * context switches in between. Built with frame pointers, so that user call chains are whole.
 *
 * Usage: workload SECONDS [THREADS [ROUNDS]]: for SECONDS, or with ROUNDS until each thread has
 * done so many. Prints the seconds it took.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TEXT_BYTES = 1 << 16, MAX_DEPTH = 12, NR_ROUNDS_PER_WRITE = 16 };

struct work {
	uint64_t seed;
	char text[TEXT_BYTES];
	size_t text_bytes;
	const char *pos;
	double sorted[512];
};

static double stop_at; /* seconds of CLOCK_MONOTONIC */
static unsigned long max_rounds;

static uint32_t random_below(struct work *w, uint32_t limit)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->seed >> 33) % limit;
}

static void put(struct work *w, const char *text)
{
	while (*text && w->text_bytes < TEXT_BYTES - 1)
		w->text[w->text_bytes++] = *text++;
	w->text[w->text_bytes] = 0;
}

/* Numbers are written and read here, not by libc, which keeps no frame pointers. */
static void put_number(struct work *w, uint32_t value)
{
	char digits[12];
	char *p = digits + sizeof(digits) - 1;

	*p = 0;
	do {
		*--p = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	put(w, p);
}

static void write_sum(struct work *w, int depth);

static void write_factor(struct work *w, int depth)
{
	if (depth < MAX_DEPTH && w->text_bytes < TEXT_BYTES / 2 && random_below(w, 10) < 7) {
		put(w, "(");
		write_sum(w, depth + 1);
		put(w, ")");
	} else {
		put_number(w, random_below(w, 1000000) + 1);
	}
}

static void write_product(struct work *w, int depth)
{
	write_factor(w, depth);
	if (random_below(w, 2)) {
		put(w, "*");
		write_factor(w, depth);
	}
}

static void write_sum(struct work *w, int depth)
{
	write_product(w, depth);
	if (random_below(w, 3)) {
		put(w, random_below(w, 2) ? "+" : "-");
		write_product(w, depth);
	}
}

static double parse_number(struct work *w)
{
	double value = 0;

	for (; *w->pos >= '0' && *w->pos <= '9'; w->pos++)
		value = value * 10 + (*w->pos - '0');
	return value;
}

static double parse_sum(struct work *w);

static double parse_factor(struct work *w)
{
	double value;

	if (*w->pos == '(') {
		w->pos++;
		value = parse_sum(w);
		w->pos += *w->pos == ')';
		return value;
	}
	return parse_number(w);
}

static double parse_product(struct work *w)
{
	double value = parse_factor(w);

	while (*w->pos == '*') {
		w->pos++;
		value *= parse_factor(w);
	}
	return value;
}

static double parse_sum(struct work *w)
{
	double value = parse_product(w);

	while (*w->pos == '+' || *w->pos == '-') {
		char sign = *w->pos++;
		double right = parse_product(w);

		value = sign == '+' ? value + right : value - right;
	}
	return value;
}

static int compare_values(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void save_text(const struct work *w)
{
	FILE *file = tmpfile();
	char *copy = malloc(w->text_bytes + 1);

	if (file && copy) {
		fwrite(w->text, 1, w->text_bytes, file);
		rewind(file);
		if (fread(copy, 1, w->text_bytes, file) != w->text_bytes)
			fputs("short read\n", stderr);
	}
	free(copy);
	if (file)
		fclose(file);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is_done(unsigned long round)
{
	return max_rounds ? round >= max_rounds : now() >= stop_at;
}

static void *run_rounds(void *arg)
{
	struct work *w = arg;
	size_t nr = sizeof(w->sorted) / sizeof(w->sorted[0]);

	for (unsigned long round = 0; !is_done(round); round++) {
		w->text_bytes = 0;
		write_sum(w, 0);
		w->pos = w->text;
		w->sorted[round % nr] = parse_sum(w);
		if (round % nr == nr - 1)
			qsort(w->sorted, nr, sizeof(w->sorted[0]), compare_values);
		if (round % NR_ROUNDS_PER_WRITE == 0)
			save_text(w);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1, start = now();
	int nr_threads = argc > 2 ? atoi(argv[2]) : 4;
	pthread_t thread[64];
	char name[16];

	if (seconds <= 0 || nr_threads < 1 || nr_threads > 64)
		return 2;
	max_rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	stop_at = start + seconds;
	for (int i = 0; i < nr_threads; i++) {
		struct work *w = calloc(1, sizeof(*w));

		if (!w)
			return 1;
		w->seed = (uint64_t)i + 1;
		if (pthread_create(&thread[i], NULL, run_rounds, w))
			return 1;
		snprintf(name, sizeof(name), "worker-%d", i);
		pthread_setname_np(thread[i], name);
	}
	for (int i = 0; i < nr_threads; i++)
		pthread_join(thread[i], NULL);
	printf("%.4f\n", now() - start);
	return 0;
}
