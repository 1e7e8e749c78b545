/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/common/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/vec.h"
#include "cli/common/message.h"

enum { LONG_BASE = 256, NEGATED = 1 << 16, HELP = 1 << 17, TEXT_COLUMN = 30, WIDTH = 100 };

struct getopt_tables {
	struct {
		VEC(struct option);
	} longs;
	struct buf shorts, names; /* names: "no-NAME" texts */
};

bool cli_is_end(const struct cli_option *o)
{
	return !o->short_name && !o->long_name;
}

static int has_arg(const struct cli_option *o)
{
	if (!o->arg)
		return no_argument;
	return o->arg[0] == '[' ? optional_argument : required_argument;
}

bool cli_can_negate(const struct cli_option *o)
{
	return o->long_name && (o->kind == CLI_FLAG || o->can_negate);
}

static bool add_long(struct getopt_tables *t, const char *name, int arg, int value)
{
	return vec_push(&t->longs, (struct option){name, arg, NULL, value});
}

static bool add_negated(struct getopt_tables *t, const char *name, int value)
{
	char *text = mem_alloc(strlen(name) + 4);

	if (!text)
		return false;
	snprintf(text, strlen(name) + 4, "no-%s", name);
	return add_long(t, text, no_argument, value | NEGATED);
}

static bool make_tables(struct getopt_tables *t, const struct cli_command *cmd)
{
	bool ok = true;

	buf_str(&t->shorts, cmd->stops_at_word ? "+:h" : ":h");
	for (int i = 0; !cli_is_end(&cmd->options[i]); i++) {
		const struct cli_option *o = &cmd->options[i];

		if (o->kind == CLI_SECTION)
			continue;
		if (o->short_name) {
			buf_char(&t->shorts, o->short_name);
			buf_fill(&t->shorts, ':', (size_t)has_arg(o));
		}
		if (o->long_name)
			ok &= add_long(t, o->long_name, has_arg(o), LONG_BASE + i);
		if (cli_can_negate(o))
			ok &= add_negated(t, o->long_name, LONG_BASE + i);
	}
	return ok && add_long(t, "help", no_argument, HELP) && add_long(t, NULL, 0, 0) &&
	       !t->shorts.is_failed;
}

static void tables_done(struct getopt_tables *t)
{
	vec_for_each (&t->longs, o) {
		if (o->val & NEGATED)
			mem_free((void *)(uintptr_t)o->name);
	}
	vec_done(&t->longs);
	buf_done(&t->shorts);
	buf_done(&t->names);
}

static const struct cli_option *option_of(const struct cli_command *cmd, int value)
{
	if (value & (LONG_BASE - 1) && value < LONG_BASE) {
		for (const struct cli_option *o = cmd->options; !cli_is_end(o); o++) {
			if (o->kind != CLI_SECTION && o->short_name == value)
				return o;
		}
		return NULL;
	}
	return &cmd->options[(value & ~NEGATED) - LONG_BASE];
}

/* Help text from @p column on, wrapped at words. */
static void print_wrapped(const char *text, int column)
{
	int at = column;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (at > column && at + 1 + len > WIDTH) {
			printf("\n%*s", column, "");
			at = column;
		} else if (at > column) {
			putchar(' ');
			at++;
		}
		printf("%.*s", len, text);
		at += len;
		text += len;
		text += *text == ' ';
	}
	putchar('\n');
}

static void print_option(const struct cli_option *o)
{
	char left[96];
	int n = snprintf(left, sizeof(left), "  %c%c%s%s%s", o->short_name ? '-' : ' ',
			 o->short_name ? o->short_name : ' ',
			 o->short_name && o->long_name ? ", " : "  ", o->long_name ? "--" : "",
			 o->long_name ? o->long_name : "");

	if (o->arg && n > 0 && (size_t)n < sizeof(left)) {
		const char *sep = o->arg[0] == '[' || !o->long_name ? "" : "=";

		if (o->arg[0] == '[' && o->long_name)
			n += snprintf(left + n, sizeof(left) - (size_t)n, "[=%s", o->arg + 1);
		else
			n += snprintf(left + n, sizeof(left) - (size_t)n, "%s%s", sep, o->arg);
	}
	if (n >= TEXT_COLUMN)
		printf("%s\n%*s", left, TEXT_COLUMN, "");
	else
		printf("%-*s", TEXT_COLUMN, left);
	print_wrapped(o->help, TEXT_COLUMN);
}

