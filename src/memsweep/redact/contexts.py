"""Secrets that are known by where they stand: in an address, after a name, after "the password is". Pure."""

from __future__ import annotations

from memsweep.redact.examples import (
    is_address_password,
    is_login_password,
    is_no_placeholder,
    is_quoted_password,
    is_said_key,
    is_said_password,
    is_set_key,
    is_set_password,
)
from memsweep.redact.rule import Rule, context

_PASSWORDS = (
    "password",
    "passwd",
    "passphrase",
    "pass phrase",
    "passcode",
    "pwd",
    "passwort",
    "kennwort",
    "contraseña",
    "mot de passe",
)
_PASSWORD = rf"(?:{'|'.join(_PASSWORDS)})"
_KEYS = ("key", "token", "secret")
# `key` alone is the key of a table
_WHICH_KEY = "api access secret private auth encryption signing master account license service".split()
_SOME_KEY = "|".join(f"(?<={which}key)|(?<={which}[ _.-]key)" for which in _WHICH_KEY)
_KEY = rf"(?:token|secret|key(?:{_SOME_KEY}))"
_SUFFIX = r"(?:[_-](?:prod|production|dev|staging|stage|test|live|old|new|\d{1,2}))?"
_SET = r"[\"'\]]{0,2}[ \t]{0,4}(?::=|=>|={1,3}|:|value[ ]?=)[ \t]{0,4}"
_QUOTED = r"(?P<quote>[\"'`])(?P<quoted>[^\s\"'`]{4,256})(?P=quote)"
_BARE = r"(?P<value>[^\s\"'`<>,;()“”*]{3,127}[^\s\"'`<>,;().:?“”*])"
_KEY_VALUE = r"(?P<value>[A-Za-z0-9_+/=.~:-]{15,512}[A-Za-z0-9_+/=~-])"
_OF_WHAT = r"(?:\s(?:for|to|of|on|in|at|from|für|zu|de|para)(?:\s[\w@.\"'’“”/()-]{1,40}){1,6}?)?"
_BECAME = r"(?:(?:is|was|has been)\s)?(?:changed|set|reset|updated|rotated)\sto"
_IS = rf"(?:['’]s|\s(?:{_BECAME}|is|was|are|lautet|ist|es|est|will be|becomes)):?\s"  # the longest first
_POINTS_TO = r"\s?(?::|->|=>|→)\s|\s[-–—]\s"
_NOW = r"(?:(?:now|still|currently|just|simply)\s)?[*_]{0,2}"
_IN_QUERY = "|".join(
    rf"(?<=[?&#]{first}){last}"
    for first, last in [
        *((f"{which}_", "token") for which in ("access", "auth", "refresh", "id", "api")),
        *(("api", "key"), ("api_", "key"), ("api-", "key"), ("client_", "secret")),
        *(("x-amz-", "signature"), ("x-amz-security-", "token")),
    ]
)
_DEFINED = r"(?:define\([ ]?[\"']|setenv[ ])\w{0,40}?"
_LINE_END = r"(?=[ \t]{0,8}(?:[#;\r\n]|\Z))"

