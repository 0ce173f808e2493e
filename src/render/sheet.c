/* SPDX-License-Identifier: Apache-2.0
 * sheet.c - one list of cells for all three faces, so that they cannot differ. */
#include "render/sheet.h"

#include <stdio.h>

#include "base/csv_text.h"
#include "base/number.h"
#include "base/units.h"

enum { LEAST_NAME = 24 };

static int column_count(const hu_sheet *sheet)
{
    int n = 0;

    while (sheet->report->columns[n])
        n++;
    return n;
}

static void fill(const hu_sheet *sheet, size_t row, hu_cell *cells)
{
    memset(cells, 0, HU_SHEET_COLUMNS * sizeof *cells);
    sheet->report->fill(sheet, row, cells);
}

/* The text of a cell; numbers are written into `room`. */
static hu_str text_of(const hu_cell *cell, char room[HU_NUMBER_BYTES])
{
    switch (cell->type) {
    case HU_CELL_INT:
        return (hu_str){room, hu_format_i64(room, cell->number)};
    case HU_CELL_REAL:
        return (hu_str){room, hu_format_fixed(room, cell->real, cell->decimals)};
    case HU_CELL_TEXT:
        return cell->text;
    case HU_CELL_EMPTY:
        break;
    }
    return HU_STR("");
}

static void pad(hu_out *out, size_t used, size_t width)
{
    for (; used < width; used++)
        hu_out_text(out, " ");
}

/* How wide each column is, and whether it holds texts, which begin at the left. */
static void measure(const hu_sheet *sheet, size_t rows, int n, size_t *wide, bool *is_text)
{
    hu_cell cells[HU_SHEET_COLUMNS];
    char    room[HU_NUMBER_BYTES];

    for (int c = 0; c < n; c++) {
        wide[c] = strlen(sheet->report->columns[c]);
        is_text[c] = false;
    }
    for (size_t i = 0; i < rows; i++) {
        fill(sheet, i, cells);
        for (int c = 0; c < n; c++) {
            const size_t w = hu_units_width(text_of(&cells[c], room));

            wide[c] = w > wide[c] ? w : wide[c];
            is_text[c] |= cells[c].type == HU_CELL_TEXT;
        }
    }
}

void hu_sheet_write_text(hu_out *out, const hu_sheet *sheet, size_t most, size_t width)
{
    const size_t rows = most && sheet->n > most ? most : sheet->n;
    const int    n = column_count(sheet);
    size_t       wide[HU_SHEET_COLUMNS], used = 0;
    bool         is_text[HU_SHEET_COLUMNS];
    hu_cell      cells[HU_SHEET_COLUMNS];
    char         room[HU_NUMBER_BYTES];

    measure(sheet, rows, n, wide, is_text);
    for (int c = 0; c + 1 < n; c++)
        used += wide[c] + 2;
    if (width) {
        const size_t room_left = used + LEAST_NAME > width ? LEAST_NAME : width - used;

        wide[n - 1] = wide[n - 1] < room_left ? wide[n - 1] : room_left;
    }
    for (size_t i = 0; i <= rows; i++) { /* the headings first */
        if (i)
            fill(sheet, i - 1, cells);
        for (int c = 0; c < n; c++) {
            const hu_str text = i ? text_of(&cells[c], room) : hu_str_of(sheet->report->columns[c]);
            const size_t w = hu_units_width(text);

            if (!is_text[c])
                pad(out, w, wide[c]);
            hu_units_clip(out, text, c + 1 < n || width ? wide[c] : w);
            if (c + 1 < n)
                pad(out, is_text[c] ? w : wide[c], wide[c] + 2);
        }
        hu_out_text(out, "\n");
    }
    if (rows < sheet->n)
        hu_out_printf(out, "… %zu more\n", sheet->n - rows);
}

void hu_sheet_write_csv(hu_out *out, const hu_sheet *sheet)
{
    const int n = column_count(sheet);
    hu_cell   cells[HU_SHEET_COLUMNS];
    char      room[HU_NUMBER_BYTES];

    for (int c = 0; c < n; c++)
        hu_out_printf(out, "%s%s", c ? "," : "", sheet->report->columns[c]);
    hu_out_text(out, "\n");
    for (size_t i = 0; i < sheet->n; i++) {
        fill(sheet, i, cells);
        for (int c = 0; c < n; c++) {
            hu_out_text(out, c ? "," : "");
            if (cells[c].type == HU_CELL_TEXT)
                hu_csv_text(out, cells[c].text);
            else
                hu_out_str(out, text_of(&cells[c], room));
        }
        hu_out_text(out, "\n");
    }
}

void hu_sheet_write_json_as(hu_json_out *j, const char *key, const hu_sheet *sheet)
{
    const int n = column_count(sheet);
    hu_cell   cells[HU_SHEET_COLUMNS];
    char      room[HU_NUMBER_BYTES];

    hu_json_open(j, key, '[');
    for (size_t i = 0; i < sheet->n; i++) {
        fill(sheet, i, cells);
        hu_json_open(j, NULL, '{');
        for (int c = 0; c < n; c++) {
            const char *heading = sheet->report->columns[c];

            if (cells[c].type == HU_CELL_TEXT) {
                hu_json_str(j, heading, cells[c].text);
            } else if (cells[c].type == HU_CELL_EMPTY) {
                hu_json_null(j, heading);
            } else {
                (void)text_of(&cells[c], room);
                hu_json_digits(j, heading, room);
            }
        }
        hu_json_close(j, '}');
    }
    hu_json_close(j, ']');
}
