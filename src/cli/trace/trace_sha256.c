/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/trace/trace_sha256.h"

#include <openssl/evp.h>
#include <openssl/opensslv.h>

#include "base/mem.h"
#include "os/library.h"

#ifdef OPENSSL_SHLIB_VERSION
# define NAME OS_LIBRARY_NAME("libcrypto", OPENSSL_SHLIB_VERSION)
#else
# define NAME "libcrypto.so." SHLIB_VERSION_NUMBER
#endif

struct trace_sha256 {
	__typeof__(EVP_MD_CTX_new) *ctx_new;
	__typeof__(EVP_MD_CTX_free) *ctx_free;
	__typeof__(EVP_sha256) *sha256;
	__typeof__(EVP_DigestInit_ex) *init;
	__typeof__(EVP_DigestUpdate) *update;
	__typeof__(EVP_DigestFinal_ex) *final;
};

static bool load(struct trace_sha256 *s)
{
	struct os_library *l = os_library_load(NAME);

	return l && os_library_function(l, "EVP_MD_CTX_new", &s->ctx_new) &&
	       os_library_function(l, "EVP_MD_CTX_free", &s->ctx_free) &&
	       os_library_function(l, "EVP_sha256", &s->sha256) &&
	       os_library_function(l, "EVP_DigestInit_ex", &s->init) &&
	       os_library_function(l, "EVP_DigestUpdate", &s->update) &&
	       os_library_function(l, "EVP_DigestFinal_ex", &s->final);
}

struct trace_sha256 *trace_sha256_new(void)
{
	struct trace_sha256 *s = mem_zalloc(sizeof(*s));

	if (s && load(s))
		return s;
	mem_free(s);
	return NULL;
}

void trace_sha256_free(struct trace_sha256 *s)
{
	mem_free(s);
}

void *trace_sha256_begin(const struct trace_sha256 *s)
{
	EVP_MD_CTX *digest = s->ctx_new();

	if (digest && s->init(digest, s->sha256(), NULL) == 1)
		return digest;
	s->ctx_free(digest);
	return NULL;
}

bool trace_sha256_add(const struct trace_sha256 *s, void *digest, const void *data, size_t size)
{
	return s->update(digest, data, size) == 1;
}

bool trace_sha256_end(const struct trace_sha256 *s, void *digest, uint8_t ret[TRACE_SHA256_BYTES])
{
	return s->final(digest, ret, NULL) == 1;
}

void trace_sha256_drop(const struct trace_sha256 *s, void *digest)
{
	s->ctx_free(digest);
}
