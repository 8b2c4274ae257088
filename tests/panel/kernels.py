"""A real kernel as a front end sees it: cells are run, comms opened and written to, what comes back is kept."""

from __future__ import annotations

import time
import uuid

from jupyter_client.manager import start_new_kernel

PATIENCE_S = 120


class Kernel:
    """One kernel process and one front end."""

    def __init__(self, **env):
        self.manager, self.client = start_new_kernel(kernel_name="python3", env=env or None)
        self.received = []

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def run(self, code):
        """Run a cell to its end; its error as text."""
        return self.finish(self.start(code))

    def start(self, code, cell_id="cell-1"):
        """Start a cell; the id of its message."""
        message = self.client.session.msg(
            "execute_request",
            {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False},
            metadata={"cellId": cell_id},
        )
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def finish(self, name):
        """Wait for the end of a cell; what failed, or None."""
        end = time.monotonic() + PATIENCE_S
        error = None
        while time.monotonic() < end:
            message = self._next(end)
            if message["parent_header"].get("msg_id") != name:
                continue
            if message["msg_type"] == "error":
                error = "\n".join(message["content"]["traceback"])
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return error
        raise TimeoutError(name)

    def value(self, expression):
        """What an expression gives, printed."""
        name = self.start(f"print({expression})")
        self.finish(name)
        return "".join(
            message["content"]["text"]
            for message in self.received
            if message["msg_type"] == "stream" and message["parent_header"].get("msg_id") == name
        ).strip()

    def open(self, comm_id=None, **data):
        """Open a comm to the panel; its id."""
        comm_id = comm_id or uuid.uuid4().hex
        self.send("comm_open", {"comm_id": comm_id, "target_name": "surfer_lab", "data": data})
        return comm_id

    def send(self, kind, content, subshell=None):
        message = self.client.session.msg(kind, content)
        if subshell is not None:
            message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)

    def ask(self, comm_id, kind, *, subshell=None, **body):
        """Send a request; its id."""
        name = uuid.uuid4().hex
        data = {"kind": kind, "id": name, **body}
        self.send("comm_msg", {"comm_id": comm_id, "data": data}, subshell=subshell)
        return name

    def answer(self, name):
        """The answer to a request, progress left aside."""
        return self.wait(lambda data: data.get("id") == name and data.get("kind") != "progress")

    def wait(self, wanted):
        """The first comm message that is wanted, received before or now."""
        end = time.monotonic() + PATIENCE_S
        for data in self.comm_data():
            if wanted(data):
                return data
        while time.monotonic() < end:
            message = self._next(end)
            if message["msg_type"] == "comm_msg" and wanted(message["content"]["data"]):
                return message["content"]["data"]
        raise TimeoutError

    def comm_data(self):
        """Data of all comm messages so far, in order."""
        return [message["content"]["data"] for message in self.received if message["msg_type"] == "comm_msg"]

    def messages(self, kind):
        """Messages of a type so far."""
        return [message for message in self.received if message["msg_type"] == kind]

    def subshell(self):
        """The id of a new subshell, a thread of its own in the kernel."""
        message = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(message)
        while True:
            reply = self.client.control_channel.get_msg(timeout=PATIENCE_S)
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                return reply["content"]["subshell_id"]

    def _next(self, end):
        message = self.client.get_iopub_msg(timeout=max(0.01, end - time.monotonic()))
        self.received.append(message)
        return message
