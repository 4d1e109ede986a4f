"""How fast draws have been made lately: what the time left is estimated from."""

from __future__ import annotations

from collections import deque

SHORTEST_WINDOW_SECONDS = 10.0
LARGEST_SHARE = 0.25
"""Of the time since the beginning, for the window; a long run needs no nervous estimate."""

_SPACING_SECONDS = 0.25


class RecentRate:
    """Draws per second over a window that ends now.

    The mean since the beginning would not do: a draw of the warm-up may cost several times what one of the sampling
    does, and the first seconds may have gone into compilation.
    """

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def observe(self, elapsed_seconds: float, done: int) -> None:
        """Take note of how many draws there are at a time, later than the last."""
        if self._seen and elapsed_seconds - self._seen[-1][0] < _SPACING_SECONDS:
            return
        self._seen.append((elapsed_seconds, done))
        begin = elapsed_seconds - max(SHORTEST_WINDOW_SECONDS, LARGEST_SHARE * elapsed_seconds)
        while len(self._seen) > 2 and self._seen[1][0] <= begin:
            self._seen.popleft()

    def per_second(self, elapsed_seconds: float, done: int) -> float:
        """The rate at a time; the mean since the beginning where none was made within the window."""
        since, before = self._seen[0] if self._seen else (0.0, 0)
        if done > before and elapsed_seconds > since:
            return (done - before) / (elapsed_seconds - since)
        return done / elapsed_seconds if elapsed_seconds > 0.0 else 0.0
