/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/annotate/annotate_json.h"

#include "unit/made_annotation.h"

int main(void)
{
	struct ann_file file = {.is_newer = true};
	struct ann_sources sources = {0};
	struct buf out = {0};
	const struct clew_sink sink = {made_sink, &out};
	struct annotate_json j = {.sink = &sink};
	struct annotation a;

	file.name = mem_strdup("/src/fn.c");
	vec_push(&sources.files, file);
	made_annotation(&a, true);
	made_cycles(&a);
	CHECK_EQ(annotate_json_begin(&j), CLEW_OK, "begin");
	CHECK_EQ(annotate_json(&j, &a), CLEW_OK, "a function");
	CHECK_EQ(annotate_json_end(&j, &sources), CLEW_OK, "end");
	/* clang-format off */
	CHECK_STR(buf_cstr(&out),
		"{\"format\":\"clew-annotate\",\"version\":1,\"symbols\":["
		"{\"symbol\":\"fn\\u001b]0;x\",\"dso\":\"/bin/pr\\nog\",\"build_id\":\"ab01\",\"is_linked\":true,"
		"\"no_code\":null,\"flow\":\"branch_stacks\",\"has_cycles\":true,\"events\":["
		"{\"name\":\"cycles\",\"counts\":\"samples\",\"samples\":10,\"period\":100,\"precise\":0,\"may_skid\":false},"
		"{\"name\":\"faults\",\"counts\":\"samples\",\"samples\":4,\"period\":4,\"precise\":1,\"may_skid\":true}],"
		"\"lines\":[{\"file\":\"/src/fn.c\",\"line\":3,\"text\":\"\\tif (n)\\u001b[2J\"},"
		"{\"file\":\"/src/mix.h\",\"line\":7,\"inlined\":[{\"function\":\"mix\",\"file\":\"/src/fn.c\",\"line\":4}],"
		"\"text\":\"\\t\\tx\\t*= 3;\"},{\"file\":\"/src/fn.c\",\"line\":4}],"
		"\"instructions\":["
		"{\"address\":\"0x100\",\"bytes\":4,\"text\":\"je 0x10c\",\"line\":0,\"samples\":[1,0],\"period\":[10,0],"
		"\"target\":\"0x10c\",\"lane\":1,\"executed\":3,\"taken\":0,\"not_taken\":3},"
		"{\"address\":\"0x104\",\"bytes\":4,\"text\":\"mul\",\"line\":1,\"samples\":[7,2],\"period\":[70,2],\"executed\":30,\"cycles\":0.625,\"timed\":20},"
		"{\"address\":\"0x108\",\"bytes\":4,\"text\":\"jne 0x104\",\"line\":2,\"samples\":[2,0],\"period\":[20,0],"
		"\"target\":\"0x104\",\"lane\":0,\"executed\":30,\"taken\":27,\"not_taken\":3,\"mispredicted\":5,\"cycles\":0.625,\"block_cycles\":1.25,\"block_ipc\":1.6,\"timed\":20,\"blocks_timed\":20},"
		"{\"address\":\"0x10c\",\"bytes\":4,\"text\":\"call 0x200\",\"samples\":[0,2],\"period\":[0,2],"
		"\"callee\":\"other\",\"callee_offset\":16,\"executed\":3}]}],"
		"\"sources\":[{\"name\":\"/src/fn.c\",\"path\":null,\"is_newer\":true}]}\n",
		"every field");
	/* clang-format on */
	annotation_done(&a);
	annotate_json_done(&j);
	ann_sources_done(&sources);
	buf_done(&out);
	return tap_done();
}
