"""The words by which people and programs call a password or a key. Pure."""

from __future__ import annotations

import re

PASSWORDS = tuple(
    "password|passwd|passphrase|pass phrase|passcode|pswd|pwd|passwort|kennwort|wachtwoord|lösenord|adgangskode|passord"
    "|salasana|contraseña|contrasenya|mot de passe|parola d'ordine|parola d’ordine|parola|senha|palavra-passe|hasło"
    "|heslo|jelszó|parool|şifre|lozinka|mật khẩu|kata sandi|kata laluan".split("|")
)
"""In letters that an English rule reads, too."""
OTHER_PASSWORDS = (
    *("пароль", "Пароль", "ПАРОЛЬ", "парола", "лозинка", "κωδικός", "Κωδικός", "συνθηματικό"),
    *("密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "패스워드", "비번"),
    *("كلمة المرور", "كلمة السر", "رمز عبور", "סיסמה", "סיסמא", "पासवर्ड", "รหัสผ่าน"),
)
OTHER_KEYS = (
    *("ключ API", "ключ api", "API-ключ", "Токен", "токен", "Секрет", "секрет", "密钥", "密鑰", "金鑰", "令牌"),
    *("シークレット", "トークン", "APIキー", "토큰", "비밀키", "API 키", "مفتاح API"),
)
KEYS = ("key", "token", "secret", "credentials", "creds", "auth")
WHICH_KEY = (
    "api access secret private auth encryption signing master account license service session deploy consumer"
    " storage shared subscription application app client bot webhook admin write root host function ssh"
).split()
"""`key` alone is the key of a table."""

SERVICES = (
    "adafruit airtable algolia alibaba aliyun artifactory asana assemblyai atlassian auth0 aiven beamer"
    " bitbucket bitly bittrex browserstack cloudflare cloudinary codecov cohere coinbase confluent"
    " contentful coveralls databento datadog deepgram discord disqus droneci dropbox etsy facebook fastly"
    " finicity finnhub flickr freshbooks gitea gitter gocardless greptile gumroad heroku hubspot influxdb"
    " intercom jfrog kagi klaviyo kraken kucoin launchdarkly linkedin looker mailchimp mailgun mapbox"
    " mattermost meraki messagebird mistral netlify newrelic new-relic nytimes okta ollama openweather"
    " pagerduty pinecone plaid postmark private-ai rapidapi scaleway sendbird sentry snyk squarespace"
    " sumologic telegram travis trello twitch twitter vercel virustotal wandb weatherstack yandex zendesk"
    " zoho"
).split()
"""Those who give keys that no form of their own tells from other words."""
SERVICE = "|".join(SERVICES)

PASSWORD = rf"(?:{'|'.join(PASSWORDS)})"
_SOME_KEY = "|".join(f"(?<={which}key)|(?<={which}[ _.-]key)" for which in WHICH_KEY)
_NO_SECRET = "".join(f"(?<!{which}token)(?<!{which}[_-]token)" for which in ("csrf", "xsrf", "public", "page"))
KEY = rf"(?:token{_NO_SECRET}|secret|credentials|creds|auth(?=[\"'])|key(?:{_SOME_KEY}))"


def small_letters(text: str) -> str:
    """Only those of ASCII: the others may become longer, and then nothing stands where it stood."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


_SHORT = ("pass", "pswd", "pw", "cred", "key", "token", "secret")
NAMES = tuple(map(small_letters, (*_SHORT, *PASSWORDS[7:], *OTHER_PASSWORDS, *OTHER_KEYS)))
"""What a text must hold one of for a table of its cells."""
PASSWORD_COLUMN = re.compile(
    rf"(?i)[\w ./-]{{0,40}}?(?:{PASSWORD}|pass|\bpw|{'|'.join(OTHER_PASSWORDS)})(?:[ _]\w{{1,10}})?"
)
KEY_COLUMN = re.compile(rf"(?i)[\w ./-]{{0,40}}?(?:{KEY}|{'|'.join(OTHER_KEYS)})(?:[ _](?:value|\d))?")
