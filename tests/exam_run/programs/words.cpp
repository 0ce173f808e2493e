// SPDX-License-Identifier: Apache-2.0
// words.cpp - counts the words of a text.  The cause: it is read byte by byte.
#include "work.h"

#include <fcntl.h>
#include <unistd.h>

class Text
{
  public:
    explicit Text(const char *path, size_t piece) : fd(open(path, O_RDONLY)), most(piece) {}
    ~Text() { close(fd); }
    int next()
    {
        if (at == held)
            fill();
        return held ? static_cast<unsigned char>(piece[at++]) : -1;
    }

  private:
    __attribute__((noinline)) void fill()
    {
        ssize_t n = read(fd, piece, most);

        held = n > 0 ? static_cast<size_t>(n) : 0;
        at = 0;
    }

    int    fd;
    size_t most, at = 0, held = 0;
    char   piece[65536];
};

int main(int argc, char **argv)
{
    bool     with = work_begin(argc, argv);
    Text     text("corpus.txt", with ? 1 : 65536);
    long     words = 0;
    uint64_t hash = 1;

    for (int c = text.next(), before = ' '; c >= 0; before = c, c = text.next()) {
        words += before == ' ' && c != ' ';
        hash = work_mix(hash ^ static_cast<uint64_t>(c), 120);
    }
    printf("%ld %llu\n", words, static_cast<unsigned long long>(hash));
    work_end();
    return 0;
}
