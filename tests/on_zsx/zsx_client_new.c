// SPDX-License-Identifier: GPL-2.0-only
/* The client as it is; the Kbuild beside it gives it zsx's <linux/zsmalloc.h>. */
#include "../on_zsmalloc/zsmalloc_client_new.c"
