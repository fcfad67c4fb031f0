"""The page about fees shows a command and its answer."""

import json
import re
import subprocess
from pathlib import Path

PAGE = Path(__file__).parents[3] / "mirror/docs/fees.md"


def test_the_command_gets_the_answer_that_the_page_shows(api, build):
    page = PAGE.read_text()
    command = re.search(
        r"^    (printf .*) \|\n {6}curl -s '(.*)' -H '(.*): (.*)' --data-binary @-\n", page, re.M
    )
    answer = re.search(r'^    (\{"high_volume_multiplier.*?\})\n\n', page, re.M | re.S)
    assert command and answer
    printed, address, header, content_type = command.groups()
    assert header == "Content-Type"
    transaction = subprocess.run(["bash", "-c", printed], capture_output=True, check=True).stdout
    path = address.removeprefix("http://127.0.0.1:8000")
    shown = api.request("POST", path, transaction, content_type=content_type)
    assert (shown.status, shown.json()) == (200, json.loads(answer[1]))
