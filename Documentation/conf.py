# SPDX-License-Identifier: GPL-2.0-only
#
# For Sphinx: scripts/htmldocs, which says in the environment where the kernel's sources are.

import logging
import os
import sys

sys.path.insert(0, os.path.join(os.environ["srctree"], "Documentation", "sphinx"))

project = "zsx"
extensions = ["kerneldoc"]
kerneldoc_srctree = os.path.dirname(os.path.abspath(os.path.dirname(__file__)))
# Included by others, so that a code host shows them by themselves as well.
exclude_patterns = ["performance-results.rst", "scaling-results.rst"]
html_theme = "alabaster"
html_copy_source = False


def is_news(record):
    """One name for a structure and a function is fine in C, but not for Sphinx's C domain."""
    message = record.getMessage()
    return not ("Duplicate C declaration" in message and " zsx_pool_stats (" in message)


logging.getLogger("sphinx.sphinx.domains.c").addFilter(is_news)
