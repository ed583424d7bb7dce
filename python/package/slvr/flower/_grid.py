"""Flower's grid in one process."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp.typing import ClientAppCallable
from flwr.serverapp import Grid

from ._words import logger

if TYPE_CHECKING:
    from flwr.supercore.run import Run

#: What Flower sends when an app has raised an exception.
CLIENT_APP_RAISED_EXCEPTION = 2


class LocalGrid(Grid):
    """Runs a client app for each node in turn, in this process: for tests and examples, without Ray.

    ``nodes`` has the configuration of each node, or is their number; then ``partition-id`` and ``num-partitions`` are
    all that a node's configuration has. A node keeps its state from message to message. As in Flower, the text of an
    exception that leaves the app is in the reply.
    """

    def __init__(
        self,
        app: ClientAppCallable,
        nodes: int | Sequence[Mapping[str, Any]],
        *,
        run_config: Mapping[str, Any] | None = None,
    ) -> None:
        _identify()
        if isinstance(nodes, int):
            nodes = [{"partition-id": i, "num-partitions": nodes} for i in range(nodes)]
        self._app = app
        # Node ids are not places in a list, as in Flower.
        self._contexts = {
            1000 + i: Context(1, 1000 + i, dict(config), RecordDict(), dict(run_config or {}))
            for i, config in enumerate(nodes)
        }
        self._replies: dict[str, Message] = {}
        self._run: Run | None = None

    def set_run(self, run: Run) -> None:
        """Keeps what is known of the run."""
        self._run = run

    @property
    def run(self) -> Run:
        """What :meth:`set_run` was given."""
        if self._run is None:
            raise RuntimeError("a LocalGrid has no run before set_run")
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        """Flower prefers the constructor of ``Message``."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        """All nodes."""
        return list(self._contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Has each message answered at once."""
        ids = []
        for message in messages:
            ids.append(uuid.uuid4().hex)
            self._replies[ids[-1]] = self._answered(message)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The replies, once."""
        return [self._replies.pop(i) for i in message_ids if i in self._replies]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        """The replies to all messages."""
        return self.pull_messages(self.push_messages(messages))

    def _answered(self, message: Message) -> Message:
        message = copy.deepcopy(message)  # Clients share no records.
        try:
            return self._app(message, self._contexts[message.metadata.dst_node_id])
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            logger.debug("node %d raised", message.metadata.dst_node_id, exc_info=True)
            reason = f"{type(error)}:<'{error}'>"
            return Message(Error(CLIENT_APP_RAISED_EXCEPTION, reason), reply_to=message)


def _identify() -> None:
    """Says who sends messages: Flower asks for it in ``Message(...)``, and sets it where it starts an app.

    This is the one place that uses what Flower does not document. If it has moved, look for what ``Message.__init__``
    in ``flwr/app/message/message.py`` reads.
    """
    from flwr.supercore.task_identity import TaskIdentity

    try:
        _ = TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id
    except RuntimeError:
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
