#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: run.sh [MODULES-DIRECTORY]
#
# Run all tests, under KTAP. Fails if one fails. kselftest's own runner does the
# same by the Makefile.

cd "$(dirname "$0")" || exit
[ $# = 0 ] || ZSX_MODULES=$1
export ZSX_MODULES

# leak.sh is the last: zsx can't be unloaded after it.
tests="load params roundtrip debugfs beside badinput hardened movement trace leak"

result=$(mktemp) || exit
# shellcheck disable=SC2064 # $result is what it is now
trap "rm -f $result" EXIT

# shellcheck disable=SC2086 # a word a test
set -- $tests
echo "TAP version 13"
echo "1..$#"
number=0 failed=0
for name; do
	number=$((number + 1))
	# Each test by the shell that runs this. The status of a pipe is its end's.
	{ sh "./$name.sh"; echo $? >"$result"; } 2>&1 |
		while IFS= read -r line; do
			printf '    %s\n' "$line"
		done
	read -r status <"$result"
	case $status in
	0) echo "ok $number $name" ;;
	4) echo "ok $number $name # SKIP" ;;
	*) echo "not ok $number $name # exit=$status"
	   failed=$((failed + 1)) ;;
	esac
done
[ $failed = 0 ]
