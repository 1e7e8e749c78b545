/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PROFILE_LINKED_FUNCTIONS_H
#define PROFILE_LINKED_FUNCTIONS_H

#include "base/vec.h"
#include "image/dso.h"

/** A function of a file's symbol table. */
struct linked_function {
	uint64_t start, end; /* linked addresses */
	const char *name;    /* as linked; as long as the dso */
	uint32_t number;     /* of a local one among all local symbols of its name, by address: from
				1; 0: it is global */
};

/** In order of address; one for each address. Zeroed struct = empty. */
struct linked_functions {
	VEC(struct linked_function);
};

/** Opens files: when nothing else uses the dsos. @return false when memory is short. */
bool linked_functions_make(struct linked_functions *f, const struct dso *d);
void linked_functions_done(struct linked_functions *f);

/** The one that covers @p address; NULL: none. */
const struct linked_function *linked_functions_at(const struct linked_functions *f,
						  uint64_t address);

#endif
