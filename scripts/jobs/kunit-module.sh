# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: the KUnit suites as modules, with these parameters. insmod succeeds when cases
# fail: what happened is in the results files.

# Loaded, in-tree zsmalloc owns the page type, and nothing of zsx's is migrated.
[ ! -d /sys/module/zsmalloc ] || rmmod zsmalloc || exit
insmod /zsx/zsxmalloc.ko || exit
for module in /zsx/*kunit*.ko; do
	insmod "$module" "$@" || exit
done
cat /sys/kernel/debug/kunit/*/results || exit
for module in /zsx/*kunit*.ko; do
	rmmod "$module" || exit
done
rmmod zsxmalloc
