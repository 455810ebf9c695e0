"""Secrets that are known by where they stand: in an address, after a name, after "the password is". Pure."""

from __future__ import annotations

from memsweep.secrets.examples import (
    is_address_password,
    is_login_password,
    is_no_placeholder,
    is_quoted_password,
    is_said_key,
    is_said_password,
    is_set_key,
    is_set_password,
)
from memsweep.secrets.readings import KEY, KEYS, OTHER_KEYS, OTHER_PASSWORDS, PASSWORD, PASSWORDS, SERVICE, SERVICES
from memsweep.secrets.rule import Rule, context, key

# What may follow in a name: DB_PASSWORD_PROD, mySecretString, but not secret_name.
_NO_VALUE = (
    "id|name|file|path|dir|url|uri|hash|type|kind|len|size|count|max|min|num|field|column|prefix|suffix|format|version|exp|ttl|time|age"
    "|alias|ring|pair|spec|ref|arn|endpoint|policy|valid|digest|usage|alg|index|idx|list|manager|provider|label|title|code|public|prompt|reset|timeout"
)
_SUFFIX = (
    r"(?:s|[_-]?(?:prod|production|dev|staging|stage|test|live|old|new|string|str|value|text|base|plain|raw|b64|\d{1,3})"
    rf"|[_-](?!{_NO_VALUE})\w{{1,24}})?"
)
_TYPE = r"(?:[ ]?:[ ]?[\w&<>?.]{1,24}|[ ]string)[ ]?"
_SET = rf"[\"'\]]{{0,2}}[ \t]{{0,16}}(?:(?:{_TYPE})?(?:[:+?.]{{0,3}}={{1,3}}|\|\|=)>?|:|value[ ]?=)[ \t]{{0,16}}"
_QUOTED = r"(?P<quote>\"{3}|[\"'`])(?P<quoted>[^\s\"'`]{4,256})(?P=quote)"
_BARE = r"(?P<value>[^\s\"'`<>,;()“”*«»]{3,127}[^\s\"'`<>,;().:?“”*«»])"
_KEY_VALUE = r"(?P<value>[A-Za-z0-9_+/=.~:-]{15,512}[A-Za-z0-9_+/=~-])"
_LINE_END = r"(?=[ \t]{0,8}(?:[#;\r\n]|\Z))"
_ALONE = r"(?P<value>[^\s\"'`#,;<>(|{}\[\]]{5,256}+)(?=[ \t]{0,8}(?:[#\r\n]|</|\Z))"
# Where a value stands that does not follow its name: further on, or in the next line.
_NEXT_LINE = (
    r"[\"'*]{0,3}[ \t]{0,4}[:=][*]{0,2}[ \t]{0,4}(?:[|>][+-]?\d?|<<[-~]?[\"']?\w{1,12}[\"']?)?[ \t]{0,8}"
    r"(?:#[^\n]{0,80})?\r?\n[ \t]{0,40}(?:-[ ]{1,3})?(?![\w.-]{1,60}=[^=\s])"
)
_TAGGED = r"[\"']?:[ \t]{1,4}(?:&\w{1,30}|!{1,2}\w{1,20})[ \t]{1,4}"
_NAME_VALUE = (
    r"[\"']?[ \t]{0,4}[,;]?[ \t]{0,4}(?:\r?\n[ \t]{0,40}(?:#[^\n]{0,80}\r?\n[ \t]{0,40})?)?"
    r"(?:/?>\s{0,40}<)?[\"']?(?i:(?:parameter)?value)[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
)
_ATTRIBUTE = r"[\"'](?:[ ][^<>\n]{0,80}?)?[ ]value="
_DEFAULT = r"[\"'][ ]?\{[^{}]{0,400}?\b(?:default|value)[ \t]{0,20}=[ \t]{0,4}"
_ARGUMENT = r"[\"'\]]{1,2}[ ]?,[ ]?|(?<=word|oken|cret)\([ ]?"
_ELEMENT = r"[\"']?(?:[ ][^<>\n]{0,60})?>\s{0,40}(?:<value>)?|</(?:key|name|t[hd]|dt)>\s{0,40}<(?:string|value|td|dd)>"
_FAR = f"(?:{_NEXT_LINE}|{_TAGGED}|{_NAME_VALUE}|{_ATTRIBUTE}|{_DEFAULT})"
_FAR_ALONE = f"(?:{_NEXT_LINE}|{_TAGGED}|{_NAME_VALUE}|{_ELEMENT})"
_FOR = "for|to|of|on|in|at|from|für|zu|de|del|della|du|di|para|do|da|voor|van|vom|för|til"
_OF_WHAT = rf"(?:\s(?:{_FOR})(?:\s[\w@.\"'’“”/()-]{{1,40}}){{1,6}}?)?"
_BECAME = r"(?:(?:is|was|has been)\s)?(?:changed|set|reset|updated|rotated)\sto"
_IS = (
    # the longest first
    rf"(?:['’]s|\s(?:{_BECAME}|is|was|are|lautet|ist|es|est|è|é|är|er|on|to|will be|becomes)):?\s"
)
_POINTS_TO = r"\s?(?::|->|=>|→)\s|\s[-–—=]\s"
_NOW = r"(?:(?:now|still|currently|just|simply)\s)?(?:«\s?)?[*_]{0,2}"
_IN_QUERY = "|".join(
    rf"(?<=[?&#]{first}){last}"
    for first, last in [
        *((f"{which}_", "token") for which in ("access", "auth", "refresh", "id", "api")),
        *(("api", "key"), ("api_", "key"), ("api-", "key"), ("client_", "secret")),
        *(("x-amz-", "signature"), ("x-amz-security-", "token")),
    ]
)
_DEFINED = r"(?:define\([ ]?[\"']|setenv[ ])\w{0,40}?"
_SCRIPT = r"[^\n!-/:-@\[-`{-~]{0,30}?\s?(?:[::=-]|[—–]|是|为|為|は|는|은|это)\s?[\"'«「『]?\s?"
_ASCII = r"(?P<value>[!-~]{4,127}[!-~](?<![.,;:?)\"'>\]]))"
_USER = r"(?P<user>[\"'])[^\"'\n]{1,64}(?P=user)[ ]?,[ ]?"

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
    # ?user=ada&password=value, -o username=ada,password=value, --set auth.password=value
    context(
        "password",
        ("password=", "passwd=", "pwd="),
        r"(?i:(?<=[,?&.=_])(?:password|passwd|pwd)=)(?P<value>[^\s;,&\"')]{1,128})(?=[\"'\s,&]|\Z)",
        is_set_password,
    ),
    context("database-password", (":thin:",), r":thin:\w{1,40}/(?P<value>[^\s@\"']{3,128})@", is_address_password),
    # host:port:database:user:value, as in .pgpass
    context(
        "database-password",
        (":*:", ":5432:", ":5433:", ":6432:", ":3306:"),
        r":(?:\*|\d{4}):(?:[\w*-]{1,63}:){1,2}(?P<value>[^\s:\"']{4,128})(?=\r?\n|\Z)",
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
        r"(?i:authorization[\"']?[ \t]{0,3}[:=,][ \t]{0,3}[\"']?(?:(?:bearer|basic|token|apikey|key)[ \t]{1,3})?"
        r"|bearer[ ])(?P<value>[A-Za-z0-9_.~+/=-]{16,4000})",
        is_said_key,
    ),
    # what a reading calls so: any value of a Secret
    context("password", ("kubernetes_secret=",), rf"kubernetes_secret={_QUOTED}", is_no_placeholder),
    # commands
    context(
        "password",
        ("curl ", "wget "),
        r"(?:curl|wget)[ ](?:[^\n\\]|\\(?s:.)){0,400}?(?<=[ ])(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:"
        r"(?P<value>[^\s\"']{4,128})",
        is_set_password,
    ),
    context(
        "password",
        ("--", "-storepass ", "-keypass ", "sshpass -p", "pass:", "requirepass ", "masterauth ", "AUTH "),
        r"(?:--(?:[a-z]{1,12}-){0,3}(?:password|passwd|pass|passphrase|token|secret|api-key|secret-string)[ =]"
        r"|-(?:store|key)pass[ ]|sshpass[ ]-p[ ]?|(?<=-passin[ ])pass:|(?<=-passout[ ])pass:"
        r"|requirepass[ ]|masterauth[ ]|(?<![^\n>])[ ]?AUTH[ ])"
        r"[\"']?(?P<value>[^\s\"'`|;]{5,256})",
        is_set_password,
    ),
    context(
        "password",
        ("sqlcmd ", "mongosh ", "zip ", "az login ", "ldap", "openssl enc ", "htpasswd ", "net use ", "setuser "),
        r"(?i:sqlcmd|mongosh|zip|az[ ]login|ldap\w{3,9}|openssl[ ]enc|htpasswd|net[ ]use|setuser)"
        r"[ ](?:[^\n]{0,160}?[ ])?(?:-[Ppwk][ ]?|-b[ ]\S{1,80}[ ]\S{1,40}[ ]|/user:\S{1,40}[ ]|>)[\"']?"
        r"(?P<value>[^\s\"'`|;]{5,256})",
        is_set_password,
    ),
    context(
        "password",
        ("auth=(", "auth = (", "basicauth(", "networkcredential(", ".login(", "getconnection("),
        r"(?i:auth[ ]?=[ ]?\(|basicauth\(|networkcredential\(|\.login\(|getconnection\([^,()\n]{1,80},)[ ]?"
        rf"{_USER}{_QUOTED}",
        is_set_password,
    ),
    context("password", ("securestring ",), rf"(?i:securestring[ ](?:-string[ ])?){_QUOTED}", is_set_password),
    context(
        "password",
        ("secret ", "password ", "rocommunity ", "rwcommunity "),
        r"(?i:(?:secret|password)[ ]\d|r[ow]community)[ ](?P<value>[^\s\"'`<>]{4,128})(?=\s|\Z)",
        is_set_password,
    ),
    context("password", ("WIFI:",), r"WIFI:[^\n]{0,120}?(?<=;)P:(?P<value>[^\s;]{4,64});", is_no_placeholder),
    context(
        "password", ("psk=", "psk ="), rf"(?i:psk[ ]?=[ ]?)(?:{_QUOTED}|(?P<value>[^\s\"']{{8,64}}))", is_set_password
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
        r"echo[ ](?:-n[ ])?[\"']?(?:[\w.-]{1,40}:)?(?P<value>[^\s\"'`|;:]{5,256})[\"']?[ ]?\|[ ]?"
        r"(?:sudo[ ]-S|docker[ ]login|(?:sudo[ ])?(?:ch)?passwd)",
        is_set_password,
    ),
    context(
        "password",
        ("identified ", "password '", "password (", "password('", "password n'", "password = n'", "password=n'"),
        r"(?i:identified[ ](?:with[ ]\w{1,40}[ ])?by[ ](?:password[ ])?|password[ ]?=?[ ]?[(N]?)"
        r"(?P<quote>['\"])(?P<quoted>[^\s'\"]{4,256})(?P=quote)",
        is_set_password,
    ),
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
        "password", (*PASSWORDS, "pass"), rf"(?i:(?:{PASSWORD}|pass){_SUFFIX}{_SET}[bru]?){_QUOTED}", is_set_password
    ),
    context("api-key", KEYS, rf"(?i:{KEY}{_SUFFIX}{_SET}[bru]?){_QUOTED}", is_set_key),
    # a value in the next line, in the next cell, after "value:" or "default ="
    context(
        "password", (*PASSWORDS, "pass"), rf"(?i:(?:{PASSWORD}|pass){_SUFFIX}{_FAR}[bruN]?){_QUOTED}", is_set_password
    ),
    context(
        "password", (*PASSWORDS, "pass"), rf"(?i:(?:{PASSWORD}|pass){_SUFFIX}{_FAR_ALONE}){_ALONE}", is_set_password
    ),
    context("api-key", KEYS, rf"(?i:{KEY}{_SUFFIX}{_FAR}[bru]?){_QUOTED}", is_set_key),
    # put("password", "value")
    context(
        "password",
        (*PASSWORDS, "pass"),
        rf"(?<![ ][\"'])(?i:(?:{PASSWORD}|pass){_SUFFIX}(?:{_ARGUMENT})){_QUOTED}(?=[ ]?\))",
        is_set_password,
    ),
    context("api-key", KEYS, rf"(?i:{KEY}{_SUFFIX}(?:{_ARGUMENT})){_QUOTED}(?=[ ]?\))", is_set_key),
    context("api-key", KEYS, rf"(?i:{KEY}{_SUFFIX}{_FAR_ALONE}){_ALONE}", is_set_key),
    context(
        "password",
        ("password", "passwort", "kennwort"),
        rf"(?<![^\n])(?i:password|passwort|kennwort)[:]?[ \t]{{0,4}}\r?\n{_ALONE}",
        is_set_password,
    ),
    context(
        "password", ("pass", "pw"), rf"(?<![A-Za-z])(?i:pass|pw)[ \t]{{0,3}}[:=][ \t]{{0,3}}{_ALONE}", is_set_password
    ),
    # the same in other scripts
    context("password", OTHER_PASSWORDS, rf"(?:{'|'.join(OTHER_PASSWORDS)}){_SCRIPT}{_ASCII}", is_set_password),
    context("api-key", OTHER_KEYS, rf"(?:{'|'.join(OTHER_KEYS)}){_SCRIPT}{_ASCII}", is_set_key),
    # a service beside its key: "algolia": "…"
    context(
        "api-key",
        tuple(SERVICES),
        rf"(?i:{SERVICE})(?:[_. -]\w{{1,12}}){{0,3}}[\"'\]]{{0,2}}[ \t]{{0,4}}(?:=>?|:=?|,|[ ]is)[ \t]{{0,4}}[\"'`]?"
        r"(?P<value>[A-Za-z0-9_+/=.~:-]{16,512}+)(?![^\s\"'`,;)}\\])",
        is_set_key,
        has_long_word=True,
    ),
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
        PASSWORDS,
        rf"(?i:{PASSWORD}{_SUFFIX})[\"'*]{{0,3}}[ \t]{{0,3}}[:=][*]{{0,2}}[ \t]{{0,3}}"
        rf"(?P<value>(?:[^\s\"'`#,;<>(&]|&(?!\w{{1,40}}=)|(?<=\w)#(?=\w)){{5,256}}){_LINE_END}",
        is_set_password,
    ),
    context(
        "api-key",
        KEYS,
        rf"(?i:{KEY}{_SUFFIX})[\"'*]{{0,3}}[ \t]{{0,3}}[:=][*]{{0,2}}[ \t]{{0,3}}{_KEY_VALUE}(?:(?=&\w)|{_LINE_END})",
        is_set_key,
    ),
    # the password for staging is value
    context("password", PASSWORDS, rf"(?i:{PASSWORD}{_OF_WHAT}{_IS}{_NOW}){_QUOTED}", is_quoted_password),
    context("password", PASSWORDS, rf"(?i:{PASSWORD}{_OF_WHAT}(?:{_IS}|{_POINTS_TO}){_NOW}){_BARE}", is_said_password),
    context("password", PASSWORDS, rf"(?i:{PASSWORD}[ ]){_BARE}", is_set_password),
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
        ("creds", "credentials", "login", "wifi", "zugangsdaten", "u/p"),
        r"(?i:(?:creds|credentials|login|wifi|zugangsdaten|u/p)(?:[ ](?:are|is|details|as|with))?(?::[ ]|[ ]))"
        rf"[\w.@-]{{2,40}}(?:[ ]/[ ]|(?<=[\w])[/:]){_BARE}",
        is_login_password,
    ),
    context(
        "password",
        ("password to ", "password for ", "passphrase to ", "passcode to ", "passwd to "),
        rf"(?i:\b(?:set|reset|changed?|changing|updated?|rotated?)\s(?:[\w'’-]{{1,20}}\s){{0,4}}?{PASSWORD}{_OF_WHAT}\sto\s)"
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
        tuple(
            f"is {whose} {which}pass{end}"
            for whose in ("the", "my", "our")
            for which in ("", "new ", "root ", "admin ", "new root ", "new admin ")
            for end in ("word", "code", "phrase")
        ),
        rf"(?<![^\s/#;*(])(?![/#;*(])(?:{_QUOTED}|{_BARE})\sis\s(?:the|my|our)\s(?:\w{{1,20}}\s){{0,3}}?(?:password|passcode|passphrase)\b",
        is_said_password,
        "anywhere",
    ),
    context(
        "password",
        ("as the password", "as password", "as the passphrase", "as his password", "as her password", "as my password"),
        rf"(?<!\S)(?:{_QUOTED}|{_BARE})\sas\s(?:(?:the|my|our|his|her)\s)?(?:password|passphrase)\b",
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
    context("api-key", KEYS, rf"(?i:{KEY}{_OF_WHAT}(?:{_IS}|{_POINTS_TO}){_NOW})[\"'`]?{_KEY_VALUE}", is_said_key),
    # A rule of its own: where the one before finds no key, it would not look for a nearer one.
    context("api-key", KEYS, rf"(?i:{KEY}[ ](?:to[ ]|as[ ]|<<<[ ]?|--body[ ])?)[\"'`]?{_KEY_VALUE}", is_said_key),
    # the form that many give theirs: sk-acme-v1-…
    key("api-key", "sk- sk_", r"sk[-_](?!or-|ant-|proj-|svcacct-|admin-)[A-Za-z0-9_-]{40,200}", is_secret=is_said_key),
)
