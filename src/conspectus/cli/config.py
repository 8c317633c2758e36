"""`conspectus config` and `conspectus init`: the settings in force, and a file to change them in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conspectus import configuration
from conspectus.cli import show
from conspectus.cli.options import AsJson, ConfigFile, LogFile, SetKeys, overrides
from conspectus.errors import ConspectusError, UsageError
from conspectus.settings import Settings


def config(
    show_defaults: Annotated[
        bool, typer.Option("--show-defaults", help="Also show the default and the description of each setting.")
    ] = False,
    json: AsJson = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Show the settings in force, and where each comes from.

    They come from the defaults, conspectus.toml, environment variables such as CONSPECTUS_CHUNK_TOKENS, and --set;
    later ones win.

    For every command, conspectus.toml is the file named by --config, or else the nearest one from the working directory
    up to the root of its repository or your home folder. An index remembers the models it was built with: they are used
    where none of these sources names one. Keys come from the environment alone.

    Example: conspectus config --show-defaults
    """
    described = configuration.describe(configuration.load(overrides(set_), file=config))
    if json:
        show.as_json({"settings": [d._asdict() for d in described]})
        return
    for d in described:
        if show_defaults:
            show.out(f"# {d.description}; default {_value(d.default)}")
        show.out(f"{d.key} = {_value(d.value)}  ({d.origin})" + ("\n" if show_defaults else ""))


def _value(value: object) -> str:
    import json

    return "not set" if value is None else json.dumps(value, ensure_ascii=False)


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write conspectus.toml to.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing conspectus.toml.")] = False,
    log: LogFile = None,
) -> None:
    """Write a conspectus.toml with every setting, commented out.

    Example: conspectus init
    """
    file = folder / configuration.FILE_NAME
    text = configuration.as_toml(Settings(), commented=True)
    try:
        with file.open("w" if force else "x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise UsageError(f"{file} is there already, and stays as it is; --force replaces it") from None
    except OSError as error:
        raise ConspectusError(f"{file} cannot be written: {error.strerror}") from None
    show.out(f"Wrote {file}: take away the # before a setting to change it.")
