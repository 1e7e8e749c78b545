/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_AUX_AUX_INFO_IMPL_H
#define RECORD_AUX_AUX_INFO_IMPL_H

#include "record/aux/aux_info.h"

/* Each appends the words of its PMU. */
enum clew_err aux_info_intel_pt(const struct aux_info_from *f, struct buf *b,
				struct rec_error *error);
enum clew_err aux_info_cs_etm(const struct aux_info_from *f, struct buf *b,
			      struct rec_error *error);
enum clew_err aux_info_arm_spe(const struct aux_info_from *f, struct buf *b,
			       struct rec_error *error);

/** Where the PMU keeps @p name in attr.config; 0: it has no such term there. */
uint64_t aux_info_mask(const struct aux_info_from *f, const char *name);

#endif
