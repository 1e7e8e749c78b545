/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_fields.h"

#include <string.h>

enum { NAME_MAX_BYTES = 32 };

/* A line's common left part; what differs by kind is in script_fields_init(). */
#define START (SCRIPT_COMM | SCRIPT_TID | SCRIPT_CPU | SCRIPT_TIME | SCRIPT_EVENT)
#define PLACE (SCRIPT_IP | SCRIPT_SYM | SCRIPT_SYMOFF | SCRIPT_DSO)
#define MEMORY                                                                               \
 (SCRIPT_ADDR | SCRIPT_DATA_SRC | SCRIPT_WEIGHT | SCRIPT_PHYS_ADDR | SCRIPT_DATA_PAGE_SIZE | \
  SCRIPT_CODE_PAGE_SIZE | SCRIPT_INS_LAT)

static const struct field {
	const char *name;
	uint64_t bit; /* 0: a field of perf's that is not printed here */
} fields[] = {
	{"comm",           SCRIPT_COMM          },
	{"tid",            SCRIPT_TID           },
	{"pid",            SCRIPT_PID           },
	{"time",           SCRIPT_TIME          },
	{"cpu",            SCRIPT_CPU           },
	{"event",          SCRIPT_EVENT         },
	{"trace",          SCRIPT_TRACE         },
	{"ip",             SCRIPT_IP            },
	{"sym",            SCRIPT_SYM           },
	{"dso",            SCRIPT_DSO           },
	{"dsoff",          SCRIPT_DSOFF         },
	{"addr",           SCRIPT_ADDR          },
	{"symoff",         SCRIPT_SYMOFF        },
	{"srcline",        SCRIPT_SRCLINE       },
	{"period",         SCRIPT_PERIOD        },
	{"iregs",          SCRIPT_IREGS         },
	{"uregs",          SCRIPT_UREGS         },
	{"brstack",        SCRIPT_BRSTACK       },
	{"brstacksym",     SCRIPT_BRSTACKSYM    },
	{"brstackoff",     SCRIPT_BRSTACKOFF    },
	{"data_src",       SCRIPT_DATA_SRC      },
	{"weight",         SCRIPT_WEIGHT        },
	{"bpf-output",     SCRIPT_BPF_OUTPUT    },
	{"phys_addr",      SCRIPT_PHYS_ADDR     },
	{"misc",           SCRIPT_MISC          },
	{"tod",            SCRIPT_TOD           },
	{"data_page_size", SCRIPT_DATA_PAGE_SIZE},
	{"code_page_size", SCRIPT_CODE_PAGE_SIZE},
	{"ins_lat",        SCRIPT_INS_LAT       },
	{"flags",          SCRIPT_FLAGS         },
	{"cgroup",         SCRIPT_CGROUP        },
	{"machine_pid",    SCRIPT_MACHINE_PID   },
	{"vcpu",           SCRIPT_VCPU          },
	{"synth",          SCRIPT_NOTE          },
	{"callindent",     SCRIPT_CALLINDENT    },
	{"ipc",            SCRIPT_IPC           },
	{"insn",           SCRIPT_INSN          },
	{"insnlen",        SCRIPT_INSNLEN       },
	{"disasm",         SCRIPT_DISASM        },
	{"who",            SCRIPT_WHO           },
	{"brstackinsn",    0                    },
	{"brstackinsnlen", 0                    },
	{"brstackdisasm",  0                    },
	{"brcntr",         0		    },
	{"retire_lat",     0                    },
	{"metric",         0		    },
	{"srccode",        0                    },
};

enum { NR_FIELDS = sizeof(fields) / sizeof(fields[0]) };

static const struct {
	const char *name;
	enum script_type type;
} types[] = {
	{"hw",    SCRIPT_HW   },
        {"sw",    SCRIPT_SW   },
        {"trace", SCRIPT_TP   },
	{"raw",   SCRIPT_RAW  },
        {"break", SCRIPT_BREAK},
};

/* What a kind of event can never have is omitted, even if requested. */
static const uint64_t never[SCRIPT_NR_TYPES] = {
	[SCRIPT_HW] = SCRIPT_TRACE | SCRIPT_BPF_OUTPUT,
	[SCRIPT_SW] = SCRIPT_TRACE,
	[SCRIPT_TP] = 0,
	[SCRIPT_HW_CACHE] = SCRIPT_TRACE | SCRIPT_BPF_OUTPUT,
	[SCRIPT_RAW] = SCRIPT_TRACE | SCRIPT_BPF_OUTPUT,
	[SCRIPT_BREAK] = SCRIPT_TRACE | SCRIPT_BPF_OUTPUT,
	[SCRIPT_OTHER] = SCRIPT_TRACE | SCRIPT_BPF_OUTPUT,
	[SCRIPT_SYNTH] = SCRIPT_TRACE | SCRIPT_BPF_OUTPUT | SCRIPT_PERIOD | SCRIPT_CALLINDENT,
};

