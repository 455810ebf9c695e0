"""What is never indexed."""

from __future__ import annotations

import pytest

from memsweep.code.exclude import Exclusions, is_secret_text
from memsweep.code.request import make_scope
from memsweep.code.walk import walk
from tests.code.trees import grow


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "app/.env.production",
        ".ENV",
        "prod.env",
        "certs/server.key",
        "a.pem",
        "home/.ssh/config",
        "home/.aws/sso/cache.json",
        "id_rsa",
        "id_ed25519.old",
        "credentials",
        "aws-credentials.json",
        "config/secrets.yml",
        "service_account_prod.json",
        ".npmrc",
        "terraform.tfstate",
    ],
)
def test_the_name_of_a_secret_is_known(path):
    assert Exclusions().is_secret(path)


@pytest.mark.parametrize(
    "path",
    [
        "environment.py",
        "credentials.py",
        "src/secrets.go",
        "keys.py",
        "monkey",
        "a.env.py",
        "ssh/config",
        "my_id_rsa.py",
    ],
)
def test_source_about_secrets_is_no_secret(path):
    assert not Exclusions().is_secret(path)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.vault", "a/b.vault", True),
        ("vault/*.txt", "a/vault/b.txt", True),
        ("vault/*.txt", "a/vault/c/b.txt", False),
        ("vault/**", "vault/c/b.txt", True),
        ("to?en", "token", True),
        ("[ab]*key", "bigkey", True),
        ("[!ab]key", "akey", False),
        ("a+b", "a+b", True),
        ("a+b", "aab", False),
        ("*", "anything", True),
    ],
)
def test_the_table_of_secrets_can_be_extended(pattern, path, matches):
    assert Exclusions(secrets=()).with_secrets([pattern]).is_secret(path) is matches


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\nMII", True),
        ("\n-----BEGIN OPENSSH PRIVATE KEY-----\n", True),
        ("PuTTY-User-Key-File-3: ssh", True),
        ("-----BEGIN CERTIFICATE-----\n", False),
        ("KEY = '''-----BEGIN RSA PRIVATE KEY-----'''\n", False),
    ],
)
def test_a_private_key_is_known_by_how_it_begins(text, secret):
    assert is_secret_text(text) is secret


def test_a_walk_offers_neither_secrets_nor_pictures_nor_what_machines_made(tmp_path):
    grow(
        tmp_path,
        {
            "a.py": "x",
            ".env": "TOKEN=1",
            "logo.PNG": "x",
            "node_modules/m/i.js": "x",
            "__pycache__/a.pyc": "x",
            "own.vault": "x",
        },
    )
    seen = walk(make_scope(str(tmp_path)), Exclusions().with_secrets(["*.vault"]))
    assert set(seen.present) == {"a.py"}
    assert seen.total_files == 4
