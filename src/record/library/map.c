/* A map from handles of MPI. Several entries may have one handle: libraries hand out the same one for all sends that
 * were done at once. */
#include "record.h"

uint64_t fw_key(const void *handle, size_t size)
{
    uint64_t key = 0;
    memcpy(&key, handle, size < sizeof key ? size : sizeof key);
    return key;
}

static size_t bucket(const struct fw_map *map, uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return (key >> 32) & (map->size - 1);
}

static void resize(struct fw_map *map, size_t size)
{
    struct fw_map bigger = {calloc(size, sizeof *bigger.buckets), map->count, size};
    if (!bigger.buckets)
        abort();
    for (size_t i = 0; i < map->size; i++) {
        struct fw_node *node = map->buckets[i], *next;
        for (; node; node = next) {
            size_t at = bucket(&bigger, node->key);
            next = node->next;
            node->next = bigger.buckets[at];
            bigger.buckets[at] = node;
        }
    }
    free(map->buckets);
    *map = bigger;
}

/* Behind those with the same handle, so that they are found in the order in which they were made. */
void fw_map_add(struct fw_map *map, struct fw_node *node)
{
    struct fw_node *first;
    size_t at;
    if (map->count >= map->size)
        resize(map, map->size ? map->size * 2 : 256);
    node->twin = NULL;
    node->last = node;
    first = fw_map_find(map, node->key);
    if (first) {
        first->last->twin = node;
        first->last = node;
        return;
    }
    at = bucket(map, node->key);
    node->next = map->buckets[at];
    map->buckets[at] = node;
    map->count++;
}

struct fw_node *fw_map_find(struct fw_map *map, uint64_t key)
{
    struct fw_node *node = map->size ? map->buckets[bucket(map, key)] : NULL;
    while (node && node->key != key)
        node = node->next;
    return node;
}

/* Removes a node that was found. */
void fw_map_remove(struct fw_map *map, struct fw_node *node)
{
    struct fw_node **at = &map->buckets[bucket(map, node->key)];
    while (*at && *at != node)
        at = &(*at)->next;
    if (*at && node->twin) {
        node->twin->last = node->last;
        node->twin->next = node->next;
        *at = node->twin;
    } else if (*at) {
        *at = node->next;
        map->count--;
    }
}
