/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/terminal.h"
#include "os/thread.h"

enum { QUIET_MS = 1000, REDRAW_MS = 250, DEFAULT_COLUMNS = 80, LINE_BYTES = 256 };

#define NS_PER_MS 1000000ull

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

/* Time left of the phase, from its speed so far. @return false: too early to say. */
static bool time_left(uint64_t done, uint64_t total, uint64_t now, uint64_t *ret_seconds)
{
	double spent = (double)(now - line.phase_ns) / 1e9, went;

	if (done <= line.phase_done || now - line.phase_ns < QUIET_MS * NS_PER_MS)
		return false;
	went = (double)(done - line.phase_done);
	*ret_seconds = (uint64_t)(spent * (double)(total - done) / went + 0.5);
	return true;
}

static void put_line(char *text, size_t size, const char *phase, uint64_t now)
{
	uint64_t total = atomic_load_explicit(&line.shown.total, memory_order_relaxed);
	uint64_t done = atomic_load_explicit(&line.shown.done, memory_order_relaxed), left;
	char time[64];

	if (!total) {
		put_time(time, sizeof(time), (now - line.phase_ns) / (1000 * NS_PER_MS));
		snprintf(text, size, "clew: %s: %s", phase, time);
		return;
	}
	done = done < total ? done : total;
	if (time_left(done, total, now, &left)) {
		put_time(time, sizeof(time), left);
		snprintf(text, size, "clew: %s: %.0f %%, %s left", phase,
			 100.0 * (double)done / (double)total, time);
	} else {
		snprintf(text, size, "clew: %s: %.0f %%", phase,
			 100.0 * (double)done / (double)total);
	}
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
