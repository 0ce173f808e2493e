/* SPDX-License-Identifier: Apache-2.0
 * screen.c - the only file that knows ncurses.
 *
 * The terminal is raw: Ctrl-C and Ctrl-Z are keys, so that samplers are not stopped or ended behind our back.  For a crash
 * the bytes that give the terminal back are prepared, since nothing of ncurses may be called in a signal handler.
 */
#include "top/screen.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/late/ncurses.h"
#include "top/signals.h"

enum { CONTROL_Z = 26, CONTROL_L = 12, ESCAPE_MS = 25, RESTORE_ROOM = 256, RUN_MOST = 512, PAIRS_FIRST = 1 };

static struct {
    SCREEN        *screen;
    FILE          *keys; /* the terminal, opened once more: never waited for in the middle of a sequence */
    bool           has_color;
    struct termios before;
    bool           has_before;
    char           restore[RESTORE_ROOM];
    size_t         restore_n;
} self;

/* ---- a crash ----------------------------------------------------------------------------------------------------- */

static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* The handler is of one time (SA_RESETHAND): behind it the signal does what it always did. */
static void on_crash(int signal)
{
    if (self.restore_n && write(STDOUT_FILENO, self.restore, self.restore_n) < 0)
        self.restore_n = 0;
    if (self.has_before)
        tcsetattr(STDIN_FILENO, TCSANOW, &self.before);
    raise(signal);
}

static void add_restore(const char *text)
{
    const size_t n = text && text != (char *)-1 ? strlen(text) : 0;

    if (self.restore_n + n > sizeof self.restore)
        return;
    memcpy(self.restore + self.restore_n, n ? text : "", n);
    self.restore_n += n;
}

static void prepare_crash(void)
{
    const struct sigaction on = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};

    self.restore_n = 0;
    if (tigetstr("kmous") && tigetstr("kmous") != (char *)-1)
        add_restore("\033[?1000l\033[?1002l\033[?1006l");
    add_restore(tigetstr("sgr0"));
    add_restore(tigetstr("rmkx"));
    add_restore(tigetstr("rmcup"));
    add_restore(tigetstr("cnorm"));
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &on, NULL);
}

static void forget_crash(void)
{
    const struct sigaction as_ever = {.sa_handler = SIG_DFL};

    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &as_ever, NULL);
}

/* ---- the terminal ------------------------------------------------------------------------------------------------ */

static void prepare_colors(bool has_color)
{
    static const short colors[HU_TONES] = {
        [HU_TONE_NORMAL] = -1,         [HU_TONE_DIM] = -1,          [HU_TONE_BOLD] = -1,
        [HU_TONE_HEAD] = COLOR_CYAN,   [HU_TONE_SORT] = COLOR_CYAN, [HU_TONE_GOOD] = COLOR_GREEN,
        [HU_TONE_WARN] = COLOR_YELLOW, [HU_TONE_BAD] = COLOR_RED,   [HU_TONE_TAB] = COLOR_CYAN};

    self.has_color = has_color && has_colors() && start_color() == OK && use_default_colors() == OK;
    for (short i = 0; self.has_color && i < HU_TONES; i++)
        init_pair((short)(PAIRS_FIRST + i), colors[i], -1);
}

/* ncurses reads the rest of a mouse's sequence with read(2): one that never comes must not hold us up.  The flag is of this
   open file alone, and not of the one that the shell and others share. */
static FILE *open_keys(void)
{
    const int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    FILE     *file = fd < 0 ? NULL : fdopen(fd, "r+");

    if (fd >= 0 && !file)
        close(fd);
    return file;
}

bool hu_top_screen_open(bool has_color, hu_error *err)
{
    if (hu_late_open(&hu_ncurses_library, err) < 0)
        return false;
    hu_fail(err, HU_EIO, NULL, HU_NO_OFFSET, "this terminal (TERM=%.40s) has no entry that a screen could be drawn with",
            getenv("TERM") ? getenv("TERM") : "");
    self.has_before = tcgetattr(STDIN_FILENO, &self.before) == 0;
    self.keys = open_keys();
    if (!self.keys)
        return false;
    use_env(FALSE); /* $COLUMNS and $LINES of a shell may be of before: the terminal's own size counts */
    use_tioctl(TRUE);
    self.screen = newterm(NULL, stdout, self.keys);
    if (!self.screen) {
        fclose(self.keys);
        return false;
    }
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    curs_set(0);
    set_escdelay(ESCAPE_MS);
    mouseinterval(0);
    mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    prepare_colors(has_color);
    prepare_crash();
    return true;
}

void hu_top_screen_close(void)
{
    if (!self.screen)
        return;
    endwin();
    delscreen(self.screen);
    fclose(self.keys);
    self.screen = NULL;
    forget_crash();
}

