/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "prop/etm_log.h"

enum { MAX_TEXT = 160 };

typedef void fields(char *s, const struct etm_log_entry *e);

static void nothing(char *s, const struct etm_log_entry *e)
{
	(void)e;
	*s = '\0';
}

static void reason(char *s, const struct etm_log_entry *e)
{
	static const char *const words[NR_FLOW_NO_SYNCS] = {
		[FLOW_NO_SYNC_INIT] = "init-decoder",
		[FLOW_NO_SYNC_RESET] = "reset-decoder",
		[FLOW_NO_SYNC_OVERFLOW] = "overflow",
		[FLOW_NO_SYNC_DISCARD] = "discard",
		[FLOW_NO_SYNC_BAD_PACKET] = "bad-packet",
		[FLOW_NO_SYNC_BAD_IMAGE] = "bad-program-image",
	};

	snprintf(s, MAX_TEXT, " %s", words[e->number]);
}

static void overflow(char *s, const struct etm_log_entry *e)
{
	snprintf(s, MAX_TEXT, "%s", e->number ? " after overflow" : "");
}

static void context(char *s, const struct etm_log_entry *e)
{
	static const char *const security[] = {"secure", "nonsecure", "root", "realm"};
	char cid[32] = "", vmid[32] = "";

	if (e->isa & 1 << 3)
		snprintf(cid, sizeof(cid), " cid 0x%" PRIx32, (uint32_t)e->value);
	if (e->isa & 1 << 4)
		snprintf(vmid, sizeof(vmid), " vmid 0x%" PRIx32, (uint32_t)(e->value >> 32));
	snprintf(s, MAX_TEXT, " el%u %s %s%s%s, space %" PRIu32, e->el, security[e->isa & 3],
		 e->isa & 1 << 2 ? "aarch64" : "aarch32", cid, vmid, e->number);
}

static void path(char *s, const struct etm_log_entry *e)
{
	snprintf(s, MAX_TEXT, " %" PRIx64 " to %" PRIx64 " in %" PRIu32, e->address, e->value,
		 e->number);
}

static void address(char *s, const struct etm_log_entry *e)
{
	snprintf(s, MAX_TEXT, " %" PRIx64, e->address);
}

static void value_hex(char *s, const struct etm_log_entry *e)
{
	snprintf(s, MAX_TEXT, " %" PRIx64, e->value);
}

static void value(char *s, const struct etm_log_entry *e)
{
	snprintf(s, MAX_TEXT, " %" PRIu64, e->value);
}

static void exception(char *s, const struct etm_log_entry *e)
{
	snprintf(s, MAX_TEXT, " 0x%" PRIx32 " return %" PRIx64, e->number, e->address);
}

static void count(char *s, const struct etm_log_entry *e)
{
	if (e->number == UINT32_MAX)
		snprintf(s, MAX_TEXT, " unknown");
	else
		snprintf(s, MAX_TEXT, " %" PRIu32, e->number);
}

static void number_hex(char *s, const struct etm_log_entry *e)
{
	snprintf(s, MAX_TEXT, " 0x%" PRIx32, e->number);
}

static void instrumentation(char *s, const struct etm_log_entry *e)
{
	snprintf(s, MAX_TEXT, " el%u 0x%" PRIx64, e->el, e->value);
}

static void transaction(char *s, const struct etm_log_entry *e)
{
	static const char *const words[] = {"open", "start", "commit", "fail"};

	snprintf(s, MAX_TEXT, " %s", words[e->number & 3]);
}

static const struct {
	const char *name;
	fields *put;
} kinds[] = {
	{"NO_SYNC",         reason         },
	{"TRACE_ON",        overflow       },
	{"CONTEXT",         context        },
	{"RANGE",           nothing        },
	{"NO_PATH",         path           },
	{"NACC",            address        },
	{"NO_TARGET",       value_hex      },
	{"EXCEPTION",       exception      },
	{"EXCEPTION_RET",   nothing        },
	{"FUNCTION_RET",    nothing        },
	{"PE_RESET",        nothing        },
	{"TIMESTAMP",       value          },
	{"CYCLES",          count          },
	{"BOUND",           value          },
	{"EVENT",           number_hex     },
	{"TS_MARKER",       nothing        },
	{"INSTRUMENTATION", instrumentation},
	{"TRANSACTION",     transaction    },
	{"UNSUPPORTED",     number_hex     },
	{"END",             nothing        },
	{"DROPPED",         value          },
	{"SWITCH",          number_hex     },
	{"TRACE_OFF",       address        },
	{"NOTE",            value          },
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == ETM_LOG_INSN, "a name for each kind");

/** A run has its end in value; a single instruction has none. */
static void insn(char *s, const struct etm_log_entry *e)
{
	static const char *const isas[] = {"a64", "a32", "t32"};
	char end[32] = "", mark[3] = {e->mark ? ' ' : '\0', (char)e->mark};

	if (e->value)
		snprintf(end, sizeof(end), "-%" PRIx64, e->value);
	snprintf(s, MAX_TEXT, "%" PRIx64 "%s %s el%u%s", e->address, end,
		 e->isa <= ISA_T32 ? isas[e->isa] : "?", e->el, mark);
}

const char *etm_log_text(const struct etm_log_entry *e)
{
	static char text[8][2 * MAX_TEXT];
	static unsigned int at;
	char *s = text[at++ % 8], more[MAX_TEXT];

	if (e->kind == ETM_LOG_INSN) {
		insn(s, e);
		return s;
	}
	if (e->kind > ETM_LOG_INSN)
		return "?";
	kinds[e->kind].put(more, e);
	snprintf(s, sizeof(text[0]), "%s%s", kinds[e->kind].name, more);
	return s;
}
