/* A block compressor like pbzip2: workers take blocks from a shared file, find repetitions in them, code what is left with
 * a Huffman code, and a writer puts the results together in order. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 16, BLOCKS = 40, THREADS = 2, HASHES = 1 << 12, LONGEST = 64, SYMBOLS = 256 + LONGEST };

struct output {
    unsigned char *bytes;
    size_t length;
    unsigned long bits;
    int count;
};

static unsigned char input[BLOCK * BLOCKS];
static struct output results[BLOCKS];
static int is_done[BLOCKS];
static int next_block;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;

static void put_bits(struct output *output, unsigned value, int count) {
    output->bits |= (unsigned long)value << output->count;
    output->count += count;
    while (output->count >= 8) {
        output->bytes[output->length++] = (unsigned char)output->bits;
        output->bits >>= 8;
        output->count -= 8;
    }
}

static unsigned hash(const unsigned char *at) {
    return ((at[0] << 16 | at[1] << 8 | at[2]) * 2654435761u) >> 20;
}

static int match_length(const unsigned char *a, const unsigned char *b, int most) {
    int length = 0;
    while (length < most && a[length] == b[length])
        length++;
    return length;
}

/* Puts the rarest symbol at the end. */
static void rarest_last(const unsigned *weight, int *alive, int left) {
    for (int i = 0; i < left - 1; i++)
        if (weight[alive[i]] < weight[alive[left - 1]]) {
            int other = alive[i];
            alive[i] = alive[left - 1], alive[left - 1] = other;
        }
}

/* Lengths of a Huffman code: the two rarest become one, until one is left. */
static void code_lengths(const unsigned *counts, unsigned char *lengths) {
    unsigned weight[2 * SYMBOLS];
    int parent[2 * SYMBOLS], alive[2 * SYMBOLS], nodes = SYMBOLS, left = SYMBOLS;
    for (int i = 0; i < SYMBOLS; i++)
        weight[i] = counts[i] * 16 + 1, alive[i] = i;
    while (left > 1) {
        rarest_last(weight, alive, left);
        rarest_last(weight, alive, left - 1);
        int a = alive[left - 1], b = alive[left - 2];
        weight[nodes] = weight[a] + weight[b];
        parent[a] = parent[b] = nodes;
        alive[left - 2] = nodes++;
        left--;
    }
    parent[nodes - 1] = -1;
    for (int i = 0; i < SYMBOLS; i++) {
        int length = 0;
        for (int node = i; parent[node] >= 0; node = parent[node])
            length++;
        lengths[i] = (unsigned char)(length > 24 ? 24 : length);
    }
}

static void compress_block(const unsigned char *block, struct output *output) {
    unsigned short *symbols = malloc(BLOCK * sizeof *symbols), *distances = malloc(BLOCK * sizeof *distances);
    int last[HASHES], count = 0;
    unsigned counts[SYMBOLS] = {0};
    memset(last, -1, sizeof last);
    for (int i = 0; i < BLOCK;) {
        int length = 0, from = -1, most = BLOCK - i < LONGEST ? BLOCK - i : LONGEST;
        if (most > 3) {
            unsigned h = hash(block + i);
            from = last[h];
            last[h] = i;
            if (from >= 0)
                length = match_length(block + from, block + i, most);
        }
        symbols[count] = (unsigned short)(length > 3 ? 256 + length - 1 : block[i]);
        distances[count] = (unsigned short)(length > 3 ? i - from : 0);
        counts[symbols[count++]]++;
        i += length > 3 ? length : 1;
    }
    unsigned char lengths[SYMBOLS];
    code_lengths(counts, lengths);
    output->bytes = malloc(2 * BLOCK);
    for (int i = 0; i < count; i++) {
        put_bits(output, symbols[i], lengths[symbols[i]]);
        if (symbols[i] >= 256)
            put_bits(output, distances[i], 16);
    }
    put_bits(output, 0, 7);
    free(symbols);
    free(distances);
}

static int take_block(void) {
    pthread_mutex_lock(&lock);
    int block = next_block < BLOCKS ? next_block++ : -1;
    pthread_mutex_unlock(&lock);
    return block;
}

static void finish_block(int block) {
    pthread_mutex_lock(&lock);
    is_done[block] = 1;
    pthread_cond_signal(&done);
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    for (int block; (block = take_block()) >= 0;) {
        compress_block(input + (size_t)block * BLOCK, &results[block]);
        finish_block(block);
    }
    return unused;
}

static struct output *await_block(int block) {
    pthread_mutex_lock(&lock);
    while (!is_done[block])
        pthread_cond_wait(&done, &lock);
    pthread_mutex_unlock(&lock);
    return &results[block];
}

int main(void) {
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof input; i++) {
        seed = seed * 1664525 + 1013904223;
        int repeats = i > 4096 && seed >> 30 != 0;
        input[i] = repeats ? input[i - 1 - (seed >> 8) % 7 * 500] : (unsigned char)("etaoin shrdlu"[(seed >> 16) % 13]);
    }
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, NULL);
    size_t total = 0;
    for (int block = 0; block < BLOCKS; block++) {
        struct output *output = await_block(block);
        total += output->length;
        free(output->bytes);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    printf("%zu of %zu\n", total, sizeof input);
    return 0;
}
