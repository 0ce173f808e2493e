# SPDX-License-Identifier: Apache-2.0
# The front door.  `make demo` and `make test` need nothing but a Debian machine; everything else is meson and ninja.

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
SETUP    = scripts/setup --quiet

.PHONY: all setup build demo test test-rest test-msan test-tsan test-abi test-torch test-nsys test-firefox \
        lint format schema dist dist-check wheel deb bench scoreboard exam exam-run pairs-opencl fuzz install uninstall man clean help

all: build

help:
	@echo 'make build     the program, at build/holdup'
	@echo 'make demo      build, and explain a training run that comes with the project (2 minutes on a fresh machine)'
	@echo 'make test      build and pass all tests (half an hour on two cores)'
	@echo 'make test-rest   the whole program again under ASan and UBSan; make test-msan, make test-tsan: unit tests, what has threads'
	@echo 'make test-abi  the CUDA door with 16 versions of CUPTI, the monitor with 15 of NVML, two drivers, fetched (200 MB)'
	@echo 'make test-torch  what needs PyTorch, transformers and lightning: puts them into ~/.cache/holdup/torch (6 GB) if no Python has them'
	@echo 'make test-nsys  the two tools around one another, with Nsight Systems 2022.4.2 of Debian, fetched into ~/.cache/holdup/nsys (175 MB)'
	@echo 'make test-firefox  the page in Firefox (312 MB of Debian packages)'
	@echo 'make lint      layout, layers, headers, warnings, clang-tidy, shell scripts, banned words'
	@echo 'make schema    docs/report.schema.json and the tables of docs/analyses.md, query.md, doctor.md and xid.md, from the rows of src/'
	@echo 'make format    clang-format over all C files'
	@echo 'make bench     speed against public tools; writes docs/performance.md'
	@echo 'make scoreboard  1,200 traces with a known answer; writes docs/accuracy.md'
	@echo 'make exam        430 jobs simulated apart from the program; writes docs/exam.md'
	@echo 'make exam-run    56 programs recorded and explained, on an idle machine (8 minutes); writes docs/exam_run.md'
	@echo 'make pairs-opencl  15 pairs of OpenCL programs on PoCL, on an idle machine (4 minutes); writes its part of docs/accuracy.md'
	@echo 'make fuzz      libFuzzer for FUZZ_SECONDS (600) on each target'
	@echo 'make dist      archives and wheels for any Linux, and the source, in dist/ (half an hour a target the first time; DIST=linux-x86_64 for one)'
	@echo 'make dist-check  each of them used and removed in bare systems of Debian 11, 12 and 13 and one of musl'
	@echo 'make deb       a package for this Debian, in build-deb'
	@echo 'make man       manual pages, in build/packaging: man -l build/packaging/holdup-report.1'
	@echo 'make install   into PREFIX=/usr/local, below DESTDIR=; make uninstall removes it'

setup:
	@$(SETUP) build

$(BUILD)/build.ninja: meson.build src/meson.build
	@$(SETUP) build
	@test -f $@ || meson setup $(BUILD) --buildtype=release -Db_lto=true >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@rm -f $(BUILD).log

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet installed

