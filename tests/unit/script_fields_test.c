/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_fields.h"

#include "unit/tap.h"

static const char *word;

static enum clew_err parse(struct script_fields *f, const char *spec)
{
	script_fields_init(f);
	return script_fields_parse(f, spec, &word);
}

static void check_lists(void)
{
	struct script_fields f;

	CHECK(parse(&f, "comm,tid") == CLEW_OK, "a plain list");
	CHECK_EQ(f.by_type[SCRIPT_SW], SCRIPT_COMM | SCRIPT_TID, "replaces the columns");
	CHECK_EQ(f.by_type[SCRIPT_RAW], SCRIPT_COMM | SCRIPT_TID, "of every kind");
	CHECK(parse(&f, "sw:comm") == CLEW_OK && f.by_type[SCRIPT_SW] == SCRIPT_COMM &&
		      f.by_type[SCRIPT_HW] & SCRIPT_IP,
	      "a kind's list leaves the others alone");
	CHECK(parse(&f, "+addr,-comm") == CLEW_OK && f.by_type[SCRIPT_HW] & SCRIPT_ADDR &&
		      !(f.by_type[SCRIPT_HW] & SCRIPT_COMM) && f.by_type[SCRIPT_HW] & SCRIPT_TID,
	      "+ and - change the default");
	CHECK(parse(&f, "trace:") == CLEW_OK && !f.by_type[SCRIPT_TP], "an empty list: no lines");
	CHECK(parse(&f, "comm,trace") == CLEW_OK && !(f.by_type[SCRIPT_SW] & SCRIPT_TRACE) &&
		      f.by_type[SCRIPT_TP] & SCRIPT_TRACE,
	      "what a kind can never have is left out");
}

static void check_refusals(void)
{
	struct script_fields f;

	CHECK(parse(&f, "comm,nonsense,tid") == CLEW_NOT_FOUND && !strcmp(word, "nonsense,tid"),
	      "an unknown field, and where it stands");
	CHECK(parse(&f, "zz:comm") == CLEW_NOT_FOUND, "an unknown kind");
	CHECK(parse(&f, "comm,+tid") == CLEW_INVALID && parse(&f, "+tid,comm") == CLEW_INVALID,
	      "+ and plain do not mix");
	CHECK(parse(&f, "+brstackinsn") == CLEW_UNSUPPORTED, "a field of perf's that is not here");
	CHECK(parse(&f, "+insn,+insnlen,+disasm,+ipc,+callindent") == CLEW_OK,
	      "fields of decoded trace");
}

static struct perf_evsel evsel_of(uint32_t type, uint64_t sample_type)
{
	return (struct perf_evsel){
		.name = "e", .attr = {.type = type, .sample_type = sample_type}
        };
}

static void check_against_recording(void)
{
	struct perf_evsel sw = evsel_of(PERF_TYPE_SOFTWARE, PERF_SAMPLE_IP | PERF_SAMPLE_TID);
	struct perf_evsel more =
		evsel_of(PERF_TYPE_SOFTWARE, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CPU);
	struct perf_evsel tp = evsel_of(PERF_TYPE_TRACEPOINT,
					PERF_SAMPLE_IP | PERF_SAMPLE_RAW | PERF_SAMPLE_CALLCHAIN);
	struct perf_evsel *all[] = {&sw, &more, &tp};
	struct perf_evlist l = {
		.evsels = {.data = all, .nr = 3}
        };
	struct script_missing missing = {0};
	struct script_fields f;

	script_fields_init(&f);
	CHECK(script_fields_check(&f, &l, false, false, &missing) &&
		      !(f.by_type[SCRIPT_SW] & (SCRIPT_CPU | SCRIPT_TIME)) &&
		      f.by_type[SCRIPT_SW] & SCRIPT_TID,
	      "default columns without data go, by the first event of a kind");
	CHECK(f.by_type[SCRIPT_TP] & SCRIPT_SYMOFF, "tracepoints with chains show places");
	script_fields_init(&f);
	script_fields_check(&f, &l, true, false, &missing);
	CHECK((f.by_type[SCRIPT_TP] & (SCRIPT_IP | SCRIPT_SYM | SCRIPT_DSO)) ==
		      (SCRIPT_IP | SCRIPT_SYM),
	      "in a pipe with less detail");
	script_fields_init(&f);
	script_fields_check(&f, &l, false, true, &missing);
	CHECK(!(f.by_type[SCRIPT_TP] & SCRIPT_IP), "without chains not at all");
	parse(&f, "+phys_addr");
	CHECK(!script_fields_check(&f, &l, false, false, &missing) && missing.evsel == &sw &&
		      !strcmp(missing.field, "phys_addr"),
	      "what was asked for by name is missed by name");
}

int main(void)
{
	check_lists();
	check_refusals();
	check_against_recording();
	return tap_done();
}
