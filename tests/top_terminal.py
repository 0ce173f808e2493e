# SPDX-License-Identifier: Apache-2.0
"""Real terminals for `holdup top` (tmux), and monitors of other nodes that say what a test wants."""
from __future__ import annotations

import http.server
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
from collections.abc import Callable, Iterable
from typing import Any

from tests.program import skip_loudly

PATIENCE = 60  # seconds: how long a crowded machine may take for anything


class Terminal:
    """A shell of its own in a terminal of tmux's; `command` is typed by nobody: it is what the terminal runs."""

    def __init__(self, case: unittest.TestCase, command: Iterable[Any], width: int = 80, height: int = 24, utf8: bool = True, **environ: str) -> None:
        if not shutil.which("tmux"):
            skip_loudly(f"no tmux for {case.id()}")
            case.skipTest("no tmux")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdup-tmux-"))
        self.case, self.socket = case, str(self.folder / "socket")
        case.addCleanup(self.close)
        words = {"LC_ALL": "C.UTF-8" if utf8 else "C", "TERM": "screen-256color", "NO_COLOR": "", **environ}
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height),
                  "exec env " + " ".join(f"{k}={v}" for k, v in words.items()) + " " + " ".join(f"'{c}'" for c in command))
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def tmux(self, *words: str) -> str:
        # -u: what comes back is UTF-8 whatever this test's own locale is
        return subprocess.run(["tmux", "-u", "-S", self.socket, *words], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout

    def close(self) -> None:
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], check=False, capture_output=True, timeout=PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def screen(self, colors: bool = False) -> str:
        return self.tmux("capture-pane", "-p", *(["-e"] if colors else []))

    def fact(self, name: str) -> str:
        return self.tmux("display-message", "-p", f"#{{{name}}}").strip()

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.tmux("send-keys", key)

    def type(self, text: str) -> None:
        """Bytes as the terminal would send them."""
        self.tmux("send-keys", "-H", *(f"{byte:02x}" for byte in text.encode("latin-1")))

    def mouse(self, button: int, x: int, y: int) -> None:
        """Counted from 0, in the form of X10 that the terminal's entry has."""
        for one in (button, 3) if button < 3 else (button,):      # a button is let go again, a wheel is not
            self.type("\033[M" + chr(32 + one) + chr(33 + x) + chr(33 + y))

    def resize(self, width: int, height: int) -> None:
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def until(self, what: Callable[[str], Any], why: str) -> str:
        """The screen as soon as that is true of it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            text = self.screen()
            if what(text):
                return text
            time.sleep(0.05)
        raise AssertionError(f"{why} did not come in {PATIENCE} s:\n{text}")


class Node:
    """A monitor of another node: `text` is what it serves next, or bytes that are no HTTP at all."""

    def __init__(self, case: unittest.TestCase, text: str, status: int = 200) -> None:
        node = self
        self.text, self.status, self.requests = text, status, 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                node.requests += 1
                self.send_response(node.status)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(node.text.encode())

            def log_message(self, *_: Any) -> None:
                pass

        while True:     # five digits, so that a screen is as wide whichever it is
            self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            if self.server.server_port >= 10000:
                break
            self.server.server_close()
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        case.addCleanup(self.close)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
