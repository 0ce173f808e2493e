/* SPDX-License-Identifier: Apache-2.0
 * close_fds.h - closes what a child inherited, on any Linux. */
#ifndef HU_BASE_CLOSE_FDS_H
#define HU_BASE_CLOSE_FDS_H

/* Closes every descriptor from `first` on, but `keep` (-1: none is kept).  A child of fork() may call it. */
void hu_close_fds(int first, int keep);

/* The same as before Linux 5.9, which has no close_range: closes what /proc/self/fd lists. */
void hu_close_listed_fds(int first, int keep);

#endif
