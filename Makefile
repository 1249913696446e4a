# Forwards to scripts/setup.sh and CMake presets; nothing is decided here.
.PHONY: all setup build test demo format tidy asan tsan clean
.DEFAULT_GOAL := all

all: build

setup:
	@scripts/setup.sh

build: setup
	@cmake --preset release > build.log 2>&1 || { cat build.log; exit 1; }
	@rm -f build.log
	@cmake --build --preset release

test: build
	@scripts/run_tests.py release

demo: build
	@scripts/demo.sh

format:
	@scripts/setup.sh --dev
	@scripts/format.sh

asan tsan: setup
	@cmake --preset $@ && cmake --build --preset $@
	@scripts/run_tests.py $@ -- --label-exclude slow

tidy:
	@scripts/setup.sh --dev
	@PATH="$(CURDIR)/.venv/bin:$$PATH" cmake --preset tidy
	@PATH="$(CURDIR)/.venv/bin:$$PATH" cmake --build --preset tidy

clean:
	@rm -rf build
