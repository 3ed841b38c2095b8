/* The state of the process that all files share, and its questions to the system. */
#define _GNU_SOURCE
#include "record.h"

#include <dlfcn.h>
#include <stdio.h>

int fw_file_rank, fw_ranks;
struct fw_overhead fw_overhead;
unsigned char fw_run[16];
uint32_t fw_processors;
const char *fw_directory;
uint64_t fw_process_start;

void fw_say(const char *text)
{
    fprintf(stderr, "flitwise record: %s\n", text);
}

void *fw_next(const char *name)
{
    void *at = dlsym(RTLD_NEXT, name);
    if (!at)
        fprintf(stderr, "flitwise record: the MPI library has no %s\n", name);
    return at;
}

int fw_failed(int rc)
{
    int class = MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        return 0;
    PMPI_Error_class(rc, &class);
    return class != MPI_SUCCESS && class != MPI_ERR_TRUNCATE && class != MPI_ERR_IN_STATUS;
}

/* A number from a line of /proc/self/status. */
int fw_process_threads(void)
{
    char line[256];
    int threads = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "Threads: %d", &threads) == 1)
            break;
    if (f)
        fclose(f);
    return threads;
}
