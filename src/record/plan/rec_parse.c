/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/rec_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "os/caps.h"
#include "os/proc.h"

enum {
	MAX_STACK_BYTES = 65528, /* what fits a record; a multiple of 8 */
	MAX_RING_BYTES = 1 << 30,
	MAX_DRAIN_MS = 3600 * 1000,
};

static bool number(const char *text, char **end, uint64_t *ret)
{
	if (*text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, end, 0);
	return true;
}

bool rec_parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "bkmgt";
	const char *unit;
	uint64_t v;
	char *end;

	if (!number(text, &end, &v) || !*end)
		return false;
	unit = strchr(units, *end | 0x20);
	if (!unit || end[1] || v > UINT64_MAX >> 10 * (unit - units))
		return false;
	*ret = v << 10 * (unit - units);
	return true;
}

static uint64_t power_of_two_from(uint64_t v)
{
	uint64_t p = 1;

	while (p < v)
		p *= 2;
	return p;
}

/* Pages or bytes, up to @len characters; 0 when the text is empty. */
static bool parse_buffer(const char *text, size_t len, size_t *ret)
{
	uint64_t v, page = os_page_bytes();
	char copy[32], *end;

	*ret = 0;
	if (!len)
		return true;
	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (rec_parse_size(copy, &v)) {
		if (v > MAX_RING_BYTES)
			return false;
		v = power_of_two_from((v + page - 1) / page) * page;
	} else if (number(copy, &end, &v) && !*end && v && v <= MAX_RING_BYTES / page &&
		   (v & (v - 1)) == 0) {
		v *= page;
	} else {
		return false;
	}
	*ret = (size_t)v;
	return v != 0;
}

enum clew_err rec_parse_pages(struct rec_options *o, const char *text, struct rec_error *error)
{
	size_t len = strcspn(text, ","), data, aux = 0;

	if (!parse_buffer(text, len, &data) ||
	    (text[len] && !parse_buffer(text + len + 1, strlen(text + len + 1), &aux)))
		return rec_fail(error, CLEW_INVALID,
				"-m %s: expected DATA[,AUX], each a power of two of pages (128) or "
				"a size up to 1G (4M)",
				text);
	o->data_bytes = data;
	o->aux_bytes = aux;
	return CLEW_OK;
}

enum clew_err rec_parse_freq(struct rec_options *o, const char *text, struct rec_error *error)
{
	uint64_t v;
	char *end;

	if (!strcasecmp(text, "max")) {
		o->is_freq_max = true;
		return CLEW_OK;
	}
	if (!number(text, &end, &v) || *end || !v)
		return rec_fail(error, CLEW_INVALID,
				"-F %s: expected samples per second, such as 999, or max", text);
	o->freq = v;
	return CLEW_OK;
}

static enum clew_err parse_stack_size(struct rec_options *o, const char *text,
				      struct rec_error *error)
{
	uint64_t v = 0;
	char *end;

	if (text && (!number(text, &end, &v) || *end || !v || v > MAX_STACK_BYTES))
		return rec_fail(error, CLEW_INVALID,
				"--call-graph dwarf,%s: expected the bytes of stack to copy, up to "
				"%d",
				text, MAX_STACK_BYTES);
	o->stacks.kind = REC_STACKS_COPY;
	o->stacks.bytes = (uint32_t)(v + 7) & ~7u;
	return CLEW_OK;
}

static enum clew_err parse_depth(struct rec_options *o, const char *text, struct rec_error *error)
{
	uint64_t v = 0;
	char *end;

	if (text && (!number(text, &end, &v) || *end || v > UINT16_MAX))
		return rec_fail(error, CLEW_INVALID,
				"--call-graph fp,%s: expected the number of frames to keep", text);
	o->stacks.kind = REC_STACKS_FP;
	o->stacks.depth = (uint16_t)v;
	return CLEW_OK;
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && !strncmp(text, word, len);
}

static enum clew_err parse_sframe(struct rec_options *o, const char *rest, struct rec_error *error)
{
	if (rest && strcmp(rest, "immediate") != 0)
		return rec_fail(
			error, CLEW_INVALID,
			"--call-graph sframe,%s: expected sframe, or sframe,immediate (at the "
			"sample, for kernels without task work)",
			rest);
	o->stacks.kind = rest ? REC_STACKS_BPF_IMMEDIATE : REC_STACKS_BPF_DEFERRED;
	return CLEW_OK;
}

