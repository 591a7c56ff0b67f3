"""Whatever form a secret or a name has, nothing of it is left; and nothing is taken out of an ordinary log."""

from __future__ import annotations

import random
import re
import string

import pytest

from mpslint.diagnose.scrubbing import scrub
from tests.ordinary_log import ordinary_log, ordinary_output

_ALPHABETS = {
    "a": string.ascii_letters + string.digits, "h": "0123456789abcdef", "u": string.ascii_uppercase + string.digits, "d": string.digits,
    "l": string.ascii_lowercase + string.digits, "w": string.ascii_letters + string.digits + "_", "b": string.ascii_letters + string.digits + "+",
    "U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "n": string.ascii_lowercase,
}  # fmt: skip
"""What a piece of a form is drawn from: `{h32}` is 32 of `h`."""
_FORMS = """
hf_{a34} | api_org_{a34} | ghp_{a36} | gho_{a36} | ghu_{a36} | ghs_{a36} | ghr_{a36} | github_pat_{a22}_{a59} | glpat-{w20} | gldt-{w20}
glptt-{h40} | glrt-t1_{w27}.01.{l9} | gloas-{w64} | npm_{a36} | pypi-AgEIcHlwaS5vcmc{w60} | rubygems_{h48} | dckr_pat_{a27} | cmVmd{a59}
sk-proj-{a74}T3BlbkFJ{a74} | sk-ant-api03-{w93}AA | sk-{a48} | sk-or-v1-{h64} | gsk_{a52} | r8_{a37} | nvapi-{w64} | pplx-{a48} | xai-{a80}
tgp_v1_{w43} | wandb_v1_{w60} | pcsk_{a70} | jina_{h32}{w28} | lsv2_pt_{h32}_{h10} | KGAT_{h32} | AQ.Ab8{w50} | tvly-dev-{a32} | csk-{l48}
fw_{a24} | ms-{h8}-{h4}-{h4}-{h4}-{h12} | ops_eyJ{b250} | A3-{u6}-{u6}-{u5}-{u5}-{u5}-{u5} | MTk{a21}.G{a5}.{w38} | {h32}-us12 | key-{h32}
AC{h32} | SK{h32} | AKIA{U16} | ASIA{U16} | ABSK{b110} | LTAI{l20} | AIza{w35} | ya29.{w60} | GOCSPX-{w28} | {d10}:AA{w33} | xoxb-{d12}-{d12}-{a24}
xoxp-{d12}-{d12}-{d12}-{h32} | xapp-1-{u11}-{d13}-{h64} | SG.{w22}.{w43} | xkeysib-{h64}-{l16} | PMAK-{h24}-{h34} | dop_v1_{h64} | hvs.{w95}
hvb.{w140} | tskey-auth-{a16}-{a32} | HRKU-AA{w58} | fm2_{b110} | sk_live_{a24} | rk_prod_{a24} | whsec_{a32} | EAAA{w40} | sq0atp-{w22}
FLWPUBK_TEST-{h32}-X | shippo_test_{h40} | EZAK{l54} | dapi{h32} | shpat_{h32} | lin_api_{a40} | pscale_tkn_{w40} | pul-{h40} | sntrys_eyJ{b60}_{a43}
sgp_{h40} | pnu_{a36} | rdme_{l70} | fio-u-{l64} | sm_pat_{a16} | s-s4t2ud-{h64} | ntn_{d11}{a35} | glsa_{a32}_{h8} | figd_{a40} | ico-{a32}
p8e-{l32} | dt0c01.{u24}.{u64} | AGE-SECRET-KEY-1{U58} | ATATT3{w186} | pat{a14}.{h64} | {a14}.atlasv1.{w64} | {a6}_{a29}_mmk | {d16}|{w30}
pat.{w22}.{a24}.{a20} | API-{u26} | abc4Q~{a34} | v1.0-{h24}-{h146} | eyJ{a20}.eyJ{a40}.{w43} | ZXlKaGJHY2lPaU{a60} | AKCp{a69} | sha256~{w43}
""".replace("\n", " | ")
_NAMED = r"""
python x.py --token {l12} | python x.py --token={l12} | python x.py --hub-token {l12} | python x.py --api_key '{l12}' | ["--token", "{l12}"]
modal token set --token-id ak-{a22} --token-secret as-{a22} | --password={l10} | mysql -u ann -p{l10} db | mysqldump -p'{l10}' db
sshpass -p {l10} ssh x | docker login -u ann -p {l10} | redis-cli -h x -a {l10} | openssl rsa -passin pass:{l10} | unzip -P {l10} a.zip
TOKEN: {l12} | token: "{l12}" | "token": "{l12}" | {'token': '{l12}'} | TOKEN={l12} | export TOKEN={l12} | export MY_API_KEY="{l12}" | token = '{l12}'
os.environ["SERVICE_KEY"] = "{l12}" | setx API_TOKEN {l12} | set -gx API_TOKEN {l12} | $env:API_TOKEN = "{l12}" | password: {l10} | DB_PASSWORD={l10} | PGPASSWORD={l10} psql
https://x.example/v1?api_key={l16} | https://x.example/v1?a=1&token={l16}&b=2 | https://x.example/cb?code={l16} | https://ann:{l12}@x.example/r.git
Authorization: Bearer {w30} | Authorization: Basic {a24}== | authorization: token {l20} | X-Api-Key: {l20} | PRIVATE-TOKEN: {l20}
Ocp-Apim-Subscription-Key: {h32} | Cookie: sid={l20}; theme=dark | Set-Cookie: session={l20}; Path=/ | machine x.example login ann password {l12}
machine x.example\n  login ann\n  password {l12} | default login ann password {l12} | curl -u ann:{l12} https://x.example | client_secret: {l16}
wandb login {h40} | postgresql://ann:{l12}@db:5432/x | aws_secret_access_key = {a40} | AccountKey={a64}==; | kaggle.json: {"username":"ann","key":"{h32}"}
{\"token\": \"{l12}\"} | %env HF_TOKEN {l12} | ENV HF_TOKEN {l12} | wandb.login(key="{l12}") | - name: HF_TOKEN\n  value: {l12} | jwt={l12}
<add key="ApiKey" value="{l12}"/> | <password>{l12}</password> | aws configure set aws_secret_access_key {l16}
""".replace("\n", " | ")
_WHO = """
USER={n9} | LOGNAME={n9} | HOSTNAME={n9} | USERNAME={n9} | SUDO_USER={n9} | SLURM_JOB_USER={n9} | export USER="{n9}" | user={n9} db=x | /mnt/users/{n9}/x.py
/home/{n9}/x.py | /Users/{n9}/x.py | C:\\Users\\{n9}\\x.py | /data/users/{n9}/run | /nfs/homes/{n9}/a | ~{n9}/data/x | {"username": "{n9}"} | {'user': '{n9}'}
"hostname": "{n9}" | mailto:{n9}%40x.example | mailto:{n9}@x.example | {n9}@x.example | mail={n9}%40x.example | Serial Number (system): C02{u9}
"IOPlatformSerialNumber" = "C02{u9}" | "serial_number": "C02{u9}" | Hardware UUID: {u8}-{u4}-{u4}-{u4}-{u12} | "IOPlatformUUID" = "{u8}-{u4}-{u4}-{u4}-{u12}"
Provisioning UDID: 00008103-{u16} | Computer Name: {n9} Mac | uid=501({n9}) gid=20(staff) | /tmp/torchinductor_{n9}/ab/c.py | {n9}-mac.local | \\\\fs1\\Users\\{n9}\\x.py
wandb: Currently logged in as: {n9} (team) | GIT_AUTHOR_NAME={n9} | username: {n9}
""".replace("\n", " | ")


