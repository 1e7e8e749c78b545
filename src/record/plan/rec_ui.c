/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/rec_ui.h"

#include <stdarg.h>
#include <stdio.h>

void rec_say(const struct rec_ui *ui, enum rec_level level, const char *format, ...)
{
	char text[768];
	va_list args;

	if (!ui->say)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ui->say(ui->ctx, level, text);
}