static enum clew_err parse_kind(struct rec_options *o, const char *text, struct rec_error *error)
{
	static const struct {
		const char *word;
		enum rec_stacks kind;
	} plain[] = {
		{"auto",  REC_STACKS_AUTO           },
                {"defer", REC_STACKS_KERNEL_DEFERRED},
		{"lbr",   REC_STACKS_LBR            },
                {"no",    REC_STACKS_NONE           },
		{"none",  REC_STACKS_NONE           },
	};
	size_t len = strcspn(text, ",");
	const char *rest = text[len] ? text + len + 1 : NULL;

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]) && !rest; i++) {
		if (is_word(text, len, plain[i].word)) {
			o->stacks.kind = plain[i].kind;
			return CLEW_OK;
		}
	}
	if (!strcmp(text, "fp,defer")) {
		o->stacks.kind = REC_STACKS_KERNEL_DEFERRED;
		return CLEW_OK;
	}
	if (is_word(text, len, "fp"))
		return parse_depth(o, rest, error);
	if (is_word(text, len, "dwarf"))
		return parse_stack_size(o, rest, error);
	if (is_word(text, len, "sframe"))
		return parse_sframe(o, rest, error);
	return rec_fail(error, CLEW_INVALID,
			"--call-graph %s: expected auto, sframe[,immediate], defer, "
			"dwarf[,BYTES], fp[,DEPTH], lbr or no; ,deferred at the end keeps user "
			"stacks separate",
			text);
}

/* A word at the end, which says in which form the stacks are to stay. */
static bool cut_deferred(const char *text, char *ret, size_t size)
{
	static const char word[] = ",deferred";
	size_t len = strlen(text), end = sizeof(word) - 1;

	if (len < end || strcmp(text + len - end, word) != 0 || len - end >= size)
		return false;
	memcpy(ret, text, len - end);
	ret[len - end] = '\0';
	return true;
}

enum clew_err rec_parse_callgraph(struct rec_options *o, const char *text, struct rec_error *error)
{
	char kind[64];

	o->keeps_deferred = cut_deferred(text, kind, sizeof(kind));
	if (!o->keeps_deferred)
		return parse_kind(o, text, error);
	/* Chains that the kernel follows at the sample have no form of their own to stay in. */
	return parse_kind(o, strcmp(kind, "fp") != 0 ? kind : "defer", error);
}

struct word_bit {
	const char *word;
	uint64_t bit;
};

/* Each word of a comma list adds its bit. @return the first unknown word, NULL: all known. */
static const char *add_words(const char *text, const struct word_bit *table, size_t nr,
			     uint64_t *bits)
{
	while (*text) {
		size_t len = strcspn(text, ","), i = 0;

		while (i < nr &&
		       (strlen(table[i].word) != len || strncasecmp(table[i].word, text, len) != 0))
			i++;
		if (i == nr)
			return text;
		*bits |= table[i].bit;
		text += len + (text[len] == ',');
	}
	return NULL;
}

