/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "stitch/stitch.h"

#include "base/mem.h"
#include "unit/tap.h"
#include "unwind/unw_rule.h"

/* Scripts of one line: what happens to task 7 (8 with a leading "8"), in order, one word each:
 *   sC   sample of cookie C          dCX  stack X of cookie C       x exit  f fork  e exec  l lost
 *   +N   N seconds pass              o    another record            S  a sample without cookie
 *   wCX  as d, of one sample alone
 * Items come out as "X" (a stack), "-reason" or "o".
 */
static void put_out(struct stitch *s, char *out)
{
	struct stitch_item item;

	while (stitch_next(s, &item)) {
		if (!item.is_sample)
			strcat(out, "o ");
		else if (item.stack && item.stack->nr)
			sprintf(out + strlen(out), "%c ", *(const char *)item.stack->record);
		else
			sprintf(out + strlen(out), "-%s ", stitch_reason_name(item.reason));
	}
}

static struct clew_perf_ns at_ns(uint64_t ns)
{
	return (struct clew_perf_ns){ns};
}

static void put_in(struct stitch *s, const char *word, uint64_t *time)
{
	static const uint8_t ips[8 * 256];
	uint32_t tid = 7;
	struct stitch_stack stack = {.nr = 1, .bytes = 8};

	if (*word == '8')
		tid = 8, word++;
	*time += 1000;
	switch (*word) {
	case 's':
		stitch_sample(s, tid, (uint8_t)word[1], at_ns(*time), NULL, 0);
		break;
	case 'w':
		stack.is_own = true;
		/* fallthrough */
	case 'd':
		stack.record = word + 2;
		stack.ips = &ips[8 * word[2]];
		stack.nr = word[2] != '0';
		stack.stop = word[3] == 'x' ? UNW_STOP_EXITING
			   : word[3] == 'l' ? UNW_STOP_LATE
					    : UNW_STOP_NONE;
		stitch_stack_record(s, tid, (uint8_t)word[1], at_ns(*time), &stack);
		break;
	case 'x':
		stitch_task_exit(s, tid);
		break;
	case 'f':
		stitch_task_fork(s, tid);
		break;
	case 'e':
		stitch_task_exec(s, tid);
		break;
	case 'l':
		stitch_lost(s);
		break;
	case '+':
		*time += strtoull(word + 1, NULL, 10) * 1000000000;
		break;
	case 'o':
		stitch_other(s, at_ns(*time), NULL, 0);
		break;
	case 'S':
		stitch_settled(s, at_ns(*time), STITCH_NONE_EXPECTED, STITCH_IDLE, NULL, 0);
		break;
	default:
		break;
	}
}

/* What came out at once, "| " and what the end released. */
static const char *play(const char *script, const struct stitch_opts *opts, char *out)
{
	struct stitch *s = stitch_new(opts);
	uint64_t time = 0;

	*out = '\0';
	for (const char *at = script; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		put_in(s, at, &time);
		put_out(s, out);
	}
	strcat(out, "|");
	stitch_end(s);
	put_out(s, out);
	stitch_free(s);
	return out;
}

