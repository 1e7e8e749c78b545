/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of assembly by hand, without unwind information, from drive(): -DNETTLE, -DGMP, or
 * OpenSSL's, which has some. */
#include <time.h>
#if defined(NETTLE)
# include <nettle/chacha.h>
# include <nettle/memxor.h>
# include <nettle/sha2.h>

static struct sha256_ctx sha;
static struct chacha_ctx chacha;
static unsigned char from[4096], to[4096];

static void start(void)
{
	nettle_sha256_init(&sha);
	nettle_chacha_set_key(&chacha, from);
	nettle_chacha_set_nonce(&chacha, from);
}

__attribute__((noinline)) void drive(void)
{
	nettle_chacha_crypt(&chacha, sizeof(to), to, from);
	for (int i = 0; i < 20; i++)
		nettle_memxor(to, from, sizeof(to));
	nettle_sha256_update(&sha, sizeof(from), from);
}
#elif defined(GMP)
# include <gmp.h>

static mp_limb_t a[256], b[256], to[512];

static void start(void)
{
	for (int i = 0; i < 256; i++)
		a[i] = b[255 - i] = (mp_limb_t)i * 0x9e3779b97f4a7c15;
}

__attribute__((noinline)) void drive(void)
{
	for (int i = 0; i < 50; i++) {
		mpn_add_n(to, a, b, 256);
		mpn_sub_n(to, a, b, 256);
		mpn_addmul_1(to, a, 256, 7);
	}
	mpn_mul_n(to, a, b, 256);
}
#else
# include <openssl/evp.h>

static unsigned char from[8192], to[8192 + 64], key[32], iv[32];
static EVP_CIPHER_CTX *aes, *chacha;

static void start(void)
{
	aes = EVP_CIPHER_CTX_new();
	chacha = EVP_CIPHER_CTX_new();
	EVP_EncryptInit_ex(aes, EVP_aes_128_cbc(), 0, key, iv);
	EVP_EncryptInit_ex(chacha, EVP_chacha20_poly1305(), 0, key, iv);
}

__attribute__((noinline)) void drive(void)
{
	unsigned int size;
	int n;

	EVP_EncryptUpdate(aes, to, &n, from, sizeof(from));
	EVP_EncryptUpdate(chacha, to, &n, from, sizeof(from));
	EVP_Digest(from, sizeof(from), to, &size, EVP_sha512(), 0);
}
#endif

static long ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(void)
{
	long end;

	start();
	end = ms() + 400;
	while (ms() < end)
		for (int i = 0; i < 20; i++)
			drive();
	return 0;
}
