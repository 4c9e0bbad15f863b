// SPDX-License-Identifier: Apache-2.0
// Loads libcrypto and calls it. The construction of messages is described in DataCipher.swift.

#define _GNU_SOURCE
#include "CCrypto.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

// The used functions of libcrypto, under their own names.
#define FUNCTIONS(each) \
    each(EVP_CIPHER_CTX_new) each(EVP_CIPHER_CTX_free) each(EVP_CIPHER_CTX_ctrl) each(EVP_CipherInit_ex) \
    each(EVP_CipherUpdate) each(EVP_CipherFinal_ex) each(EVP_aes_256_gcm) each(EVP_aes_256_ctr) \
    each(EVP_chacha20_poly1305) each(EVP_chacha20) each(EVP_PBE_scrypt)

static struct {
#define DECLARE(name) __typeof__(name) *name;
    FUNCTIONS(DECLARE)
} crypto;
static int is_loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    // The name by which linked programs load version 3.
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
#define FIND(name) \
    crypto.name = (__typeof__(crypto.name))dlsym(library, #name); \
    if (!crypto.name) return;
    FUNCTIONS(FIND)
    is_loaded = 1;
}

int hbe_load(void) {
    pthread_once(&once, load);
    return is_loaded;
}

int hbe_has_aes(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("aes") != 0;
#elif defined(__aarch64__)
    return (getauxval(AT_HWCAP) & (1 << 3)) != 0;
#else
    return 0;
#endif
}

struct hbe_cipher {
    // The bare cipher under the key; derives the key of each message.
    EVP_CIPHER_CTX *stream;
    // The authenticated cipher under a message's key.
    EVP_CIPHER_CTX *aead;
    // Size of the counter before the nonce in the stream's first block; with AES the counter follows the nonce.
    size_t counter;
};

hbe_cipher *hbe_cipher_new(int kind, const void *key) {
    if (!hbe_load() || (kind != HBE_AES_256_GCM && kind != HBE_CHACHA20_POLY1305)) return NULL;
    hbe_cipher *cipher = calloc(1, sizeof *cipher);
    if (!cipher) return NULL;
    int is_aes = kind == HBE_AES_256_GCM;
    const EVP_CIPHER *stream = is_aes ? crypto.EVP_aes_256_ctr() : crypto.EVP_chacha20();
    const EVP_CIPHER *aead = is_aes ? crypto.EVP_aes_256_gcm() : crypto.EVP_chacha20_poly1305();
    cipher->counter = is_aes ? 0 : 4;
    cipher->stream = crypto.EVP_CIPHER_CTX_new();
    cipher->aead = crypto.EVP_CIPHER_CTX_new();
    // The ciphers are set only here, because looking one up takes longer than encrypting a page.
    if (cipher->stream && cipher->aead && crypto.EVP_CipherInit_ex(cipher->stream, stream, NULL, key, NULL, 1) == 1 &&
        crypto.EVP_CipherInit_ex(cipher->aead, aead, NULL, NULL, NULL, 1) == 1)
        return cipher;
    hbe_cipher_free(cipher);
    return NULL;
}

void hbe_cipher_free(hbe_cipher *cipher) {
    // This wipes both.
    crypto.EVP_CIPHER_CTX_free(cipher->stream);
    crypto.EVP_CIPHER_CTX_free(cipher->aead);
    free(cipher);
}

// Sets the message's key, the nonce used with that key, and the context.
static int begin(hbe_cipher *cipher, const void *nonce, uint32_t block, const void *context, size_t context_size,
                 int encrypts) {
    unsigned char start[16] = {0}, key[HBE_KEY_SIZE] = {0}, message[12];
    memcpy(start + cipher->counter, nonce, 12);
    memcpy(message, (const unsigned char *)nonce + 12, 8);
    for (int byte = 0; byte < 4; byte++) message[8 + byte] = (unsigned char)(block >> (24 - 8 * byte));
    int count;
    // Encrypted zeros are the key stream, which is the message's key.
    int is_begun = context_size <= INT_MAX && crypto.EVP_CipherInit_ex(cipher->stream, NULL, NULL, NULL, start, 1) == 1 &&
        crypto.EVP_CipherUpdate(cipher->stream, key, &count, key, sizeof key) == 1 &&
        crypto.EVP_CipherInit_ex(cipher->aead, NULL, NULL, key, message, encrypts) == 1 &&
        (context_size == 0 || crypto.EVP_CipherUpdate(cipher->aead, NULL, &count, context, (int)context_size) == 1);
    explicit_bzero(key, sizeof key);
    return is_begun;
}

// Encrypts, or decrypts and compares the tag in constant time.
static int end(hbe_cipher *cipher, void *bytes, size_t size) {
    unsigned char rest[16];
    int count;
    return size <= INT_MAX && (size == 0 || crypto.EVP_CipherUpdate(cipher->aead, bytes, &count, bytes, (int)size) == 1) &&
        crypto.EVP_CipherFinal_ex(cipher->aead, rest, &count) == 1;
}

int hbe_seal(hbe_cipher *cipher, const void *nonce, uint32_t block, const void *context, size_t context_size,
             void *bytes, size_t size, void *tag) {
    return begin(cipher, nonce, block, context, context_size, 1) && end(cipher, bytes, size) &&
        crypto.EVP_CIPHER_CTX_ctrl(cipher->aead, EVP_CTRL_AEAD_GET_TAG, HBE_TAG_SIZE, tag) == 1;
}

int hbe_open(hbe_cipher *cipher, const void *nonce, uint32_t block, const void *context, size_t context_size,
             void *bytes, size_t size, const void *tag) {
    return begin(cipher, nonce, block, context, context_size, 0) &&
        crypto.EVP_CIPHER_CTX_ctrl(cipher->aead, EVP_CTRL_AEAD_SET_TAG, HBE_TAG_SIZE, (void *)tag) == 1 &&
        end(cipher, bytes, size);
}

int hbe_random(void *bytes, size_t size) {
    // From the system: a generator in the process's memory would repeat its bytes if that memory were copied (by a
    // fork, for example).
    for (size_t done = 0; done < size;) {
        ssize_t count = getrandom((char *)bytes + done, size - done, 0);
        if (count < 0 && errno != EINTR) return 0;
        if (count > 0) done += (size_t)count;
    }
    return 1;
}

int hbe_scrypt(const void *passphrase, size_t size, const void *salt, size_t salt_size, uint64_t n, uint64_t r,
               uint64_t p, uint64_t memory, void *key) {
    return hbe_load() &&
        crypto.EVP_PBE_scrypt(passphrase, size, salt, salt_size, n, r, p, memory, key, HBE_KEY_SIZE) == 1;
}
