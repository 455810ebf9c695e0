"""What is never indexed."""

import pytest

from memsweep.code.exclude import Exclusions
from memsweep.code.index import Kind, is_secret_text
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
        "terraform.tfstate.backup",
        "prod.auto.tfvars",
        "prod.tfvars.json",
        ".vault-token",
        "home/.vault-token",
        "ansible/.vault_pass",
        "key.asc",
        ".secrets",
        ".secrets.toml",
        ".secrets/db",
        "run/secrets",
        "home/.kube/config",
        "kubeconfig",
        "prod.kubeconfig",
        "deploy/kubeconfig.yaml",
        ".netrc",
        ".pgpass",
        ".pypirc",
        "home/.aws/credentials",
        "home/.docker/config.json",
        "id_rsa.pub",
        "a.p12",
        "a.jks",
        "a.kdbx",
        ".git-credentials",
        ".htpasswd",
        "secrets.yml",
        "my-service-account.json",
        "app-firebase-adminsdk-x1y2.json",
        "host.keytab",
        "home.ovpn",
        "etc/ssh_host_rsa_key",
        ".config/gcloud/access_tokens.db",
        ".config/gh/hosts.yml",
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
        "kubeconfig.go",
        "service_account.py",
        "src/secrets/mod.rs",
        "vault_token.py",
        "docs/kube/config",
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


BASE64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"
KEY = f"-----BEGIN PRIVATE KEY-----\n{BASE64}\n-----END PRIVATE KEY-----\n"
CERTIFICATE = KEY.replace("PRIVATE KEY", "CERTIFICATE")
KUBECONFIG = "apiVersion: v1\nkind: Config\nclusters:\n- name: a\nusers:\n- name: a\n  user:\n    token: x\n"


@pytest.mark.parametrize("kind", ["program", "prose", "data"])
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----\nMII", True),
        ("\n-----BEGIN OPENSSH PRIVATE KEY-----\n", True),
        ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n", True),
        ("PuTTY-User-Key-File-3: ssh", True),
        ("# the key of the server\n" + KEY, True),
        ("\ufeff\r\n// one\r\n\r\n; two\r\n  " + KEY, True),
        ("# created: 2026-01-01\n# public key: age1x\nAGE-SECRET-KEY-1X", True),
        ("-----BEGIN CERTIFICATE-----\n", False),
        ("-----BEGIN PUBLIC KEY-----\n", False),
        ("KEY = '''-----BEGIN RSA PRIVATE KEY-----'''\n", False),
        ("# -----BEGIN PRIVATE KEY----- is how one begins\nx = 1\n", False),
        ("", False),
        ("#" * 5000, False),
        ("#\n" * 5000, False),
    ],
)
def test_a_private_key_is_known_by_how_it_begins(text: str, secret: bool, kind: Kind) -> None:
    assert is_secret_text(text, kind) is secret


ACCOUNT = '{\n  "type": "service_account",\n  "project_id": "p",\n  "private_key": "-----BEGIN"\n}'


@pytest.mark.parametrize(
    ("text", "in_prose"),
    [
        (CERTIFICATE + KEY, True),
        ("Bag Attributes\n    friendlyName: x\nKey Attributes: <none>\n" + KEY, True),
        ("tls:\n  key: |\n    " + KEY.replace("\n", "\n    "), True),
        ("old key:\n" + KEY.replace(BASE64, f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES\n\n{BASE64}"), True),
        (f'{{"key": "-----BEGIN PRIVATE KEY-----\\n{BASE64}"}}', True),
        (ACCOUNT, False),
        ('{"type":"authorized_user","refresh_token":"1//x"}', False),
        (KUBECONFIG, False),
        ('{"apiVersion":"v1","clusters":[],"kind":"Config","users":[]}', False),
        ("[default]\naws_access_key_id = AKIA\naws_secret_access_key = " + "x" * 40, False),
    ],
)
def test_a_text_that_is_no_program_is_known_by_what_it_holds(text: str, in_prose: bool) -> None:
    found = {kind: is_secret_text(text, kind) for kind in ("program", "prose", "data")}
    assert found == {"program": False, "prose": in_prose, "data": True}


@pytest.mark.parametrize(
    "text",
    [
        "A file that begins with\n\n-----BEGIN PRIVATE KEY-----\n\nis a key.",
        "-----BEGIN CERTIFICATE-----\n" + BASE64,
        '{"type": "service_account", "name": "a description of one"}',
        "kind: ConfigMap\nclusters:\nusers:\n",
        "kind: Config\nlevel: 3\n",
        "aws_secret_access_key = ${SECRET}\n",
    ],
)
def test_what_speaks_of_secrets_is_none(text: str) -> None:
    assert not is_secret_text(text)


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
