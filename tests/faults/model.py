"""What a workspace must hold and answer, as a plain model: memories, receipts, plans, tombstones, a context window.

Each method says what the real thing must answer and changes the model accordingly; a refusal is the name of the
error's class. Entities and facts are not predicted here: laws look after them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


class Refused(Exception):
    """The model refuses; the text is the class of the error."""


@dataclass
class Note:
    text: str
    thread: str | None
    tags: list[str]
    pinned: bool
    expired: bool
    version: int = 1
    receipt: str | None = None
    """Which receipt holds it in the trash."""

    @property
    def live(self) -> bool:
        return self.receipt is None


@dataclass
class Piece:
    """A segment of the window."""

    pinned: bool = False
    stash: str | None = None
    trash: str | None = None


@dataclass
class Kept:
    """A receipt, as far as it is known what it may still do."""

    undone: bool = False
    purged: bool = False


@dataclass
class Saved:
    """A plan: the memories in it with their versions."""

    items: dict[str, int]
    used: bool = False


@dataclass
class Model:
    notes: dict[str, Note] = field(default_factory=dict)
    receipts: dict[str, Kept] = field(default_factory=dict)
    plans: dict[str, Saved] = field(default_factory=dict)
    tombstones: dict[str, str] = field(default_factory=dict)
    """Text, and the memory that it was."""
    pieces: list[tuple[str, Piece]] = field(default_factory=list)
    """Segments by their id; one that is in the trash may have a namesake."""

    # what is there

    def live(self) -> dict[str, Note]:
        return {uid: note for uid, note in self.notes.items() if note.live}

    def held_by(self, receipt: str) -> set[str]:
        return {uid for uid, note in self.notes.items() if note.receipt == receipt}

    def twin(self, text: str, thread: str | None) -> str | None:
        return next((uid for uid, note in self.live().items() if (note.text, note.thread) == (text, thread)), None)

    def piece(self, own: str) -> Piece | None:
        """The segment of that id which is in the window or its stash."""
        return next((piece for uid, piece in self.pieces if uid == own and piece.trash is None), None)

    # remembering

    def refuse_add(self, text: str, thread: str | None) -> None:
        if self.twin(text, thread) is None and text in self.tombstones:
            raise Refused("Conflict")

    def add(self, uid: str, text: str, thread: str | None, tags: Sequence[str], expired: bool) -> str | None:
        """Under this id, unless it is there already: then that one's id."""
        twin = self.twin(text, thread)
        if twin is None:
            self.notes[uid] = Note(text, thread, list(tags), False, expired)
            return None
        note = self.notes[twin]
        note.tags = list(dict.fromkeys([*note.tags, *tags]))
        note.expired, note.version = note.expired or expired, note.version + 1
        return twin

    def pin(self, uid: str, pinned: bool) -> None:
        note = self._live_note(uid)
        note.pinned, note.version = pinned, note.version + 1

    def _live_note(self, uid: str) -> Note:
        note = self.notes.get(uid)
        if note is None or not note.live:
            raise Refused("NotFound")
        return note

    # collecting

    def delete(self, uid: str) -> set[str]:
        if self._live_note(uid).pinned:
            raise Refused("Conflict")
        return {uid}

    def forget(self, uid: str) -> None:
        """Deleted for good."""
        self.tombstones.setdefault(self.notes.pop(uid).text, uid)

    def expired(self) -> dict[str, int]:
        return {uid: note.version for uid, note in self.live().items() if note.expired and not note.pinned}

    def unpinned(self) -> set[str]:
        return {uid for uid, note in self.live().items() if not note.pinned}

    def apply(self, plan: str) -> tuple[set[str], set[str]]:
        """What goes and what is skipped."""
        saved = self.plans.get(plan)
        if saved is None:
            raise Refused("NotFound")
        if saved.used:
            raise Refused("Conflict")
        saved.used = True
        going = {uid for uid, version in saved.items.items() if self._is_as_planned(uid, version)}
        return going, set(saved.items) - going

    def _is_as_planned(self, uid: str, version: int) -> bool:
        note = self.notes.get(uid)
        return note is not None and note.live and not note.pinned and note.version == version

    def to_trash(self, uids: Iterable[str], receipt: str) -> None:
        self.receipts[receipt] = Kept()
        for uid in uids:
            self.notes[uid].receipt = receipt

    def undo(self, receipt: str) -> tuple[set[str], set[str]]:
        """What comes back, and what cannot, because it was made again."""
        kept = self.receipts.get(receipt)
        if kept is None:
            raise Refused("NotFound")
        if kept.undone or kept.purged:
            raise Refused("Conflict")
        kept.undone = True
        back, clashes = set(), set()
        for uid in sorted(self.held_by(receipt)):
            taken = self.twin(self.notes[uid].text, self.notes[uid].thread) is not None
            (clashes if taken else back).add(uid)
        for uid in back:
            self.notes[uid].receipt = None
        return back, clashes | self._put_pieces_back(receipt)

    def waits(self, receipt: str) -> bool:
        """Whether it cannot be undone now: what it put away is in the trash of another, or nothing of it can return."""
        stashed = [piece for _, piece in self.pieces if piece.stash == receipt]
        if any(piece.trash not in (None, receipt) and not self.receipts[str(piece.trash)].undone for piece in stashed):
            return True
        notes = [self.notes[uid] for uid in self.held_by(receipt)]
        there = [self.twin(note.text, note.thread) is not None for note in notes]
        there += [self.piece(own) is not None for own, piece in self.pieces if piece.trash == receipt]
        return bool(there) and all(there) and not any(piece.trash is None for piece in stashed)

    def _put_pieces_back(self, receipt: str) -> set[str]:
        clashes = set()
        for own, piece in self.pieces:
            if piece.trash == receipt:
                if self.piece(own) is None:
                    piece.trash = None
                else:
                    clashes.add(own)
            if piece.stash == receipt and piece.trash is None:
                piece.stash = None
        return clashes

    def recover(self, uid: str, receipt: str) -> None:
        note = self.notes.get(uid)
        if note is None or note.live:
            raise Refused("NotFound")
        if self.twin(note.text, note.thread) is not None:
            raise Refused("Conflict")
        note.receipt = None
        self.receipts[receipt] = Kept(undone=True)

    def purge(self) -> tuple[set[str], set[str]]:
        """Receipts and memories that are freed."""
        old = {receipt for receipt, kept in self.receipts.items() if not kept.purged}
        gone = {uid for uid, note in self.notes.items() if note.receipt in old}
        for receipt in old:
            self.receipts[receipt].purged = True
        for uid in gone:
            del self.notes[uid]
        self.pieces = [(own, piece) for own, piece in self.pieces if piece.trash not in old]
        return old, gone

    # the window

    def add_piece(self, own: str) -> None:
        if self.piece(own) is not None:
            raise Refused("AlreadyExists")
        self.pieces.append((own, Piece()))

    def take_out(self, ids: Sequence[str], *, delete: bool) -> tuple[set[str], set[str]]:
        """Which go, and which are refused."""
        going = set()
        for own in ids:
            piece = self.piece(own)
            if piece is not None and not piece.pinned and (delete or piece.stash is None):
                going.add(own)
        return going, set(ids) - going

    def gone(self, ids: Iterable[str], receipt: str, *, delete: bool) -> None:
        self.receipts[receipt] = Kept()
        for own in ids:
            piece = self.piece(own)
            assert piece is not None
            if delete:
                piece.trash = receipt
            else:
                piece.stash = receipt

    def restore(self, ids: Sequence[str]) -> set[str]:
        back = {own for own in ids if (piece := self.piece(own)) is not None and piece.stash is not None}
        for own in back:
            piece = self.piece(own)
            assert piece is not None
            piece.stash = None
        return back

    def pin_pieces(self, ids: Sequence[str], pinned: bool) -> None:
        for own in ids:
            if (piece := self.piece(own)) is not None:
                piece.pinned = pinned

    def clear_window(self, receipt: str) -> None:
        for _, piece in self.pieces:
            if piece.trash is None and not piece.pinned:
                piece.trash = receipt
