"""Recognise values that only look like secrets: placeholders, references, examples, plain words. Pure."""

from __future__ import annotations

import re

# <your-key>, ${VAR}, $VAR, {{ var }}, %VAR%, %s, @VAR@, ****, …, [hidden], and our own marks
_STANDS_FOR_ANOTHER = re.compile(
    r"\A[\[<({$@&]|\A%[A-Za-z_(]|\$\{|\{\{|\*\*\*|\.\.\.|…|•••|\[secret:|<[A-Za-z]|%[sd](?!\w)", re.ASCII
)
_ONE_LETTER = re.compile(r"([xX*.#_0-])\1{4}|([A-Za-z0-9])\2{7}")
_SEQUENCE = re.compile(
    r"1234567890|0123456789|(?i:abcdefgh|a1b2c3d4|deadbeef|example|placeholder|redacted|your[-_ ]?\w"
    r"|change[-_ ]?(?:me|it|this)|replace[-_ ]?(?:me|with|this)|insert[-_ ]|dummy)"
)
_EXAMPLE_WORDS = (
    "my your the some a an new old bad wrong fake test testing dummy sample foo bar baz super valid invalid"
    " initial default strong weak secure hashed encrypted random api access auth client app db database user"
    " admin root private public secret token key password passwd passwort pass pwd passphrase pw username login"
    " string value text none null true false abc xyz asdf qwerty hello world and or for with here param arg var"
    " field hash salt id name word"
).split()
# password123, test-key-1, my_secret: the longest word first, and none is tried twice
_EXAMPLE = re.compile(rf"(?:{'|'.join(sorted(_EXAMPLE_WORDS, key=len, reverse=True))})*+", re.I)
_BETWEEN = re.compile(r"[-_.@!#]|(?<!\d)\d{1,4}(?!\d)")
_TECHNICAL = re.compile(
    r"(?:sha|md|base|utf|aes|rsa|des|argon|pbkdf|bcrypt|scrypt|oauth|ipv|http|https|u?int|float|str|string|char|varchar|bytes"
    r"|i|u|f|win|x|v|py|python|sec|section|step|item|table|figure|page|line|part|chapter|version|vol|no|iso|rfc|cp|latin)"
    r"[-_.]?\d{1,6}(?:id)?(?:[-_./][A-Za-z0-9]+)*",
    re.I,
)
# 8-character, 2FA, 12:30, v1.2.3, 30days, 4th
_NUMBER = re.compile(r"[~+v-]?\d+(?:[-.,:/x]\d+)*(?:[-_]?[A-Za-z]+(?:[-_][A-Za-z]+)*)?[%+]?")
# snake_case_2, dotted.name, kebab-words-v2: parts that are words or short numbers
_WORDS = re.compile(r"(?:[A-Za-z]+\d{0,2}|\d{1,4})(?:[-_./:]+(?:[A-Za-z]+\d{0,2}|\d{1,4}))*[-_./:]?")
_CAMEL = re.compile(r"(?:[A-Z]{1,6}\d{0,5}){0,3}(?:[A-Z][a-z]+\d{0,5})+")
_CODE = re.compile(r"[()\[\]{}]|->|::|=>|==(?!\Z)|\\[\w$]|\A[\w.]+\.[A-Za-z_]|\A(?:required|nullable)\|", re.ASCII)
_HASH = re.compile(r"(?:pbkdf2|scrypt|sha\d*|argon2\w*|bcrypt|md5)[:$(]")
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+|[A-Za-z][A-Za-z0-9+.-]*://.*|(?:\.{0,2}|~)/.*", re.DOTALL)
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_SYMBOL_INSIDE = re.compile(r"\w[!@#$%^&*?|~]+\w")
_IN_ADDRESSES = frozenset("password passwd pass pwd pw secret token pswd".split())
_PUBLIC_ENDS = tuple(
    "CxoX-oo6YyIs trUEke8agEM gHIAODrlU RR_znhrh0 fhixbX4A _UUPwX7c 9CKctWmLd4 jjaXeDQgY _a_p4wtM sjmdnP5sQ rhOq1cS7g"
    " CzAnvuU 4MJmprNXsw axOi4FmqE srVL_n0nvY".split()
)
"""The ends of the keys of Google's public examples and of Chromium, as gitleaks 8.26.0 lists them."""
_BASE64 = re.compile(r"[A-Za-z0-9+/=]{24}", re.ASCII)


def is_placeholder(value: str) -> bool:
    """Return whether a value only shows where a secret would stand."""
    return bool(_STANDS_FOR_ANOTHER.search(value) or _ONE_LETTER.search(value) or _SEQUENCE.search(value))


def is_no_placeholder(value: str) -> bool:
    """Return whether a value is no placeholder; enough for a key that is known by its own form."""
    return not is_placeholder(value)


def is_no_public_key(value: str) -> bool:
    """Return whether a value is a secret, and not one that a provider's own pages show everybody."""
    return is_no_placeholder(value) and not value.endswith(_PUBLIC_ENDS)


def is_example(value: str) -> bool:
    """The same of a value in a program or a configuration: `password123` is nobody's there."""
    return is_placeholder(value) or all(_EXAMPLE.fullmatch(part) for part in _BETWEEN.split(value))


def is_said_password(value: str) -> bool:
    """A word after `the password is`: with a digit or a sign inside, and not the name or the size of something."""
    if is_placeholder(value) or _ADDRESS.fullmatch(value) or _HASH.match(value):
        return False
    if value.isdecimal():
        return 4 <= len(value) <= 16
    if len(value) < 5 or not _LETTER.search(value) or _CODE.search(value):
        return False
    if _SYMBOL_INSIDE.search(value):
        return True
    return _DIGIT.search(value) is not None and not (_TECHNICAL.fullmatch(value) or _NUMBER.fullmatch(value))


def is_quoted_password(value: str) -> bool:
    """A word in quotes after `the password is` is meant literally; a few say what it is like."""
    return not is_example(value) and not _CODE.search(value)


def is_set_password(value: str) -> bool:
    """A value of `password = "…"`."""
    if is_example(value):
        return False
    return len(value) >= 6 if value.isdecimal() else is_said_password(value)


def is_login_password(value: str) -> bool:
    """Return whether a value after a user's name and a slash or a colon is a password, and no path."""
    return "/" not in value and is_set_password(value)


def is_said_key(value: str) -> bool:
    """A word after `the API key is`: long, of letters and digits, and not made of words."""
    if len(value) < 16 or not _DIGIT.search(value) or not _LETTER.search(value) or is_placeholder(value):
        return False
    is_name = _WORDS.fullmatch(value) or _CAMEL.fullmatch(value)
    return not (is_name or _ADDRESS.fullmatch(value) or _CODE.search(value))


def is_set_key(value: str) -> bool:
    """A value of `API_KEY = "…"`."""
    return is_said_key(value) and not is_example(value)


def is_address_password(value: str) -> bool:
    """Return whether a value between a user and a host is a password."""
    return not is_placeholder(value) and value.casefold() not in _IN_ADDRESSES


def holds_base64(value: str) -> bool:
    """Return whether there is a key in the block, and not a mere mention of one."""
    return _BASE64.search(value) is not None
