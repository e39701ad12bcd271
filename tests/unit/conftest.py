"""A root for the tests of the command line."""

from __future__ import annotations

from tests.harness.command_line import root  # noqa: F401 - a fixture
