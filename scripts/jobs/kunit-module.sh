# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: the KUnit suites as modules. insmod succeeds when cases fail: what
# happened is in the results files.

insmod /zsx/zsxmalloc.ko || exit
for module in /zsx/*kunit*.ko; do
	insmod "$module" || exit
done
cat /sys/kernel/debug/kunit/*/results || exit
for module in /zsx/*kunit*.ko; do
	rmmod "$module" || exit
done
rmmod zsxmalloc
