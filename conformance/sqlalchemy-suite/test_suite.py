"""SQLAlchemy's dialect suite, as it comes with SQLAlchemy."""

from sqlalchemy.testing.suite import *  # noqa: F401,F403
