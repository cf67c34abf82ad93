/* Counts runnable threads through /proc; see runnable.h. */
#include "threading/check/runnable.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int dtp_runnable_threads(void) {
    long self = syscall(SYS_gettid);
    DIR *dir = opendir("/proc/self/task");
    if (!dir) return -1;
    int count = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        long tid = strtol(e->d_name, NULL, 10);
        if (tid <= 0 || tid == self) continue;
        char path[64], text[128];
        snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", tid);
        FILE *file = fopen(path, "re");
        if (!file) continue;
        size_t n = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
        text[n] = 0;
        char *end = strrchr(text, ')'); /* of the name, which may hold anything */
        count += end && end[1] && end[2] == 'R';
    }
    closedir(dir);
    return count;
}
