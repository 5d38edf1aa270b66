# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# KTAP for test scripts, by the names of the kernel's ktap_helpers.sh, which 6.1
# doesn't have yet. Sourced.

# shellcheck disable=SC2034 # for who sources this
{
	KSFT_PASS=0
	KSFT_FAIL=1
	KSFT_SKIP=4
}

ktap_number=0
ktap_plan=0
ktap_failed=0

ktap_print_header() {
	echo "TAP version 13"
}

ktap_set_plan() {
	ktap_plan=$1
	echo "1..$1"
}

ktap_skip_all() {
	echo "1..0 # SKIP $*"
}

ktap_print_msg() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

ktap_test_pass() {
	ktap_number=$((ktap_number + 1))
	echo "ok $ktap_number $1"
}

ktap_test_fail() {
	ktap_number=$((ktap_number + 1))
	ktap_failed=$((ktap_failed + 1))
	echo "not ok $ktap_number $1"
}

ktap_test_skip() {
	ktap_number=$((ktap_number + 1))
	echo "ok $ktap_number $1 # SKIP"
}

# Ends the test.
ktap_finished() {
	if [ "$ktap_number" != "$ktap_plan" ]; then
		ktap_print_msg "planned $ktap_plan, ran $ktap_number"
	elif [ "$ktap_failed" = 0 ]; then
		exit "$KSFT_PASS"
	fi
	exit "$KSFT_FAIL"
}
