"""Define broker settings with which a run of a minute sees several elections."""

from __future__ import annotations

QUICK_FAILURE_DETECTION = {
    # A dead broker is fenced in 3 s instead of 9, a slow follower leaves the ISR in 5 instead of
    # 30: a run of a minute then sees several elections. A killed broker is back sooner,
    # too, since it may register again only when its old session has ended.
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "replica.lag.time.max.ms": "5000",
    "replica.socket.timeout.ms": "3000",
    "replica.fetch.wait.max.ms": "200",
    "controller.quorum.request.timeout.ms": "1000",
}
