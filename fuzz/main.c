/* SPDX-License-Identifier: Apache-2.0
 * main.c - runs a fuzz target over files, and over every prefix of the small ones, on machines without libFuzzer. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PREFIXES_UP_TO = 2048, LARGEST = 1 << 20 };

static uint8_t bytes[LARGEST];

static void run_file(const char *path)
{
    FILE  *file = fopen(path, "rb");
    size_t n = file ? fread(bytes, 1, sizeof bytes, file) : 0;

    if (!file) {
        perror(path);
        exit(1);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, n);
    for (size_t i = 0; n <= PREFIXES_UP_TO && i < n; i++)
        LLVMFuzzerTestOneInput(bytes, i);
}

int main(int argc, char **argv)
{
    int count = 0;

    for (int i = 1; i < argc; i++) {
        struct dirent *entry;
        DIR           *folder = opendir(argv[i]);

        while (folder && (entry = readdir(folder))) {
            char path[4096];

            if (entry->d_name[0] == '.')
                continue;
            snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            run_file(path);
            count++;
        }
        if (!folder)
            return 1;
        closedir(folder);
    }
    printf("%d inputs\n", count);
    return count ? 0 : 1;
}
