#!/usr/bin/env bash
# redis-cli: scenario.sh [options of redis-cli, such as -3]
set -euo pipefail

cli=(redis-cli -p "$DQD_PORT" "$@")
code() { sed -n '1{s/^(error) //;s/ .*//;p;}'; }
null() { sed 's/^(nil)$/null/'; }
trap 'rm -rf "$dir"' EXIT
dir=$(mktemp -d)

echo "version: $(redis-cli --version)"
echo "connect: $("${cli[@]}" PING)"
echo "add: $("${cli[@]}" DQADD orders order-42 '{"total":99}')"
# Where the output is no terminal each element stands on a line of its own.
mapfile -t job < <("${cli[@]}" DQPOP orders)
echo "pop: ${job[0]} ${job[1]} ${job[2]} attempt ${job[4]}"
echo "ack: $("${cli[@]}" DQACK orders order-42 "${job[3]}")"
echo "null: $("${cli[@]}" --no-raw DQPOP orders | null) $("${cli[@]}" --no-raw DQGET orders none | null)"
echo "error: $("${cli[@]}" DQADD orders a x DELAY 1.5 | code)"
# A line for the name and one for the value, or one with both (RESP3).
echo "map: $("${cli[@]}" DQSTATS orders | tr ' ' '\n' | sed -n '/^added$/{n;p;}')"
"${cli[@]}" DQADD orders soon x DELAY 200ms >/dev/null
echo "block: $("${cli[@]}" DQPOP orders BLOCK 4s | sed -n 2p)"

# The last argument comes from standard input, every byte as it is.
perl -e 'print join("", map { chr } 0 .. 255) x 4096' >"$dir/every-byte"
"${cli[@]}" -x DQADD big a <"$dir/every-byte" >/dev/null
"${cli[@]}" DQPOP big >"$dir/popped"
head -c $((6 + 1048576)) "$dir/popped" | tail -c 1048576 >"$dir/payload" # behind the lines "big" and "a"
echo "binary: $(wc -c <"$dir/payload") bytes, $(cmp -s "$dir/payload" "$dir/every-byte" && echo equal || echo changed)"

# --pipe loads as fast as the server takes it, and counts the replies.
replies=$(for i in {0..9999}; do echo "DQADD bulk job-$i $i DELAY 1h"; done | "${cli[@]}" --pipe | sed -n 's/.*errors: 0, replies: //p')
echo "pipeline: $replies in order, $("${cli[@]}" DQLEN bulk) there"

echo "restart?"
read -r _
echo "restart: $("${cli[@]}" DQLEN bulk) there"
other=(redis-cli -p "$DQD_AUTH_PORT" "${@}")
echo "noauth: $("${other[@]}" DQLEN q 2>/dev/null | code)"
echo "auth: $(REDISCLI_AUTH=$DQD_PASSWORD "${other[@]}" DQLEN q)"
echo "multi: $(printf '%s\n' MULTI 'DQADD tx one 1' 'DQADD tx two 2' 'DQLEN tx' EXEC | "${cli[@]}" | tail -n 3 | paste -sd ' ')"
echo "abort: $(printf '%s\n' MULTI 'DQADD tx three 3' 'DQADD tx one 1' EXEC | "${cli[@]}" | grep -v -e '^$' | tail -n 1 | code), $("${cli[@]}" DQLEN tx) there"

