#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# usage: tests/tools/record.sh [BYTES DIRECTORY]
#
# Record the samples anew: what in-tree zsmalloc and zsx have in debugfs for the same objects,
# half freed, then compacted, in the lab's UML kernel. Of zsx also what is there while the
# consumer has a pool as well. The objects have 16,000,000 bytes, before half of them are
# freed; or BYTES, and what is recorded goes to DIRECTORY, which must not be there yet.

# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/../../scripts/lib.sh"

case ${1-} in
-h|--help) usage; exit ;;
esac
here=$ZSX_ROOT/tests/tools
bytes=${1:-16000000} to=${2:-$here/samples}
[[ $bytes =~ ^[1-9][0-9]{6,8}$ ]] || die "BYTES: 1000000 to 999999999, not $bytes"
[ $# != 1 ] || die "and where to? (see --help)"
if [ $# = 0 ]; then
	rm -rf "$to"
elif [ -e "$to" ]; then
	die "$to is there already"
fi
dir=$("$ZSX_ROOT/scripts/build-modules" uml)
modules=$(kernel_path uml modules)/kernel
add=(--module lzo_compress --module lzo_decompress --add "$modules/mm/zsmalloc.ko:/zsx/zsmalloc.ko")
for module in zsxmalloc tests/zsx_consumer tests/bench/zsx_bench_zsx tests/bench/zsx_bench_zsmalloc; do
	add+=(--add "$dir/$module.ko:/zsx/${module##*/}.ko")
done
"$ZSX_ROOT/scripts/run-vm" --kernel uml --quiet --log "$ZSX_CACHE/log/record-tools" \
	"${add[@]}" "$here/record-job.sh" "$bytes"

awk -v to="$to" '
	$1 == "@" {
		file = to "/" $2
		dir = file
		sub(/\/[^\/]*$/, "", dir)
		system("mkdir -p \"" dir "\"")
		next
	}
	/^zsx-vm / { file = "" }
	file { print >file }' "$ZSX_CACHE/log/record-tools"
