/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_landmark.h"

#include <string.h>

#include "unit/tap.h"

/*
 * A line of runs, as who_fold_test prints them: "10:5" thread 5 from 10 on, "z": it sleeps then;
 * "/" a switch, "X" a hole, "-" nothing. Chunks: when each begins ("?": it has no time), and how
 * many times cpu_switch_to ran in it. Read: the threads of each, "!": not paired.
 */
static const struct {
	const char *what, *line, *chunks, *threads;
} rows[] = {
	{"one chunk",				      "0:5 10:/ 12:7z 20:/ 22:0",          "1:2",          "5 7z 0"   },
	{"no switch in it",				"0:5 10:/ 12:7 20:/ 22:0",           "13:0 21:0",    "7; 0"     },
	{"one landmark too few",                           "0:5 10:/ 12:7 20:/ 22:0",           "1:1",          "!"        },
	{"one too many",				   "0:5 10:/ 12:7 20:/ 22:0",           "1:3",          "!"        },
	{"a chunk that does not pair leaves the next one", "0:5 10:/ 12:7 20:/ 22:0 30:/ 32:5",
	 "1:5 21:1 ",											   "!; 0 5"   },
	{"the next chunk begins in a switch: before",      "0:5 10:/ 12:7",                     "1:1 11:0",     "5 7; 7"   },
	{"... or after its landmark",                      "0:5 10:/ 12:7",                     "1:0 11:0",     "5; 7"     },
	{"its first record is that of the switch",         "0:5 10:/ 12:7",                     "10:1",         "5 7"      },
	{"records were lost in it",                        "0:5 10:X 12:7 20:/ 22:0",           "1:1 13:1",     "!; 7 0"   },
	{"... and before it",			      "0:5 10:X 20:7 30:/ 32:5",           "15:1 21:1",    "!; 7 5"   },
	{"the CPU was away",			       "0:5 10:- 20:7 30:/ 32:5",           "1:0 21:1",     "!; 7 5"   },
	{"a dead thread",				  "0:5 10:/ 12:-1 20:/ 22:0",          "1:2",          "5 -1 0"   },
	{"a chunk without a time",                         "0:5 10:/ 12:7 20:/ 22:0",           "1:1 ?:1 21:0", "5 7; !; 0"},
	{"no records",				     "",				  "1:1",          "!"        },
};

static void add_run(struct who_runs *l, const char *word)
{
	struct who_run r = {.kind = WHO_RUN_THREAD};
	unsigned long long from;
	char what[8];

	if (sscanf(word, "%llu:%7s", &from, what) != 2)
		return;
	r.from.ns = from;
	if (*what == '/')
		r.kind = WHO_RUN_SWITCH;
	else if (*what == 'X')
		r.kind = WHO_RUN_HOLE;
	else if (!strcmp(what, "-"))
		r.kind = WHO_RUN_NONE;
	else
		sscanf(what, "%d", &r.id.n);
	r.end = strchr(what, 'z') ? WHO_END_SLEEPS : WHO_END_PREEMPTED;
	who_runs_add(l, &r);
}

static size_t read_chunks(const char *text, struct who_marked_chunk *ret)
{
	size_t nr = 0;

	for (char *end; *text; text = *end ? end + 1 : end) {
		struct who_marked_chunk c = {.first = clew_perf_ns_none()};

		if (*text == '?')
			end = (char *)(uintptr_t)text + 1;
		else
			c.first.ns = strtoull(text, &end, 10);
		c.nr = (uint32_t)strtoul(end + 1, &end, 10);
		ret[nr++] = c;
	}
	return nr;
}

static void print(const struct who_marked_chunk *chunks, size_t nr, const struct who_landmarks *l,
		  char *ret)
{
	*ret = 0;
	for (size_t i = 0; i < nr; i++) {
		ret += sprintf(ret, "%s%s", i ? "; " : "", chunks[i].is_paired ? "" : "!");
		for (uint32_t k = 0; chunks[i].is_paired && k <= chunks[i].nr; k++) {
			const struct who_landmark *m = &l->data[chunks[i].at + k];

			ret += sprintf(ret, "%s%d%s", k ? " " : "", m->id.n, m->sleeps ? "z" : "");
		}
	}
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct who_marked_chunk chunks[8];
		struct who_landmarks l = {0};
		struct who_runs line = {0};
		char words[128], got[128];
		size_t nr = read_chunks(rows[i].chunks, chunks);

		strcpy(words, rows[i].line);
		for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
			add_run(&line, w);
		who_runs_end(&line);
		who_landmarks_pair_line(&line, chunks, nr, &l);
		print(chunks, nr, &l, got);
		CHECK_STR(got, rows[i].threads, "%s", rows[i].what);
		who_runs_done(&line);
		vec_done(&l);
	}
	return tap_done();
}