enum clew_err rec_parse_branches(struct rec_options *o, const char *text, struct rec_error *error)
{
	static const struct word_bit table[] = {
		{"u",         PERF_SAMPLE_BRANCH_USER      },
		{"k",         PERF_SAMPLE_BRANCH_KERNEL    },
		{"hv",        PERF_SAMPLE_BRANCH_HV        },
		{"any",       PERF_SAMPLE_BRANCH_ANY       },
		{"any_call",  PERF_SAMPLE_BRANCH_ANY_CALL  },
		{"any_ret",   PERF_SAMPLE_BRANCH_ANY_RETURN},
		{"ind_call",  PERF_SAMPLE_BRANCH_IND_CALL  },
		{"ind_jmp",   PERF_SAMPLE_BRANCH_IND_JUMP  },
		{"call",      PERF_SAMPLE_BRANCH_CALL      },
		{"cond",      PERF_SAMPLE_BRANCH_COND      },
		{"abort_tx",  PERF_SAMPLE_BRANCH_ABORT_TX  },
		{"in_tx",     PERF_SAMPLE_BRANCH_IN_TX     },
		{"no_tx",     PERF_SAMPLE_BRANCH_NO_TX     },
		{"no_flags",  PERF_SAMPLE_BRANCH_NO_FLAGS  },
		{"no_cycles", PERF_SAMPLE_BRANCH_NO_CYCLES },
		{"save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE },
		{"stack",     PERF_SAMPLE_BRANCH_CALL_STACK},
		{"hw_index",  PERF_SAMPLE_BRANCH_HW_INDEX  },
		{"priv",      PERF_SAMPLE_BRANCH_PRIV_SAVE },
		{"counter",   PERF_SAMPLE_BRANCH_COUNTERS  },
	};
	const uint64_t levels =
		PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
	uint64_t bits = 0;
	const char *bad = add_words(text, table, sizeof(table) / sizeof(table[0]), &bits);

	if (bad)
		return rec_fail(error, CLEW_INVALID,
				"-j %s: unknown branch filter at '%s'; there are any, any_call, "
				"any_ret, ind_call, call, cond, u, k, hv, in_tx, no_tx, abort_tx, "
				"save_type, priv, ...",
				text, bad);
	if (!(bits & ~levels))
		bits |= PERF_SAMPLE_BRANCH_ANY; /* levels alone: of any kind */
	o->branch_filter = bits;
	return CLEW_OK;
}

/* In the order of the kernel's perf_regs.h. */
#if defined(__x86_64__)
static const struct word_bit regs[] = {
	{"AX",    1ull << 0 },
        {"BX",    1ull << 1 },
        {"CX",    1ull << 2 },
        {"DX",    1ull << 3 },
	{"SI",    1ull << 4 },
        {"DI",    1ull << 5 },
        {"BP",    1ull << 6 },
        {"SP",    1ull << 7 },
	{"IP",    1ull << 8 },
        {"FLAGS", 1ull << 9 },
        {"CS",    1ull << 10},
        {"SS",    1ull << 11},
	{"R8",    1ull << 16},
        {"R9",    1ull << 17},
        {"R10",   1ull << 18},
        {"R11",   1ull << 19},
	{"R12",   1ull << 20},
        {"R13",   1ull << 21},
        {"R14",   1ull << 22},
        {"R15",   1ull << 23},
};
#elif defined(__aarch64__)
static const struct word_bit regs[] = {
	{"x0",  1ull << 0 },
        {"x1",  1ull << 1 },
        {"x2",  1ull << 2 },
        {"x3",  1ull << 3 },
	{"x4",  1ull << 4 },
        {"x5",  1ull << 5 },
        {"x6",  1ull << 6 },
        {"x7",  1ull << 7 },
	{"x8",  1ull << 8 },
        {"x9",  1ull << 9 },
        {"x10", 1ull << 10},
        {"x11", 1ull << 11},
	{"x12", 1ull << 12},
        {"x13", 1ull << 13},
        {"x14", 1ull << 14},
        {"x15", 1ull << 15},
	{"x16", 1ull << 16},
        {"x17", 1ull << 17},
        {"x18", 1ull << 18},
        {"x19", 1ull << 19},
	{"x20", 1ull << 20},
        {"x21", 1ull << 21},
        {"x22", 1ull << 22},
        {"x23", 1ull << 23},
	{"x24", 1ull << 24},
        {"x25", 1ull << 25},
        {"x26", 1ull << 26},
        {"x27", 1ull << 27},
	{"x28", 1ull << 28},
        {"x29", 1ull << 29},
        {"lr",  1ull << 30},
        {"sp",  1ull << 31},
	{"pc",  1ull << 32},
};
#else
static const struct word_bit regs[] = {
	{"none", 0}
};
#endif

enum { NR_REGS = sizeof(regs) / sizeof(regs[0]) };

void rec_reg_names(char *ret, size_t size)
{
	size_t at = 0;

	for (size_t i = 0; i < NR_REGS && at < size; i++) {
		int n = snprintf(ret + at, size - at, "%s%s", i ? " " : "", regs[i].word);

		at += n > 0 ? (size_t)n : 0;
	}
}

enum clew_err rec_parse_regs(const char *option, const char *text, uint64_t *ret,
			     struct rec_error *error)
{
	uint64_t bits = 0;
	const char *bad;
	char names[256];

	if (!text) {
		*ret = 0;
		return CLEW_OK;
	}
	bad = add_words(text, regs, NR_REGS, &bits);
	if (!bad && bits) {
		*ret = bits;
		return CLEW_OK;
	}
	rec_reg_names(names, sizeof(names));
	return rec_fail(error, CLEW_INVALID, "%s=%s: unknown register at '%s'; there are: %s",
			option, text, bad ? bad : text, names);
}

static bool parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = {
		{'s', 1    },
                {'m', 60   },
                {'h', 3600 },
                {'d', 86400}
        };
	uint64_t v;
	char *end;

