/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "doctor/doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/commands.h"
#include "cli/common/message.h"
#include "cli/common/options.h"
#include "format/json_put.h"

enum { TITLE_WIDTH = 36, TEXT_WIDTH = 100, JSON_VERSION = 1 };

static const char green[] = "\033[32m", red[] = "\033[31m", bold[] = "\033[1m", plain[] = "\033[0m";

static const char *colour(const char *code)
{
	return isatty(STDOUT_FILENO) ? code : "";
}

/* Words of @text from column @indent on, broken at TEXT_WIDTH; the first line has begun. */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;

	while (*text) {
		int n = (int)strcspn(text, " ");

		if (column > indent && column + n + 1 > TEXT_WIDTH) {
			printf("\n%*s", indent, "");
			column = indent;
		}
		column += printf("%s%.*s", column > indent ? " " : "", n, text);
		text += n;
		text += *text == ' ';
	}
	putchar('\n');
}

/* One line per alternative ("A, or: B"), unbroken, so that it can be copied. */
static void print_fix(const char *fix)
{
	while (*fix) {
		const char *next = strstr(fix, ", or");
		int n = next ? (int)(next - fix) : (int)strlen(fix);

		printf("%*s-> %.*s\n", 2 + TITLE_WIDTH + 5, "", n, fix);
		fix += n;
		if (next)
			fix += strcspn(fix + 2, " ") + 3;
	}
}

static void print_row(const struct doctor_row *r)
{
	static const char *const words[] = {"yes  ", "no   ", ""};
	const char *code = r->state == DOCTOR_YES ? green : r->state == DOCTOR_NO ? red : "";
	int indent = 2 + TITLE_WIDTH + (int)strlen(words[r->state]);

	printf("  %-*s%s%s%s", TITLE_WIDTH, r->title, colour(code), words[r->state],
	       *code ? colour(plain) : "");
	print_wrapped(r->detail, indent);
	print_fix(r->fix);
}

static void print_text(const struct doctor_report *report)
{
	const char *section = "";

	for (size_t i = 0; i < report->rows.nr; i++) {
		const struct doctor_row *r = &report->rows.data[i];

		if (strcmp(section, r->section))
			printf("%s%s%s%s\n", i ? "\n" : "", colour(bold), r->section,
			       colour(plain));
		section = r->section;
		print_row(r);
	}
	printf("\n%s\n", report->can_record
				 ? "clew can record here: clew record -g -- PROGRAM && clew report"
				 : "clew cannot record here; the rows above give the reasons.");
}

static void put_row(struct json_put *j, const struct doctor_row *r)
{
	json_open(j, '{');
	json_put_string(j, "id", r->id);
	json_put_string(j, "section", r->section);
	json_put_string(j, "title", r->title);
	json_put_string(j, "state", doctor_state_name(r->state));
	json_put_string(j, "detail", r->detail);
	json_put_string(j, "fix", r->fix);
	json_close(j, '}');
}

static void print_json(const struct doctor_report *report)
{
	clew_auto(buf_done) struct buf out = {0};
	struct json_put j = {.out = &out, .is_indented = true};

	json_open(&j, '{');
	json_put_string(&j, "format", "clew-doctor");
	json_put_u64(&j, "version", JSON_VERSION);
	json_put_bool(&j, "can_record", report->can_record);
	json_key(&j, "rows");
	json_open(&j, '[');
	for (size_t i = 0; i < report->rows.nr; i++)
		put_row(&j, &report->rows.data[i]);
	json_close(&j, ']');
	json_close(&j, '}');
	printf("%s\n", buf_cstr(&out));
}

int cmd_doctor(int argc, char **argv)
{
	bool is_json = false;
	const struct cli_option options[] = {
		{0,     "json", NULL, "one JSON object with all rows", CLI_FLAG, &is_json},
		{0},
	};
	const struct cli_command cmd = {
		.name = "doctor",
		.usage = "[--json]",
		.summary = "Report what this user can record on this machine, why the rest cannot "
			   "be recorded, and the commands that change it.",
		.options = options,
		.examples = "  clew doctor                       as this user\n"
			    "  sudo clew doctor                  as root\n"
			    "  clew doctor --json                for other programs\n",
	};
	struct doctor_report report;
	int word = cli_parse(&cmd, argc, argv);
	bool can_record;

	if (word < 0)
		return -1 - word;
	if (word < argc) {
		cli_error("doctor takes no arguments, but got '%s'", argv[word]);
		return CLI_USAGE;
	}
	if (rec_doctor_run(&report)) {
		cli_error("out of memory");
		return CLI_FAILED;
	}
	if (is_json)
		print_json(&report);
	else
		print_text(&report);
	can_record = report.can_record;
	rec_doctor_done(&report);
	return can_record ? CLI_OK : CLI_FAILED;
}
