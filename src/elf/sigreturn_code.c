/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/sigreturn_code.h"

#include <elf.h>

#include "base/bytes.h"

static size_t next_x86(const uint8_t *code, size_t size, size_t *at)
{
	static const uint8_t common[] = {0x0f, 0, 0, 0, 0x0f, 0x05}; /* the end of all forms */
	enum { BEFORE = 3 };
	const uint8_t *first = code + *at, *p = first;

	while ((p = memmem(p, size - (size_t)(p - code), common, sizeof(common)))) {
		size_t end = (size_t)(p - code) + sizeof(common);

		for (size_t n = BEFORE; n; n--) {
			if (n > (size_t)(p - first) || x86_sigreturn_bytes(p - n, n + 6) != n + 6)
				continue;
			*at = (size_t)(p - code) - n;
			return end - *at;
		}
		p++;
	}
	return 0;
}

static size_t next_a64(const uint8_t *code, size_t size, size_t *at)
{
	for (size_t i = *at; i <= size && size - i >= 8; i += 4) {
		if (load_le32(code + i) == A64_MOV_SIGRETURN &&
		    load_le32(code + i + 4) == A64_SVC) {
			*at = i;
			return 8;
		}
	}
	return 0;
}

size_t sigreturn_code_next(uint16_t machine, const uint8_t *code, size_t size, size_t *at)
{
	if (*at > size)
		return 0;
	if (machine == EM_X86_64)
		return next_x86(code, size, at);
	return machine == EM_AARCH64 ? next_a64(code, size, at) : 0;
}