CONTEXTS: tuple[Rule, ...] = (
    # scheme://user:value@host
    context(
        "url-password",
        ("://",),
        r"://[^\s/:@\"'<>]{0,64}:(?P<value>[^\s/@\"'<>]{3,128})@(?=[\w\[{$])(?!(?:[\w-]{1,63}\.){0,4}example\.)",
        is_address_password,
    ),
    context(
        "url-token",
        ("token=", "key=", "secret=", "auth=", "password=", "passwd=", "pwd=", "sig=", "signature="),
        rf"(?i:(?<=[?&#])(?:token|key|secret|auth|password|passwd|pwd|sig|signature)|{_IN_QUERY})="
        r"(?P<value>[A-Za-z0-9%_.~+/=-]{16,2000})",
        is_set_key,
    ),
    context(
        "azure-storage-key",
        ("accountkey=", "sharedaccesskey="),
        r"(?i:accountkey|sharedaccesskey)=(?P<value>[A-Za-z0-9+/]{42,88}={0,2})",
        is_no_placeholder,
    ),
    # Server=…;Password=value; and host=… password=value
    context(
        "database-password",
        ("password=", "pwd=", "password =", "pwd ="),
        r"(?i:(?<=;)|(?<=; ))(?i:password|pwd)[ ]?=[ ]?(?P<value>[^\s;\"']{1,128})(?=[;\"'\s]|\Z)",
        is_address_password,
    ),
    context(
        "database-password",
        ("password=",),
        r"(?i:(?<=\w[ ])password=)(?P<value>[^\s;,\"')]{1,128})(?=[\"'\s]|\Z)",
        is_set_password,
    ),
    context(
        "aws-secret-key",
        ("secret",),
        r"(?i:secret_?(?:access_?)?key)[\"'\]]{0,2}[ \t]{0,4}(?::=|=>|=|:|is)[ \t]{0,4}[\"'`]?"
        r"(?P<value>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        is_no_placeholder,
    ),
    # Authorization: Bearer value
    context(
        "authorization",
        ("bearer ", "basic ", "authorization"),
        r"(?i:authorization[\"']?[ \t]{0,3}[:=,][ \t]{0,3}[\"']?(?:bearer|basic|token|apikey|key)[ \t]{1,3}|bearer[ ])"
        r"(?P<value>[A-Za-z0-9_.~+/=-]{16,4000})",
        is_said_key,
    ),
    # commands
    context(
        "password",
        ("curl ", "wget "),
        r"(?:curl|wget)[ ][^\n]{0,200}?(?<=[ ])(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:(?P<value>[^\s\"']{4,128})",
        is_set_password,
    ),
    context(
        "password",
        ("--pass", "sshpass -p", "--token", "--secret", "--api-key"),
        r"(?:--(?:password|passwd|pass|passphrase|token|secret|api-key)[ =]|sshpass[ ]-p[ ]?)"
        r"[\"']?(?P<value>[^\s\"'`|;]{5,256})",
        is_set_password,
    ),
    context(
        "password",
        ("mysql ", "mysqldump "),
        r"mysql(?:dump)?[ ][^\n]{0,80}?(?<=[ ])-p[\"']?(?P<value>[^\s\"'`|;]{5,256})",
        is_set_password,
    ),
    context(
        "password",
        ("docker login ", "redis-cli "),
        r"(?:docker login[ ][^\n]{0,120}?(?<=[ ])-p|redis-cli[ ](?:[^\n]{0,80}?(?<=[ ]))?-a)[ ][\"']?"
        r"(?P<value>[^\s\"'`|;]{5,256})",
        is_set_password,
    ),
    context(
        "password",
        ("echo ",),
        r"echo[ ](?:-n[ ])?[\"']?(?P<value>[^\s\"'`|;]{5,256})[\"']?[ ]?\|[ ]?(?:sudo[ ]-S|docker[ ]login)",
        is_set_password,
    ),
    context("password", ("identified by ",), r"(?i:identified[ ]by[ ])'(?P<quoted>[^\s']{4,256})'", is_set_password),
    context("password", ("password>", "passwd>"), r"(?i:passw(?:or)?d>)(?P<value>[^<>\s]{4,128})</", is_set_password),
    context(
        "password",
        ("define(", "setenv "),
        rf"{_DEFINED}(?:PASSWORD|PASSWD|PASS|PWD)(?:[\"'][ ]?,)?[ ]?(?:{_QUOTED}|{_BARE})",
        is_set_password,
    ),
    context(
        "api-key",
        ("define(", "setenv "),
        rf"{_DEFINED}(?:KEY|TOKEN|SECRET|SALT)(?:[\"'][ ]?,)?[ ]?(?:{_QUOTED}|{_KEY_VALUE})",
        is_set_key,
    ),
    # name = "value"
    context(
        "password", (*_PASSWORDS, "pass"), rf"(?i:(?:{_PASSWORD}|pass){_SUFFIX}{_SET}[bru]?){_QUOTED}", is_set_password
    ),
    context("api-key", _KEYS, rf"(?i:{_KEY}{_SUFFIX}{_SET}[bru]?){_QUOTED}", is_set_key),
    # NAME=value, as the environment has it
    context(
        "password",
        ("PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PWD"),
        rf"(?:PASSWORD|PASSWD|PASSPHRASE|PASS|PWD)(?i:{_SUFFIX})=(?P<value>[^\s\"'`]{{5,256}})",
        is_set_password,
    ),
    context(
        "api-key",
        ("KEY", "TOKEN", "SECRET"),
        rf"(?:KEY|TOKEN|SECRET)(?i:{_SUFFIX})={_KEY_VALUE}(?![^\s\"'`,;)])",
        is_set_key,
    ),
    # name: value and name = value, to the end of the line
    context(
        "password",
        _PASSWORDS,
        rf"(?i:{_PASSWORD}{_SUFFIX})[\"'*]{{0,3}}[ \t]{{0,3}}[:=][*]{{0,2}}[ \t]{{0,3}}"
        rf"(?P<value>[^\s\"'`#,;<>(]{{5,256}}){_LINE_END}",
        is_set_password,
    ),
    context(
        "api-key",
        _KEYS,
        rf"(?i:{_KEY}{_SUFFIX})[\"'*]{{0,3}}[ \t]{{0,3}}[:=][*]{{0,2}}[ \t]{{0,3}}{_KEY_VALUE}{_LINE_END}",
        is_set_key,
    ),
    # the password for staging is value
    context("password", _PASSWORDS, rf"(?i:{_PASSWORD}{_OF_WHAT}{_IS}{_NOW}){_QUOTED}", is_quoted_password),
    context(
        "password", _PASSWORDS, rf"(?i:{_PASSWORD}{_OF_WHAT}(?:{_IS}|{_POINTS_TO}){_NOW}){_BARE}", is_said_password
    ),
    context("password", _PASSWORDS, rf"(?i:{_PASSWORD}[ ]){_BARE}", is_set_password),
    context(
        "password",
        ("pw", "pass"),
        rf"(?:(?<!\w)|(?<=_))(?:pw|PW|[Pp]ass)(?i:{_OF_WHAT}(?:{_IS}|{_POINTS_TO}){_NOW}){_BARE}",
        is_set_password,
    ),
    context(
        "password",
        ("passphrase", "pass phrase", "recovery phrase", "seed phrase"),
        rf"(?i:(?:pass|pass |recovery |seed )phrase{_OF_WHAT}(?:{_IS}|{_POINTS_TO}){_NOW})"
        r"[\"“'`](?P<value>[^\s\"“”`]{2,20}(?:[ ][^\s\"“”`]{2,20}){2,23})[\"”'`]",
        is_no_placeholder,
    ),
    context(
        "password",
        ("creds", "credentials", "login"),
        rf"(?i:(?:creds|credentials|login)(?:[ ](?:are|is|details|as|with))?(?::[ ]|[ ]))"
        rf"[\w.@-]{{2,40}}(?:[ ]/[ ]|(?<=[\w])[/:]){_BARE}",
        is_login_password,
    ),
    context(
        "password",
        ("password to ", "password for ", "passphrase to ", "passcode to ", "passwd to "),
        rf"(?i:\b(?:set|reset|changed?|changing|updated?|rotated?)\s(?:[\w'’-]{{1,20}}\s){{0,4}}?{_PASSWORD}{_OF_WHAT}\sto\s)"
        rf"{_NOW}(?:{_QUOTED}|{_BARE})",
        is_said_password,
        "anywhere",
    ),
    context(
        "password",
        tuple(
            f"{verb} {article}password "
            for verb in ("use", "using", "with", "enter", "type")
            for article in ("", "the ", "my ")
        ),
        rf"(?i:\w{{3,5}}[ ](?:the[ ]|my[ ])?password[ ]){_NOW}(?:{_QUOTED}|{_BARE})",
        is_said_password,
    ),
    context(
        "password",
        ("is the password", "is my password", "is our password", "is the passcode", "is the passphrase"),
        rf"(?<!\S)(?:{_QUOTED}|{_BARE})\sis\s(?:the|my|our)\s(?:password|passcode|passphrase)\b",
        is_said_password,
        "anywhere",
    ),
    context(
        "pin",
        ("pin is", "pin code", "door code", "gate code", "alarm code", "entry code", "lock code"),
        rf"(?i:(?<!\w)(?:pin(?:\scode)?|(?:door|gate|alarm|entry|lock)\scode){_OF_WHAT}{_IS}{_NOW})(?P<value>\d{{4,8}})(?!\w)",
        is_no_placeholder,
    ),
    context(
        "pin",
        ("PIN",),
        rf"PIN\b(?i:(?:\scode)?{_OF_WHAT}(?:{_IS}|{_POINTS_TO}){_NOW})(?P<value>\d{{4,8}})(?!\w)",
        is_no_placeholder,
    ),
    context(
        "api-key",
        _KEYS,
        rf"(?i:{_KEY}{_OF_WHAT}(?:{_IS}|{_POINTS_TO}){_NOW})[\"'`]?{_KEY_VALUE}",
        is_said_key,
    ),
    # A rule of its own: where the one before finds no key, it would not look for a nearer one.
    context("api-key", _KEYS, rf"(?i:{_KEY}[ ](?:to[ ]|as[ ])?)[\"'`]?{_KEY_VALUE}", is_said_key),
)
