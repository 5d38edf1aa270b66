# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: the consumer stores the pages of real files through zsx and reads
# every one back. Its arguments are the files.

consumer=/sys/kernel/debug/zsx_consumer
pool=/sys/kernel/debug/zsx/zsx_consumer

title() {
	echo
	echo "--- $* ---"
}

# Does the report say that each object was verified in every way? A verification
# that fails at close() is nothing that cat would see.
verified() {
	awk '
	$1 == "objects" { objects = $2 }
	/^verified_by_/ && ++ways && $2 != objects { bad = 1 }
	$1 == "mismatches" { told = 1; bad += $2 }
	END { exit bad || !told || !ways || !objects }' $consumer/report
}

title "load zsx on Linux $(uname -r)"
insmod /zsx/zsxmalloc.ko || exit
insmod /zsx/zsx_consumer.ko || exit
lsmod | grep -E '^(Module|zsx)'

for file in "$@"; do
	title "store $(basename "$file"), $(wc -c <"$file") bytes"
	cat "$file" >$consumer/store || exit
	cat $consumer/report || exit
	verified || { echo "FAIL: not everything was verified"; exit 1; }
done

title "the pool's classes that have pages"
awk 'NR == 1 || !NF || $1 == "Total" || $15 > 0' $pool/classes || exit
title "the pool's counters"
cat $pool/stats || exit

title "free everything and unload"
summary=$(head -n 1 $consumer/report)
echo 1 >$consumer/reset || exit
rmmod zsx_consumer || exit
rmmod zsxmalloc || exit
echo
echo "$summary"
echo "PASS: $# files were stored and read back intact"
