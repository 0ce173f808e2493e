/* SPDX-License-Identifier: Apache-2.0
 * looker_message.h - what the process that looks sends: one packet for each thing it says. */
#ifndef HU_DOCTOR_LOOKER_MESSAGE_H
#define HU_DOCTOR_LOOKER_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

enum { HU_MESSAGE_TEXT = 4096, HU_MESSAGE_SUBJECT = 256, HU_MESSAGE_FIX = 1024 };

typedef enum {
    HU_MESSAGE_ABOUT,  /* subject: the host's name; text: the time */
    HU_MESSAGE_BEGIN,  /* number: the check that looks from now on */
    HU_MESSAGE_ANSWER, /* number: its verdict */
    HU_MESSAGE_VALUE,  /* subject: the key */
    HU_MESSAGE_DOING,  /* text: the call that follows, which may never return; "": it did */
    HU_MESSAGE_END,    /* no check is left */
} hu_message_kind;

typedef struct {
    int32_t kind, number;
    char    subject[HU_MESSAGE_SUBJECT], fix[HU_MESSAGE_FIX], text[HU_MESSAGE_TEXT]; /* "": none */
} hu_message;

/* NULL: none.  What does not fit is cut.  If nobody listens, it is lost. */
void hu_message_send(int socket, hu_message_kind kind, int number, const char *subject, const char *fix, const char *text);

#endif
