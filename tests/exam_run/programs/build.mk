# SPDX-License-Identifier: Apache-2.0
# build.mk - what build.sh builds; the files are made by tests/exam_run/toolbox.py

all: a.o b.o c.o d.o e.o f.o $(BIG).o

%.o: %.c
	cc -O2 -c -o $@ $<
