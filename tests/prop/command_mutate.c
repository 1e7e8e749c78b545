/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/trace/trace_commands.h"
#include "make/defer_make.h"
#include "prop/mutate.h"

/*
 * Damaged recordings through the whole commands, in this process: script with and without chains
 * and other records, report in its forms, header, evlist, trace, dump, inject. Their output goes
 * nowhere; their status is 0 or 1, nothing else.
 */

/* In memory: a file system that is asked to truncate and close a file writes it out each time. */
static int memory;
static char path[64];

struct command {
	int (*run)(int argc, char **argv);
	const char *words[12];
};

static const struct command commands[] = {
	{cmd_script,   {"script"}							     },
	{cmd_script,
	 {"script", "--show-mmap-events", "--show-task-events", "--show-switch-events",
	  "--show-namespace-events", "--show-lost-events", "--show-bpf-events",
	  "--show-round-events", "--show-cgroup-events", "--show-text-poke-events"}           },
	{cmd_report,   {"report", "--stdio"}						  },
	{cmd_report,   {"report", "--json"}						   },
	{cmd_report,   {"report", "--stats"}						  },
	{cmd_report,   {"report", "--sort", "comm,dso,sym,cpu", "--no-children"}              },
	{cmd_script,   {"script", "--no-merge-callchains"}                                    },
	{cmd_script,   {"script", "--json"}						   },
	{cmd_script,   {"script", "--stats"}						  },
	{cmd_script,   {"script", "-D"}						       },
	{cmd_header,   {"header", "-I"}						       },
	{cmd_header,   {"header", "--json"}						   },
	{cmd_evlist,   {"evlist", "-v"}						       },
	{cmd_evlist,   {"evlist", "--json"}						   },
	{cmd_annotate, {"annotate", "-n", "--group", "--max-symbols", "50"}                   },
	{cmd_annotate, {"annotate", "--json", "--max-symbols", "50"}                          },
	{cmd_report,   {"report", "--mem"}						    },
	{cmd_report,   {"report", "--mem", "--json", "--sort", "comm,srcline"}                },
	{cmd_report,   {"report", "--branch"}						 },
	{cmd_export,   {"export", "--to", "pprof", "-q"}                                      },
	{cmd_export,   {"export", "--to", "collapsed", "--by", "tid,cgroup"}                  },
	{cmd_export,   {"export", "--to", "speedscope", "-q"}                                 },
	{cmd_export,   {"export", "--to", "callgrind", "--json"}                              },
	{cmd_export,   {"export", "--to", "llvm", "--json"}                                   },
	{cmd_export,   {"export", "--to", "lcov", "--samples", "-q"}                          },
	{cmd_export,   {"export", "--to", "llvm-profgen"}                                     },
	{cmd_report,
	 {"report", "--json", "--sort", "namespace,container,machine,vcpu,level,evidence,tid"}},
	{cmd_script,   {"script", "--itrace=fmtbaMi1il2", "-F", "+who"}                       },
	{cmd_trace,    {"trace", "--json"}						    },
	{cmd_trace,    {"trace", "--digest"}						  },
	{cmd_dump,     {"dump", "--json"}						     },
	{cmd_inject,   {"inject"}							     },
	{cmd_inject,   {"inject", "--format=bolt"}                                            },
};

enum { NR_COMMANDS = sizeof(commands) / sizeof(*commands), MAX_WORDS = 18, HANG_SECONDS = 20 };

static bool write_copy(struct bytes copy)
{
	return !ftruncate(memory, 0) &&
	       pwrite(memory, copy.pos, bytes_left(&copy), 0) == (ssize_t)bytes_left(&copy);
}

/* Binaries and kernel symbols of this machine are left alone: the result is to depend on the copy
 * only. */
static int run_command(const struct command *c)
{
	static const char *const common[] = {"-i",           path,         "--symfs",
					     "/nonexistent", "--kallsyms", "/dev/null"};
	bool has_symbols = c->run != cmd_header && c->run != cmd_evlist && c->run != cmd_dump;
	char *argv[MAX_WORDS + 1] = {0};
	int argc = 0;

	for (; c->words[argc]; argc++)
		argv[argc] = (char *)(uintptr_t)c->words[argc];
	for (int i = 0; i < (has_symbols ? 6 : 2); i++)
		argv[argc++] = (char *)(uintptr_t)common[i];
	return c->run(argc, argv);
}

static bool use(void *ctx, struct bytes copy, uint64_t nr)
{
	const struct command *c = &commands[nr % NR_COMMANDS];
	int out = dup(1), err = dup(2), null = open("/dev/null", O_WRONLY), status;

	(void)ctx;
	if (!write_copy(copy))
		return false;
	fflush(stdout);
	dup2(null, 1);
	dup2(null, 2);
	alarm(HANG_SECONDS); /* ends this process, and so the test */
	status = run_command(c);
	alarm(0);
	fflush(stdout);
	dup2(out, 1);
	dup2(err, 2);
	close(out);
	close(err);
	close(null);
	if (status != 0 && status != 1)
		printf("# copy %llu: %s ended with status %d\n", (unsigned long long)nr,
		       c->words[0], status);
	return status == 0 || status == 1;
}

/* What damage once made of a recording, and no command liked. */
static void test_empty_names(struct mutate *m)
{
	static const struct perf_attr attr = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							     PERF_SAMPLE_TIME};
	const union perf_view map = {
		.mmap = {1, 1, 0x1000, 0x1000, 0, ""}
        };
	const union perf_view comm = {
		.comm = {1, 1, ""}
        };
	struct perf_build b = {0};
	struct bytes file;

	perf_build_event(&b, &attr, "", (uint64_t[]){1}, 1);
	perf_build_event_desc(&b);
	perf_build_view(&b, PERF_RECORD_COMM, 0, &comm, NULL);
	perf_build_view(&b, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, &map, NULL);
	perf_build_sample(
		&b, 0,
		&(struct perf_sample){.ip = 0x1800, .pid = 1, .tid = 1, .time = 5, .misc = 2});
	file = perf_build_finish(&b);
	for (uint64_t i = 0; i < NR_COMMANDS; i++)
		m->nr_wrong += !use(NULL, file, i);
	perf_build_done(&b);
}

static void test_deferred(struct mutate *m, const char *name, struct perf_build_opts opts,
			  uint32_t compress_type)
{
	struct perf_build b = {.opts = opts};

	if (compress_type)
		perf_build_compress(&b, compress_type);
	defer_make_story(&b);
	if (compress_type)
		perf_build_compress_end(&b, 500);
	mutate_bytes(m, name, perf_build_finish(&b));
	perf_build_done(&b);
}

int main(int argc, char **argv)
{
	struct mutate m = {.use = use};

	memory = memfd_create("clew-command-mutate", MFD_CLOEXEC);
	if (memory < 0)
		return 1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	test_empty_names(&m);
	mutate_built(&m, "file", (struct perf_build_opts){0}, 0);
	mutate_built(&m, "pipe", (struct perf_build_opts){.pipe = true}, 0);
	mutate_built(&m, "compressed", (struct perf_build_opts){0}, PERF_RECORD_COMPRESSED);
	test_deferred(&m, "deferred stacks", (struct perf_build_opts){0}, 0);
	test_deferred(&m, "deferred stacks, compressed", (struct perf_build_opts){.pipe = true},
		      PERF_RECORD_COMPRESSED);
	for (int i = 1; i < argc; i++)
		mutate_path(&m, argv[i]);
	mutate_check_memory();
	close(memory);
	return mutate_done();
}
