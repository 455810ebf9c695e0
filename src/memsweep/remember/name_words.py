"""Words that the rule for names knows: what is capitalised and no name, and what is a name and not capitalised."""

from __future__ import annotations

import re

NEVER = frozenset(
    (
        "i i'm i've i'd i'll ok okay am pm monday tuesday wednesday thursday friday saturday sunday mondays "
        "tuesdays wednesdays thursdays fridays saturdays sundays january february march april may june july august "
        "september october november december jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri "
        "sat sun the a an and but or so if then when what why how who where yes no hey hi hello thanks thank wow "
        "oh well yeah this that these those it he she they we you my your his her its our their mum mom dad "
        "english french german spanish italian portuguese dutch danish swedish norwegian finnish polish czech "
        "greek turkish russian ukrainian chinese japanese korean arabic hebrew hindi latin american british "
        "european african asian australian canadian mexican brazilian indian irish scottish welsh swiss austrian "
        "belgian christian muslim jewish buddhist easter christmas"
    ).split()
)
TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir madam president chancellor king queen uncle aunt auntie captain judge".split()
)
# At the start of a sentence these are no part of a name that follows.
OPENERS = frozenset(
    (
        "about above according across after afterwards again against all almost along already also although always "
        "among another any anybody anyone anything anyway are aren't around as ask at back be because been before "
        "behind being below beside besides best better between beyond both bring buy by call called can can't "
        "check come could dear did didn't do does doesn't don't done down during each either else even every "
        "everybody everyone everything except few find finally first for former from get give go good great had "
        "half has have haven't having here honestly in indeed inside instead into is isn't just keep last later "
        "least less let let's like long look looking make many maybe meanwhile meet met might mine more most much "
        "must near need neither never new next nobody none nor not nothing now nowhere of off often old on once "
        "one only open or other others ours out outside over own past per perhaps please put quite rather read "
        "really remember remind renamed same say see send set several shall should show since some somebody "
        "someone something sometimes somewhere sorry soon start still stop such sure take tell than their them "
        "there therefore thereby they though through throughout thus till to today together told tomorrow tonight "
        "too toward towards try twice two under unless unlike until up upon us use using usually very via visit "
        "wait want was wasn't watch way were weren't what whatever whenever whether which while whoever whole whom "
        "whose will with within without work would write wrote yesterday yet todo fixme note notes warning error "
        "important info debug decision update question answer reminder summary user assistant system human tool"
    ).split()
)
# First names that are words as well.
FIRST_NAMES = frozenset("will mark bill grace rose hope faith frank rich rob drew sue pat jack may april june".split())
CONTRACTED = frozenset(
    (
        "it's that's what's who's where's when's how's why's here's there's let's he's she's this's one's "
        "everyone's everything's nothing's today's tomorrow's yesterday's tonight's"
    ).split()
)
ABBREVIATIONS = frozenset(
    (
        "pdf url uri api asap fyi tbd tba eta faq html css json xml yaml csv sql http https ftp ssh tls ssl dns ip "
        "tcp udp cpu gpu ram ssd hdd usb wifi vpn ui ux id ids db os pc tv cd dvd ceo cto cfo hr pr qa mr pm am ok "
        "todo fixme nb ps ie eg etc aka diy gps sms pin atm vat rgb utc gmt cet est pst sdk cli gui ide ci cd mvp "
        "kpi okr poc rfc ascii utf mot pto lol omg btw imo imho brb ama gif png jpg jpeg svg zip ok. re cc bcc "
        "iban bic"
    ).split()
)
DOES_SOMETHING = re.compile(
    r" (?:is|was|has|had|will|would|can|could|did|does|isn't|wasn't|hasn't|won't|can't|didn't|doesn't|never|"
    r"said|says|asked|asks|told|tells|thinks|thought|wants|wanted|likes|liked|loves|hates|knows|knew|went|came|left|"
    r"made|makes|took|takes|gave|gives|got|gets|works|lives|moved|started|stopped|sent|quit|wrote|called)\b"
)
# With a number behind a hyphen these are no tickets and no hosts.
NUMBERED_WORDS = frozenset(
    "UTF ISO SHA RFC MD COVID top catch mid pre sub non step level grade type part chapter day week year".split()
)
FILE_ENDINGS = frozenset(
    (
        "py pyi ipynb js mjs cjs jsx ts tsx json jsonl yaml yml toml ini cfg conf lock md rst txt csv tsv xml html htm "
        "css scss sql sh bash zsh ps1 rb php go rs c h cc cpp hpp cs java kt swift scala lua pl ex exs env log db "
        "sqlite proto tf pdf png jpg jpeg svg zip gz whl vue svelte gradle service patch diff"
    ).split()
)
LOWER_CASE_PRODUCTS = re.compile(
    r"(?<![\w./@-])(?:systemd|numpy|pandas|scipy|pytest|npm|pnpm|yarn|pip|nginx|redis|sqlite|postgres|mysql|kubectl|"
    r"docker|git|tmux|vim|emacs|curl|ffmpeg|pytorch|tensorflow|scikit-learn|matplotlib|webpack|eslint|mypy|ruff|grpc|"
    r"kafka|rabbitmq|celery|fastapi|openssl|bash|zsh|homebrew)(?![\w/@-]|\.\w)"
)
