/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_PERF_FILE_H
#define PERFDATA_PERF_FILE_H

#include "base/budget.h"
#include "base/progress.h"
#include "perfdata/perf_evlist.h"
#include "perfdata/perf_features.h"
#include "perfdata/perf_record.h"
#include "perfdata/perf_who_facts.h"

/**
 * Reads perf.data: versions 1 and 2, file mode and pipe mode, either byte order, COMPRESSED and
 * COMPRESSED2 transparently.
 *
 * Bytes come from @p data (a mapped file; pipe-mode content is fine) or, with data NULL, from
 * read(), which returns bytes read, 0 at the end or a negative errno.
 */
struct perf_input {
	const uint8_t *data; /* borrowed for the life of the perf_file */
	size_t size;
	long (*read)(void *ctx, void *buf, size_t size);
	void *ctx;
	struct budget *budget; /* of blocks of records that are not in data; NULL: no limit.
				  Outlives all that was read */
	bool is_mapped; /* data is a whole mapped file (os_map_file): what was read may be given
			   back */
	struct progress *progress; /* of who reads all of it; borrowed. NULL: no one looks */
};

struct perf_file;

/** What went by, for --stats and for warnings. */
struct perf_file_counts {
	uint64_t by_type[PERF_RECORD_HEADER_END]; /* unknown types are in nr_unknown alone */
	uint64_t nr_records, nr_unknown;
	uint64_t compressed_bytes, decompressed_bytes;
};

/**
 * Read the header; with a file, also the attrs and features. A pipe's attrs and features come with
 * its first records: they are complete when perf_file_next() returns the first record that is not
 * one of them.
 *
 * @return CLEW_BAD_FILE: not perf.data, or a header that contradicts itself; CLEW_TRUNCATED;
 * CLEW_UNSUPPORTED (a perf.data directory format); CLEW_NO_MEMORY; CLEW_OS from read().
 */
enum clew_err perf_file_open(struct perf_file **ret, const struct perf_input *in,
			     struct clew_diag *diag);

/**
 * Another reader of the input of @p first, which outlives it: from the first record on, with the
 * same evlist and features. A pipe's come with its records, so its header is read again; its input
 * has to be in memory.
 * @return as perf_file_open().
 */
enum clew_err perf_file_reopen(struct perf_file **ret, const struct perf_file *first,
			       struct clew_diag *diag);

/**
 * The next record in file order. Compressed records are replaced by what they hold. Header records
 * of a pipe (attr, feature, build id, tracing data) are both taken in and delivered.
 *
 * @return CLEW_OK; CLEW_END; CLEW_TRUNCATED: the file ends inside a record, @p diag has the offset:
 * everything whole was delivered, the next call gives CLEW_END; CLEW_BAD_FILE: the record at
 * diag.offset has an impossible size, reading on is not possible; CLEW_NO_MEMORY; CLEW_OS. Cost:
 * O(1), no allocation in a mapped, uncompressed file.
 */
enum clew_err perf_file_next(struct perf_file *f, struct perf_record *ret, struct clew_diag *diag);

/**
 * Records of a pipe or out of a compressed block live in a refcounted block: hold it to keep a
 * record past the next perf_file_next(), release it when done. NULL blocks are fine. Thread: the
 * reader's.
 */
void perf_block_hold(struct perf_block *b);
void perf_block_release(struct perf_block *b);

/** Does a file that begins with @p magic, in the order of its bytes, call itself perf.data? */
bool perf_file_has_magic(const uint8_t magic[8]);

/** perf.data's version: 1 or 2. */
unsigned int perf_file_version(const struct perf_file *f);

bool perf_file_is_pipe(const struct perf_file *f);
bool perf_file_is_swapped(const struct perf_file *f);

/** data_size 0 in a file that has records: its writer was killed; the records are read to the
 * file's end. */
bool perf_file_is_unfinished(const struct perf_file *f);

/** File mode: the header's data section; [0, 0) for a pipe. For progress: offset of the last record
 * read. */
struct perf_file_section perf_file_data(const struct perf_file *f);
uint64_t perf_file_pos(const struct perf_file *f);

/** Both grow while a pipe's header records are read; fixed afterwards. */
struct perf_evlist *perf_file_evlist(struct perf_file *f);
const struct perf_features *perf_file_features(const struct perf_file *f);
const struct perf_file_counts *perf_file_counts(const struct perf_file *f);

/** What `clew record` knew of ids: the recorder's own from the start where it is a file; all of it
 * once the records that say it were read. */
const struct perf_who_facts *perf_file_who_facts(const struct perf_file *f);

void perf_file_free(struct perf_file *f);

#endif
