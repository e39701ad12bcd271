"""A publisher that sends requests as they stand, to the account that its environment names.

To OneLake over https, with a token of the managed identity; a proxy of the environment is heeded.
Run as `python client.py HOW`: `right`, `careless` or `without-state`. Only the standard library:
starting it costs little.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

NUMBERS = 9


class Refused(Exception):
    """An answer that is no success."""


class Account:
    """Requests to one landing zone; signatures are not checked by the tests' endpoint."""

    def __init__(self, zone: str) -> None:
        parts = urlsplit(zone)
        self.host, self.zone = parts.netloc, parts.path
        self.account = self.zone.split("/")[1]
        self.is_onelake = parts.scheme == "https"
        self.authorization = _bearer() if self.is_onelake else f"SharedKey {self.account}:none"

    def connection(self) -> http.client.HTTPConnection:
        if not self.is_onelake:
            return http.client.HTTPConnection(self.host, timeout=20)
        if "HTTPS_PROXY" not in os.environ:
            return http.client.HTTPSConnection(self.host, timeout=20)
        proxy = urlsplit(os.environ["HTTPS_PROXY"]).netloc
        connection = http.client.HTTPSConnection(proxy, timeout=20)
        connection.set_tunnel(self.host, 443)
        return connection

    def ask(
        self, method: str, path: str, body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = self.connection()
        sent = {"authorization": self.authorization, "user-agent": "storage-dfs"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, f"{self.zone}/{path}", body, sent)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def must(self, method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
        for _ in range(5):
            try:
                status, found, content = self.ask(method, path, body, **headers)
            except (OSError, http.client.HTTPException):
                continue
            if status == 503:
                time.sleep(float(found["retry-after"]))
                continue
            if status >= 400:
                raise Refused(str(status))
            return content
        raise Refused("no answer")

    def write(self, path: str, body: bytes) -> None:
        self.must("PUT", f"{path}?resource=file")
        self.must("PATCH", f"{path}?action=append&position=0", body)
        self.must("PATCH", f"{path}?action=flush&close=true&position={len(body)}")

    def rename(self, source: str, path: str, **headers: str) -> None:
        self.must("PUT", path, x_ms_rename_source=quote(f"{self.zone}/{source}"), **headers)

    def numbers(self, table: str) -> list[int]:
        at = 2 if self.is_onelake else 3
        *first, below = self.zone.split("/", at)
        whole, self.zone = self.zone, "/".join(first)
        try:
            query = f"?resource=filesystem&recursive=false&directory={below}/{table}"
            listed = json.loads(self.must("GET", query))
        finally:
            self.zone = whole
        names = [path["name"].rpartition("/")[2] for path in listed["paths"]]
        return sorted(int(name[:20]) for name in names if name[:20].isdigit())


def _bearer() -> str:
    url = urlsplit(os.environ["IDENTITY_ENDPOINT"])
    connection = http.client.HTTPConnection(url.netloc, timeout=20)
    sent = {"X-IDENTITY-HEADER": os.environ["IDENTITY_HEADER"]}
    connection.request("GET", f"{url.path}?resource=https://storage.azure.com", headers=sent)
    return f"Bearer {json.load(connection.getresponse())['access_token']}"


def name(number: int) -> str:
    return f"{number:020d}.parquet"


def right(account: Account, files: list[bytes]) -> None:
    """One file of each content, whatever happens; what is there already is not sent again."""
    try:
        there = account.numbers("Orders")
    except Refused:
        account.must("PUT", "Orders?resource=directory")
        account.write("Orders/_metadata.json", b'{"keyColumns": ["id"]}')
        there = []
    for number in range(len(there) + 1, len(files) + 1):
        account.write("Orders/_staged.parquet", files[number - 1])
        while number not in account.numbers("Orders"):
            try:
                account.rename(
                    "Orders/_staged.parquet", f"Orders/{name(number)}", if_none_match="*"
                )
            except Refused:
                continue  # taken, or there already: the list says which


def careless(account: Account, files: list[bytes]) -> None:
    """Writes under final names, and takes any error for the end of it."""
    account.must("PUT", "Orders?resource=directory")
    for number, content in enumerate(files[:3], start=1):
        account.ask("PUT", f"Orders/{name(number)}?resource=file")
        account.ask("PATCH", f"Orders/{name(number)}?action=append&position=0", content)
        account.ask("PATCH", f"Orders/{name(number)}?action=flush&position={len(content)}")
    account.write("Orders/_metadata.json", b'{"keyColumn": ["id"]}')


def without_state(account: Account, files: list[bytes]) -> None:
    """Sends everything at each start, after what is there, and takes any refusal for success."""
    try:
        first = max(account.numbers("Orders"), default=0) + 1
    except Refused:
        first = 1
        account.must("PUT", "Orders?resource=directory")
        account.write("Orders/_metadata.json", b'{"keyColumns": ["id"]}')
    for number, content in enumerate(files, start=first):
        account.write(f"Orders/_{number}.parquet", content)
        try:
            account.rename(f"Orders/_{number}.parquet", f"Orders/{name(number)}", if_none_match="*")
        except Refused:
            continue


def main() -> None:
    how, files = sys.argv[1], Path(sys.argv[2])
    contents = [base64.b64decode(line) for line in files.read_text().splitlines()]
    account = Account(os.environ["OPENMIRROR_LANDING_ZONE"])
    {"right": right, "careless": careless, "without-state": without_state}[how](account, contents)


if __name__ == "__main__":
    main()
