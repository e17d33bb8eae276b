//! The three systems of the reference configuration: first requests, repeats, other content, records and tenants.

use crate::support::{JSON, KEY, pass, reference};

/// The table of the three systems: route, two spellings of one content, another content, and the status of a mismatch.
const SYSTEMS: [(&str, [&str; 3], u16); 3] = [
    (
        "/tasks",
        [
            r#"{"text":" A "}"#,
            r#"{ "text" : "\u0020\u0041 " }"#,
            r#"{"text":"A"}"#,
        ],
        409,
    ),
    (
        "/orders",
        [
            r#"{"product_id":42,"quantity":1}"#,
            r#"{"quantity":1.0, "product_id":42}"#,
            r#"{"product_id":42,"quantity":2}"#,
        ],
        409,
    ),
    (
        "/charge",
        [
            r#"{"amount":1,"currency":"EUR"}"#,
            r#"{"currency":"\u0045UR","amount":1e0}"#,
            r#"{"amount":1,"currency":"USD"}"#,
        ],
        422,
    ),
];

#[test]
fn a_repeat_is_the_first_reply_again_and_other_content_is_a_mismatch() {
    let service = reference();
    for (route, [content, same, other], mismatch) in SYSTEMS {
        let first = service.post(route, "k", content);
        assert_eq!(
            (first.status, first.header("idempotent-replayed")),
            (201, None)
        );
        pass(3_600_000);
        for (key, content) in [("k", content), ("\"k\"", content), (" k\t", same)] {
            let mut repeat = service.post(route, key, content);
            assert_eq!(
                repeat
                    .headers
                    .remove("idempotent-replayed")
                    .as_ref()
                    .map(AsRef::as_ref),
                Some(&b"true"[..]),
                "{route} {key}"
            );
            // A task's repeat is its record, as it stands; the others are the original, byte for byte.
            let status = if route == "/tasks" { 200 } else { 201 };
            assert_eq!(repeat.status, status, "{route}");
            assert_eq!(
                (&repeat.headers, &repeat.body),
                (&first.headers, &first.body),
                "{route}"
            );
        }
        let refused = service.post(route, "k", other);
        assert_eq!(refused.status, mismatch, "{route}");
        assert_eq!(refused.problem().as_deref(), Some("idempotency-key-reused"));
        assert_eq!(
            service.post(route, "another", content).status,
            201,
            "{route}"
        );
    }
    assert_eq!(service.upstream.calls(), 2);
}

#[test]
fn a_record_is_shown_with_and_without_its_body_and_cannot_be_called_off_any_more() {
    let service = reference();
    for (route, [content, ..], _) in SYSTEMS {
        let first = service.post(route, "k", content);
        let record = first
            .header("operation-location")
            .or(first.header("location"));
        let record = record.expect("a record");
        let shown = service.get(record);
        assert_eq!((shown.status, shown.header("retry-after")), (200, None));
        assert_eq!(shown.json()["attempts"], 1);
        let head = service.send("HEAD", record, &[], b"");
        assert_eq!((head.status, head.body.len()), (200, 0));
        let mut headers = shown.headers.clone();
        headers.remove("content-length");
        assert_eq!(head.headers, headers);
        let refused = service.send("DELETE", record, &[], b"");
        assert_eq!(
            (refused.status, refused.problem().as_deref()),
            (409, Some("operation-ended"))
        );
        assert_eq!(
            service
                .get(&record.to_uppercase().replace(&route.to_uppercase(), route))
                .status,
            200
        );
    }
}

#[test]
fn one_key_of_two_tenants_on_two_operations_names_four_of_them() {
    let service = reference();
    let mut records = Vec::new();
    for (route, [content, ..], _) in SYSTEMS {
        for tenant in ["Bearer a", "Bearer b"] {
            let headers = [KEY, JSON, ("authorization", tenant)];
            let first = service.send("POST", route, &headers, content.as_bytes());
            assert_eq!(
                (first.status, first.header("idempotent-replayed")),
                (201, None)
            );
            let record = first
                .header("operation-location")
                .or(first.header("location"));
            records.push((tenant, record.expect("a record").to_owned()));
        }
    }
    for (tenant, record) in &records {
        for other in ["Bearer a", "Bearer b", ""] {
            let headers: &[(&str, &str)] = &[("authorization", other)];
            let headers = if other.is_empty() { &[] } else { headers };
            let expected = if other == *tenant { 200 } else { 404 };
            assert_eq!(service.send("GET", record, headers, b"").status, expected);
            let expected = if other == *tenant { 409 } else { 404 };
            assert_eq!(
                service.send("DELETE", record, headers, b"").status,
                expected
            );
        }
        // Nor is it at another operation's path.
        let id = record.rsplit('/').next().expect("an id");
        let elsewhere = ["/tasks", "/orders", "/charge"]
            .iter()
            .filter(|route| !record.starts_with(**route));
        for route in elsewhere {
            let headers = [("authorization", *tenant)];
            assert_eq!(
                service
                    .send("GET", &format!("{route}/{id}"), &headers, b"")
                    .status,
                404
            );
        }
    }
}
