/* SPDX-License-Identifier: Apache-2.0
 * mpi_words.h - lists of up to 14 words for the wrappers of MPI: as parameters, as arguments, as members of an array. */
#ifndef HU_INJECT_MPI_WORDS_H
#define HU_INJECT_MPI_WORDS_H

#define P0  void
#define P1  hu_word a0
#define P2  P1, hu_word a1
#define P3  P2, hu_word a2
#define P4  P3, hu_word a3
#define P5  P4, hu_word a4
#define P6  P5, hu_word a5
#define P7  P6, hu_word a6
#define P8  P7, hu_word a7
#define P9  P8, hu_word a8
#define P10 P9, hu_word a9
#define P11 P10, hu_word a10
#define P12 P11, hu_word a11
#define P13 P12, hu_word a12
#define P14 P13, hu_word a13
#define A0
#define A1  a0
#define A2  A1, a1
#define A3  A2, a2
#define A4  A3, a3
#define A5  A4, a4
#define A6  A5, a5
#define A7  A6, a6
#define A8  A7, a7
#define A9  A8, a8
#define A10 A9, a9
#define A11 A10, a10
#define A12 A11, a11
#define A13 A12, a12
#define A14 A13, a13
#define C0
#define C1  a[0]
#define C2  C1, a[1]
#define C3  C2, a[2]
#define C4  C3, a[3]
#define C5  C4, a[4]
#define C6  C5, a[5]
#define C7  C6, a[6]
#define C8  C7, a[7]
#define C9  C8, a[8]
#define C10 C9, a[9]
#define C11 C10, a[10]
#define C12 C11, a[11]
#define C13 C12, a[12]
#define C14 C13, a[13]

#endif
