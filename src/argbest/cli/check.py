"""`argbest check`: whether a stored study is sound."""

import click

from argbest.cli.stored import of_stored_study
from argbest.cli.terminal import say, show_json
from argbest.errors import StorageError


@click.command()
@of_stored_study
@click.option(
    "--renew", is_flag=True, help="Remove the snapshot; the next command makes another from the events."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
def check(storage: str, name: str, renew: bool, as_json: bool) -> None:
    """Read every event of the study in STORAGE and say whether it is sound.

    A snapshot makes long studies open fast; all that it holds is in the events too, so a wrong one can be
    removed with --renew. The exit code is 1 if something is wrong.
    """
    from dataclasses import asdict

    from argbest.storage.address import shown
    from argbest.storage.opening import open_storage
    from argbest.study import checking

    place = open_storage(storage, name=name)
    click.get_current_context().call_on_close(place.close)
    stored = place.definition()
    if stored is None:
        raise StorageError(f"there is no study {name!r} in {shown(storage)}. Check the file and --name.")
    found = checking.check(place, stored)
    if renew and not found.wrong:
        checking.forget(place)
    show_json({**asdict(found), "sound": found.sound}) if as_json else say(f"{shown(storage)}: {found}")
    if found.wrong:
        say("Put a backup back. `sqlite3 FILE .recover` saves what can still be read of a file.")
    elif found.stale:
        say("It was removed." if renew else "No value is lost. To remove it: add --renew.")
    if found.wrong or (found.stale and not renew):
        raise SystemExit(1)
