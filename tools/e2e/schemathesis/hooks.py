"""What schemathesis cannot read from an OpenAPI document, and one check of our own."""

import itertools

import requests
import schemathesis

EXAMPLE_KEYS = {"checkout-123": "checkout-123-{}", '"checkout-123"': '"checkout-123-{}"'}
KEY = "Idempotency-Key"
numbers = itertools.count(1)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """The record of a charge that is answered in the payment API's words is named by a header alone. Taking the id out of
    it needs a regular expression, which the expressions of OpenAPI's links do not have."""
    responses = raw_schema["paths"]["/charge"]["post"]["responses"]
    for status in ("201", "402"):
        for operation in ("showCharge", "headCharge", "cancelCharge"):
            responses[status].setdefault("links", {})[operation] = {
                "operationId": operation,
                "parameters": {"id": "$response.header.Operation-Location#regex:/charge/(.+)"},
            }


@schemathesis.hook
def before_call(context, case, kwargs):
    """The document's example of a key would be one and the same operation in every example. Generated keys stay, and so
    do those that a link repeats: they have their number already."""
    key = (case.headers or {}).get(KEY)
    if key in EXAMPLE_KEYS:
        case.headers[KEY] = EXAMPLE_KEYS[key].format(next(numbers))


@schemathesis.check
def what_was_called_off_stays_so(ctx, response, case):
    """In the place of use_after_free: a charge that was called off is still there, as cancelled."""
    if case.operation.label != "DELETE /charge/{id}" or response.status_code != 200:
        return
    headers = {"Authorization": response.request.headers.get("Authorization")}
    shown = requests.get(response.request.url, headers=headers, timeout=60)
    assert shown.status_code == 200, f"it is gone: {shown.status_code} {shown.text}"
    assert shown.json()["status"] == "cancelled", f"it goes on: {shown.text}"
