# Two commands for a newcomer: `make study` shows what recovery does to clients, `make test` proves the tree.
# Both set up what is missing on a fresh Debian machine and say so; what only tests and benchmarks need, `make study` leaves out.

CARGO ?= cargo
PATH := $(HOME)/.cargo/bin:$(PATH)
export PATH

# Files of about 5 GiB for as long as it runs; `make study-real DISK=/mnt/disk` for another place.
DISK ?= runs/disk

.PHONY: study study-full study-real test test-ceph test-drive soak bench bench-qos bench-ceph bench-kv setup setup-tests setup-dist fuzz bare mutate install dist test-dist

# A first report in three minutes from the clone on two cores: the profile `study` is built sooner than a release and simulates more
# slowly, and a tenth of the published amount of work gives the same rates and latencies. What no study needs is left out.
study: setup
	$(CARGO) build --profile study --locked --package loadline --no-default-features
	target/study/loadline study run recovery-nvme --quick

# All of the published amount of work, whose times are comparable too: some minutes.
study-full: setup
	$(CARGO) build --release --locked --package loadline
	target/release/loadline study run recovery-nvme

# The same on real files, small: under three minutes.
study-real: setup
	$(CARGO) build --release --locked --package loadline
	mkdir -p $(DISK)
	target/release/loadline study run recovery-nvme --on files:$(DISK) --set scale=0.001

test: setup-tests
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --features png --locked -- -D warnings
	$(CARGO) clippy --package loadline --no-default-features --locked -- -D warnings
	$(CARGO) test --workspace --locked
	$(CARGO) test --workspace --features png --locked --test bench --test cdl_bench -- png pixels modelled_drive

# A real kernel with the modelled drive: some dozen boots of Linux in user mode, whose root is made of Debian's packages the first
# time (docs/virtual-drive.md). Where those cannot be had the tests say so and pass.
test-drive: setup-tests
	$(CARGO) test --package loadline --locked --test guest -- --ignored --test-threads=1

# What needs a real Ceph: a cluster of four OSDs is made for it (scripts/ceph-here: root, debootstrap, loop devices), or CEPH_HERE names
# the ceph.conf of one that runs and may be hurt.
test-ceph: setup
	@if [ -z "$$CEPH_HERE" ] && { [ "$$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; }; then \
		echo "test-ceph: skipped: it needs root and debootstrap, or CEPH_HERE=/path/to/ceph.conf"; exit 0; fi; \
	trap 'exit 130' INT TERM HUP; \
	if [ -z "$$CEPH_HERE" ]; then scripts/ceph-here up || exit 1; trap 'scripts/ceph-here down' EXIT; \
		CEPH_HERE=$$(scripts/ceph-here conf) && export CEPH_HERE; fi; \
	for of in "loadline-ceph --test cluster" "loadline --test ceph"; do \
		PATH="$$PWD/target/ceph-here/bin:$$PATH" $(CARGO) test --locked --package $$of -- --ignored --test-threads=1 || exit 1; done

# The long searches that do not belong into the normal test run, by its profile, whose assertions search as well; then damaged copies of stores, which take a few minutes, and ten
# minutes of random crashes of the store. `make soak SECONDS=60 SEED=7` for a minute of each at most, from another seed.
SECONDS ?= 600
SEED ?= 1
soak: setup-tests
	$(CARGO) test --workspace --exclude loadline --locked -- --ignored
	$(CARGO) test --package loadline --locked --test host --test node --test resp -- --ignored
	$(CARGO) build --release --locked --package loadline
	target/release/loadline soak --rot-self --flips 10000 --drops 500 --strays 500 --seconds $(SECONDS) --seed $(SEED)
	target/release/loadline soak --seconds $(SECONDS) --seed $(SEED)

# Each benchmark prints its own table; docs/mclock.md and docs/checkpoint.md hold some with the machine they came from.
bench: setup-tests
	$(CARGO) bench --package loadline-benches
	$(CARGO) bench --package loadline --bench node

# Clients' reservation second by second, and their p99 beside WPQ's, on real files of about 5 GiB: pass or FAIL;
# `make bench-qos DISK=/dev/shm/qos` in memory.
bench-qos: setup
	$(CARGO) build --release --locked --package loadline
	mkdir -p $(DISK)
	rm -rf runs/bench-qos
	target/release/loadline study run reservation --on files:$(DISK) --out runs/bench-qos

# The bench of a node beside a Ceph of the same shape, which scripts/ceph-here makes; needs root and 25 GiB.
bench-ceph: setup
	$(CARGO) build --release --locked --package loadline
	scripts/bench-ceph

# redis-benchmark against `loadline kv serve` and a redis-server in turns, on the same disk; needs Debian's redis-server.
bench-kv: setup-tests
	$(CARGO) build --release --locked --package loadline
	scripts/bench-kv

# Needs the nightly toolchain and cargo-fuzz; runs each target for a minute, from what stands in fuzz/seeds (or what that is a link to) where there is something.
fuzz: setup
	cd fuzz && targets=$$($(CARGO) +nightly fuzz list) || exit 1; for target in $$targets; do \
		mkdir -p corpus/$$target seeds/$$target; \
		$(CARGO) +nightly fuzz run $$target corpus/$$target seeds/$$target -- -max_total_time=60 || exit 1; done

# The schedulers build where there is no operating system.
bare:
	rustup target add thumbv7em-none-eabi
	$(CARGO) build --locked --package loadline-qos --no-default-features --target thumbv7em-none-eabi

# Puts known faults into a copy of the tree and runs each crate's own tests; `make mutate CRATES=loadline-osd` for some.
mutate: setup-tests
	scripts/mutate $(CRATES)

# The whole program, into ~/.cargo/bin.
install: setup
	$(CARGO) install --locked --path loadline

# What is handed to others, in dist/: an archive with the stripped program, its manual pages and completions, and a Debian package.
dist: setup-dist
	scripts/dist

# The package installed, and a node started, under a fresh Debian root, and a node in a container of the image: needs root, debootstrap, buildah
# and 7 GiB for as long as it takes.
test-dist: dist
	scripts/test-deb
	scripts/test-oci

setup:
	@scripts/setup

setup-tests:
	@scripts/setup tests

setup-dist: setup
	@scripts/setup dist
