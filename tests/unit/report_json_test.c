/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/report/report_json.h"

#include "unit/report_events.h"

/* clang-format off */
static const struct made_event events[] = {
	{"a\"\xff", 1, 2, 3, 10, "mS"},
	{"b",       7, 8, UINT32_MAX, 4, "?"},
};
/* clang-format on */

static enum clew_err refuse(void *ctx, const void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return CLEW_OS;
}

static enum clew_err write_all(struct made *m, const struct ana_summary *s,
			       const struct clew_sink *sink)
{
	const struct report_table_opts opts = {.by_total = true, .has_graphs = true};
	struct report_feed *f =
		made_report(m, "comm,pid,tid,cpu,dso,sym", (struct report_feed_opts){.dsos = NULL});
	struct report_json j = {.feed = f, .sink = sink};
	enum clew_err err = report_json_begin(&j, s);
	size_t event = 0;
	struct report_table t;

	report_table_make(f, &event, 1, &opts, &t);
	if (err == CLEW_OK)
		err = report_json_table(&j, &t);
	if (err == CLEW_OK)
		err = report_json_end(&j);
	report_table_done(&t);
	report_json_done(&j);
	report_feed_free(f);
	return err;
}

int main(void)
{
	struct buf out = {0};
	struct clew_sink sink = {made_write, &out}, broken = {refuse, NULL};
	struct ana_unresolved unresolved[1];
	struct ana_summary s = {
		.nr_samples = 2,
		.nr_filtered = 1,
		.nr_bad = 3,
		.nr_lost = 4,
		.loss_sums = {.nr = 2,                .nr_records = 3, .ns = 1000},
		.nr_aux_bytes = 5,
		.first_time.ns = 6,
		.last_time.ns = UINT64_MAX - 1,
		.order = {.nr_late = 7                     },
		.end = {.code = CLEW_TRUNCATED, .offset = 8                         },
		.unresolved = unresolved,
		.nr_unresolved = 1
        };
	struct made m;

	unresolved[0] = (struct ana_unresolved){NULL, 1};
	made_init(&m, events, 2, 0);
	CHECK_EQ(write_all(&m, &s, &sink), CLEW_OK, "a document");
	/* clang-format off */
	CHECK_STR(buf_cstr(&out),
		"{\"format\":\"clew-report\",\"version\":1,"
		"\"summary\":{\"samples\":2,\"filtered\":1,\"unusable\":3,\"lost\":4,\"losses\":{\"intervals\":2,\"records\":3,\"ns\":1000},\"late\":7,\"aux_bytes\":5,"
		"\"first_time\":6,\"last_time\":18446744073709551614,\"cut_at\":8,"
		"\"unresolved\":[{\"dso\":null,\"samples\":1,\"reason\":null}]},"
		"\"sort\":[\"comm\",\"pid\",\"tid\",\"cpu\",\"dso\",\"sym\"],"
		"\"tables\":[{\"events\":[{\"name\":\"cycles\",\"samples\":2,\"period\":14,\"kept_samples\":2,"
		"\"kept_period\":14,\"cut_samples\":0}],"
		"\"rows\":[{\"comm\":\"a\\\"\\ufffd\",\"pid\":1,\"tid\":2,\"cpu\":3,\"dso\":\"prog\","
		"\"sym\":\"fn_m\",\"level\":\".\",\"values\":[{\"total\":10,\"self\":0,\"samples\":0}],"
		"\"graph\":[{\"depth\":0,\"sym\":\"fn_m\",\"dso\":\"prog\",\"period\":10,\"self\":0},"
		"{\"depth\":1,\"sym\":\"fn_S\",\"dso\":\"[kernel.kallsyms]\",\"period\":10,\"self\":10}]}\n"
		",{\"comm\":\"a\\\"\\ufffd\",\"pid\":1,\"tid\":2,\"cpu\":3,\"dso\":\"[kernel.kallsyms]\","
		"\"sym\":\"fn_S\",\"level\":\"k\",\"values\":[{\"total\":10,\"self\":10,\"samples\":1}],"
		"\"graph\":[{\"depth\":0,\"sym\":\"fn_m\",\"dso\":\"prog\",\"period\":10,\"self\":0},"
		"{\"depth\":1,\"sym\":\"fn_S\",\"dso\":\"[kernel.kallsyms]\",\"period\":10,\"self\":10}]}\n"
		",{\"comm\":\"b\",\"pid\":7,\"tid\":8,\"cpu\":null,\"dso\":\"prog\","
		"\"sym\":null,\"level\":\".\",\"address\":\"0x3f4\",\"values\":[{\"total\":4,\"self\":4,\"samples\":1}],"
		"\"graph\":[{\"depth\":0,\"sym\":null,\"dso\":\"prog\",\"address\":\"0x3f4\",\"period\":4,\"self\":4}]}\n"
		"]}]}\n",
		"every field");
	/* clang-format on */
	CHECK_EQ(write_all(&m, &s, &broken), CLEW_OS, "what the sink says");
	made_done(&m);
	buf_done(&out);
	return tap_done();
}
