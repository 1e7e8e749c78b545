/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/tui_file.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "os/output.h"

static int write_file(const char *path, const struct buf *text, bool *ret_has_moved)
{
	struct os_output out;
	int err = text->is_failed ? -ENOMEM : os_output_create(&out, path);

	if (err)
		return err;
	*ret_has_moved = out.created.has_moved;
	err = os_output_add(&out, text->data, text->nr);
	return os_output_end(&out, path, err);
}

void tui_file_write(struct tui_browser *b, const char *name)
{
	clew_auto(buf_done) struct buf path = {0}, text = {0}, plain = {0};
	bool has_moved = false;
	int err;

	buf_str(&path, name);
	if (!tui_ask("write to: ", &path, NULL, NULL) || !path.nr)
		return;
	tui_browser_write(b, &text);
	tui_add_plain(&plain, text.data, text.nr);
	err = write_file(buf_cstr(&path), &plain, &has_moved);
	if (err)
		tui_browser_say(b, "%s: %s", path.data, strerror(-err));
	else
		tui_browser_say(b, "%s is written%s", path.data,
				has_moved ? "; what stood there is .old now" : "");
}
