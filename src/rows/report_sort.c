/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_sort.h"

#include <string.h>

static const struct key_text {
	const char *name, *alias, *title;
} texts[REPORT_NR_KEYS] = {
	[REPORT_COMM] = {"comm",         NULL,       "Command"              },
	[REPORT_PID] = {"pid",          NULL,       "Pid:Command"          },
	[REPORT_TID] = {"tid",          NULL,       "Tid:Command"          },
	[REPORT_CPU] = {"cpu",          NULL,       "CPU"                  },
	[REPORT_CGROUP] = {"cgroup",       NULL,       "Cgroup"               },
	[REPORT_CGROUP_ID] = {"cgroup_id",    NULL,       "cgroup id"            },
	[REPORT_WEIGHT] = {"local_weight", "weight",   "Local Weight"         },
	[REPORT_NAMESPACE] = {"namespace",    NULL,       "Namespace"            },
	[REPORT_CONTAINER] = {"container",    NULL,       "Container"            },
	[REPORT_MACHINE] = {"machine",      NULL,       "Machine"              },
	[REPORT_VCPU] = {"vcpu",         NULL,       "vCPU"                 },
	[REPORT_LEVEL] = {"level",        NULL,       "Level"                },
	[REPORT_EVIDENCE] = {"evidence",     NULL,       "Evidence"             },
	[REPORT_SYM_FROM] = {"symbol_from",  "sym_from", "Source Symbol"        },
	[REPORT_SYM_TO] = {"symbol_to",    "sym_to",   "Target Symbol"        },
	[REPORT_DSO_FROM] = {"dso_from",     NULL,       "Source Shared Object" },
	[REPORT_DSO_TO] = {"dso_to",       NULL,       "Target Shared Object" },
	[REPORT_SRCLINE_FROM] = {"srcline_from", NULL,       "From Source:Line"     },
	[REPORT_SRCLINE_TO] = {"srcline_to",   NULL,       "To Source:Line"       },
	[REPORT_MISPREDICT] = {"mispredict",   NULL,       "Branch Mispredicted"  },
	[REPORT_CYCLES] = {"cycles",       NULL,       "Basic Block Cycles"   },
	[REPORT_ABORT] = {"abort",        NULL,       "Transaction abort"    },
	[REPORT_IN_TX] = {"in_tx",        NULL,       "Branch in transaction"},
	[REPORT_DSO] = {"dso",          NULL,       "Shared Object"        },
	[REPORT_SYM] = {"sym",          "symbol",   "Symbol"               },
	[REPORT_SRCLINE] = {"srcline",      NULL,       "Source:Line"          },
	[REPORT_SRCFILE] = {"srcfile",      NULL,       "Source File"          },
};

static const char *const perf_only[] = {
	"parent",
	"time",
	"type",
	"typeoff",
	"symoff",
	"symbol_size",
	"dso_size",
	"socket",
	"trace",
	"symbol_daddr",
	"dso_daddr",
	"symbol_iaddr",
	"locked",
	"tlb",
	"mem",
	"snoop",
	"dcacheline",
	"phys_daddr",
	"data_page_size",
	"code_page_size",
	"blocked",
	"transaction",
	"overhead",
	"addr",
	"addr_from",
	"addr_to",
	"ipc_lbr",
	"simd",
	"weight1",
	"weight2",
	"weight3",
	"ins_lat",
	"local_ins_lat",
	"p_stage_cyc",
	"local_p_stage_cyc",
	"retire_lat",
};

static bool is_word(const char *name, const char *word, size_t len)
{
	return name && strlen(name) == len && !strncmp(name, word, len);
}

bool report_sort_has(const struct report_sort *s, enum report_key k)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (s->keys[i] == k)
			return true;
	}
	return false;
}

const struct report_sort *report_sort_name(const struct report_sort *s)
{
	static const struct report_sort of_functions = {{REPORT_SYM}, 1};

	return report_sort_has(s, REPORT_SYM) ? &of_functions : s;
}

enum report_key report_sort_branch_key(const struct report_sort *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (report_key_is_branch(s->keys[i]))
			return s->keys[i];
	}
	return REPORT_NR_KEYS;
}

bool report_sort_has_lines(const struct report_sort *s)
{
	return report_sort_has(s, REPORT_SRCLINE) || report_sort_has(s, REPORT_SRCFILE) ||
	       report_sort_has(s, REPORT_SRCLINE_FROM) || report_sort_has(s, REPORT_SRCLINE_TO);
}

bool report_sort_has_who(const struct report_sort *s)
{
	return report_sort_has(s, REPORT_NAMESPACE) || report_sort_has(s, REPORT_CONTAINER) ||
	       report_sort_has(s, REPORT_MACHINE) || report_sort_has(s, REPORT_VCPU) ||
	       report_sort_has(s, REPORT_LEVEL) || report_sort_has(s, REPORT_EVIDENCE);
}

void report_sort_add(struct report_sort *s, const struct report_sort *more)
{
	for (size_t i = 0; i < more->nr; i++) {
		if (!report_sort_has(s, more->keys[i]))
			s->keys[s->nr++] = more->keys[i];
	}
}

static enum report_key key_of(const char *word, size_t len)
{
	for (enum report_key k = 0; k < REPORT_NR_KEYS; k++) {
		if (is_word(texts[k].name, word, len) || is_word(texts[k].alias, word, len))
			return k;
	}
	return REPORT_NR_KEYS;
}

enum clew_err report_sort_parse(struct report_sort *ret, const char *text, const char **ret_bad,
				size_t *ret_len)
{
	struct report_sort s = {.nr = 0};

	if (*text == '+') {
		s = *ret;
		text++;
	}
	while (*text) {
		size_t len = strcspn(text, ", ");
		enum report_key k = key_of(text, len);

		if (len && k == REPORT_NR_KEYS) {
			*ret_bad = text;
			*ret_len = len;
			return CLEW_INVALID;
		}
		if (len && !report_sort_has(&s, k))
			s.keys[s.nr++] = k;
		text += len;
		text += *text != '\0';
	}
	*ret = s;
	return CLEW_OK;
}

bool report_sort_is_perf_key(const char *word, size_t len)
{
	for (size_t i = 0; i < sizeof(perf_only) / sizeof(perf_only[0]); i++) {
		if (is_word(perf_only[i], word, len))
			return true;
	}
	return false;
}

const char *report_key_title(enum report_key k)
{
	return texts[k].title;
}

const char *report_key_name(enum report_key k)
{
	return texts[k].name;
}

const char *report_sort_names(void)
{
	return "comm,pid,tid,cpu,cgroup,cgroup_id,local_weight,namespace,container,machine,vcpu,"
	       "level,evidence,dso,sym,srcline,srcfile; of "
	       "branches: symbol_from,symbol_to,dso_from,dso_to,srcline_from,srcline_to,"
	       "mispredict,cycles,abort,in_tx";
}
