"""`duplicates` finds what the plain definition says: everybody compared with everybody, and what hangs together."""

from datetime import UTC, datetime
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from memsweep.collector.strategies import duplicates
from memsweep.collector.strategies.rule import Options
from memsweep.model.likeness import comparable, nearly_same, outline
from memsweep.model.plan import Found, Survey, SurveyedMemory
from memsweep.model.text import content_hash

NOW = Options(datetime(2026, 11, 1, tzinfo=UTC))
SENTENCES = (
    "we deploy the small service every week and look at dashboards together",
    "Ada keeps notes about the harbour, its cranes and their drivers",
    "never restart server 12 before 5.5in disks were checked",
    "the lamp was seen near old cellar stairs by a quiet visitor",
    "It’s 3D and don't touch foo_bar or Python3",
    "\U0001f916 restart the 5.5 inches of Straße and ﬁle by \ue0b0 hand",
    "мы каждую неделю выпускаем небольшой сервис и вместе смотрим графики",
    "我们每周部署小型服务 然后一起看图表",
)
CHANGES = (
    lambda text: text,
    lambda text: text.upper(),
    lambda text: text.capitalize() + ".",
    lambda text: text.replace(" ", "  "),
    lambda text: text.replace("small", "quite small"),
    lambda text: text.replace("quiet ", ""),
    lambda text: text.replace("deploy", "deployed"),
    lambda text: text.replace("12", "13"),
    lambda text: text.replace("5.5in", "5.5 in"),
    lambda text: text.replace("the ", ""),
    lambda text: text.replace("old", "o\u00adld"),
    lambda text: text.replace("a", "\u00e4", 1),
    lambda text: text.replace("\U0001f916 ", "\U0001f916").replace("5.5 inches", "5.5inches"),
    lambda text: text.replace("\U0001f916 ", "\U0001f916 please ").replace("5.5 inches", "5.5 other inches"),
    lambda text: text.replace("\ue0b0 ", "\ue0b0").replace("Straße", "STRASSE").replace("ﬁ", "fi"),
    lambda text: text.replace("небольшой ", "").replace("部署", "\u200b部署"),
)
ODD = ("old", "o\u00adld", "\U0001f916old", "\U0001f916 old", "5.5old", "5.5 old", "ﬁle", "file", "部署", "\u200b部署")
texts = st.lists(
    st.builds(
        lambda parts, changes: " ".join(change(part) for part, change in zip(parts, changes, strict=True)),
        st.sampled_from([SENTENCES[:4], SENTENCES[1:5], SENTENCES[:4], SENTENCES[3::-1], SENTENCES[4:]]),
        st.tuples(*[st.sampled_from((*CHANGES[:1] * len(CHANGES), *CHANGES))] * 4),
    )
    | st.sampled_from(["", "C", "C++", "\u2705", "5", "x is 5", "X is 5.", "\u0926\u093f\u0928", *ODD]),
    max_size=7,
)


def surveyed(said: list[str]) -> Survey:
    rows = [
        SurveyedMemory(key, 1, False, False, key % 5 == 4, 10 * (key % 3), None, None, content_hash(text))
        for key, text in enumerate(said)
    ]
    return Survey(memories=rows, texts=dict(enumerate(said)), chunk_counts=dict.fromkeys(range(len(said)), 1))


def plainly(survey: Survey) -> list[Found]:
    rows = {row.key: row for row in survey.memories}
    read = {key: comparable(text) for key, text in survey.texts.items()}
    pairs = [
        (a, b)
        for a, b in combinations(rows, 2)
        if rows[a].content_hash == rows[b].content_hash or nearly_same(read[a], read[b])
    ]
    return [
        found
        for group in duplicates._clusters(list(rows), pairs)
        for found in duplicates._taken_from(group, rows, read)
    ]


@given(texts)
def test_what_is_found_is_what_the_plain_definition_says(said: list[str]) -> None:
    survey = surveyed(said)
    assert sorted(duplicates.find(survey, NOW), key=str) == sorted(plainly(survey), key=str)


@given(texts, st.text(max_size=20), st.text(max_size=20))
def test_what_is_nearly_the_same_has_the_same_outline(said: list[str], begin: str, end: str) -> None:
    said = [f"{begin} {text} {end}" for text in said]
    for left, right in combinations(said, 2):
        if nearly_same(comparable(left), comparable(right)):
            assert outline(left) == outline(right)
