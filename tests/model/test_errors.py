import pytest

from memsweep import errors


def _tree(kind: type[errors.MemsweepError]) -> list[type[errors.MemsweepError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _tree(child))]


KINDS = [kind for kind in _tree(errors.MemsweepError) if kind.__module__ == "memsweep.errors"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_error_is_drawn_in_the_tree_with_its_exit_status(kind: type[errors.MemsweepError]) -> None:
    (line,) = [
        line for line in (errors.__doc__ or "").splitlines() if line.strip("├─└│ ").split(" ")[0] == kind.__name__
    ]
    assert f" {kind.exit_status} " in line


def test_every_error_has_a_code_of_its_own() -> None:
    assert len({kind.code for kind in KINDS}) == len(KINDS)


def test_an_error_says_its_sentence_and_its_hint() -> None:
    assert str(errors.BadInput("That is wrong.", hint="Do this.")) == "That is wrong. Do this."
    assert str(errors.BadInput("That is wrong.")) == "That is wrong."
