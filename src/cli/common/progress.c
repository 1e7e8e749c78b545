/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/terminal.h"
#include "os/thread.h"

enum { QUIET_MS = 1000, REDRAW_MS = 250, DEFAULT_COLUMNS = 80, LINE_BYTES = 256 };

/* One terminal, one line. */
static struct {
	struct progress shown;
	struct os_thread *thread; /* NULL: nothing is drawn */
	struct os_lock *lock;     /* of all below */
	uint64_t begun_ns;
	const char *phase;   /* that was drawn last, */
	uint64_t phase_ns;   /* since when, */
	uint64_t phase_done; /* and from where on */
	bool is_ending, is_drawn, is_stopped;
} line;

static void erase(void)
{
	static const char clear[] = "\r\033[K";

	if (line.is_drawn)
		os_write_all(STDERR_FILENO, clear, sizeof(clear) - 1);
	line.is_drawn = false;
	os_interrupt_line(false);
}

static int put_time(char *to, size_t size, uint64_t seconds)
{
	if (seconds < 60)
		return snprintf(to, size, "%llu s", (unsigned long long)seconds);
	if (seconds < 60 * 60)
		return snprintf(to, size, "%llu min %llu s", (unsigned long long)seconds / 60,
				(unsigned long long)seconds % 60);
	return snprintf(to, size, "%llu h %llu min", (unsigned long long)seconds / 3600,
			(unsigned long long)seconds / 60 % 60);
}

static int put_rate(char *to, size_t size, double bytes_per_s)
{
	double mb = bytes_per_s / 1e6;

	return snprintf(to, size, mb < 10 ? ", %.1f MB/s" : ", %.0f MB/s", mb);
}

/* Speed and time left of the phase; nothing: too early to say. */
static void put_speed(const struct cli_progress_state *s, char *to, size_t size)
{
	double rate = (double)s->went / ((double)s->spent_ns / 1e9);
	uint64_t left;
	char time[64];
	int n = 0;

	to[0] = 0;
	if (!s->went || s->spent_ns < QUIET_MS * NS_PER_MS)
		return;
	left = (uint64_t)((double)(s->total - s->done) / rate + 0.5);
	put_time(time, sizeof(time), left);
	if (s->has_bytes)
		n = put_rate(to, size, rate);
	snprintf(to + n, size - (size_t)n, ", %s left", time);
}

void cli_progress_text(const struct cli_progress_state *s, char *to, size_t size)
{
	struct cli_progress_state known = *s;
	char end[128];

	if (!s->total) {
		put_time(end, sizeof(end), s->spent_ns / (1000 * NS_PER_MS));
		snprintf(to, size, "clew: %s: %s", s->phase, end);
		return;
	}
	known.done = s->done < s->total ? s->done : s->total;
	put_speed(&known, end, sizeof(end));
	snprintf(to, size, "clew: %s: %.0f %%%s", s->phase,
		 100.0 * (double)known.done / (double)s->total, end);
}

static void put_line(char *text, size_t size, const char *phase, uint64_t now)
{
	uint64_t done = atomic_load_explicit(&line.shown.done, memory_order_relaxed);
	const struct cli_progress_state s = {
		.phase = phase,
		.done = done,
		.total = atomic_load_explicit(&line.shown.total, memory_order_relaxed),
		.has_bytes = atomic_load_explicit(&line.shown.has_bytes, memory_order_relaxed),
		.spent_ns = now - line.phase_ns,
		.went = done > line.phase_done ? done - line.phase_done : 0};

	cli_progress_text(&s, text, size);
}

static void draw(uint64_t now)
{
	unsigned int columns = os_terminal_columns(STDERR_FILENO);
	char text[LINE_BYTES], whole[LINE_BYTES + 8];
	int n;

	put_line(text, sizeof(text), line.phase, now);
	columns = columns ? columns : DEFAULT_COLUMNS;
	n = snprintf(whole, sizeof(whole), "\r\033[K%.*s", (int)columns - 1, text);
	os_interrupt_line(true);
	line.is_drawn = true;
	os_write_all(STDERR_FILENO, whole, (size_t)n);
}

/* A phase's speed is measured from when it is first seen. */
static void look(void)
{
	const char *phase = atomic_load_explicit(&line.shown.phase, memory_order_relaxed);
	uint64_t now = os_clock_ns();

	if (phase != line.phase) {
		line.begun_ns = line.phase ? line.begun_ns : now;
		line.phase = phase;
		line.phase_ns = now;
		line.phase_done = atomic_load_explicit(&line.shown.done, memory_order_relaxed);
	}
	if (!phase)
		erase();
	if (!phase || line.is_stopped || now - line.begun_ns < QUIET_MS * NS_PER_MS)
		return;
	if (os_is_foreground(STDERR_FILENO))
		draw(now);
}

static void run(void *ctx)
{
	(void)ctx;
	os_lock(line.lock);
	while (!line.is_ending) {
		look();
		os_lock_wait_ms(line.lock, REDRAW_MS);
	}
	os_unlock(line.lock);
}

/* Without memory or a thread there is no line, and no error. */
static void start(void)
{
	line.begun_ns = line.phase_ns = os_clock_ns();
	line.phase = NULL;
	line.is_ending = false;
	line.lock = os_lock_new();
	if (!line.lock)
		return;
	os_interrupt_init();
	line.thread = os_thread_start(run, NULL);
	if (line.thread)
		return;
	os_lock_free(line.lock);
	line.lock = NULL;
}

void cli_progress_begin(const char *phase, uint64_t total)
{
	progress_begin(&line.shown, phase, total);
	if (!line.thread && !line.is_stopped && isatty(STDERR_FILENO))
		start();
}

void cli_progress_at(uint64_t done)
{
	progress_at(&line.shown, done);
}

void cli_progress_end(void)
{
	progress_begin(&line.shown, NULL, 0);
	if (!line.thread)
		return;
	os_lock(line.lock);
	line.is_ending = true;
	os_lock_wake_all(line.lock);
	os_unlock(line.lock);
	os_thread_join(line.thread);
	erase();
	os_lock_free(line.lock);
	line.thread = NULL;
	line.lock = NULL;
}

struct progress *cli_progress(void)
{
	return &line.shown;
}

void cli_progress_pause(void)
{
	if (!line.thread)
		return;
	os_lock(line.lock);
	erase();
}

void cli_progress_resume(void)
{
	if (line.thread)
		os_unlock(line.lock);
}

void cli_progress_stop(void)
{
	cli_progress_pause();
	line.is_stopped = true;
	cli_progress_resume();
}
