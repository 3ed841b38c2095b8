/* recording.toml. */
#include "record.h"

#include <stdio.h>

#ifndef FW_FLITWISE
#define FW_FLITWISE "unknown"
#endif

/* The length of a character in UTF-8, 0 if it is none. */
static int character(const unsigned char *at)
{
    int len = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;
    for (int i = 1; i < len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) || (*at == 0xf0 && at[1] < 0x90) ||
        (*at == 0xf4 && at[1] > 0x8f))
        return 0;
    return len;
}

/* A string of TOML. */
static void put_quoted(FILE *f, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', f);
    while (*at) {
        int len = character(at);
        if (len == 0)
            fputs("\\ufffd", f);
        else if (*at == '"' || *at == '\\')
            fprintf(f, "\\%c", *at);
        else if (*at < 32 || *at == 127)
            fprintf(f, "\\u%04x", *at);
        else
            fwrite(at, 1, (size_t)len, f);
        at += len ? len : 1;
    }
    fputc('"', f);
}

static void put_command(FILE *f)
{
    char text[65536];
    size_t n = 0;
    FILE *from = fopen("/proc/self/cmdline", "r");
    if (from) {
        n = fread(text, 1, sizeof text - 1, from);
        fclose(from);
    }
    text[n] = 0;
    fputs("command = [", f);
    for (size_t at = 0; at < n; at += strlen(text + at) + 1) {
        if (at)
            fputs(", ", f);
        put_quoted(f, text + at);
    }
    fputs("]\n", f);
}

/* Whether a rank may use no processors but those of another one. */
static int is_within(const fw_mask inner, const fw_mask outer)
{
    for (int i = 0; i < FW_MASK; i++)
        if (inner[i] & ~outer[i])
            return 0;
    return 1;
}

/* For each rank, the ranks of its host that may use its processors only. A launcher that binds ranks leaves each its own. */
static void put_sharers(FILE *f, const struct fw_description *about, const int *host, const int *first)
{
    int *next = malloc((size_t)fw_ranks * sizeof *next), *last = malloc((size_t)fw_ranks * sizeof *last);
    if (next && last) {
        for (int rank = 0; rank < fw_ranks; rank++) {
            int at = first[host[rank]];
            next[rank] = -1;
            if (rank != at)
                next[last[at]] = rank;
            last[at] = rank;
        }
        fputs("sharers_of_rank = [", f);
        for (int rank = 0; rank < fw_ranks; rank++) {
            int sharers = 0;
            for (int other = first[host[rank]]; other >= 0; other = next[other])
                sharers += is_within(about->masks[other], about->masks[rank]);
            fprintf(f, rank ? ", %d" : "%d", sharers);
        }
        fputs("]\n", f);
    }
    free(next);
    free(last);
}

static void put_hosts(FILE *f, const struct fw_description *about)
{
    int *host = malloc((size_t)fw_ranks * sizeof *host), *first = malloc((size_t)fw_ranks * sizeof *first), n = 0;
    if (!host || !first)
        return;
    for (int rank = 0; rank < fw_ranks; rank++) {
        int h = 0;
        while (h < n && strcmp(about->hosts + (size_t)first[h] * FW_HOST, about->hosts + (size_t)rank * FW_HOST))
            h++;
        if (h == n)
            first[n++] = rank;
        host[rank] = h;
    }
    fputs("hosts = [", f);
    for (int h = 0; h < n; h++) {
        if (h)
            fputs(", ", f);
        put_quoted(f, about->hosts + (size_t)first[h] * FW_HOST);
    }
    fputs("]\nhost_of_rank = [", f);
    for (int rank = 0; rank < fw_ranks; rank++)
        fprintf(f, rank ? ", %d" : "%d", host[rank]);
    fputs("]\nprocessors_of_rank = [", f);
    for (int rank = 0; rank < fw_ranks; rank++)
        fprintf(f, rank ? ", %d" : "%d", about->processors[rank]);
    fputs("]\n", f);
    put_sharers(f, about, host, first);
    free(host);
    free(first);
}

/* Writes recording.toml under another name first, so that it is whole at any time. */
void fw_describe(const struct fw_description *about, int finalised)
{
    static const char *levels[] = {"single", "funneled", "serialized", "multiple"};
    char path[4200], part[4220], mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    const char *session = getenv("FLITWISE_RECORD_SESSION");
    int len = 0, version = 0, minor = 0;
    FILE *f;
    snprintf(path, sizeof path, "%s/recording.toml", fw_directory);
    snprintf(part, sizeof part, "%s.part", path);
    if (!(f = fopen(part, "we")))
        return;
    PMPI_Get_library_version(mpi, &len);
    PMPI_Get_version(&version, &minor);
    for (char *at = mpi; *at; at++)
        if (*at == '\n')
            *at = 0;
    fprintf(f, "format = %d\nrun = \"", FW_VERSION);
    for (int i = 0; i < 16; i++)
        fprintf(f, "%02x", fw_run[i]);
    fputs("\"\nsession = ", f);
    put_quoted(f, session ? session : "");
    fprintf(f, "\nflitwise = \"%s\"\nstarted = %lld\n", FW_FLITWISE, about->started);
    put_command(f);
    fputs("mpi = ", f);
    put_quoted(f, mpi);
    fprintf(f, "\nmpi_version = \"%d.%d\"\nthread_level = \"%s\"\nranks = %d\n", version, minor, levels[about->level],
            fw_ranks);
    put_hosts(f, about);
    fprintf(f, "overhead = { cpu_ns = %u, wall_ns = %u, inside_ns = %u, call_ns = %u }\nfinalised = %s\n",
            fw_overhead.cpu, fw_overhead.wall, fw_overhead.inside, fw_overhead.call, finalised ? "true" : "false");
    if (fclose(f) == 0)
        rename(part, path);
}
