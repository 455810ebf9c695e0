"""The strategy `secrets`: what is stored is redacted in place, comes back on undo, and is gone after a purge."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, Memory, called_by
from memsweep.errors import Conflict
from memsweep.model.origin import Origin
from tests.secrets.lines import positives
from tests.secrets.test_ways_in import AWS, AWS_MARK, GITHUB
from tests.support.commands import Ran
from tests.support.engines import on_every_engine
from tests.support.store_files import rows_in

pytestmark = on_every_engine
BLOCK = next(line.text for line in positives() if "PRIVATE KEY" in line.text and "\n" in line.text)


@pytest.fixture
def careless(make: Callable[..., App]) -> Iterator[Memory]:
    """A workspace whose gate was off."""
    app = make(MEMSWEEP_SECRETS_ACTION="off")
    yield app.memory()
    app.close()


@pytest.fixture
def full(careless: Memory, tmp_path: Path) -> dict[str, str]:
    """A secret in every place that can hold one; the ids of the memories."""
    fact = {"from": "Ada", "relation": f"HAS {GITHUB}", "to": f"Key {AWS}"}
    note = careless.remember(
        f"The deploy key is {AWS}, Ada has it.", tags=["ops", AWS], metadata={"key": AWS}, relations=[fact]
    ).memory_id
    changed = careless.remember(f"Once it was {GITHUB} in the text.").memory_id
    careless.update(changed, text="Now it is clean.")
    trashed = careless.remember(f"Thrown away with {AWS}.", entities=[f"Old {AWS}"]).memory_id
    careless.delete(trashed, confirm=True)
    careless.graph.relate(f"Other {AWS}", "KNOWS", "Ada")
    careless.graph.relate("Plain", "KNOWS", "Ada")
    careless.graph.merge([f"Other {AWS}"], "Plain")
    window = careless.context("talk")
    window.add([{"segment_id": f"s{n}", "text": f"use {AWS} in turn {n}", "tags": [AWS]} for n in range(3)])
    window.prune(["s1"], strategy="stash")
    window.prune(["s2"], strategy="delete", confirm=True)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text(f'def deploy():\n    key = "{AWS}"\n    return key\n')
    careless.code.index(str(tmp_path / "code"))
    clean = careless.remember("Nothing to hide about Ada.").memory_id
    return {"note": note, "changed": changed, "trashed": trashed, "clean": clean}


def seen(memory: Memory) -> dict[str, Any]:
    """All that people see."""
    trash, _ = memory.sweep.trash(limit=50)
    hits = memory.search("key", limit=50).hits
    ids = sorted({hit.passage.memory_id for hit in hits if hit.passage.memory_id})
    return {
        "memories": [(m.text, m.tags, m.metadata, m.source) for m in map(memory.get, ids)],
        "graph": json.loads(memory.graph.dump("json"))["entities"],
        "relations": json.loads(memory.graph.dump("json"))["relations"],
        "trash": [(each.kind, each.id) for each in trash],
        "segments": [repr(hit) for hit in memory.context("talk").search("turn").hits],
    }


def values(found: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in names) for row in found)


def sound(memory: Memory) -> bool:
    findings = memory.care.doctor().findings
    assert findings == ()
    return True


def test_a_plan_shows_where_and_never_what(careless: Memory, full: dict[str, str]) -> None:
    plan = careless.sweep.plan("secrets")
    items = careless.sweep.items(plan.id, limit=50)
    assert plan.item_count == len(items)
    assert {"memory", "entity", "relation", "segment", "record"} <= {item.kind for item in items}
    assert full["note"] in {item.id for item in items}
    assert full["trashed"] in {item.id for item in items}
    assert full["clean"] not in {item.id for item in items}
    told = repr(items) + repr(plan)
    assert AWS not in told
    assert GITHUB not in told
    (note,) = [item for item in items if item.id == full["note"]]
    assert note.name == f"The deploy key is {AWS_MARK}, Ada has it."
    assert set(note.evidence["secrets"]) == {"aws-access-key"}
    assert {"s0", "s1", "s2"} <= {item.id for item in items}


def test_nothing_is_found_after_it_was_applied(careless: Memory, full: dict[str, str]) -> None:
    before = careless.get(full["note"])
    receipt = careless.sweep.prune("secrets", confirm=True)
    assert receipt.totals.memories == 3
    assert receipt.skipped == ()
    after = careless.get(full["note"])
    assert after.text == f"The deploy key is {AWS_MARK}, Ada has it."
    assert after.tags == ("ops", AWS_MARK)
    assert after.metadata == {"key": AWS_MARK}
    assert after.version == before.version + 1
    told = repr(seen(careless)) + repr(careless.sweep.audit(limit=50)) + repr(careless.history(full["changed"]))
    assert AWS not in told
    assert GITHUB not in told
    assert careless.sweep.plan("secrets").item_count == 0
    assert sound(careless)


def test_search_finds_the_redacted_text(careless: Memory, full: dict[str, str]) -> None:
    careless.sweep.prune("secrets", confirm=True)
    (listed, *_), total = careless.sweep.trash()
    assert (listed.kind, listed.strategy) == ("revision", "secrets")
    assert total > 4
    assert careless.search("deploy key that Ada has").hits[0].passage.memory_id == full["note"]
    assert all(AWS not in hit.passage.text for hit in careless.search(AWS, limit=50).hits)
    assert all(AWS not in hit.passage.text for hit in careless.search("def deploy", limit=50).hits)


def test_undo_brings_everything_back(careless: Memory, full: dict[str, str]) -> None:
    before = seen(careless)
    receipt = careless.sweep.prune("secrets", confirm=True)
    undone = careless.sweep.undo(receipt.id)
    assert undone.conflicts == ()
    after = seen(careless)
    for name in ("memories", "trash", "segments"):
        assert after[name] == before[name], name
    assert values(after["graph"], "id", "name", "type") == values(before["graph"], "id", "name", "type")
    assert values(after["relations"], "id", "relation") == values(before["relations"], "id", "relation")
    assert careless.search(AWS).hits
    assert sound(careless)


def test_what_was_in_the_trash_comes_back_redacted(careless: Memory, full: dict[str, str]) -> None:
    careless.sweep.prune("secrets", confirm=True)
    careless.sweep.recover(full["trashed"])
    assert careless.get(full["trashed"]).text == f"Thrown away with {AWS_MARK}."
    assert sound(careless)


def test_an_update_is_undone_through_a_redaction(careless: Memory) -> None:
    memory_id = careless.remember("The first text.").memory_id
    update = careless.update(memory_id, text=f"The key is {AWS}.").receipt_id
    redaction = careless.sweep.prune("secrets", confirm=True)
    assert update is not None
    careless.sweep.undo(update)
    assert careless.get(memory_id).text == "The first text."
    (conflict,) = careless.sweep.undo(redaction.id).conflicts
    assert conflict[0] == memory_id
    assert conflict[1].startswith("it was changed again")
    assert careless.get(memory_id).text == "The first text."
    assert sound(careless)


def test_each_secret_comes_back_though_its_update_was_undone_before_the_redactions(careless: Memory) -> None:
    told = f"Ada keeps the key {AWS} with XJ7qP2mv9t."
    memory_id = careless.remember(told, tags=[GITHUB]).memory_id
    update = careless.update(memory_id, text="Ada keeps the key in the vault.", tags=["clean"]).receipt_id
    assert update is not None
    first = careless.sweep.prune("secrets", confirm=True)
    careless.remember("The staging password is XJ7qP2mv9t.")
    second = careless.sweep.prune("secrets", confirm=True)
    careless.sweep.undo(update)
    assert careless.get(memory_id).text == f"Ada keeps the key {AWS_MARK} with [secret: password]."
    assert careless.sweep.undo(second.id).conflicts == ()
    assert careless.sweep.undo(first.id).conflicts == ()
    assert (careless.get(memory_id).text, careless.get(memory_id).tags) == (told, (GITHUB,))
    assert sound(careless)


def test_a_secret_comes_back_where_a_retraction_has_given_back_its_redacted_text(careless: Memory) -> None:
    memory_id = careless.remember(f"The key is {AWS[:-1]}Q.").memory_id
    careless.update(memory_id, text=f"The key is {AWS}.")
    with called_by(Origin("mcp", "cursor", "1.0", "ses_evil", "update_memory", "agent")):
        careless.update(memory_id, text="The key is in the vault.")
    redaction = careless.sweep.prune("secrets", confirm=True)
    taken = careless.sweep.prune("origin", origin={"session": "ses_evil"}, confirm=True, allow_large=True)
    assert careless.get(memory_id).text == f"The key is {AWS_MARK}."
    assert careless.sweep.undo(redaction.id).conflicts == ()
    assert careless.get(memory_id).text == f"The key is {AWS}."
    assert careless.sweep.undo(taken.id).conflicts == ()
    assert careless.get(memory_id).text == "The key is in the vault."
    assert sound(careless)


EVIL = Origin("mcp", "cursor", "1.0", "ses_evil", "update_memory", "agent")


def test_what_was_updated_since_comes_back_with_its_secret(careless: Memory) -> None:
    """The redaction is undone while a retraction has given back the redacted text, which the update still holds."""
    told = f"Ada keeps the key {AWS}."
    memory_id = careless.remember(told, tags=[AWS, "ops"], metadata={"key": AWS}).memory_id
    redaction = careless.sweep.prune("secrets", confirm=True)
    with called_by(EVIL):
        update = careless.update(memory_id, text="Ada keeps the key in the vault.", tags=["clean"]).receipt_id
    taken = careless.sweep.prune("origin", origin={"session": "ses_evil"}, confirm=True, allow_large=True)
    assert update is not None
    for receipt in (redaction.id, taken.id, update):
        assert careless.sweep.undo(receipt).conflicts == ()
    found = careless.get(memory_id)
    assert (found.text, found.tags, found.metadata) == (told, (AWS, "ops"), {"key": AWS})
    assert careless.search(AWS).hits[0].passage.memory_id == memory_id
    assert sound(careless)


def test_an_earlier_text_that_others_gave_back_comes_back_with_its_secret(careless: Memory) -> None:
    """The same, but the redacted text was not that of the memory when it was redacted."""
    told = f"Ada keeps the key {AWS}."
    memory_id = careless.remember(told).memory_id
    with called_by(EVIL):
        careless.update(memory_id, text="Ada keeps the key in the vault.")
    redaction = careless.sweep.prune("secrets", confirm=True)
    careless.sweep.prune("origin", origin={"session": "ses_evil"}, confirm=True, allow_large=True)
    update = careless.update(memory_id, text="Ada keeps the key in the drawer.").receipt_id
    assert update is not None
    for receipt in (redaction.id, update):
        assert careless.sweep.undo(receipt).conflicts == ()
    assert careless.get(memory_id).text == told
    assert sound(careless)


@pytest.mark.parametrize("oldest_first", [True, False])
def test_an_earlier_text_that_two_redactions_masked_says_which_to_undo_first(
    careless: Memory, oldest_first: bool
) -> None:
    told = f"The key is {AWS}, the other one is Tr0ub4dor&3xkcd9."
    memory_id = careless.remember(told).memory_id
    update = str(careless.update(memory_id, text="It is in the vault.").receipt_id)
    one = careless.sweep.prune("secrets", confirm=True).id
    careless.remember("password = Tr0ub4dor&3xkcd9")
    two = careless.sweep.prune("secrets", confirm=True).id
    if oldest_first:
        said = (memory_id, f"an earlier text of it was redacted again; undo {two} first")
        assert careless.sweep.undo(one).conflicts == (said,)
        assert careless.sweep.undo(two).conflicts == ()
    else:
        assert [careless.sweep.undo(each).conflicts for each in (two, one)] == [(), ()]
    assert careless.sweep.undo(update).conflicts == ()
    assert careless.get(memory_id).text == (told.replace(AWS, AWS_MARK) if oldest_first else told)
    assert sound(careless)


def test_what_changed_since_the_plan_is_left_alone(careless: Memory) -> None:
    one = careless.remember(f"The key is {AWS}.").memory_id
    two = careless.remember(f"Another one, {AWS}.").memory_id
    plan = careless.sweep.plan("secrets")
    careless.update(two, text="It is gone.")
    receipt = careless.sweep.apply(plan.id, confirm=True)
    assert receipt.skipped == ((two, "changed since the plan was made"),)
    assert careless.get(one).text == f"The key is {AWS_MARK}."
    with pytest.raises(Conflict, match="was applied already"):
        careless.sweep.apply(plan.id, confirm=True)


def test_two_names_that_were_secrets_are_still_two(careless: Memory) -> None:
    other = next(line.text for line in positives() if line.text != AWS and line.kind == "aws-access-key")
    careless.graph.relate(f"{AWS}", "KNOWS", "Ada")
    careless.graph.relate(f"{other}", "KNOWS", "Ada")
    receipt = careless.sweep.prune("secrets", confirm=True)
    names = {row["name"] for row in json.loads(careless.graph.dump("json"))["entities"]}
    assert len(names) == 3
    assert AWS not in names
    assert sound(careless)
    careless.sweep.undo(receipt.id)
    assert {AWS, other} <= {row["name"] for row in json.loads(careless.graph.dump("json"))["entities"]}


def test_a_secret_that_two_chunks_share_leaves_both(careless: Memory) -> None:
    filler = "\n\n".join(f"Paragraph {n} speaks of crane number {n} in some detail." for n in range(120))
    long_block = BLOCK.replace("\n", "\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 60, 1)
    memory_id = careless.remember(f"{filler}\n\n{long_block}\n\n{filler}").memory_id
    assert careless.get(memory_id).chunk_count > 2
    careless.sweep.prune("secrets", confirm=True)
    assert "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" not in repr(
        careless.search("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcw", limit=50)
    )
    assert sound(careless)


def test_the_pinned_are_redacted_too(careless: Memory) -> None:
    memory_id = careless.remember(f"The key is {AWS}.", pinned=True).memory_id
    careless.sweep.prune("secrets", confirm=True)
    assert careless.get(memory_id).text == f"The key is {AWS_MARK}."


def test_the_doctor_counts_them_and_says_what_to_do(careless: Memory) -> None:
    careless.remember(f"The key is {AWS}.")
    (note,) = careless.care.doctor().remarks
    assert "in 2 places" in note  # the memory, and a name that was found in it
    assert "memsweep prune -s secrets" in note
    assert AWS not in note
    careless.sweep.prune("secrets", confirm=True)
    careless.sweep.purge(0, confirm=True)
    assert careless.care.doctor().remarks == ()


def test_deleting_by_id_never_shows_the_text(run: Callable[..., Ran]) -> None:
    told = run("remember", f"The key is {AWS}.", "--json", MEMSWEEP_SECRETS_ACTION="off").out
    memory_id = json.loads(told)["memory_id"]
    for words in (["delete", memory_id, "--yes"], ["trash"], ["recover", memory_id], ["delete", memory_id, "--yes"]):
        ran = run(*words)
        assert AWS not in ran.out + ran.err, words


def test_the_command_line_plans_looks_applies_and_undoes(run: Callable[..., Ran]) -> None:
    run("remember", f"The key is {AWS}.", MEMSWEEP_SECRETS_ACTION="off")
    looked = run("prune", "-s", "secrets")
    assert AWS_MARK in looked.out
    assert AWS not in looked.out + looked.err
    assert "aws-access-key" in looked.out
    done = run("prune", "-s", "secrets", "--yes", "--json")
    answer = json.loads(done.out)
    assert answer["message"].startswith("Redacted secrets in 1 memory and 1 entity. `memsweep undo rcpt_")
    assert AWS not in done.out
    assert "Restored 1 memory and 1 entity." in run("undo", answer["receipt_id"]).out
    assert AWS in run("search", "key").out


def test_names_that_merges_wrote_down_are_redacted_and_come_back(careless: Memory, tmp_path: Path) -> None:
    for name in (f"Oldest {AWS}", f"Old {AWS}", "Plain"):
        careless.graph.relate(name, "KNOWS", f"Friend of {name[:6]}")
    first = careless.graph.merge([f"Oldest {AWS}"], f"Old {AWS}").receipt_id
    second = careless.graph.merge([f"Old {AWS}"], "Plain").receipt_id
    before = written_down(careless, tmp_path / "1")
    redacted = careless.sweep.prune("secrets", confirm=True).id
    assert AWS.lower() in str(before)
    assert AWS.lower() not in str(written_down(careless, tmp_path / "2")).lower()
    careless.sweep.undo(redacted)
    assert written_down(careless, tmp_path / "3") == before
    careless.sweep.undo(str(second))
    assert careless.graph.related(f"Oldest {AWS}").start.name == f"Old {AWS}"
    careless.sweep.undo(str(first))
    assert careless.graph.related(f"Oldest {AWS}").start.name == f"Oldest {AWS}"


def written_down(memory: Memory, path: Path) -> list[Any]:
    memory.care.backup(path)
    rows = rows_in(path)
    return [sorted(map(repr, rows[table])) for table in ("merge_move", "alias")]


def test_a_description_is_redacted_and_comes_back(make: Callable[..., App], home: Path) -> None:
    app = make(MEMSWEEP_SECRETS_ACTION="off")
    app.create_workspace("w", f"for {AWS}")
    memory = app.memory("w")
    memory.remember("There is something.")
    plan = memory.sweep.plan("secrets")
    assert plan.item_count == 1
    receipt = memory.sweep.apply(plan.id, confirm=True).id
    assert described(app) == f"for {AWS_MARK}"
    memory.sweep.undo(receipt)
    assert described(app) == f"for {AWS}"
    memory.sweep.prune("secrets", confirm=True)
    memory.sweep.purge(0, confirm=True)
    for file in home.rglob("*"):
        assert not file.is_file() or AWS.encode() not in file.read_bytes(), file
    assert not memory.care.doctor().findings


def described(app: App) -> str:
    return next(each.description for each in app.workspaces() if each.id == "w")
