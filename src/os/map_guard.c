/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/map_guard.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* A page of zeros takes the place of the one that the file no longer has. It may be written to, as
 * os_map_file_private() has it. */
static void on_bus(int number, siginfo_t *info, void *context)
{
	size_t size = getauxval(AT_PAGESZ);
	uintptr_t page = (uintptr_t)info->si_addr / size * size;
	int saved = errno;

	(void)context;
	if (info->si_code != BUS_ADRERR ||
	    mmap((void *)page, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = saved;
}

void os_map_guard(void)
{
	struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}
