"""What a list remembers for followers that are behind."""

from __future__ import annotations

from danlu.server.streams.rounds import KEPT_BYTES, PIECE_BYTES, Change, Rounds, in_pieces


def changes(**events: bytes) -> dict[str, Change]:
    return {row_id: Change(event) for row_id, event in events.items()}


def test_who_is_behind_is_told_the_newest_of_each_row() -> None:
    rounds = Rounds()
    rounds.add(changes(a=b"1", b=b"1"))
    begin = rounds.number
    rounds.add(changes(a=b"2"))
    rounds.add(changes(a=b"3", c=b"1"))
    assert rounds.since(begin) == changes(a=b"3", c=b"1")
    assert rounds.since(0) == changes(a=b"3", b=b"1", c=b"1")
    assert rounds.since(rounds.number) == {}


def test_who_is_too_far_behind_is_told_so() -> None:
    rounds = Rounds()
    for _ in range(3):
        rounds.add(changes(a=b"x" * (KEPT_BYTES // 2)))
    assert rounds.since(0) is None
    assert rounds.since(1) is not None


def test_a_round_that_is_too_long_to_keep_is_not_kept() -> None:
    rounds = Rounds()
    rounds.add(changes(a=b"x" * (KEPT_BYTES + 1)))
    assert rounds.since(0) is None
    assert rounds.since(1) == {}


def test_newcomers_begin_shortly_before_now() -> None:
    rounds = Rounds()
    assert rounds.before(10.0) == 0
    rounds.add(changes(a=b"1"))
    rounds.add(changes(a=b"2"))
    assert rounds.before(10.0) == 0
    assert rounds.before(0.0) == 2


def test_many_events_go_out_in_pieces() -> None:
    events = [b"x" * 1000] * 200
    pieces = list(in_pieces(events))
    assert b"".join(pieces) == b"".join(events)
    assert len(pieces) == 4
    assert max(len(piece) for piece in pieces) < PIECE_BYTES + 1000