def _cases(texts: str) -> list[str]:
    return [text.strip().replace("\\n", "\n") for text in re.split(r" \| ", texts) if text.strip()]


def _left(template: str, around: str, seed: int) -> list[str]:
    """Return what is left of the drawn pieces of a text: any eight characters of one, or all of a shorter one."""
    chance = random.Random(seed)
    pieces: list[str] = []

    def drawn(match: re.Match[str]) -> str:
        pieces.append("".join(chance.choices(_ALPHABETS[match[1]], k=int(match[2]))))
        return pieces[-1]

    scrubbed = scrub(around.replace("{}", re.sub(r"\{([a-zA-Z])(\d+)\}", drawn, template)))
    parts = [piece[start : start + 8] for piece in pieces if len(piece) > 4 for start in range(max(1, len(piece) - 7))]
    return [part for part in parts if part in scrubbed]


@pytest.mark.parametrize("template", [*_cases(_FORMS), *_cases(_NAMED), *_cases(_WHO)])
def test_nothing_is_left_of_what_is_drawn(template: str) -> None:
    """A secret by its form or its name, in every spelling, and whoever somebody is; alone, in a line, in a table and after a time."""
    for around in ("{}", "found {} here", "| {} |", "10:15:00 INFO\n{}\n"):
        if "\n" in template and around == "| {} |":
            continue
        if (
            template.split(":")[0] in ("Serial Number (system)", "Hardware UUID", "Provisioning UDID", "Computer Name", "username")
            and around[0] in "f|"
        ):
            continue  # such a line stands alone
        for seed in range(5):
            assert _left(template, around, seed) == []


def test_there_are_as_many_cases_as_there_should_be() -> None:
    """120 secrets, without the names of people."""
    assert len(_cases(_FORMS)) + len(_cases(_NAMED)) >= 120


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_taken_out_of_an_ordinary_log(seed: int) -> None:
    """Progress, metrics, pip, tracebacks, hashes of commits and files, identifiers of runs and tensors stay as they are."""
    for line in [*ordinary_output(seed), *(line for line in ordinary_log(200, seed) if "/Users/me/" not in line)]:
        assert scrub(line) == line
