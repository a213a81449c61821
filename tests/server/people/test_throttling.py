"""Guessing is slow, and nobody locks others out."""

from __future__ import annotations

import math
import threading
import time
from copy import copy
from dataclasses import replace

import pytest
from sqlalchemy import text
from tests.support.persons import GOOD, WRONG, sign_in_as, told
from tests.support.world import Api, World, make_world

from danlu.auth.passwords import Passwords
from danlu.auth.turns import Turns
from danlu.errors import TooManyRequests
from danlu.server.people import operations, sign_in
from danlu.store.queries import people
from danlu.testing.waiting import HANG_SECONDS


class TestThrottling:
    def test_the_sixth_wrong_password_waits_and_the_wait_is_said(self, world: World, api: Api) -> None:
        api("PUT", "/me/password", json={"password": GOOD})
        for _ in range(5):
            assert sign_in_as(api, "admin", "wrong").status_code == 401
        refused = sign_in_as(api, "admin")
        assert told(refused) == (429, "too many wrong passwords; try again in 1s")
        assert refused.headers["Retry-After"] == "1"
        world.clock.pass_seconds(1)
        assert sign_in_as(api, "admin").status_code == 200
        assert sign_in_as(api, "admin", "wrong").status_code == 401  # and the count began anew

    def test_names_that_do_not_exist_are_treated_alike(self, world: World, api: Api) -> None:
        answers = [told(sign_in_as(api, "nobody-such", "wrong")) for _ in range(6)]
        assert answers == [(401, WRONG)] * 5 + [(429, "too many wrong passwords; try again in 1s")]

    def test_it_survives_a_restart(self, world: World, api: Api) -> None:
        for _ in range(5):
            world.database.write(sign_in.count_try, "admin", "10.0.0.1", world.clock())
        with make_world(world.folder) as again, pytest.raises(TooManyRequests):
            again.database.write(sign_in.count_try, "admin", "10.0.0.1", world.clock())

    def test_somebody_elsewhere_keeps_nobody_out(self, world: World, api: Api) -> None:
        """A thousand addresses guess; where the person has been before, nothing is noticed."""
        api("PUT", "/me/password", json={"password": GOOD})
        assert sign_in_as(api, "admin").status_code == 200
        for number in range(60):
            try:
                world.database.write(sign_in.count_try, "admin", f"10.0.1.{number}", world.clock())
            except TooManyRequests:
                break
        else:
            pytest.fail("guessing from many addresses is never held up")
        assert number == 50
        assert sign_in_as(api, "admin").status_code == 200

    def test_one_address_guesses_many_names_slowly(self, world: World) -> None:
        for number in range(30):
            world.database.write(sign_in.count_try, f"name{number}", "10.0.0.9", world.clock())
        with pytest.raises(TooManyRequests):
            world.database.write(sign_in.count_try, "name30", "10.0.0.9", world.clock())
        world.database.write(sign_in.count_try, "name1", "10.0.0.8", world.clock())

    def test_many_at_once_are_no_way_around(self, world: World, api: Api) -> None:
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda: statuses.append(sign_in_as(api, "admin", "wrong").status_code))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses.count(401) == 5
        assert statuses.count(429) == 3

    def test_counts_hold_no_names_and_are_forgotten(self, world: World, api: Api) -> None:
        sign_in_as(api, "typed-my-password-here", "wrong")
        with world.database.reading() as session:
            keys = [str(row[0]) for row in session.execute(text("SELECT key FROM failures"))]
        assert len(keys) == 3
        assert all("typed" not in key for key in keys)
        world.clock.pass_seconds(3601)
        sign_in_as(api, "somebody", "wrong")
        with world.database.reading() as session:
            assert session.scalar(text("SELECT count(*) FROM failures")) == 3

    def test_who_finds_no_turn_is_told_when_to_come_back(self, world: World) -> None:
        """Few hash passwords at a time; the rest hear it at once instead of holding the server's threads."""
        wait_seconds = round(100 * HANG_SECONDS)
        passwords = Passwords(turns=Turns(num_at_once=1, max_waiting=0, wait_seconds=wait_seconds))
        busy = copy(world)
        busy.state = replace(world.state, passwords=passwords)
        with busy.serving() as url, Api(url) as api, passwords.turns.take():
            response = api("POST", "/session", json={"name": "admin", "password": "wrong"})
            assert told(response) == (
                429,
                f"too many sign-ins at the moment; try again in {wait_seconds} seconds",
            )
            assert response.headers["Retry-After"] == str(wait_seconds)
            assert api("GET", "/health").status_code == 200
        with world.database.reading() as session:  # it was no wrong password
            assert session.scalar(text("SELECT count(*) FROM failures")) == 0

    def test_an_unknown_name_takes_as_long_as_a_known_one(self, world: World, api: Api) -> None:
        state = replace(world.state, passwords=Passwords())
        world.database.write(people.set_password, world.admin.user_id, state.passwords.hash(GOOD))

        def seconds(name: str) -> float:
            best = math.inf
            for number in range(3):
                began = time.process_time()
                operations.check_password(state, name, "wrong", replace(world.admin.origin, address=f"{number}"))
                best = min(best, time.process_time() - began)
            return best

        known, unknown = seconds("admin"), seconds("nobody-such")
        assert 0.5 < known / unknown < 2.0
