from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from danlu.client.sse import SseEvent, SseParser, parse_sse


def events_of(data: bytes) -> list[SseEvent]:
    return list(parse_sse([data]))


class TestFields:
    def test_an_event_has_a_name_data_and_an_id(self) -> None:
        assert events_of(b"id: 7\nevent: job\ndata: {}\n\n") == [SseEvent("job", "{}", "7")]

    def test_several_data_lines_are_joined(self) -> None:
        assert events_of(b"data: a\ndata:\ndata:  b\n\n") == [SseEvent("message", "a\n\n b")]

    def test_the_id_stays_and_the_name_does_not(self) -> None:
        assert events_of(b"id: 1\nevent: x\ndata: a\n\ndata: b\n\n") == [
            SseEvent("x", "a", "1"),
            SseEvent("message", "b", "1"),
        ]

    def test_comments_unknown_fields_and_events_without_data_are_passed_over(self) -> None:
        assert events_of(b": still here\n\nretry: 5\nevent: x\n\nfoo: bar\ndata\n\n") == [SseEvent("message", "")]

    def test_a_byte_order_mark_is_not_part_of_a_field(self) -> None:
        assert events_of(b"\xef\xbb\xbfdata: a\n\n") == [SseEvent("message", "a")]

    def test_an_event_that_was_cut_off_is_none(self) -> None:
        assert events_of(b"data: a\n\ndata: b\n") == [SseEvent("message", "a")]

    def test_a_carriage_return_at_the_end_of_a_piece_may_have_its_newline_in_the_next(self) -> None:
        parser = SseParser()
        assert parser.feed(b"data: a\r") == []
        assert parser.feed(b"\n\r\n") == [SseEvent("message", "a")]


TEXT = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=20)
LINE_END = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[SseEvent]]:
    """A stream, written by the book, and what is in it."""
    text, expected, last_id = "", [], None
    for _ in range(draw(st.integers(0, 5))):
        end = draw(LINE_END)
        name, data = draw(TEXT), draw(st.lists(TEXT, min_size=1, max_size=3))
        if draw(st.booleans()):
            text += f": {draw(TEXT)}{end}"
        if draw(st.booleans()):
            last_id = draw(TEXT)
            text += f"id: {last_id}{end}"
        text += f"event: {name}{end}" + "".join(f"data: {line}{end}" for line in data) + end
        expected.append(SseEvent(name or "message", "\n".join(data), last_id))
        # a lone \r could join with what follows; a comment in between keeps them apart
        text += ":\n"
    return text.encode(), expected


@given(streams(), st.lists(st.integers(0, 400)))
def test_however_the_network_cuts_it_the_events_are_the_same(
    stream: tuple[bytes, list[SseEvent]], cuts: list[int]
) -> None:
    data, expected = stream
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[begin:end] for begin, end in zip(places, places[1:])]
    assert list(parse_sse(pieces)) == expected


@given(st.lists(st.binary(max_size=50), max_size=10))
def test_no_bytes_make_it_fail(pieces: list[bytes]) -> None:
    assert list(parse_sse(pieces)) == list(parse_sse([b"".join(pieces)]))
