/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/common/message.h"
#include "cli/sframe.h"
#include "format/json_put.h"
#include "os/output.h"
#include "unwind/eh_frame.h"
#include "unwind/sframe_write.h"
#include "unwind/unw_list.h"

static void print_counts(const struct sframe_command *c, const struct sframe_written *n,
			 size_t bytes)
{
	uint64_t nr_left_out = 0;

	cli_put(stdout, "%s: %llu functions, %llu rows, %zu bytes", c->out_path,
		(unsigned long long)n->nr_functions, (unsigned long long)n->nr_rows, bytes);
	for (int i = 0; i < NR_SFRAME_LEFT_OUT; i++)
		nr_left_out += n->nr_left_out[i];
	printf("; omitted: %llu functions of %llu bytes\n", (unsigned long long)nr_left_out,
	       (unsigned long long)n->left_out_bytes);
	for (int i = 0; i < NR_SFRAME_LEFT_OUT; i++) {
		if (n->nr_left_out[i])
			printf("  %8llu  %s\n", (unsigned long long)n->nr_left_out[i],
			       sframe_left_out_text((enum sframe_left_out)i));
	}
}

static void print_json(const struct sframe_command *c, const struct sframe_written *n, size_t bytes)
{
	clew_auto(buf_done) struct buf out = {0};
	struct json_put j = {.out = &out};

	json_open(&j, '{');
	json_put_string(&j, "path", c->out_path);
	json_put_u64(&j, "functions", n->nr_functions);
	json_put_u64(&j, "rows", n->nr_rows);
	json_put_u64(&j, "bytes", bytes);
	json_put_u64(&j, "omitted_bytes", n->left_out_bytes);
	json_key(&j, "omitted");
	json_open(&j, '[');
	for (int i = 0; i < NR_SFRAME_LEFT_OUT; i++) {
		if (!n->nr_left_out[i])
			continue;
		json_open(&j, '{');
		json_put_string(&j, "why", sframe_left_out_text((enum sframe_left_out)i));
		json_put_u64(&j, "functions", n->nr_left_out[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	cli_put(stdout, "%s\n", buf_cstr(&out));
}

static int write_file(const char *path, const struct buf *section)
{
	struct os_output out;
	int err = os_output_create(&out, path);

	if (!err) {
		err = os_output_add(&out, section->data, section->nr);
		err = os_output_end(&out, path, err);
	}
	if (!err)
		return CLI_OK;
	cli_error("%s: %s", path, strerror(-err));
	return CLI_FAILED;
}

static enum clew_err make(const struct sframe_command *c, struct buf *section,
			  struct sframe_written *counts)
{
	bool is_big = c->image.is_swapped == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	const struct sframe_write_opts opts = {
		.version = c->is_v2 ? 2 : 3,
		.abi = sframe_abi_of(c->image.arch, is_big),
		.addr = c->address,
	};
	struct unw_list *list = unw_list_new();
	struct eh_frame_counts eh = {0};
	enum clew_err err = CLEW_NO_MEMORY;

	if (list) {
		list->is_without_rbx = true;
		err = eh_frame_rows(&c->image, false, list, &eh);
	}
	if (!err)
		err = sframe_make(&c->image, list, &opts, section, counts);
	unw_list_free(list);
	return err;
}

int sframe_command_make(struct sframe_command *c)
{
	struct sframe_written counts = {0};
	struct buf section = {0};
	enum clew_err err;
	int status;

	if (!c->out_path) {
		cli_error("sframe make: say where to write with -o FILE");
		return CLI_USAGE;
	}
	if (!c->image.eh_frame.bytes) {
		cli_error("%s: no section .eh_frame to make one from", c->path);
		return CLI_FAILED;
	}
	err = make(c, &section, &counts);
	if (err)
		status = cli_fail(c->path, &(struct clew_diag){.code = err});
	else
		status = write_file(c->out_path, &section);
	if (status == CLI_OK)
		(c->is_json ? print_json : print_counts)(c, &counts, section.nr);
	buf_done(&section);
	return status;
}
