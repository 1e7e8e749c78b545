/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>

#include "base/mem.h"
#include "make/sframe_random.h"
#include "os/file.h"
#include "prop/sframe_use.h"
#include "unit/tap.h"

/*
 * Usage: sframe_mutate [DIR...]: every byte of every section, built ones and those of the folders,
 * with several values each, and every prefix: a clean error or a result.
 */

enum { VALUES = 14, PREFIXES = 4096 };

static uint8_t value(uint8_t old, unsigned int i)
{
	static const uint8_t fixed[] = {0x00, 0xff, 0x7f, 0x80};

	if (i < 8)
		return (uint8_t)(old ^ 1u << i);
	return i < 12 ? fixed[i - 8] : (uint8_t)(i == 12 ? old + 1 : old - 1);
}

/* In a separate block, so that a read past its end shows. */
static bool use_copy(const uint8_t *bytes, size_t size, bool is_elf)
{
	uint8_t *copy = mem_alloc(size ? size : 1);
	struct unw_section section = {copy, size, 0x2000};
	bool ok;

	if (size)
		memcpy(copy, bytes, size);
	ok = is_elf ? sframe_use_elf(copy, size) : sframe_use(&section);
	mem_free(copy);
	return ok;
}

static void mutate(const char *name, uint8_t *bytes, size_t size, size_t from, size_t to)
{
	unsigned long nr = 0, nr_wrong = 0;
	bool is_elf = to - from != size;

	for (size_t i = from; i < to; i++) {
		uint8_t old = bytes[i];

		for (unsigned int v = 0; v < VALUES; v++) {
			bytes[i] = value(old, v);
			nr_wrong += !use_copy(bytes, size, is_elf);
			nr++;
		}
		bytes[i] = old;
	}
	for (size_t i = 0; !is_elf && i <= size && i < PREFIXES; i++, nr++)
		nr_wrong += !use_copy(bytes, i, false);
	CHECK(nr && !nr_wrong, "%s: %lu copies, %lu wrong", name, nr, nr_wrong);
}

static void mutate_built(void)
{
	static struct sframe_random r;

	for (unsigned int i = 0; i < 8; i++) {
		struct sframe_write_opts opts = {
			.version = (uint8_t)(i < 2   ? 1
					     : i < 5 ? 2
						     : 3),
			.abi = 1 + i % (i < 2 ? 3 : 4),
			.no_sort = i & 1,
		};
		struct buf b = {0};

		sframe_random_fill(&r, &opts, 100 + i);
		if (r.nr > 6)
			r.nr = 6;
		if (sframe_random_write(&r, &b))
			mutate("built", (uint8_t *)b.data, b.nr, 0, b.nr);
		buf_done(&b);
	}
}

static void mutate_file(const char *path, const char *name)
{
	struct os_map m;
	struct elf_file elf = {0};
	struct unw_image image;
	size_t from;

	if (os_map_file_private(path, &m, NULL))
		return;
	if (elf_file_open(&elf, m.data, m.size, NULL)) {
		mutate(name, (uint8_t *)(uintptr_t)m.data, m.size, 0, m.size);
	} else if (!unw_image_of_elf(&image, &elf) && image.sframe.bytes) {
		from = (size_t)(image.sframe.bytes - m.data);
		mutate(name, (uint8_t *)(uintptr_t)m.data, m.size, from, from + image.sframe.size);
	}
	elf_file_done(&elf);
	os_map_done(&m);
}

static bool is_wanted(const char *name)
{
	const char *end = strrchr(name, '.');

	return end && (!strcmp(end, ".sframe") || !strcmp(end, ".bin") || !strcmp(end, ".o") ||
		       !strcmp(end, ".linked"));
}

static void mutate_dir(const char *dir)
{
	struct dirent **entry;
	int nr = scandir(dir, &entry, NULL, alphasort);
	char path[4096];

	if (nr < 0)
		SKIP("a folder of ../shared/data/sframe is missing");
	for (int i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry[i]->d_name);
		if (is_wanted(entry[i]->d_name))
			mutate_file(path, entry[i]->d_name);
		free(entry[i]);
	}
	if (nr >= 0)
		free(entry);
}

int main(int argc, char **argv)
{
	mutate_built();
	for (int i = 1; i < argc; i++)
		mutate_dir(argv[i]);
	return tap_done();
}
