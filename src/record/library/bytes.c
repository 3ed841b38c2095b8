/* Bytes, varints, sequences, checksums. */
#include "record.h"

#include <stdio.h>

void fw_grow(struct fw_bytes *b, size_t more)
{
    size_t cap = b->cap ? b->cap : 256;
    unsigned char *at;
    while (cap < b->len + more)
        cap *= 2;
    at = realloc(b->at, cap);
    if (!at) {
        fputs("flitwise record: out of memory\n", stderr);
        abort();
    }
    b->at = at;
    b->cap = cap;
}

void fw_append(struct fw_bytes *b, const void *at, size_t len)
{
    if (b->len + len > b->cap)
        fw_grow(b, len);
    memcpy(b->at + b->len, at, len);
    b->len += len;
}

void fw_text(struct fw_bytes *b, const char *text)
{
    size_t len = strlen(text);
    fw_put(b, len);
    fw_append(b, text, len);
}

void fw_seq_begin(struct fw_seq *q, struct fw_bytes *scratch)
{
    memset(q, 0, sizeof *q);
    q->runs = scratch;
    scratch->len = 0;
}

static void end_run(struct fw_seq *q)
{
    if (!q->in_run)
        return;
    fw_put(q->runs, q->in_run);
    fw_put(q->runs, fw_signed(q->first));
    if (q->in_run > 1)
        fw_put(q->runs, fw_signed(q->stride));
    q->count++;
    q->in_run = 0;
}

void fw_seq_add(struct fw_seq *q, int64_t v)
{
    if (q->in_run == 1) {
        q->stride = v - q->first;
        q->in_run = 2;
    } else if (q->in_run > 1 && v - q->last == q->stride) {
        q->in_run++;
    } else {
        end_run(q);
        q->first = v;
        q->in_run = 1;
    }
    q->last = v;
}

void fw_seq_end(struct fw_seq *q, struct fw_bytes *to)
{
    end_run(q);
    fw_put(to, q->count);
    fw_append(to, q->runs->at, q->runs->len);
}

uint32_t fw_crc(uint32_t crc, const void *at, size_t len)
{
    static uint32_t table[4][256];
    static int ready;
    const unsigned char *p = at;
    if (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t c = i;
            for (int k = 0; k < 8; k++)
                c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
            table[0][i] = c;
        }
        for (uint32_t i = 0; i < 256; i++)
            for (int k = 1; k < 4; k++)
                table[k][i] = table[0][table[k - 1][i] & 255] ^ (table[k - 1][i] >> 8);
        __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    }
    crc = ~crc;
    for (; len >= 4; len -= 4, p += 4) {
        crc ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        crc = table[3][crc & 255] ^ table[2][crc >> 8 & 255] ^ table[1][crc >> 16 & 255] ^ table[0][crc >> 24];
    }
    for (; len; len--)
        crc = table[0][(crc ^ *p++) & 255] ^ (crc >> 8);
    return ~crc;
}

uint64_t fw_hash(const unsigned char *at, size_t len)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ len, w;
    for (; len >= 8; len -= 8, at += 8) {
        memcpy(&w, at, 8);
        h = (h ^ w) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    w = 0;
    memcpy(&w, at, len);
    h = (h ^ w) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 29;
}
