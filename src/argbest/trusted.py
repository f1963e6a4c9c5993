"""Whether code may be loaded from a folder: only if nobody but the user and root can put files there."""

import os
import stat
from pathlib import Path


def distrust(folder: Path) -> str:
    """Return why others could put files into this folder or in its place, or "" if nobody could.

    ``folder`` is a resolved path, so that no link in it leads elsewhere later. It and its parents must belong
    to the user or to root. Others may write to a parent only if its sticky bit keeps them from renaming what
    is not theirs, as in /tmp. Windows keeps the users' folders apart by other means.
    """
    if not hasattr(os, "geteuid"):
        return ""
    for place in (folder, *folder.parents):
        found = place.stat()
        if found.st_uid not in (0, os.geteuid()):
            return f"{place} belongs to another user (number {found.st_uid})"
        if _others_write(found) and (place == folder or not found.st_mode & stat.S_ISVTX):
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
