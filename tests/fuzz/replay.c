// SPDX-License-Identifier: LGPL-2.1-or-later
/* Usage: NAME_fuzz DIR|FILE ...: give each file, once, to the fuzz target it is linked with. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int nr_inputs;

static int replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(size ? size : 1); /* its own block: ASan sees a read past its end */

	if (!file || !data || fread(data, 1, size, file) != size) {
		fprintf(stderr, "%s: cannot read\n", path);
		exit(1);
	}
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	nr_inputs++;
	return 0;
}

static int replay(const char *path);

static int replay_dir(const char *path)
{
	struct dirent **entry;
	int nr = scandir(path, &entry, NULL, alphasort), failed = nr < 0;
	char name[4096];

	for (int i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.')
			failed |= replay(name);
		free(entry[i]);
	}
	if (nr >= 0)
		free(entry);
	return failed;
}

static int replay(const char *path)
{
	struct stat st;

	if (stat(path, &st)) {
		perror(path);
		return 1;
	}
	return S_ISDIR(st.st_mode) ? replay_dir(path) : replay_file(path, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	printf("%d inputs replayed\n", nr_inputs);
	return failed;
}
