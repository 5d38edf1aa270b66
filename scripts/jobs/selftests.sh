# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Guest job: the kselftests. They find the modules by ZSX_MODULES.

cd /selftests || exit
ZSX_MODULES=/zsx sh ./run.sh
