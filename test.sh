#!/usr/bin/env bash
# Runs all tests of dqd and installs what they need.
#
#   ./test.sh           everything, as CI does (about ten minutes on two cores)
#   ./test.sh quick     formatting, vet, linter and all tests, without the race detector
#
# It needs Go and bash. redis-server and redis-cli are what dqd is compared
# with and spoken to; as root on Debian or Ubuntu they are installed if missing,
# else the script says what is missing.
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

step "redis-server and redis-cli"
if ! command -v redis-server >/dev/null || ! command -v redis-cli >/dev/null; then
	if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
		export DEBIAN_FRONTEND=noninteractive
		apt-get update -q >/dev/null
		# The server is started by the tests that need it, never as a service.
		apt-get install -y -q --no-install-recommends redis-server redis-tools >/dev/null
	else
		fail "redis-server or redis-cli is missing: install Debian's packages redis-server and redis-tools, or run this once as root"
	fi
fi
redis-server --version

step "gofmt"
unformatted=$(gofmt -l .)
[ -z "$unformatted" ] || fail "not formatted, run gofmt -w on: $unformatted"

step "go vet"
go vet ./...

step "linter"
go run "$STATICCHECK" ./...

step "tests"
go test -timeout 20m ./...

if [ "$mode" = all ]; then
	step "tests with the race detector"
	# The packages with goroutines; the pure ones have none, which a test checks.
	go test -race -timeout 10m ./server ./server/resp ./server/shard ./persist ./raftfsm ./tsc
	go test -race -timeout 10m -run 'InVirtualTime/(dqpop|dqpop-block|leases|orders|restart|client|resp3)$' ./tests
fi

printf '\nAll tests passed.\n'
