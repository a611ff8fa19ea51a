"""Loads SQLAlchemy's own pytest plug-in, which connects and sets up its fixtures."""

import pytest
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: F401,F403

pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.ext.compiler import compiles  # noqa: E402
from sqlalchemy.schema import CheckConstraint, ForeignKeyConstraint  # noqa: E402


@compiles(CheckConstraint, "mysql")
@compiles(ForeignKeyConstraint, "mysql")
def left_out(_constraint, _compiler, **_words):
    """The suite's tables without what the server refuses: it keeps neither checks nor foreign keys."""
    return None
