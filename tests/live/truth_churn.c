/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * A flood of short lives, to sample: threads that are created and end, children that fork, exec and
 * exit, a module loaded and unloaded, signals. Prints how many of each there were.
 *
 * Usage: truth_churn THREADS [SIGNALS-A-SECOND] [MODULE]
 */
enum { NR_WORKERS = 4, STACK_BYTES = 64 << 10 };

static atomic_long nr_left;
static atomic_long nr_threads, nr_children, nr_execs, nr_loads;
static volatile sig_atomic_t nr_signals;
static atomic_bool is_over;
static const char *self, *module;

static __attribute__((noinline)) unsigned spin(unsigned n)
{
	unsigned x = n;

	for (unsigned i = 0; i < n; i++) {
		x = x * 1664525U + 1013904223U;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

static void *short_life(void *arg)
{
	spin(2000);
	return arg;
}

static void have_child(bool is_exec)
{
	pid_t pid = fork();

	if (!pid) {
		spin(5000);
		if (is_exec)
			execl(self, self, "0", (char *)NULL);
		_exit(is_exec);
	}
	if (pid < 0)
		return;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	atomic_fetch_add(is_exec ? &nr_execs : &nr_children, 1);
}

static void *work(void *arg)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (long n; (n = atomic_fetch_sub(&nr_left, 1)) > 0;) {
		if (pthread_create(&t, &attr, short_life, NULL) == 0) {
			pthread_join(t, NULL);
			atomic_fetch_add(&nr_threads, 1);
		}
		if (n % 500 == 0)
			have_child(n % 1000 == 0);
	}
	pthread_attr_destroy(&attr);
	return arg;
}

static void *load_and_unload(void *arg)
{
	while (!atomic_load(&is_over)) {
		void *m = dlopen(module, RTLD_NOW);

		if (!m)
			break;
		atomic_fetch_add(&nr_loads, 1);
		spin(20000);
		dlclose(m);
	}
	return arg;
}

static void on_signal(int nr)
{
	(void)nr;
	nr_signals++;
}

static void start_signals(long hz)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec often = {.it_interval.tv_nsec = 1000000000 / hz,
				   .it_value.tv_nsec = 1000000000 / hz};
	timer_t timer;

	sigaction(SIGUSR1, &act, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
		perror("timer");
}

int main(int argc, char **argv)
{
	pthread_t workers[NR_WORKERS], loader;

	self = argv[0];
	atomic_store(&nr_left, argc > 1 ? atol(argv[1]) : 1000);
	if (argc > 2 && atol(argv[2]) > 0)
		start_signals(atol(argv[2]));
	if (argc > 3) {
		module = argv[3];
		pthread_create(&loader, NULL, load_and_unload, NULL);
	}
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_create(&workers[i], NULL, work, NULL);
	for (int i = 0; i < NR_WORKERS; i++)
		pthread_join(workers[i], NULL);
	atomic_store(&is_over, true);
	if (module)
		pthread_join(loader, NULL);
	if (argc > 1 && atol(argv[1]) > 0)
		printf("threads %ld forks %ld execs %ld loads %ld signals %ld\n",
		       atomic_load(&nr_threads), atomic_load(&nr_children), atomic_load(&nr_execs),
		       atomic_load(&nr_loads), (long)nr_signals);
	return 0;
}
