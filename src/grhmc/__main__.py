"""The commands as `python -m grhmc`."""

from grhmc.cli.app import app

if __name__ == "__main__":
    app()
