#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# rename.sh - makes new names of old ones.  The cause: a sed for each of them, where the shell can do it itself.
begun=${EPOCHREALTIME/[.,]/}
for i in {1..150}; do
    name="photo-$i.jpeg"
    if [ "${1-}" = with ]; then
        # shellcheck disable=SC2001   # that is the cause
        new=$(echo "$name" | sed 's/\.jpeg$/.jpg/')
    else
        new=${name%.jpeg}.jpg
    fi
    for _ in {1..600}; do sum=$((sum + ${#new})); done
done
echo "$sum"
printf 'work %d.%06d\n' $(((${EPOCHREALTIME/[.,]/} - begun) / 1000000)) $(((${EPOCHREALTIME/[.,]/} - begun) % 1000000)) >&2
