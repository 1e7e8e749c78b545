/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_COMMON_OPTIONS_H
#define CLI_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an option does with its argument. */
enum cli_kind {
	CLI_SECTION, /* not an option: a heading in --help; long_name holds the text */
	CLI_FLAG,    /* bool *to = true; --no-NAME sets false */
	CLI_COUNT,   /* unsigned int *to += 1 (-vv) */
	CLI_STRING,  /* const char **to; the text lives as long as argv */
	CLI_UINT,    /* uint64_t *to; decimal, hex or octal */
	CLI_CALL,    /* call(to, argument or NULL, is --no-NAME) */
};

/** One row of a command's option table; the table ends with a row of zeros. */
struct cli_option {
	char short_name;       /* 0: none */
	const char *long_name; /* NULL: none; a leading "no-" row is made for CLI_FLAG and for
				  CLI_CALL with can_negate */
	const char *arg;  /* name in --help; NULL: takes none; "[NAME]": may be omitted (then = or
			     glued) */
	const char *help; /* NULL: accepted, and not listed */
	enum cli_kind kind;
	void *to;
	int (*call)(void *to, const char *arg,
		    bool is_negated); /* 0, or an exit status after its own message */
	bool can_negate;
};

struct cli_command {
	const char *name;    /* "record" */
	const char *usage;   /* lines after "clew record ", separated by newlines */
	const char *summary; /* one sentence */
	const struct cli_option *options;
	bool stops_at_word;   /* the first word ends the options: the rest is another program's
				 command line */
	const char *examples; /* printed at the end of --help, or NULL */
};

/** A command, as main() and the help know it. */
struct cli_entry {
	const char *name, *summary;
	int (*run)(int argc, char **argv); /* NULL: main() itself does it */
};

/** All commands: where an option is rejected, hints name others that take it. Borrowed; without it
 * only the command at hand is known. */
void cli_set_commands(const struct cli_entry *all, size_t nr);

/**
 * Parse argv[1..]. --help and -h print the table and end with status 0.
 * @return the index of the first word that is no option (argv is permuted so that all such words
 * are last), or -1 - STATUS when the command is to end with STATUS now.
 */
int cli_parse(const struct cli_command *cmd, int argc, char **argv);

/** What --help shows of another command: @p visit gets its table, borrowed for the call. Nothing is
 * printed or run. */
typedef void cli_visit(void *ctx, const struct cli_command *cmd);
void cli_options_of(const struct cli_entry *command, cli_visit *visit, void *ctx);

/** Does the table's row take --no-NAME, too? */
bool cli_can_negate(const struct cli_option *o);

/** The table's end. */
bool cli_is_end(const struct cli_option *o);

/* --- unknown_option.c: what getopt rejected: the exact cause, and what may be meant, here or in
 * another command. Both return CLI_USAGE. --- */
/** @p word: with its dashes. */
int cli_option_refuse(const struct cli_command *cmd, const char *word);
/** @p word: where it may stand, with others; or NULL. */
int cli_letter_refuse(const struct cli_command *cmd, char letter, const char *word);

/** "4k", "16M", "1G" or plain bytes. @return false: not a size. */
bool cli_parse_size(const char *text, uint64_t *ret);

/** A whole number in C notation. @return false: not one, or out of range. */
bool cli_parse_uint(const char *text, uint64_t *ret);

/** Percent, 0 to 100, as a share: 0 to 1. @return false: not that. */
bool cli_parse_percent(const char *text, double *ret);

#endif