enum script_type script_type_of(const struct perf_attr *attr)
{
	static const enum script_type by_type[PERF_TYPE_MAX_STATIC] = {
		[PERF_TYPE_HARDWARE] = SCRIPT_HW,   [PERF_TYPE_SOFTWARE] = SCRIPT_SW,
		[PERF_TYPE_TRACEPOINT] = SCRIPT_TP, [PERF_TYPE_HW_CACHE] = SCRIPT_HW_CACHE,
		[PERF_TYPE_RAW] = SCRIPT_RAW,       [PERF_TYPE_BREAKPOINT] = SCRIPT_BREAK,
	};

	if (attr->type == PERF_TYPE_SYNTH)
		return SCRIPT_SYNTH;
	return attr->type < PERF_TYPE_MAX_STATIC ? by_type[attr->type] : SCRIPT_OTHER;
}

void script_fields_init(struct script_fields *f)
{
	*f = (struct script_fields){
		.by_type =
			{
				  [SCRIPT_HW] = START | PLACE | SCRIPT_PERIOD,
				  [SCRIPT_SW] = START | PLACE | SCRIPT_PERIOD | SCRIPT_BPF_OUTPUT,
				  [SCRIPT_TP] = START | SCRIPT_TRACE,
				  [SCRIPT_HW_CACHE] = START | PLACE | SCRIPT_PERIOD,
				  [SCRIPT_RAW] = START | PLACE | SCRIPT_PERIOD | MEMORY,
				  [SCRIPT_BREAK] = START | PLACE | SCRIPT_PERIOD,
				  [SCRIPT_OTHER] = START | PLACE | SCRIPT_PERIOD,
				  [SCRIPT_SYNTH] = START | PLACE | SCRIPT_NOTE,
				  },
	};
}

static const struct field *find_field(const char *word, size_t len)
{
	for (int i = 0; i < NR_FIELDS; i++) {
		if (strlen(fields[i].name) == len && !memcmp(fields[i].name, word, len))
			return &fields[i];
	}
	return NULL;
}

/* "sw:comm,tid": the kind before the colon, and where the list starts. */
static bool split_type(const char *spec, const char **list, int *ret)
{
	const char *colon = strchr(spec, ':');
	size_t len = colon ? (size_t)(colon - spec) : 0;

	*ret = -1;
	*list = spec;
	if (!colon)
		return true;
	*list = colon + 1;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strlen(types[i].name) == len && !memcmp(types[i].name, spec, len))
			*ret = (int)types[i].type;
	}
	return *ret >= 0;
}

static void change(struct script_fields *f, int only, char sign, uint64_t bits)
{
	for (int t = 0; t < SCRIPT_NR_TYPES; t++) {
		uint64_t allowed = bits & ~never[t];

		if (only >= 0 && t != only)
			continue;
		if (bits != SCRIPT_FLAGS)
			f->is_touched[t] = true;
		if (sign == '-') {
			f->by_type[t] &= ~bits;
			f->wanted[t] &= ~bits;
			f->unwanted[t] |= bits;
		} else {
			f->by_type[t] |= allowed;
			f->wanted[t] |= allowed;
			f->unwanted[t] &= ~allowed;
		}
	}
}

static void start_empty(struct script_fields *f, int only)
{
	for (int t = 0; t < SCRIPT_NR_TYPES; t++) {
		if (only >= 0 && t != only)
			continue;
		f->by_type[t] = f->wanted[t] = f->unwanted[t] = 0;
	}
}

enum clew_err script_fields_parse(struct script_fields *f, const char *spec, const char **word)
{
	const char *list;
	bool is_first = true, is_plain = true;
	int only;

	*word = spec;
	if (!split_type(spec, &list, &only))
		return CLEW_NOT_FOUND;
	if (*list == '+' || *list == '-')
		is_plain = false;
	else
		start_empty(f, only);
	for (const char *p = list; *p; is_first = false) {
		size_t len = strcspn(p, ",");
		char sign = *p == '+' || *p == '-' ? *p : '\0';
		const struct field *field;

		*word = p;
		if (!is_first && is_plain != !sign)
			return CLEW_INVALID;
		field = find_field(p + !!sign, len - !!sign);
		if (!field)
			return CLEW_NOT_FOUND;
		if (!field->bit)
			return CLEW_UNSUPPORTED;
		change(f, only, sign, field->bit);
		p += len;
		p += *p == ',';
	}
	return CLEW_OK;
}

