"""MARO's driver by itself."""

import pytest
from maro_group import LONG

from muster.compat.maro import (
    Message,
    PendingToSend,
    ZmqDriver,
)


def test_a_driver_can_be_used_by_itself() -> None:
    first, second = ZmqDriver("sender"), ZmqDriver("receiver", receive_timeout=LONG)
    first.connect({"receiver_1": second.address})
    first.send(Message("t", "sender_1", "receiver_1", "hello"))
    got = second.receive_once()
    assert got is not None
    assert (got.source, got.destination, got.body) == ("sender_1", "receiver_1", "hello")
    first.broadcast("receiver", Message("t", "sender_1", "*", "all"))
    assert [message.body for message in second.receive(is_continuous=False)] == ["all"]
    assert second.receive_once(timeout=0) is None
    first.disconnect({"receiver_1": second.address})
    with pytest.raises(PendingToSend):
        first.send(Message("t", "sender_1", "receiver_1"))
    first.close()
    second.close()
