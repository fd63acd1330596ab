"""Tools that are missing, fail, hang, or are interrupted."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from edgecc.errors import ToolchainError
from edgecc.link import process
from edgecc.link.process import run_tool

ENVIRONMENT = {"PATH": os.defpath}


def python(tmp_path, code, **more):
    run_tool([sys.executable, "-c", code], cwd=tmp_path, environment=ENVIRONMENT, where="t", **more)


def test_success_says_nothing(tmp_path):
    python(tmp_path, "open('made', 'w')")
    assert (tmp_path / "made").exists()


def test_missing(tmp_path):
    with pytest.raises(ToolchainError, match="t: cannot run './no-cc': No such file.*install"):
        run_tool(["./no-cc"], cwd=tmp_path, environment=ENVIRONMENT, where="t")


def test_what_the_tool_said_is_in_the_error(tmp_path):
    with pytest.raises(ToolchainError, match="(?s)failed with exit status 3:\n.*no such mnemonic"):
        python(tmp_path, "import sys; print('no such mnemonic', file=sys.stderr); sys.exit(3)")


def test_a_tool_that_hangs_is_ended_with_its_children(tmp_path):
    code = ("import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', "
            "'import time; time.sleep(60)']); open('pid', 'w').write(str(p.pid)); p.wait()")
    with pytest.raises(ToolchainError, match="did not finish .needed more than 2 s"):
        python(tmp_path, code, timeout_s=2)
    assert _gone(int((tmp_path / "pid").read_text()))


def test_an_interrupt_ends_the_tool(tmp_path, monkeypatch):
    started = []

    def interrupted(self, *args, **kwargs):
        started.append(self.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        python(tmp_path, "import time; time.sleep(60)")
    assert _gone(started[0])


def test_the_group_may_be_gone_already(tmp_path):
    done = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    threading.Thread(target=done.wait).start()
    done.wait()
    process.end_group(done)


def _gone(pid: int) -> bool:
    for _ in range(50):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False
