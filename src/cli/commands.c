/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/commands.h"

#include <string.h>

#include "base/near_name.h"
#include "cli/common/message.h"

/* In the order a new user meets them. */
static const struct cli_entry commands[] = {
	{"record",   "record a command or running tasks",                             cmd_record  },
	{"top",      "show where the time goes, as it goes",                          cmd_top     },
	{"stat",     "count events of a command, running tasks or the machine",       cmd_stat    },
	{"report",   "show where the time of a recording was spent",                  cmd_report  },
	{"view",     "look at a recording in a browser",                              cmd_view    },
	{"diff",     "compare recordings: what grew, and what is noise",              cmd_diff    },
	{"annotate", "show which lines and instructions of a function took the time", cmd_annotate},
	{"script",   "print a recording, event by event",                             cmd_script  },
	{"trace",    "show what a hardware trace recorded as executed",               cmd_trace   },
	{"dump",     "print the packets of a hardware trace",                         cmd_dump    },
	{"export",   "write a recording in the format of another tool",               cmd_export  },
	{"evlist",   "list the events of a recording",                                cmd_evlist  },
	{"header",   "show where, when and how a recording was made",                 cmd_header  },
	{"inject",   "turn hardware trace into a profile for a compiler",             cmd_inject  },
	{"merge",    "put recordings of virtual machines into that of their host",    cmd_merge   },
	{"sframe",   "print, verify or make SFrame unwind tables",                    cmd_sframe  },
	{"list",     "list the events that can be recorded here",                     cmd_list    },
	{"doctor",   "report what can be recorded here, and how to enable the rest",  cmd_doctor  },
	{"version",  "print the version",					     NULL        },
};

enum { NR_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* perf's commands that clew lacks, and the nearest substitute. */
static const struct {
	const char *name, *instead;
} of_perf[] = {
	{"archive",
	 "copy the binaries; 'clew report --symfs=DIR' takes them from there, by build id"                      },
	{"bench",         "use 'perf bench'"								    },
	{"buildid-cache", "'perf buildid-cache' fills ~/.debug, where clew looks too"                           },
	{"buildid-list",
	 "'clew script --show-mmap-events' prints mappings, with build ids where they have them"                },
	{"c2c",
	 "'clew report --mem' shows cache lines, where data came from and HITM, of Arm SPE or 'perf mem record'"},
	{"config",        "clew has no configuration file, only options"                                        },
	{"daemon",        "'clew record --control' and '--switch-output' are for long recordings"               },
	{"data",          "'clew script --json' turns a recording into JSON"                                    },
	{"ftrace",
	 "'clew record -e SYSTEM:EVENT' records tracepoints; 'trace-cmd' drives the kernel's tracers"           },
	{"iostat",        "use 'perf iostat'; 'clew stat -a -e block:block_rq_issue' counts requests"           },
	{"kallsyms",      "search /proc/kallsyms"							       },
	{"kmem",
	 "'clew record -g -e 'kmem:*' -a' records allocations, 'clew report' shows who makes them"              },
	{"kvm",           "'clew record -e 'kvm:*' -a' records exits, 'clew script' prints them"                },
	{"kwork",
	 "'clew record -e 'irq:*,workqueue:*' -a' records the kernel's work, 'clew script' prints it"           },
	{"lock",          "'clew record -g -e 'lock:*' -a' records waits, 'clew report' shows who waits"        },
	{"mem",
	 "'clew report --mem' shows latencies and data sources of Arm SPE or 'perf mem record'"                 },
	{"probe",
	 "name the place as an event: 'clew record -e uprobe:FILE:FUNCTION'; see 'man clew-events'"             },
	{"sched",         "'clew record -e 'sched:*' -a' records the scheduler, 'clew script' prints it"        },
	{"test",          "'make check' in clew's sources runs its tests"                                       },
	{"timechart",
	 "'clew record -e 'sched:*,power:*' -a' records these events, 'clew script --json' prints them"         },
};

void cli_commands_begin(void)
{
	cli_set_commands(commands, NR_COMMANDS);
}

const struct cli_entry *cli_command_at(size_t i)
{
	return i < NR_COMMANDS ? &commands[i] : NULL;
}

const struct cli_entry *cli_command_find(const char *name)
{
	for (size_t i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

static const char *instead_of(const char *name)
{
	for (size_t i = 0; i < sizeof(of_perf) / sizeof(of_perf[0]); i++) {
		if (!strcmp(of_perf[i].name, name))
			return of_perf[i].instead;
	}
	return NULL;
}

int cli_command_refuse(const char *name)
{
	const char *instead = instead_of(name);
	struct near_name near;

	if (instead) {
		cli_error("'%s' is a perf command that clew does not have", name);
		cli_hint("%s", instead);
		return CLI_USAGE;
	}
	near_name_start(&near, name, strlen(name));
	for (size_t i = 0; i < NR_COMMANDS; i++)
		near_name_try(&near, commands[i].name);
	cli_error("there is no command '%s'", name);
	if (*near.best)
		cli_hint("did you mean 'clew %s'?", near.best);
	else if (strchr(name, '/'))
		cli_hint("to record a program: clew record -g -- %s", name);
	else
		cli_hint("see 'clew --help'");
	return CLI_USAGE;
}
