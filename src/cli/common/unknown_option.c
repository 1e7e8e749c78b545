/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/near_name.h"
#include "cli/common/message.h"
#include "cli/common/options.h"

static const struct cli_entry *commands;
static size_t nr_commands;

void cli_set_commands(const struct cli_entry *all, size_t nr)
{
	commands = all;
	nr_commands = nr;
}

enum { MAX_NAME = 64, MAX_HINTS = 3 };

/* What was written where an option is expected. */
struct wanted {
	const struct cli_command *cmd; /* that should have the option */
	const char *name;              /* without dashes; NULL: a letter */
	size_t size;
	char letter;
	/* Known options that begin with the name. */
	struct buf known;
	size_t nr_known;
	struct near_name near;
	const char *near_command;  /* NULL: this one */
	unsigned int nr_elsewhere; /* other commands with exactly this option */
};

static bool begins(const char *option, const struct wanted *w)
{
	return !strncmp(option, w->name, w->size);
}

/* Options that are always rejected are not proposed. */
static bool is_proposed(const struct cli_option *o)
{
	return o->help || o->kind != CLI_CALL;
}

/* What getopt would have accepted. */
static void look_at(struct wanted *w, const char *option, bool proposes)
{
	if (proposes)
		near_name_try(&w->near, option);
	if (!begins(option, w))
		return;
	buf_printf(&w->known, "%s--%s", w->nr_known ? ", " : "", option);
	w->nr_known++;
}

static void look_here(struct wanted *w)
{
	bool is_negated = w->size > 2 && !strncmp(w->name, "no", 2);

	near_name_start(&w->near, w->name, w->size);
	for (const struct cli_option *o = w->cmd->options; !cli_is_end(o); o++) {
		char negated[MAX_NAME];

		if (o->kind == CLI_SECTION || !o->long_name)
			continue;
		look_at(w, o->long_name, is_proposed(o));
		snprintf(negated, sizeof(negated), "no-%s", o->long_name);
		if (cli_can_negate(o))
			look_at(w, negated, is_proposed(o) && is_negated);
	}
	look_at(w, "help", true);
}

static bool is_same(const struct wanted *w, const struct cli_option *o)
{
	if (o->kind == CLI_SECTION || !o->help)
		return false;
	if (!w->name)
		return o->short_name == w->letter;
	return o->long_name && strlen(o->long_name) == w->size && begins(o->long_name, w);
}

static void look_there(void *ctx, const struct cli_command *cmd)
{
	struct wanted *w = ctx;

	for (const struct cli_option *o = cmd->options; !cli_is_end(o); o++) {
		if (!is_same(w, o) || w->nr_elsewhere == MAX_HINTS)
			continue;
		w->nr_elsewhere++;
		if (w->name)
			cli_hint("'clew %s --%s': %s", cmd->name, o->long_name, o->help);
		else
			cli_hint("'clew %s -%c': %s", cmd->name, w->letter, o->help);
		return;
	}
}

static void look_near(void *ctx, const struct cli_command *cmd)
{
	struct wanted *w = ctx;

	for (const struct cli_option *o = cmd->options; !cli_is_end(o); o++) {
		size_t before = w->near.distance;

		if (o->kind == CLI_SECTION || !o->help || !o->long_name)
			continue;
		near_name_try(&w->near, o->long_name);
		if (w->near.distance < before)
			w->near_command = cmd->name;
	}
}

static void look_elsewhere(struct wanted *w, cli_visit *look)
{
	for (size_t i = 0; i < nr_commands; i++) {
		if (strcmp(commands[i].name, w->cmd->name) != 0)
			cli_options_of(&commands[i], look, w);
	}
}

static int end(struct wanted *w)
{
	if (!w->nr_elsewhere)
		cli_hint("see 'clew %s --help'", w->cmd->name);
	buf_done(&w->known);
	return CLI_USAGE;
}

/* "-json" */
static bool is_long_name(struct wanted *w, const char *word)
{
	if (!word || word[0] != '-' || word[1] == '-' || word[1] != w->letter || !word[2])
		return false;
	w->name = word + 1;
	w->size = strcspn(w->name, "=");
	look_here(w);
	w->name = NULL;
	return w->nr_known == 1;
}

int cli_letter_refuse(const struct cli_command *cmd, char letter, const char *word)
{
	struct wanted w = {.cmd = cmd, .letter = letter};

	cli_error("%s: there is no option '-%c' here", cmd->name, letter);
	if (!is_long_name(&w, word)) {
		look_elsewhere(&w, look_there);
		return end(&w);
	}
	cli_hint("did you mean '%s'?", buf_cstr(&w.known));
	buf_done(&w.known);
	return CLI_USAGE;
}

static void propose(struct wanted *w)
{
	look_elsewhere(w, look_there);
	if (!w->nr_elsewhere && !*w->near.best)
		look_elsewhere(w, look_near);
	if (w->nr_elsewhere || !*w->near.best)
		return;
	if (w->near_command)
		cli_hint("did you mean 'clew %s --%s'?", w->near_command, w->near.best);
	else
		cli_hint("did you mean '--%s'?", w->near.best);
	w->nr_elsewhere++;
}

int cli_option_refuse(const struct cli_command *cmd, const char *word)
{
	struct wanted w = {.cmd = cmd, .name = word + 2, .size = strcspn(word + 2, "=")};
	int size = (int)w.size;

	look_here(&w);
	if (w.nr_known == 1) {
		cli_error("%s: '%s' takes no argument", cmd->name, buf_cstr(&w.known));
	} else if (w.nr_known) {
		cli_error("%s: '--%.*s' may be any of %s", cmd->name, size, w.name,
			  buf_cstr(&w.known));
	} else {
		cli_error("%s: there is no option '--%.*s' here", cmd->name, size, w.name);
		propose(&w);
	}
	return end(&w);
}