void hu_top_screen_size(int *width, int *height)
{
    getmaxyx(stdscr, *height, *width);
}

/* ---- what is shown ----------------------------------------------------------------------------------------------- */

static attr_t attributes_of(const hu_top_cell *cell)
{
    static const attr_t plain[HU_TONES] = {
        [HU_TONE_DIM] = A_DIM,   [HU_TONE_BOLD] = A_BOLD, [HU_TONE_HEAD] = A_REVERSE, [HU_TONE_SORT] = A_REVERSE | A_BOLD,
        [HU_TONE_WARN] = A_BOLD, [HU_TONE_BAD] = A_BOLD,  [HU_TONE_TAB] = A_REVERSE};
    attr_t a = plain[cell->tone];

    if (cell->is_selected)
        a = (a & ~(attr_t)A_DIM) | A_REVERSE;
    if (self.has_color)
        a |= (attr_t)COLOR_PAIR(PAIRS_FIRST + cell->tone);
    return a;
}

/* Characters that look alike, from x on, below one another in one call. */
static int show_run(const hu_top_canvas *c, int y, int x)
{
    const hu_top_cell *line = &c->cell[y * c->width];
    const attr_t       a = attributes_of(&line[x]);
    wchar_t            wide[RUN_MOST];
    char               narrow[RUN_MOST];
    int                n = 0;

    for (; x + n < c->width && n < RUN_MOST && attributes_of(&line[x + n]) == a; n++) {
        wide[n] = (wchar_t)line[x + n].code;
        narrow[n] = hu_top_ascii(line[x + n].code);
    }
    attrset((int)a);
    if (c->has_utf8)
        mvaddnwstr(y, x, wide, n);
    else
        mvaddnstr(y, x, narrow, n);
    return x + n;
}

void hu_top_screen_show(const hu_top_canvas *c)
{
    for (int y = 0; y < c->height; y++)
        for (int x = 0; x < c->width;)
            x = show_run(c, y, x);
    refresh();
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static int key_of(wint_t w)
{
    switch (w) {
    case KEY_UP:
        return HU_KEY_UP;
    case KEY_DOWN:
        return HU_KEY_DOWN;
    case KEY_PPAGE:
        return HU_KEY_PAGE_UP;
    case KEY_NPAGE:
        return HU_KEY_PAGE_DOWN;
    case KEY_HOME:
        return HU_KEY_HOME;
    case KEY_END:
        return HU_KEY_END;
    case KEY_BACKSPACE:
        return HU_KEY_BACK;
    case KEY_ENTER:
        return HU_KEY_ENTER;
    default:
        return w >= KEY_F(1) && w <= KEY_F(10) ? HU_KEY_F1 + (int)(w - KEY_F(1)) : -1;
    }
}

static void stop(void)
{
    endwin();
    hu_top_signals_stop();
    refresh(); /* takes the terminal again */
    clearok(stdscr, TRUE);
}

static void take_mouse(hu_top_view *v, const hu_top_model *m)
{
    MEVENT e;

    if (getmouse(&e) != OK)
        return;
    if (e.bstate & BUTTON4_PRESSED)
        hu_top_view_mouse(v, m, e.y, e.x, -1);
    else if (e.bstate & BUTTON5_PRESSED)
        hu_top_view_mouse(v, m, e.y, e.x, 1);
    else if (e.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
        hu_top_view_mouse(v, m, e.y, e.x, 0);
}

static bool take_keys(hu_top_view *v, const hu_top_model *m)
{
    bool   any = false;
    wint_t w;

    for (int rc; (rc = get_wch(&w)) != ERR; any = true) {
        if (rc == KEY_CODE_YES && w == KEY_MOUSE)
            take_mouse(v, m);
        else if (rc == KEY_CODE_YES && key_of(w) >= 0)
            hu_top_view_key(v, m, key_of(w));
        else if (rc == OK && w == CONTROL_Z)
            stop();
        else if (rc == OK && w == CONTROL_L)
            clearok(stdscr, TRUE);
        else if (rc == OK)
            hu_top_view_key(v, m, (int)w);
    }
    return any;
}

static void take_size(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
        resizeterm(size.ws_row, size.ws_col);
}

bool hu_top_screen_wait(hu_top_view *v, const hu_top_model *m, int ms, bool *has_changed)
{
    struct pollfd p = {.fd = fileno(self.keys), .events = POLLIN};
    const int     n = hu_top_signals_poll(&p, 1, ms);

    *has_changed = hu_top_signals_has_size();
    if (*has_changed)
        take_size();
    if (hu_top_signals_has_stop()) {
        stop();
        *has_changed = true;
    }
    if (n > 0 && (p.revents & (POLLERR | POLLHUP | POLLNVAL)))
        return false;
    if (n > 0)
        *has_changed |= take_keys(v, m);
    return true;
}
