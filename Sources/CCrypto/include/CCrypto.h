// SPDX-License-Identifier: Apache-2.0
// Ciphers and key derivation of OpenSSL 3. Its libcrypto is loaded at its first use, so a program that never encrypts
// doesn't need it. Functions that return int return 1 for success, 0 for failure.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Loads libcrypto. Returns 0 if the system has none. Any thread may call it. The functions below load it too, if
// needed.
int hbe_load(void);

// Whether the processor has instructions for AES. Without them AES is slow, and its timing can reveal keys.
int hbe_has_aes(void);

enum { HBE_AES_256_GCM = 1, HBE_CHACHA20_POLY1305 = 2 };
enum { HBE_KEY_SIZE = 32, HBE_NONCE_SIZE = 20, HBE_TAG_SIZE = 16 };

// A cipher under one key, for one message after the other; one thread at a time may use it. hbe_cipher_new returns NULL
// without memory or libcrypto, or for an unknown kind.
typedef struct hbe_cipher hbe_cipher;
hbe_cipher *hbe_cipher_new(int kind, const void *key);
// Wipes and frees the cipher.
void hbe_cipher_free(hbe_cipher *cipher);

// Encrypts bytes in place, and writes the tag.
int hbe_seal(hbe_cipher *cipher, const void *nonce, uint32_t block, const void *context, size_t context_size,
             void *bytes, size_t size, void *tag);
// Decrypts bytes in place. Returns 0 if the bytes, the nonce, the block number, the context or the tag differ from
// those that were sealed.
int hbe_open(hbe_cipher *cipher, const void *nonce, uint32_t block, const void *context, size_t context_size,
             void *bytes, size_t size, const void *tag);

// Fills `bytes` with random bytes of the system.
int hbe_random(void *bytes, size_t size);

// Derives a key of HBE_KEY_SIZE bytes (scrypt), with at most `memory` bytes.
int hbe_scrypt(const void *passphrase, size_t size, const void *salt, size_t salt_size, uint64_t n, uint64_t r,
               uint64_t p, uint64_t memory, void *key);
