"""The command line again, as a page shows it: what was typed, without what is the default."""

import shlex

import click


def command_line() -> str:
    """Return the command under way as a line for a shell, options that have their default left out."""
    context = click.get_current_context()
    words = context.command_path.split()
    for parameter in context.command.params:
        value = context.params.get(str(parameter.name))
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif value is not None and value != parameter.get_default(context):
            words += _option(parameter.opts[0], value)
    return shlex.join(words)


def _option(name: str, value: object) -> list[str]:
    if value is True:
        return [name]
    values = value if isinstance(value, tuple) else (value,)
    return [word for each in values for word in (name, str(each))]