/* Columns and the sample_type bits of which one must be there. */
static const struct need {
	uint64_t field, sample_type;
	const char *name, *data;
} needs[] = {
	{SCRIPT_TRACE,          PERF_SAMPLE_RAW,                                "trace",          "RAW"           },
	{SCRIPT_IP,             PERF_SAMPLE_IP,                                 "ip",             "IP"            },
	{SCRIPT_DATA_SRC,       PERF_SAMPLE_DATA_SRC,                           "data_src",       "DATA_SRC"      },
	{SCRIPT_WEIGHT,         PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT, "weight",         "WEIGHT"        },
	{SCRIPT_ADDR,           PERF_SAMPLE_ADDR,                               "addr",           "ADDR"          },
	{SCRIPT_SYM,            PERF_SAMPLE_IP | PERF_SAMPLE_ADDR,              "sym",            "IP or ADDR"    },
	{SCRIPT_DSO,            PERF_SAMPLE_IP | PERF_SAMPLE_ADDR,              "dso",            "IP or ADDR"    },
	{SCRIPT_SRCLINE,        PERF_SAMPLE_IP,                                 "srcline",        "IP"            },
	{SCRIPT_PID,            PERF_SAMPLE_TID,                                "pid",            "TID"           },
	{SCRIPT_TID,            PERF_SAMPLE_TID,                                "tid",            "TID"           },
	{SCRIPT_TIME,           PERF_SAMPLE_TIME,                               "time",           "TIME"          },
	{SCRIPT_CPU,            PERF_SAMPLE_CPU,                                "cpu",            "CPU"           },
	{SCRIPT_IREGS,          PERF_SAMPLE_REGS_INTR,                          "iregs",          "IREGS"         },
	{SCRIPT_UREGS,          PERF_SAMPLE_REGS_USER,                          "uregs",          "UREGS"         },
	{SCRIPT_PHYS_ADDR,      PERF_SAMPLE_PHYS_ADDR,                          "phys_addr",      "PHYS_ADDR"     },
	{SCRIPT_DATA_PAGE_SIZE, PERF_SAMPLE_DATA_PAGE_SIZE,                     "data_page_size", "DATA_PAGE_SIZE"},
	{SCRIPT_CODE_PAGE_SIZE, PERF_SAMPLE_CODE_PAGE_SIZE,                     "code_page_size", "CODE_PAGE_SIZE"},
	{SCRIPT_INS_LAT,        PERF_SAMPLE_WEIGHT_STRUCT,                      "ins_lat",        "WEIGHT_STRUCT" },
	{SCRIPT_CGROUP,         PERF_SAMPLE_CGROUP,                             "cgroup",         "CGROUP"        },
};

static bool check_one(struct script_fields *f, const struct perf_evsel *e,
		      struct script_missing *ret)
{
	enum script_type type = script_type_of(&e->attr);

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const struct need *n = &needs[i];

		if (!(f->by_type[type] & n->field) || e->attr.sample_type & n->sample_type)
			continue;
		/* perf looks at none of a PMU of its own */
		if (f->wanted[type] & n->field && e->attr.type < PERF_TYPE_MAX_STATIC) {
			*ret = (struct script_missing){e, n->name, n->data};
			return false;
		}
		f->by_type[type] &= ~n->field;
	}
	return true;
}

/* Tracepoints show where they were hit only when there are call chains. */
static void add_tracepoint_chains(struct script_fields *f, const struct perf_evlist *l)
{
	for (size_t i = 0; i < l->evsels.nr; i++) {
		const struct perf_attr *a = &l->evsels.data[i]->attr;

		if (a->type == PERF_TYPE_TRACEPOINT && a->sample_type & PERF_SAMPLE_CALLCHAIN &&
		    !f->is_touched[SCRIPT_TP])
			f->by_type[SCRIPT_TP] |= PLACE;
	}
}

/* In a pipe perf 6.1 differs: any kind, even against a list, but in less detail. */
static void add_pipe_chains(struct script_fields *f, const struct perf_evlist *l)
{
	for (size_t i = 0; i < l->evsels.nr; i++) {
		const struct perf_attr *a = &l->evsels.data[i]->attr;
		enum script_type type = script_type_of(a);

		if (a->sample_type & PERF_SAMPLE_CALLCHAIN)
			f->by_type[type] |= (SCRIPT_IP | SCRIPT_SYM) & ~f->unwanted[type];
	}
}

/** It carries side-band, and has no samples. */
static bool is_dummy(const struct perf_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY;
}

bool script_fields_check(struct script_fields *f, const struct perf_evlist *l, bool is_pipe,
			 bool no_chains, struct script_missing *ret)
{
	bool has_seen[SCRIPT_NR_TYPES] = {false};

	for (size_t i = 0; i < l->evsels.nr; i++) {
		const struct perf_evsel *e = l->evsels.data[i];
		enum script_type type = script_type_of(&e->attr);

		if ((!is_pipe && has_seen[type]) || is_dummy(&e->attr))
			continue;
		has_seen[type] = true;
		if (!check_one(f, e, ret))
			return false;
	}
	if (!no_chains && is_pipe)
		add_pipe_chains(f, l);
	else if (!no_chains)
		add_tracepoint_chains(f, l);
	return true;
}

bool script_fields_any(const struct script_fields *f, uint64_t bits)
{
	for (int t = 0; t < SCRIPT_NR_TYPES; t++) {
		if (f->by_type[t] & bits)
			return true;
	}
	return false;
}
