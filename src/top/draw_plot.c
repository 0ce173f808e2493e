/* SPDX-License-Identifier: Apache-2.0
 * draw_plot.c - a value over time as columns of eighths of a character. */
#include <string.h>

#include "base/units.h"
#include "top/draw.h"

enum { EIGHTHS = 8, SCALE_WIDTH = 5 };

int hu_top_draw_plot(hu_top_canvas *c, int y, int x, int height, int width, const char *title, const hu_top_history *h)
{
    static const char *const blocks[EIGHTHS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const int                columns = width - SCALE_WIDTH;
    char                     text[HU_UNIT_BYTES];

    if (height < 2)
        return y;
    hu_top_put(c, y, x, width, HU_TONE_DIM, title);
    hu_top_percent(text, h ? hu_top_history_at(h, 0) : NAN, 0);
    hu_top_put_right(c, y, x + width - SCALE_WIDTH, SCALE_WIDTH, HU_TONE_BOLD, text);
    for (int line = 1; line < height; line++) {
        const int floor_eighths = (height - 1 - line) * EIGHTHS;

        hu_top_put_right(c, y + line, x, SCALE_WIDTH - 1, HU_TONE_DIM, line == 1 ? "100" : line == height - 1 ? "0" : "");
        for (int k = 0; h && k < columns; k++) {
            const double value = hu_top_history_at(h, (size_t)(columns - 1 - k));
            int          eighths;

            if (isnan(value))
                continue;
            eighths = (int)(fmin(fmax(value, 0), 1) * (height - 1) * EIGHTHS + .5) - floor_eighths;
            eighths = eighths < 0 ? 0 : eighths > EIGHTHS ? EIGHTHS : eighths;
            if (line == height - 1 && eighths == 0)
                eighths = 1; /* it was measured, and is 0 */
            hu_top_put(c, y + line, x + SCALE_WIDTH + k, 1, HU_TONE_GOOD, blocks[eighths]);
        }
    }
    return y + height;
}