static void print_help(const struct cli_command *cmd)
{
	const char *line = cmd->usage;

	for (const char *word = "Usage:"; *line; word = "      ") {
		int len = (int)strcspn(line, "\n");

		printf("%s clew %s %.*s\n", word, cmd->name, len, line);
		line += len;
		line += *line == '\n';
	}
	printf("\n%s\n", cmd->summary);
	for (const struct cli_option *o = cmd->options; !cli_is_end(o); o++) {
		if (o->kind == CLI_SECTION)
			printf("\n%s:\n", o->long_name);
		else if (o == cmd->options)
			printf("\nOptions:\n");
		if (o->kind != CLI_SECTION && o->help)
			print_option(o);
	}
	print_option(&(struct cli_option){
		.short_name = 'h', .long_name = "help", .help = "print this and exit"});
	if (cmd->examples)
		printf("\nExamples:\n%s", cmd->examples);
}

bool cli_parse_uint(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	if (*text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, &end, 0);
	return !errno && !*end;
}

bool cli_parse_percent(const char *text, double *ret)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v >= 0 && v <= 100))
		return false;
	*ret = v / 100;
	return true;
}

bool cli_parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "BKMG";
	const char *unit;
	char *end;
	uint64_t v;

	errno = 0;
	if (*text < '0' || *text > '9')
		return false;
	v = strtoull(text, &end, 0);
	if (errno)
		return false;
	if (!*end) {
		*ret = v;
		return true;
	}
	unit = strchr(units, *end >= 'a' && *end <= 'z' ? *end - 32 : *end);
	if (!unit || end[1])
		return false;
	return !__builtin_mul_overflow(v, (uint64_t)1 << 10 * (unit - units), ret);
}

static int apply(const struct cli_command *cmd, const struct cli_option *o, const char *arg,
		 bool is_negated)
{
	switch (o->kind) {
	case CLI_FLAG:
		*(bool *)o->to = !is_negated;
		return 0;
	case CLI_COUNT:
		++*(unsigned int *)o->to;
		return 0;
	case CLI_STRING:
		*(const char **)o->to = arg;
		return 0;
	case CLI_UINT:
		if (cli_parse_uint(arg, o->to))
			return 0;
		cli_error("--%s takes a whole number, not '%s'", o->long_name, arg);
		return CLI_USAGE;
	case CLI_CALL:
		return o->call(o->to, arg, is_negated);
	case CLI_SECTION:
		break;
	}
	cli_error("%s: unusable option", cmd->name);
	return CLI_USAGE;
}

static int refuse(const struct cli_command *cmd, int what, char **argv)
{
	const char *word = argv[optind - 1];

	/* A letter that getopt returns may be one of several in the current word. */
	if (what != ':' && optopt && optopt < LONG_BASE)
		return cli_letter_refuse(cmd, (char)optopt, argv[optind]);
	if (what != ':')
		return cli_option_refuse(cmd, word);
	cli_error("%s: '%s' needs an argument", cmd->name, word);
	cli_hint("see 'clew %s --help'", cmd->name);
	return CLI_USAGE;
}

static int parse_all(const struct cli_command *cmd, struct getopt_tables *t, int argc, char **argv)
{
	int what, status = 0;

	optind = 0; /* glibc: start again, also with another table */
	opterr = 0;
	while (!status &&
	       (what = getopt_long(argc, argv, buf_cstr(&t->shorts), t->longs.data, NULL)) != -1) {
		const struct cli_option *o;

		if (what == HELP || what == 'h') {
			print_help(cmd);
			return -1;
		}
		if (what == ':' || what == '?')
			return -1 - refuse(cmd, what, argv);
		o = option_of(cmd, what);
		status = o ? apply(cmd, o, optarg, what & NEGATED) : CLI_USAGE;
	}
	return status ? -1 - status : optind;
}

/* Tables point to variables of their command, so they live while it runs: it is run up to here. */
static struct {
	cli_visit *visit;
	void *ctx;
} visitor;

void cli_options_of(const struct cli_entry *command, cli_visit *visit, void *ctx)
{
	char name[32], help[] = "--help", *argv[] = {name, help, NULL};

	if (!command->run)
		return;
	snprintf(name, sizeof(name), "%s", command->name);
	visitor.visit = visit;
	visitor.ctx = ctx;
	command->run(2, argv);
	visitor.visit = NULL;
}

int cli_parse(const struct cli_command *cmd, int argc, char **argv)
{
	struct getopt_tables t = {0};
	int at = -1 - CLI_FAILED;

	if (visitor.visit) {
		visitor.visit(visitor.ctx, cmd);
		return -1;
	}
	if (make_tables(&t, cmd))
		at = parse_all(cmd, &t, argc, argv);
	tables_done(&t);
	return at;
}
