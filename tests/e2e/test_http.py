"""A machine from its first commit to its last over http, with rights per ref held by the hook of docs/git.md."""

from __future__ import annotations

import pytest

from tests.e2e.manifests import machine
from tests.e2e.world import over_http
from tests.servers.web import WebServer


@pytest.mark.timeout(600)
def test_a_machine_comes_and_goes_over_http(web: WebServer) -> None:
    with over_http(web) as world:
        ann, host = world.ann, world.hosts["host-a"]
        try:
            world.reconciler("control-1")
            host.start()
            ann.commit("a web server", {"machines/web-1.yaml": machine("web-1")})
            ann.wait("machine", "web-1", "state=Running")
            assert len(host.guests) == 1
            ann.commit("it has done its work", {"machines/web-1.yaml": None})
            world.until(lambda: len(world.confirmations()) == 1)
            ann.commit("it has, and I mean it", {}, *world.confirmations())
            ann.wait("machine", "web-1", "deleted")
        except Exception as error:
            error.add_note(world.logs())
            raise
        assert not host.leftovers()
