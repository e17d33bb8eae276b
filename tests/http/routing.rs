//! Which request goes where.

use crate::support::{Service, Upstream, answered};

/// Payments, and a change of one payment that somebody else knows: one path, two meanings.
const SHARED_PATH: &str = r#"
[upstreams.payments]
url = "http://payments.example"

[[operations]]
name = "payments"
route = "/payments"
handler = "forward"
upstream = "payments"

[[operations]]
name = "change"
route = "/payments/{payment}"
method = "PATCH"
handler = "forward"
upstream = "payments"
"#;

#[test]
fn a_record_is_found_where_another_operation_takes_requests_too() {
    let upstream = Upstream::answering(Ok(answered(200, &[], b"ok")));
    let service = Service::new(SHARED_PATH, upstream);
    let paid = service.post("/payments", "k", "{}");
    assert_eq!(paid.status, 200);
    let record = paid.header("operation-location").expect("a record");
    let shown = service.get(record);
    assert_eq!(
        (shown.status, &shown.json()["status"]),
        (200, &"done".into())
    );
    assert_eq!(service.send("HEAD", record, &[], b"").status, 200);
    assert_eq!(service.send("DELETE", record, &[], b"").status, 409);
    let headers = [
        ("idempotency-key", "k"),
        ("content-type", "application/json"),
    ];
    assert_eq!(service.send("PATCH", record, &headers, b"{}").status, 200);
    let put = service.send("PUT", record, &headers, b"{}");
    assert_eq!(put.status, 405);
    assert_eq!(
        put.header("allow"),
        Some("PATCH, GET, HEAD, DELETE, OPTIONS")
    );
}

#[test]
fn what_is_no_record_s_path_has_the_operation_s_methods_alone() {
    let upstream = Upstream::answering(Ok(answered(200, &[], b"ok")));
    let service = Service::new(SHARED_PATH, upstream);
    let answer = service.get("/payments/7");
    assert_eq!(answer.status, 405);
    assert_eq!(answer.header("allow"), Some("PATCH, OPTIONS"));
    assert_eq!(
        service
            .get("/payments/01a228f7-24e1-74a5-be33-c70543c6305d")
            .status,
        404
    );
    assert_eq!(service.get("/payments/7/x").status, 404);
}
