/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Usage: top_churn LIBRARY
 *
 * New code and new threads all the time, until it is killed: each thread runs a function that was
 * made just before, named in /tmp/perf-PID.map; now and then a copy of LIBRARY under a new name is
 * loaded, and its function top_spin() called.
 */
enum { SLOTS = 16, NAMES_KEPT = 20000, LOAD_EVERY = 16 };

#if defined(__x86_64__)
/* mov $0x40000, %ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char code[] = {0xb9, 0, 0, 4, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
#elif defined(__aarch64__)
/* mov w0, #0x40000; 1: subs w0, w0, #1; b.ne 1b; ret */
static const unsigned int code[] = {0x52a00080, 0x71000400, 0x54ffffe1, 0xd65f03c0};
#else
static const unsigned char code[1];
#endif

static FILE *names;

static void *make_function(unsigned int n)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *function = page + n % SLOTS * 64;

	if (page == MAP_FAILED)
		exit(2);
	memcpy(function, code, sizeof(code));
	__builtin___clear_cache(function, function + sizeof(code));
	if (n % NAMES_KEPT == 0 && (rewind(names), ftruncate(fileno(names), 0)))
		exit(2);
	fprintf(names, "%lx %zx generated_%u\n", (unsigned long)function, sizeof(code), n);
	fflush(names);
	return function;
}

static void *run(void *function)
{
	((void (*)(void))function)();
	return NULL;
}

static void run_in_thread(unsigned int n, void *function)
{
	pthread_t thread;
	char name[16];

	if (pthread_create(&thread, NULL, run, function))
		exit(2);
	snprintf(name, sizeof(name), "churn-%u", n);
	pthread_setname_np(thread, name);
	pthread_join(thread, NULL);
	munmap((void *)((unsigned long)function & ~4095ul), 4096);
}

static void copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	char buffer[65536];
	ssize_t n;

	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		if (write(out, buffer, (size_t)n) != n)
			exit(2);
	close(in);
	close(out);
}

static void load(const char *library, unsigned int n)
{
	char path[4096];
	void *handle;
	void (*spin)(void);

	snprintf(path, sizeof(path), "%s.%u", library, n);
	copy(library, path);
	handle = dlopen(path, RTLD_NOW);
	spin = handle ? (void (*)(void))dlsym(handle, "top_spin") : NULL;
	if (spin)
		spin();
	unlink(path);
	if (!spin)
		exit(2);
	dlclose(handle);
}

int main(int argc, char **argv)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	names = argc > 1 && sizeof(code) > 1 ? fopen(path, "w") : NULL;
	if (!names)
		return 2;
	for (unsigned int n = 0;; n++) {
		run_in_thread(n, make_function(n));
		if (n % LOAD_EVERY == 0)
			load(argv[1], n);
	}
}