static void test_rules(void)
{
	static const struct {
		const char *what, *script, *want;
	} rows[] = {
		{"a stack goes to its samples",                  "s1 s1 d1A",               "A A |"             },
		{"a sample after its stack",                     "s1 d1A s1",               "A A |"             },
		{"a stack before any sample",                    "d1A s1",                  "A |"               },
		{"order of time is kept",                        "s1 o 8s2 8d2B d1A",       "A o B |"           },
		{"no item waits without need",                   "o S s1 d1A",              "o -idle A |"       },
		{"another task's cookie is another",             "s1 8d1B d1A",             "A |"               },
		{"the next stack ends what came before",         "s1 s2 d2B",               "-no-record B |"    },
		{"but not one that is of one sample alone",      "s1 s2 w2B d1A",           "A B |"             },
		{"records lost meanwhile",                       "s1 l s2 d2B",             "-buffer B |"       },
		{"records lost before",                          "l s1 s2 d2B",             "-no-record B |"    },
		{"records lost, and a stack as after an exec",   "s1 l d1A s1",             "-buffer A |"       },
		{"records lost, end",                            "s1 l",                    "|-buffer "         },
		{"end",					  "s1 o",                    "|-end o "          },
		{"exit",					 "s1 x",                    "-exit |"           },
		{"another task's exit",                          "s1 8x d1A",               "A |"               },
		{"reuse of the number after a lost exit",        "s1 f s1 d1A",             "-exit A |"         },
		{"exec",					 "s1 e d1B",                "-exec |"           },
		{"exec with records lost",                       "s1 l e",                  "-exec |"           },
		{"a sample after the exec is the new program's", "s1 e s1 d1B",             "-exec B |"         },
		{"a stack from before the exec is gone",         "s1 d1A e s1",             "A |-end "          },
		{"a stack from before the exit is gone",         "s1 d1A x s1",             "A |-end "          },
		{"a duplicate changes nothing",                  "s1 d1A d1B s1",           "A A |"             },
		{"the stack before the last one is kept",        "s1 d1A s2 d2B s1",        "A B A |"           },
		{"the one before that is not",                   "s1 d1A s2 d2B s3 d3C s1", "A B C |-end "      },
		{"a cookie that came round",                     "s1 d1A +61 s1 d1B",       "A B |"             },
		{"a cookie that came round, stack first",        "s1 d1A +61 d1B s1",       "A B |"             },
		{"a long wait is no reason",                     "s1 +4000 s1 d1A",         "A A |"             },
		{"a stack without frames",                       "s1 d10 s1",               "-empty -empty |"   },
		{"a stack without address space",                "s1 d10x",                 "-exiting |"        },
		{"a stack that was read too late",               "s1 d10l s1",              "-late -late |"     },
		{"one of one sample alone stays, whoever comes", "w1A d2B d3C d4D s1",      "A |"               },
		{"until the next of its kind",                   "w1A w2B s1",              "|-end "            },
		{"or the exit",				  "w1A x s1",                "|-end "            },
		{"nor does it end others",                       "d1A w2B w3C w4D s1",      "A |"               },
		{"but one read too late ends no other's wait",   "s1 s2 d20l d1A",          "A -late |"         },
		{"exit: only of the task's last entry",          "s1 s2 s1 s3 x",
		 "-no-record -no-record -no-record -exit |"                                                     },
		{"exec: only of the task's last entry",          "s1 s2 e",                 "-no-record -exec |"},
	};
	char out[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_STR(play(rows[i].script, &(struct stitch_opts){0}, out), rows[i].want,
			  "%s: %s", rows[i].what, rows[i].script);
}

static void test_limits(void)
{
	char out[256];

	CHECK_STR(play("s1 +5 o s2 +6 o d1A", &(struct stitch_opts){.age_ns = 10000000000}, out),
		  "-timeout o -no-record o |",
		  "age: the head goes after 10 s, what is younger waits on");
	CHECK_STR(play("s1 o o o o", &(struct stitch_opts){.budget_bytes = 300}, out),
		  "-timeout o o o o |", "budget: the head goes with its reason");
	CHECK_STR(play("s1 o o s1 o d1A", &(struct stitch_opts){.budget_bytes = 300}, out),
		  "-timeout o o A o |",
		  "budget: a younger sample of the same key still gets its stack");
}

struct drops {
	unsigned int nr;
};

static void count_drop(void *ctx, const struct stitch_stack *stack)
{
	(void)stack;
	((struct drops *)ctx)->nr++;
}

static void test_drops(void)
{
	struct drops drops = {0};
	const struct stitch_opts opts = {.drop = count_drop, .ctx = &drops};
	struct stitch_counts counts;
	struct stitch *s = stitch_new(&opts);
	struct stitch_item item;
	uint64_t time = 0;

	put_in(s, "8s9", &time);
	put_in(s, "s1", &time);
	put_in(s, "d1A", &time);
	put_in(s, "d2B", &time);
	put_in(s, "d3C", &time);
	CHECK_EQ(drops.nr, 0, "a stack lives while a sample that has it waits after another");
	put_in(s, "8x", &time);
	stitch_next(s, &item);
	CHECK_EQ(drops.nr, 0, "and until it is taken out");
	stitch_next(s, &item);
	CHECK(item.stack && *(const char *)item.stack->record == 'A' && !drops.nr,
	      "and while the caller looks at it");
	CHECK(!stitch_next(s, &item) && drops.nr == 1, "then it is dropped");
	put_in(s, "d3C", &time);
	CHECK_EQ(drops.nr, 2, "a duplicate is dropped at once");
	stitch_end(s);
	CHECK_EQ(drops.nr, 4, "all are dropped at the end");
	stitch_counts(s, &counts);
	CHECK(counts.nr_stacks == 4 && counts.nr_unclaimed == 2 && counts.nr_duplicates == 1 &&
		      counts.nr_differing == 0 && counts.nr_samples == 2,
	      "counts: 4 stacks, 2 that no sample wanted, a duplicate");
	stitch_free(s);
}

/* Each allocation fails once: the call says so, nothing is lost or kept twice. */
static void test_memory(void)
{
	bool is_ok = true;
	uint64_t n;

	for (n = 0; n < 4000; n++) {
		struct drops drops = {0};
		const struct stitch_opts opts = {.drop = count_drop, .ctx = &drops};
		unsigned int nr_out = 0, nr_in = 0, nr_stacks = 0;
		struct stitch_item item;
		struct stitch *s;

		mem_fail_after(n);
		s = stitch_new(&opts);
		for (uint32_t i = 0; s && i < 600; i++) {
			const struct stitch_stack stack = {.nr = 0};

			nr_in += stitch_sample(s, i, 1, at_ns(i), NULL, 0) == CLEW_OK;
			nr_in += stitch_other(s, at_ns(i), NULL, 0) == CLEW_OK;
			if (i % 2)
				nr_stacks += stitch_stack_record(s, i / 2, i % 3, at_ns(i),
								 &stack) == CLEW_OK;
		}
		if (s)
			stitch_end(s);
		while (s && stitch_next(s, &item))
			nr_out++;
		stitch_free(s);
		is_ok &= nr_in == nr_out && drops.nr == nr_stacks;
		if (!mem_has_failed())
			break;
	}
	mem_fail_after(UINT64_MAX);
	CHECK(is_ok && n > 300, "each of %d allocations may fail: items and stacks come back",
	      (int)n);
}

int main(void)
{
	test_rules();
	test_limits();
	test_drops();
	test_memory();
	return tap_done();
}
