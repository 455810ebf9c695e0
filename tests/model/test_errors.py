from memsweep import errors


def test_an_error_says_its_sentence_and_its_hint() -> None:
    assert str(errors.BadInput("That is wrong.", hint="Do this.")) == "That is wrong. Do this."
    assert str(errors.BadInput("That is wrong.")) == "That is wrong."
