/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/who_answer.h"

#include "unit/tap.h"

static const struct {
	struct who_answer a;
	const char *text, *json;
} rows[] = {
	{{.kind = WHO_TASK,
	  .has = WHO_A_ROOT | WHO_A_LOCAL,
	  .evidence = WHO_BY_CONTEXT,
	  .root = {840},
	  .local = {2},
	  .level = WHO_EL0,
	  .security = ARM_NONSECURE},
	 "task/context R:840 L:2 EL0",		    "\"who\":{\"kind\":\"task\",\"evidence\":\"context\",\"root\":840,\"local\":2,"
	 "\"machine\":\"host\",\"level\":\"EL0\"}"						       },
	{{.kind = WHO_OUTSIDE,
	  .evidence = WHO_BY_SWITCH,
	  .level = WHO_EL1,
	  .security = ARM_NONSECURE},
	 "outside/switch R:? EL1",			"\"who\":{\"kind\":\"outside\",\"evidence\":\"switch\",\"machine\":\"host\",\"level\":"
	 "\"EL1\"}"											  },
	{{.kind = WHO_IDLE_OR_OUTSIDE,
	  .evidence = WHO_BY_SWITCH,
	  .level = WHO_LEVEL_UNKNOWN,
	  .security = ARM_NONSECURE},
	 "idle-or-outside/switch",			"\"who\":{\"kind\":\"idle-or-outside\",\"evidence\":\"switch\",\"machine\":\"host\"}"},
	{{.kind = WHO_IDLE, .evidence = WHO_BY_SAMPLE, .level = WHO_LEVEL_UNKNOWN},
	 "idle/sample",				   "\"who\":{\"kind\":\"idle\",\"evidence\":\"sample\",\"machine\":\"host\"}"           },
	{{.kind = WHO_UNKNOWN,
	  .reason = WHO_SWITCHING,
	  .has = WHO_A_SWITCHING,
	  .candidates = {{17}, {18}},
	  .level = WHO_LEVEL_UNKNOWN,
	  .security = ARM_NONSECURE},
	 "unknown/switching 17>18",		       "\"who\":{\"kind\":\"unknown\",\"reason\":\"switching\",\"switching\":[17,18],"
	 "\"machine\":\"host\"}"									    },
	{{.kind = WHO_UNKNOWN, .reason = WHO_WORLD, .level = WHO_EL0, .security = ARM_NONSECURE},
	 "unknown/world EL0",			     "\"who\":{\"kind\":\"unknown\",\"reason\":\"world\",\"level\":\"EL0\"}"              },
	{{.kind = WHO_TASK,
	  .has = WHO_A_GUEST | WHO_A_VCPU | WHO_A_GUEST_ROOT,
	  .evidence = WHO_BY_CONTEXT,
	  .machine = {4711},
	  .vcpu = 1,
	  .guest_root = {17},
	  .level = WHO_EL1,
	  .security = ARM_REALM},
	 "task/context guest:4711 vcpu:1 G:17 EL1 realm", "\"who\":{\"kind\":\"task\",\"evidence\":\"context\",\"machine\":\"guest 4711\",\"vcpu\":1,"
	 "\"guest_root\":17,\"level\":\"EL1\",\"security\":\"realm\"}"                },
};

static void counts(void)
{
	struct who_counts c = {0};
	struct buf out = {0};

	who_counts_text(&out, &c, NULL);
	CHECK_EQ(out.nr, 0, "nothing was asked");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		who_counts_add(&c, &rows[i].a);
	who_counts_text(&out, &c, NULL);
	CHECK_STR(
		buf_cstr(&out),
		"\nWho ran:\n           7  records\n           2  task\n           1  idle\n           1  outside\n"
		"           1  idle-or-outside\n           2  unknown\n"
		"known by evidence:\n           2  context\n           2  switch\n           1  sample\n"
		"unknown by reason:\n           1  switching\n           1  world\n"
		"of all:\n           1  in a guest\n",
		"kinds add up to the records, evidence to those known, reasons to the rest");
	buf_done(&out);
}

/** A guest's thread: by its context and by its own switches, by none, and why. */
static void guests(void)
{
	const uint32_t both = WHO_A_GUEST | WHO_A_GUEST_ROOT | WHO_A_GUEST_LOCAL;
	const struct who_answer answers[] = {
		{.has = both,              .guest_root = {5}, .guest_local = {5}},
		{.has = both,                        .guest_root = {5},                               .guest_local = {17}},
		{.has = WHO_A_GUEST,     .reason = WHO_SWITCHING},
		{.has = WHO_A_GUEST | WHO_A_GUEST_LOCAL,.guest_local = {7}                      },
	};
	struct who_counts c = {0};
	struct buf out = {0};
	const char *guest;

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		who_counts_add(&c, &answers[i]);
	who_counts_text(&out, &c, NULL);
	guest = strstr(buf_cstr(&out), "of all:");
	CHECK_STR(
		guest,
		"of all:\n           4  in a guest\n"
		"           1  in a guest, its context equals the id of its own switches\n"
		"           1  in a guest, the two differ: its recorder is in a container, or the offset is wrong\n"
		"in a guest, its thread unknown by reason:\n           1  switching\n",
		"threads of guests are counted by what names them");
	buf_clear(&out);
	who_answer_text(&out, &answers[1]);
	CHECK(strstr(buf_cstr(&out), " G:5 GL:17"), "both ids are printed");
	buf_done(&out);
}

static void facts(void)
{
	const struct who_facts f = {
		.is_root = {WHO_FACT_NO, .why = "a context names a thread that records call 0"},
		.is_mixture = { WHO_FACT_YES, "ids differ",                                                    {840, 2}, true},
		.kernel_level = WHO_EL2
        };
	struct buf out = {0};

	who_facts_text(&out, &f);
	CHECK_STR(buf_cstr(&out),
		  "\nThe recording:\n  made in the initial PID namespace: no, a context names a "
		  "thread that records call 0\n"
		  "  contexts are of another PID namespace than its other ids: yes, ids differ "
		  "(840 and 2)\n"
		  "  ids of /proc are those of its records: unknown\n"
		  "  times of the trace compare with those of records: unknown\n"
		  "  level of the host's kernel: EL2\n",
		  "facts with their proofs");
	buf_done(&out);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf out = {0};
		struct json_put j = {.out = &out};

		who_answer_text(&out, &rows[i].a);
		CHECK_STR(buf_cstr(&out), rows[i].text, "text %d", (int)i);
		buf_clear(&out);
		who_answer_json(&j, &rows[i].a);
		CHECK_STR(buf_cstr(&out), rows[i].json, "json %d", (int)i);
		buf_done(&out);
	}
	counts();
	guests();
	facts();
	return tap_done();
}
