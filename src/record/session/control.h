/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SESSION_CONTROL_H
#define RECORD_SESSION_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "record/plan/rec_error.h"

enum rec_command {
	REC_COMMAND_NONE, /* nothing whole has come */
	REC_COMMAND_ENABLE,
	REC_COMMAND_DISABLE,
	REC_COMMAND_SNAPSHOT,
	REC_COMMAND_STOP,
	REC_COMMAND_PING,
	REC_COMMAND_EVLIST,
	REC_COMMAND_UNKNOWN,
};

/** --control: commands come in by line, "ack\n" goes out. */
struct rec_control {
	int fd, ack_fd; /* -1: none */
	bool is_ours;   /* opened by us, to be closed by us */
	char line[512];
	size_t nr;
	bool is_too_long;   /* dropping up to the next newline */
	char argument[512]; /* of the last command: an event's name or flags; "" without */
};

/** "fd:N[,M]" or "fifo:PATH[,PATH]". */
enum clew_err rec_control_open(struct rec_control *c, const char *spec, struct rec_error *error);

/** The next whole line that has come, NONE when there is none. */
enum rec_command rec_control_next(struct rec_control *c);

/** Send @p text, then "ack\n". That no process listens is not an error. */
void rec_control_ack(struct rec_control *c, const char *text);

void rec_control_done(struct rec_control *c);

#endif