	if (!number(text, &end, &v) || !v || v > 1000000 || !*end || end[1])
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (*end == units[i].unit) {
			*ret_ns = v * units[i].seconds * 1000000000ull;
			return true;
		}
	}
	return false;
}

enum clew_err rec_parse_switch(struct rec_options *o, const char *text, struct rec_error *error)
{
	struct rec_switch s = {.is_on = true, .max_files = o->switch_output.max_files};

	if (!text || !strcmp(text, "signal"))
		s.on_signal = true;
	else if (!parse_time(text, &s.ns) && (!rec_parse_size(text, &s.bytes) || !s.bytes))
		return rec_fail(error, CLEW_INVALID,
				"--switch-output=%s: expected signal, a size with its unit (BKMG), "
				"or a time with its unit (smhd): 100M, 30s",
				text);
	o->switch_output = s;
	return CLEW_OK;
}

enum clew_err rec_parse_clock(struct rec_options *o, const char *text, struct rec_error *error)
{
	static const struct {
		const char *name;
		int32_t id;
	} clocks[] = {
		{"realtime",      CLOCK_REALTIME     },
		{"real",          CLOCK_REALTIME     },
		{"monotonic",     CLOCK_MONOTONIC    },
		{"mono",          CLOCK_MONOTONIC    },
		{"monotonic_raw", CLOCK_MONOTONIC_RAW},
		{"raw",           CLOCK_MONOTONIC_RAW},
		{"boottime",      CLOCK_BOOTTIME     },
		{"boot",          CLOCK_BOOTTIME     },
		{"tai",           CLOCK_TAI          },
		{"clock_tai",     CLOCK_TAI          },
	};
	const char *name = strncasecmp(text, "CLOCK_", 6) ? text : text + 6;
	uint64_t v;
	char *end;

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		if (!strcasecmp(name, clocks[i].name)) {
			o->has_clockid = true;
			o->clockid = clocks[i].id;
			return CLEW_OK;
		}
	}
	if (!number(text, &end, &v) || *end || v > 15)
		return rec_fail(error, CLEW_INVALID,
				"-k %s: expected monotonic, monotonic_raw, realtime, boottime, tai "
				"or a clock's number",
				text);
	o->has_clockid = true;
	o->clockid = (int32_t)v;
	return CLEW_OK;
}

enum clew_err rec_parse_delay(struct rec_options *o, const char *text, struct rec_error *error)
{
	uint64_t v;
	char *end;

	if (!strcmp(text, "-1")) {
		o->delay_ms = -1;
		return CLEW_OK;
	}
	if (strchr(text, '-'))
		return rec_fail(error, CLEW_UNSUPPORTED,
				"-D %s: ranges of time are not supported; use --control to switch "
				"events on and off",
				text);
	if (!number(text, &end, &v) || *end || v > INT32_MAX)
		return rec_fail(error, CLEW_INVALID,
				"-D %s: expected milliseconds, or -1 to start disabled", text);
	o->delay_ms = (int64_t)v;
	return CLEW_OK;
}

enum clew_err rec_parse_drain(struct rec_options *o, const char *text, struct rec_error *error)
{
	uint64_t v;
	char *end;

	if (!number(text, &end, &v) || *end || v > MAX_DRAIN_MS)
		return rec_fail(error, CLEW_INVALID,
				"--drain %s: expected how many milliseconds to wait for user "
				"stacks at the end, such as 200",
				text);
	o->has_drain_ms = true;
	o->drain_ms = (uint32_t)v;
	return CLEW_OK;
}

enum clew_err rec_settle_freq(struct rec_options *o, const struct rec_ui *ui,
			      struct rec_error *error)
{
	int64_t limit;

	if (!os_sysctl("kernel/perf_event_max_sample_rate", &limit) || limit <= 0)
		return CLEW_OK;
	if (o->is_freq_max)
		o->freq = (uint64_t)limit;
	if (o->freq <= (uint64_t)limit)
		return CLEW_OK;
	if (o->is_freq_strict)
		return rec_fail(error, CLEW_INVALID,
				"-F %llu is above what the kernel allows, %lld; root can raise it: "
				"sysctl kernel.perf_event_max_sample_rate=%llu",
				(unsigned long long)o->freq, (long long)limit,
				(unsigned long long)o->freq);
	rec_say(ui, REC_WARNING,
		"-F %llu lowered to %lld, the most the kernel allows "
		"(kernel.perf_event_max_sample_rate)",
		(unsigned long long)o->freq, (long long)limit);
	o->freq = (uint64_t)limit;
	return CLEW_OK;
}
