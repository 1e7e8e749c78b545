/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/session/control.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"
#include "os/proc.h"

static bool parse_fd(const char **text, int *ret)
{
	char *end;
	long v = strtol(*text, &end, 10);

	if (end == *text || v < 0 || v > INT32_MAX)
		return false;
	*text = end;
	*ret = (int)v;
	return true;
}

static enum clew_err open_fds(struct rec_control *c, const char *text, struct rec_error *error)
{
	const char *at = text;

	if (!parse_fd(&at, &c->fd) || (*at == ',' && (at++, !parse_fd(&at, &c->ack_fd))) || *at)
		return rec_fail(
			error, CLEW_INVALID,
			"--control fd:%s: expected fd:COMMANDS[,ACKS] with open descriptors", text);
	if (os_set_nonblocking(c->fd))
		return rec_fail(error, CLEW_INVALID, "--control: descriptor %d is not open", c->fd);
	return CLEW_OK;
}

static enum clew_err open_fifos(struct rec_control *c, const char *text, struct rec_error *error)
{
	size_t len = strcspn(text, ",");
	char path[4096];

	c->is_ours = true;
	snprintf(path, sizeof(path), "%.*s", (int)len, text);
	c->fd = os_open_fifo(path, false);
	if (c->fd < 0)
		return rec_fail_os(error, c->fd, "--control: cannot open the fifo '%s'", path);
	if (!text[len])
		return CLEW_OK;
	c->ack_fd = os_open_fifo(text + len + 1, true);
	if (c->ack_fd < 0)
		return rec_fail_os(error, c->ack_fd, "--control: cannot open the fifo '%s'",
				   text + len + 1);
	return CLEW_OK;
}

enum clew_err rec_control_open(struct rec_control *c, const char *spec, struct rec_error *error)
{
	*c = (struct rec_control){.fd = -1, .ack_fd = -1};
	if (!strncmp(spec, "fd:", 3))
		return open_fds(c, spec + 3, error);
	if (!strncmp(spec, "fifo:", 5))
		return open_fifos(c, spec + 5, error);
	return rec_fail(error, CLEW_INVALID,
			"--control '%s': expected fd:N[,M] or fifo:PATH[,PATH]", spec);
}

static enum rec_command command_of(struct rec_control *c)
{
	static const struct {
		const char *word;
		enum rec_command command;
	} table[] = {
		{"enable",   REC_COMMAND_ENABLE  },
                {"disable",  REC_COMMAND_DISABLE },
		{"snapshot", REC_COMMAND_SNAPSHOT},
                {"stop",     REC_COMMAND_STOP    },
		{"ping",     REC_COMMAND_PING    },
                {"evlist",   REC_COMMAND_EVLIST  },
	};
	size_t len = strcspn(c->line, " \t");
	const char *argument = c->line + len + strspn(c->line + len, " \t");

	snprintf(c->argument, sizeof(c->argument), "%s", argument);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strlen(table[i].word) == len && !strncmp(c->line, table[i].word, len))
			return table[i].command;
	return REC_COMMAND_UNKNOWN;
}

enum rec_command rec_control_next(struct rec_control *c)
{
	char byte;

	if (c->fd < 0)
		return REC_COMMAND_NONE;
	/* A byte at a time: commands are rare, and what is read belongs to us alone. */
	while (os_read(c->fd, &byte, 1) == 1) {
		if (byte != '\n') {
			if (c->nr < sizeof(c->line) - 1)
				c->line[c->nr++] = byte;
			else
				c->is_too_long = true;
			continue;
		}
		c->line[c->nr] = '\0';
		c->nr = 0;
		if (!c->is_too_long)
			return command_of(c);
		c->is_too_long = false;
		return REC_COMMAND_UNKNOWN;
	}
	return REC_COMMAND_NONE;
}

void rec_control_ack(struct rec_control *c, const char *text)
{
	if (c->ack_fd < 0)
		return;
	if (text)
		os_write_all(c->ack_fd, text, strlen(text));
	os_write_all(c->ack_fd, "ack\n", 4);
}

void rec_control_done(struct rec_control *c)
{
	if (c->is_ours) {
		os_close(c->fd);
		os_close(c->ack_fd);
	}
	c->fd = c->ack_fd = -1;
}
