/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_HEADER_HEADER_IMPL_H
#define FORMAT_HEADER_HEADER_IMPL_H

#include "format/header/header_text.h"
#include "format/json_put.h"

/* Inside of header_text.c, which prints the short features; header_machine.c prints these. */

void header_print_cpu_topology(struct buf *out, const struct header_facts *h);
void header_print_numa(struct buf *out, const struct header_facts *h);
void header_print_caches(struct buf *out, const struct header_facts *h);
void header_print_memory(struct buf *out, const struct header_facts *h);
void header_print_hybrid(struct buf *out, const struct header_facts *h);
void header_print_cpu_domains(struct buf *out, const struct header_facts *h);
void header_print_bpf_progs(struct buf *out, const struct header_facts *h);
void header_print_bpf_btf(struct buf *out, const struct header_facts *h);

/* header_who.c: what `clew record` says of ids. */
void header_print_who(struct buf *out, const struct header_facts *h);
void header_json_who(struct json_put *j, const struct header_facts *h);
/* Of merged guests: how certain their times are. */
void header_print_guests(struct buf *out, const struct header_facts *h);
void header_json_guests(struct json_put *j, const struct header_facts *h);

/** "2026-11-21 13:14:29.446132" in the local time zone. */
void header_local_time(struct buf *out, uint64_t wall_clock_ns);

bool header_is_big_endian(const struct perf_file *f);

/** "0-17,32-269" of the set bits. */
void header_add_ranges(struct buf *out, const uint8_t *bitmap, uint64_t nr_bits, bool swap);

#endif
