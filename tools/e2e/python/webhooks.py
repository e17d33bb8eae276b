"""Holds our webhooks against the reference libraries of Standard Webhooks and CloudEvents.

    webhook_samples | webhooks.py check     reads our messages, one JSON document a line, with both libraries
    webhooks.py produce                     writes messages that the libraries made, in the same form

A line has the message (secret, headers, body) and the event that it stands for (mode, event).
"""

import base64
import json
import sys
from datetime import datetime, timezone

from cloudevents.core.bindings import http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def check(line: str) -> None:
    """Fails unless the libraries read from the message the event that the sample names."""
    sample = json.loads(line)
    body = base64.b64decode(sample["body_base64"])
    headers = sample["headers"]
    webhook = Webhook(sample["secret"])
    webhook.verify(body, headers, json_parse=False)
    try:
        webhook.verify(body + b" ", headers, json_parse=False)
    except WebhookVerificationError:
        pass
    else:
        raise AssertionError("the library accepts another body: the check checks nothing")

    event = http.from_http(http.HTTPMessage(headers, body), JSONFormat())
    read = {
        name: value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if isinstance(value, datetime)
        else value
        for name, value in event.get_attributes().items()
        # The library makes up a time for an event that has none.
        if name != "time" or name in sample["event"]
    }
    assert read == sample["event"], f"{read} != {sample['event']}"
    assert read["id"] == headers["webhook-id"], "the id is signed"
    expected = base64.b64decode(sample["data_base64"])
    data = event.get_data()
    if isinstance(data, (bytes, bytearray)):
        assert data == expected, f"{data!r} != {expected!r}"
    elif read.get("datacontenttype", "application/json").endswith("json"):
        assert data == json.loads(expected), f"{data!r} != {expected!r}"
    else:
        assert data == expected.decode(), f"{data!r} != {expected!r}"


def produce() -> None:
    """Writes signed messages in both modes."""
    now = datetime.now(tz=timezone.utc)
    time = now.replace(microsecond=123456)
    events = [
        ({"id": "py-1", "source": "/orders", "type": "order.created"}, {"product_id": 42, "quantity": 3}),
        (
            {
                "id": "py-2",
                "source": "/orders",
                "type": "order.created",
                "time": time,
                "subject": "Größe 100%",
                "datacontenttype": "application/json",
                "comexampleother": "1",
            },
            {"product_id": 7, "quantity": 1, "note": "заказ"},
        ),
        (
            {"id": "py-3", "source": "/orders", "type": "note", "datacontenttype": "text/plain"},
            "a \"quoted\" text",
        ),
        (
            {"id": "py-4", "source": "/orders", "type": "blob", "datacontenttype": "application/octet-stream"},
            b"\x00\xff",
        ),
    ]
    for attributes, data in events:
        event = CloudEvent(attributes={**attributes, "specversion": "1.0"}, data=data)
        for mode, build in (("structured", http.to_structured), ("binary", http.to_binary)):
            message = build(event, JSONFormat())
            body = message.body.encode() if isinstance(message.body, str) else message.body
            # The library signs text alone.
            try:
                text = body.decode()
            except UnicodeDecodeError:
                continue
            headers = {
                **message.headers,
                "webhook-id": attributes["id"],
                "webhook-timestamp": str(int(now.timestamp())),
                "webhook-signature": Webhook(SECRET).sign(attributes["id"], now, text),
            }
            sample = {
                "secret": SECRET,
                "mode": mode,
                "headers": headers,
                "body_base64": base64.b64encode(body).decode(),
                "id": attributes["id"],
                "type": attributes["type"],
                "subject": attributes.get("subject"),
                # Each event has a time: the library makes one up where none is given.
                "time_ms": int(event.get_time().timestamp() * 1_000_000) // 1_000,
                "data": data if isinstance(data, dict) else None,
                "data_base64": None
                if isinstance(data, dict)
                else base64.b64encode(data.encode() if isinstance(data, str) else data).decode(),
            }
            print(json.dumps(sample))


def main() -> None:
    if sys.argv[1:] == ["produce"]:
        produce()
    elif sys.argv[1:] == ["check"]:
        count = 0
        for count, line in enumerate(sys.stdin, start=1):
            check(line)
        print(f"{count} messages agree")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
