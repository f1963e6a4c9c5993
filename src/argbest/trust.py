"""Whose files these are: what is run as the user's own program must come from nobody else.

Windows keeps the users' folders apart by other means, so nothing is distrusted there.
"""

import os
import stat
from pathlib import Path


def distrust(folder: Path) -> str:
    """Return why others could put files into this folder or in its place, or "" if nobody could.

    ``folder`` is a resolved path, so that no link in it leads elsewhere later. It and its parents must belong
    to the user or to root. Others may write to a parent only if its sticky bit keeps them from renaming what
    is not theirs, as in /tmp.
    """
    if reason := distrust_status(folder, folder.stat()):
        return reason
    parents = ((place, place.stat()) for place in folder.parents)
    return next(filter(None, (distrust_status(*each, may_be_sticky=True) for each in parents)), "")


def distrust_status(place: Path, found: os.stat_result, *, may_be_sticky: bool = False) -> str:
    """Return why others could have written what was found at one place, or "" if nobody could."""
    if not hasattr(os, "geteuid"):
        return ""
    if found.st_uid not in (0, os.geteuid()):
        return f"{place} belongs to another user (number {found.st_uid})"
    if _others_write(found) and not (may_be_sticky and found.st_mode & stat.S_ISVTX):
        return f"other users may write to {place}"
    return ""


def _others_write(found: os.stat_result) -> bool:
    """Return whether anybody besides the user and root may write; a group of the user alone is nobody."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not _alone_in(found.st_gid)


def _alone_in(group: int) -> bool:
    """Return whether this is the private group that many systems give to every user: named like the user."""
    import grp  # these two are not part of Python for Windows
    import pwd

    try:
        mine, theirs = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return theirs.gr_name == mine and set(theirs.gr_mem) <= {mine}
