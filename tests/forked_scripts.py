"""Run a script as a process of its own, without the seconds that a new interpreter spends on imports.

One process a test worker imports everything and samples once; each script runs in a fork of it, with signals, standard
output and threads of its own.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

_SECONDS = 300.0

_SERVER = """
import json, os, sys, traceback
import numba, numpy
import grhmc

model = grhmc.from_python(lambda q: (-0.5 * float(q @ q), -q), 2)
grhmc.sample(model, draws=200, tune=20, chains=2, seed=1, progress_bar=False)  # kernels, ArviZ, xarray

for line in sys.stdin:
    script, arguments, folder = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, name in ((0, os.devnull), (1, folder + "/stdout"), (2, folder + "/stderr")):
            os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
        sys.argv = ["-c", *arguments]
        status = 0
        try:
            exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
        except SystemExit as error:
            status = int(error.code or 0)
        except BaseException:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@cache
def _server() -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_script(script: str, *arguments: str) -> str:
    """What a script with these arguments writes to standard output.

    Raises
    ------
    AssertionError
        If it ends with an exit status other than 0 (the message is its standard error), or not within five minutes.
    """
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps([script, arguments, folder]), file=server.stdin, flush=True)
        child = int(server.stdout.readline())
        if not select.select([server.stdout], [], [], _SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
        status = int(server.stdout.readline())
        assert status == 0, f"exit status {status}: {Path(folder, 'stderr').read_text()}"
        return Path(folder, "stdout").read_text()
