"""A filled home, made once and copied for every test."""

from pathlib import Path

import pytest

from tests.care import stores


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    stores.fill(home)
    return home


@pytest.fixture
def filled(template: Path, home: Path) -> Path:
    """The file of a filled workspace that nobody has open."""
    return stores.copy_of(template, home)
