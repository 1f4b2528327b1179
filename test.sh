#!/usr/bin/env bash
# Runs all tests of dqd and installs what they need.
#
#   ./test.sh           everything, as CI does (about a quarter of an hour on two cores)
#   ./test.sh quick     formatting, vet, linter and all tests, without the race detector
#
# It needs Go and bash. redis-server is what dqd is compared
# with, redis-cli and the clients of other languages are what speaks to it, fish, zsh,
# mandoc, groff, systemd-analyze and Prometheus read completion, manual, unit and alert
# rules; as root on Debian or Ubuntu they are installed if missing, else the script says
# what is missing. As root, outside a container, it also boots a Debian with systemd and
# Docker, which takes 4 GB in /var/tmp (tests/machine); else it says that it left that out.
set -euo pipefail
cd "$(dirname "$0")"

mode=${1:-all}
case $mode in
all | quick) ;;
*)
	sed -n '2,5s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac

STATICCHECK=honnef.co/go/tools/cmd/staticcheck@v0.8.2

step() { printf '\n== %s\n' "$*"; }
fail() {
	printf 'test.sh: %s\n' "$*" >&2
	exit 1
}

command -v go >/dev/null || fail "Go is missing: install Go 1.26 or newer and put it into PATH"

# A bare environment (a container without HOME) is enough for go.
if [ -z "${HOME:-}" ]; then
	HOME=$(mktemp -d)
	export HOME
fi
# The tests do not depend on git's opinion of who owns the work tree.
export GOFLAGS="${GOFLAGS:--buildvcs=false}"

may_boot() { [ "$(id -u)" = 0 ] && unshare --mount --net true 2>/dev/null; }

# lacking prints the Debian packages of what is missing.
lacking() {
	command -v redis-server >/dev/null || echo redis-server
	command -v redis-cli >/dev/null || echo redis-tools
	command -v curl >/dev/null || echo curl
	command -v cc >/dev/null || echo gcc libc6-dev
	[ -e /usr/include/hiredis/hiredis.h ] || echo libhiredis-dev
	/usr/bin/python3 -c 'import redis' 2>/dev/null || echo python3-redis
	/usr/bin/ruby -e 'require "redis"' 2>/dev/null || echo ruby-redis
	/usr/bin/php -r 'exit((int) !extension_loaded("redis"));' 2>/dev/null || echo php-cli php-redis
	/usr/bin/perl -MRedis -e 1 2>/dev/null || echo libredis-perl
	command -v node >/dev/null || echo nodejs
	command -v npm >/dev/null || echo npm
	# What reads what is delivered beside the program.
	command -v fish >/dev/null || echo fish
	command -v groff >/dev/null || echo groff-base
	command -v mandoc >/dev/null || echo mandoc
	command -v prometheus >/dev/null || echo prometheus
	command -v systemd-analyze >/dev/null || echo systemd
	command -v zsh >/dev/null || echo zsh
	# What boots a machine.
	! may_boot || {
		command -v mmdebstrap >/dev/null || echo mmdebstrap
		command -v systemd-nspawn >/dev/null || echo systemd-container
		[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || echo debian-archive-keyring
	}
}

step "redis-server, Redis clients and other programs that the tests run"
missing=$(lacking | xargs)
if [ -n "$missing" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q >/dev/null
	# Servers are started by the tests that need them. This file keeps Debian from starting
	# them as services; one that is there already stays.
	(
		policy=/usr/sbin/policy-rc.d
		[ -e $policy ] || {
			trap 'rm -f $policy' EXIT
			printf '#!/bin/sh\nexit 101\n' >$policy
			chmod 755 $policy
		}
		# shellcheck disable=SC2086 # words
		apt-get install -y -q --no-install-recommends $missing >/dev/null
	)
	missing=$(lacking | xargs)
fi
[ -z "$missing" ] || fail "missing: $missing (names of Debian's packages). Install them, or run this once as root"
(
	cd tests/clients/node
	# Debian's Node is too old for some: what the programs run on is among the packages.
	[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund
	npm ls
)
redis-server --version
dpkg-query -W libhiredis-dev libredis-perl php-redis python3-redis redis-tools ruby-redis 2>/dev/null || true

step "gofmt"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || fail "not formatted, run gofmt -w on: $unformatted"

step "go vet"
go vet ./...
(cd tests/clients/go && go vet ./...)
(cd tests/dashboards && go vet ./...)

step "linter"
go run "$STATICCHECK" ./...
(cd tests/clients/go && go run "$STATICCHECK" ./...)
(cd tests/dashboards && go run "$STATICCHECK" ./...)

step "tests"
go test -timeout 20m ./...
# What it reads lies outside its module, where the cache of tests does not look.
(cd tests/dashboards && go test -count=1 ./...)

if [ "$mode" = all ]; then
	step "tests with the race detector"
	# The packages with goroutines; the pure ones have none, which a test checks. Without the
	# sweeps over damaged files, which take minutes here and start nothing that others do not.
	go test -race -timeout 10m -skip '^(TestDamage|TestWALDamage|TestWALCutShort)$' ./server ./server/resp ./server/shard ./persist ./raftfsm ./tsc ./worker
	go test -race -timeout 10m -run 'InVirtualTime/(dqpop|dqpop-block|leases|orders|restart|client|resp3)$' ./tests
fi

printf '\nAll tests passed.\n'
may_boot || echo 'tests/machine was left out: it needs root, and namespaces that a container mostly refuses.'
