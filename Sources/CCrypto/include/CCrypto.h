// SPDX-License-Identifier: Apache-2.0
// Ciphers and key derivation of OpenSSL 3. Its libcrypto is loaded when first asked for: programs and libraries that
// have encryption in them don't need it before they use it. Results of type int: 1 for success, 0 for failure.
#pragma once
#include <stddef.h>
#include <stdint.h>

// Loads libcrypto; 0: the system has none. Any thread. To be called before all else.
int hbe_load(void);

// Whether the processor computes AES by instructions of its own. Without them AES is slow, and its time tells of keys.
int hbe_has_aes(void);

enum { HBE_AES_256_GCM = 1, HBE_CHACHA20_POLY1305 = 2 };
enum { HBE_KEY_SIZE = 32, HBE_NONCE_SIZE = 20, HBE_TAG_SIZE = 16 };

// State for one message after the other under one key; one thread at a time. NULL: no memory, or another cipher.
typedef struct hbe_cipher hbe_cipher;
hbe_cipher *hbe_cipher_new(int kind, const void *key);
// Wipes and frees it.
void hbe_cipher_free(hbe_cipher *cipher);

// Encrypts bytes in place; writes the tag.
int hbe_seal(hbe_cipher *cipher, const void *nonce, uint32_t block, const void *context, size_t context_size,
             void *bytes, size_t size, void *tag);
// Decrypts bytes in place; 0: they, the nonce, the block number, the context or the tag are not what was sealed.
int hbe_open(hbe_cipher *cipher, const void *nonce, uint32_t block, const void *context, size_t context_size,
             void *bytes, size_t size, const void *tag);

// Random bytes of the system.
int hbe_random(void *bytes, size_t size);

// Derives a key of HBE_KEY_SIZE bytes (scrypt) with at most so much memory.
int hbe_scrypt(const void *passphrase, size_t size, const void *salt, size_t salt_size, uint64_t n, uint64_t r,
               uint64_t p, uint64_t memory, void *key);