man: build
	@ls $(BUILD)/packaging/*.1

# says on stderr what takes its time; stdout is the report's
demo:
	@echo 'demo: installing what is missing (Debian packages) ...' >&2
	@$(SETUP) build
	@if [ -x $(BUILD)/holdup ]; then echo 'demo: building what changed ...' >&2; \
	else echo 'demo: building (1-2 minutes on two cores) ...' >&2; fi
	@$(MAKE) --no-print-directory build
	@echo 'demo: explaining examples/training/traces/slow_loader ...' >&2
	@$(BUILD)/holdup report examples/training/traces/slow_loader --html $(BUILD)/report.html
	@echo
	@echo "page  file://$(abspath $(BUILD)/report.html)"

test:
	@scripts/setup --quiet test
	@scripts/test

test-rest:
	@scripts/setup --quiet test
	@scripts/test rest

test-msan:
	@scripts/setup --quiet test
	@scripts/test msan

test-tsan:
	@scripts/setup --quiet test
	@scripts/test tsan

test-abi: build
	@HOLDUP=$(BUILD)/holdup HOLDUP_TEST_ABI=all HOLDUP_TEST_DRIVER=1 python3 -m unittest tests.test_cuda_stand tests.test_cuda_abi tests.test_cuda_door tests.test_cuda_second tests.test_cuda_real \
	    tests.test_monitor_standin tests.test_monitor_vendor

# PyTorch as PyPI has it, in a place of its own; its suites find it there
TORCH = $${XDG_CACHE_HOME:-$$HOME/.cache}/holdup/torch
test-torch: build
	@test -n "$$HOLDUP_TORCH_PYTHON" || test -x "$(TORCH)/bin/python" || \
	    { python3 -m venv "$(TORCH)" && "$(TORCH)/bin/pip" install --quiet torch numpy transformers accelerate lightning; } || \
	    { rm -rf "$(TORCH)"; exit 1; }
	@HOLDUP=$(BUILD)/holdup python3 -m unittest $$(grep -l torch_or_skip tests/test_*.py | sed 's,/,.,; s,\.py$$,,')

test-nsys: build
	@nsys=$$(python3 -m tests.nsys_debian) && HOLDUP=$(BUILD)/holdup HOLDUP_NSYS="$$nsys" python3 -m unittest tests.test_nsys

test-firefox: build
	@scripts/setup --quiet firefox
	@test -d tests/page/node_modules || (cd tests/page && npm ci --ignore-scripts --no-audit --no-fund)
	@HOLDUP=$(BUILD)/holdup node --test tests/page/firefox.test.mjs

lint:
	@scripts/setup --quiet test
	@scripts/lint

format:
	@scripts/setup --quiet test
	@git ls-files '*.c' '*.h' | xargs clang-format -i

schema: build
	@scripts/describe $(BUILD)/holdup

# what needs no compiler and no root where it is used
DIST =
dist:
	@scripts/setup --quiet dist
	@python3 scripts/dist $(DIST)

# a package of this Debian, in build-deb
deb:
	@scripts/setup --quiet deb
	@scripts/deb build-deb

# for this kind of machine
wheel:
	@scripts/setup --quiet dist
	@python3 scripts/dist linux-$$(uname -m)

dist-check:
	@scripts/setup --quiet dist
	@python3 scripts/dist-check dist

bench: build
	@scripts/setup --quiet bench
	@ninja -C $(BUILD) --quiet bench/phases bench/pieces bench/query
	@python3 bench/run.py --holdup $(BUILD)/holdup --out docs/performance.md $(if $(HUGE),--huge)
	@python3 bench/costs.py --build $(BUILD) --page docs/performance.md
	@python3 bench/formats.py --holdup $(BUILD)/holdup --page docs/performance.md
	@archive=dist/holdup-$$(cat python/holdup/VERSION)-linux-$$(uname -m).tar.gz; if [ -f "$$archive" ]; then \
	    python3 bench/portable.py --holdup $(BUILD)/holdup --archive "$$archive" --page docs/performance.md; \
	else echo "bench: no $$archive (make wheel): the program for any Linux was not compared" >&2; fi

scoreboard: build
	@python3 -m tests.scoreboard.board --holdup $(BUILD)/holdup --count 1200 --out docs/accuracy.md

exam: build
	@python3 -m tests.exam.board --holdup $(BUILD)/holdup --count 300 --markdown $(BUILD)/exam.md
	@python3 -m tests.exam.board_ranks --holdup $(BUILD)/holdup --markdown $(BUILD)/exam-ranks.md
	@(echo '<!-- SPDX-License-Identifier: Apache-2.0; written by `make exam`, not by hand -->'; echo '# The exam of the diagnosis'; \
	  echo; cat $(BUILD)/exam.md; echo; cat $(BUILD)/exam-ranks.md) >docs/exam.md

exam-run: build
	@python3 -m tests.exam_run.board --holdup $(BUILD)/holdup --markdown $(BUILD)/exam-run.md
	@(echo '<!-- SPDX-License-Identifier: Apache-2.0; written by `make exam-run`, not by hand -->'; echo '# The exam of the recorder'; \
	  echo; cat $(BUILD)/exam-run.md) >docs/exam_run.md

pairs-opencl: build
	@python3 -m tests.opencl_pairs.run --holdup $(BUILD)/holdup --out $(BUILD)/pairs-opencl --calm 60 --keep

fuzz:
	@scripts/setup --quiet fuzz
	@scripts/fuzz

install: build
	@scripts/install $(BUILD) '$(PREFIX)' '$(DESTDIR)'

# what install makes; tests/test_install.py holds the two together
uninstall:
	@test -n '$(PREFIX)' || { echo 'uninstall: PREFIX is empty' >&2; exit 2; }
	rm -f '$(DESTDIR)$(PREFIX)/bin/holdup' '$(DESTDIR)$(PREFIX)/include/holdup_annotate.h'
	rm -rf '$(DESTDIR)$(PREFIX)/lib/holdup' '$(DESTDIR)$(PREFIX)/share/holdup' '$(DESTDIR)$(PREFIX)/share/doc/holdup'
	rm -f '$(DESTDIR)$(PREFIX)/share/pkgconfig/holdup.pc'
	rm -f '$(DESTDIR)$(PREFIX)'/share/man/man1/holdup.1 '$(DESTDIR)$(PREFIX)'/share/man/man1/holdup-*.1
	rm -f '$(DESTDIR)$(PREFIX)'/lib/systemd/system/holdup-monitor.service '$(DESTDIR)$(PREFIX)'/lib/systemd/system/holdup-monitor.socket
	rm -f '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/holdup' '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_holdup' \
	    '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/holdup.fish'

clean:
	rm -rf $(BUILD) build-asan build-tsan build-msan build-fuzz build-clang
