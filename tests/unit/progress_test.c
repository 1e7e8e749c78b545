/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/progress.h"

#include "cli/common/message.h"
#include "os/clock.h"
#include "unit/tap.h"
#include "unit/terminal.h"

/* Until that many seconds, any but 0, stand after @p before. */
static bool wait_for_seconds(const char *before)
{
	const char *at;

	do {
		forget();
		if (!wait_for(" s"))
			return false;
		at = strstr(seen, before);
	} while (!at || strtol(at + strlen(before), NULL, 10) < 1);
	return true;
}

/* Its last line as it would stand there. */
static const char *line_now(void)
{
	const char *last = seen;

	for (const char *p = seen; (p = strstr(p, "\r\033[K")); p++)
		last = p + 4;
	return last;
}

static void test_percent(void)
{
	forget();
	cli_progress_begin("reading", 1000);
	cli_progress_at(340);
	CHECK(wait_for("clew: reading: 34 %"), "the phase and how much of it is done");
	cli_progress_at(500);
	CHECK(wait_for("clew: reading: 50 %, "), "another percent later");
	CHECK(wait_for(" s left"), "the time left");
	cli_progress_at(2000);
	CHECK(wait_for("100 %"), "never more than all");
	cli_progress_begin("sorting", 0);
	CHECK(wait_for("clew: sorting: 0 s"), "the next phase at once, without a total its time");
	CHECK(wait_for_seconds("clew: sorting: "), "which continues");
}

static void test_text(void)
{
	static const struct {
		struct cli_progress_state state;
		const char *text;
	} cases[] = {
		{{"reading", 340, 1000, true, 500000000, 340},                    "clew: reading: 34 %"          },
		{{"reading", 340000000, 1000000000, true, 2000000000, 300000000},
		 "clew: reading: 34 %, 150 MB/s, 4 s left"                                                       },
		{{"reading", 3000000, 6000000000, true, 1000000000, 3000000},
		 "clew: reading: 0 %, 3.0 MB/s, 33 min 19 s left"                                                },
		{{"writing", 500, 1000, false, 2000000000, 500},                  "clew: writing: 50 %, 2 s left"},
		{{"writing", 500, 1000, false, 2000000000, 0},                    "clew: writing: 50 %"          },
		{{"reading", 1001, 1000, true, 1000000000, 1001},
		 "clew: reading: 100 %, 0.0 MB/s, 0 s left"                                                      },
		{{"sorting", 0, 0, true, 3 * 60000000000, 0},                     "clew: sorting: 3 min 0 s"     },
	};
	char text[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cli_progress_text(&cases[i].state, text, sizeof(text));
		CHECK(!strcmp(text, cases[i].text), "%s: %s", cases[i].text, text);
	}
}

static void test_message(void)
{
	forget();
	CHECK(wait_for("clew: sorting"), "the line is there");
	cli_note("%s", "something to say");
	CHECK(wait_for("\r\033[Kclew: something to say"), "a message takes the line away before");
	forget();
	CHECK(wait_for("clew: sorting"), "and the line comes back after it");
	cli_progress_end();
	cli_note("%s", "over");
	wait_for("clew: over");
	CHECK(!strncmp(line_now(), "clew: over", 10), "the end takes it away");
}

static void test_library(void)
{
	forget();
	cli_progress_begin("opening", 0);
	progress_begin(cli_progress(), "decoding trace", 1 << 20);
	for (int i = 0; i < 64; i++)
		progress_add(cli_progress(), 1 << 10);
	CHECK(wait_for("clew: decoding trace: 6 %"), "what the library writes is shown");
	set_columns(20);
	forget();
	CHECK(wait_for("clew: decoding trac\r"), "a narrow terminal's line is not wrapped");
	set_columns(80);
	cli_progress_stop();
	forget();
	cli_progress_begin("reading", 0);
	cli_note("%s", "stopped");
	wait_for("clew: stopped");
	CHECK(!strstr(seen, "reading"), "no line once the terminal belongs to the output");
	cli_progress_end();
	progress_begin(NULL, "x", 1);
	progress_add(NULL, 1);
	CHECK(true, "no one looks: no harm");
}

/* Only where the machine was quick enough to say that it was short. */
static void test_short(void)
{
	uint64_t begun = os_clock_ns();

	forget();
	cli_progress_begin("reading", 1000);
	cli_progress_at(500);
	cli_progress_end();
	if (os_clock_ns() - begun > 900000000) {
		SKIP("the machine is too busy for less than a second");
		return;
	}
	cli_note("%s", "done");
	wait_for("clew: done");
	CHECK(!strstr(seen, "reading"), "nothing for less than a second");
}

int main(void)
{
	if (!open_terminal())
		SKIP_ALL("no pseudo terminal here");
	set_columns(80);
	test_text();
	test_short();
	test_percent();
	test_message();
	test_library();
	return tap_done();
}
