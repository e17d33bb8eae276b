//! Templates: variables get in as values, and their values never get out.

use super::{REFERENCE, read, sound_value};
use reprise::config::{Config, ConfigError, Draft};

const OPERATION: &str = "[[operations]]\nname = 'tasks'\nroute = '/tasks'\nhandler = 'analyze'\n";

/// Reads these lines, with a sound operation behind them and one variable.
fn settle(lines: &str, value: &str) -> Result<Config, Box<ConfigError>> {
    Draft::parse(&format!("{lines}\n{OPERATION}"))?.settle(|_| Some(value.to_owned()))
}

#[test]
fn a_draft_names_its_variables() {
    let draft = Draft::parse(REFERENCE).expect("the reference file is TOML");
    let names: Vec<&str> = draft.variables().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "admin_token",
            "events_url",
            "log_level",
            "payment_api_authorization",
            "payment_api_url",
            "purge_grace",
            "retention",
            "tenant_header",
            "webhook_secret",
        ]
    );
}

#[test]
fn a_variable_that_is_missing_is_named() {
    let draft = Draft::parse("[store]\n\n[operators]\ntoken = 'a{{ admin_token }}'").expect("TOML");
    let error = draft.settle(|_| None).expect_err("nothing is set");
    assert_eq!(
        (error.line, error.field.as_str()),
        (Some(4), "operators.token")
    );
    assert_eq!(error.problem, "the variable admin_token does not exist");
}

#[test]
fn a_template_that_is_none_is_refused_before_any_variable_is_read() {
    for (text, problem) in [
        ("{{ a", "without an end"),
        ("{{}}", "names no variable"),
        ("{{ Token }}", "names no variable"),
        ("{{ a }}{{ b-c }}", "names no variable"),
    ] {
        let error = Draft::parse(&format!("[[operations]]\nname = 'a'\nx = ['{text}']"));
        let error = error.expect_err(text);
        assert_eq!(
            (error.line, error.field.as_str()),
            (Some(3), "operations.a.x[0]")
        );
        assert!(error.problem.contains(problem), "{error}");
    }
}

#[test]
fn a_value_stays_one_string_whatever_it_holds() {
    for value in [
        "\"\n[tenant]\nheader = \"x-evil",
        "' \" ''' \"\"\"",
        "a\r\nb",
        "\\u0041\\",
        "{{ admin_token }}",
        "}}",
        "# no comment",
        "ä\u{0}",
    ] {
        // A secret is base64, so none of these is one; and none reaches beyond its place.
        let error = settle("[inboxes.a]\nsecrets = ['<{{ v }}>{{v}}']", value).expect_err(value);
        assert_eq!(
            (error.line, error.field.as_str()),
            (Some(2), "inboxes.a.secrets[0]")
        );
        assert!(!format!("{error}").contains(value), "{error}");
    }
}

#[test]
fn a_number_may_come_from_a_variable_but_not_from_a_string() {
    let bits = |value| settle("[store]\nbucket_bits = '{{ bits }}'", value);
    assert_eq!(bits("4").expect("a number").store.bucket_bits, 4);
    for value in ["", "21", "4.0", " 4", "four"] {
        let error = bits(value).expect_err(value);
        assert_eq!(error.field, "store.bucket_bits");
        assert_eq!(error.problem, "is not a whole number from 0 to 20");
    }
}

#[test]
fn what_a_variable_leaves_empty_is_absent() {
    let empty = |lines| settle(lines, "").expect("empty is allowed here");
    let token = empty("[operators]\ntoken = '{{ v }}'").admin_token;
    assert!(token.is_none());
    assert_eq!(empty("[tenant]\nheader = '{{ v }}'").tenant_header, None);
    assert_eq!(empty("[cors]\nallowed_origins = ['{{ v }}']").cors, None);
    let config =
        empty("[upstreams.a]\nurl = 'http://a.example'\nheaders = { a = '{{ v }}', b = '1' }");
    let upstream = config.upstreams.values().next().expect("one upstream");
    assert_eq!(upstream.headers.len(), 1);
    let secret = crate::WEBHOOK_SECRET;
    let config = empty(&format!(
        "[inboxes.a]\nsecrets = ['{{{{ v }}}}', '{secret}']"
    ));
    assert_eq!(config.inboxes.len(), 1);
    for (lines, field) in [
        ("[sinks.a]\nurl = '{{ v }}'\nsecrets = []", "sinks.a.url"),
        (
            "[sinks.a]\nurl = 'http://a.example'\nsecrets = ['{{ v }}']",
            "sinks.a.secrets",
        ),
        ("[upstreams.a]\nurl = '{{ v }}'", "upstreams.a.url"),
        ("[inboxes.a]\nsecrets = ['{{ v }}']", "inboxes.a.secrets"),
    ] {
        assert_eq!(settle(lines, "").expect_err(lines).field, field);
    }
}

#[test]
fn no_error_shows_what_a_variable_holds() {
    // The value is wrong in every place, each for its own reason.
    const SECRET: &str = "s3cr3t \n\"value";
    let mut seen = 0;
    for variable in Draft::parse(REFERENCE).expect("TOML").variables() {
        let draft = Draft::parse(REFERENCE).expect("TOML");
        let settled = draft.settle(|name| {
            if name == variable {
                Some(SECRET.to_owned())
            } else {
                sound_value(name)
            }
        });
        if let Err(error) = settled {
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("s3cr3t"), "{shown}");
            assert!(error.line.is_some(), "{shown}");
            seen += 1;
        }
    }
    assert_eq!(seen, 9, "every variable is checked");
}

#[test]
fn no_error_shows_a_value_where_no_secret_belongs() {
    for field in [
        "name",
        "route",
        "method",
        "handler",
        "key",
        "on_mismatch",
        "fingerprint",
        "lease",
        "total_deadline",
        "on_lost_attempt",
        "max_request_bytes",
        "upstream",
        "unknown",
    ] {
        let rest = OPERATION
            .lines()
            .filter(|line| !line.starts_with(&format!("{field} = ")))
            .fold(String::new(), |text, line| text + line + "\n");
        let draft = Draft::parse(&format!("{rest}{field} = '{{{{ v }}}}'")).expect("TOML");
        let settled = draft.settle(|_| Some("s3cr3t \n\"value".to_owned()));
        let error = settled.expect_err(field);
        assert!(error.field.ends_with(field), "{error}");
        assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{error}");
    }
}

#[test]
fn nothing_shows_a_secret_when_it_is_printed() {
    let draft = Draft::parse("[operators]\ntoken = 'plain-secret'").expect("TOML");
    assert!(!format!("{draft:?}").contains("secret"), "{draft:?}");
    let config = read(REFERENCE).expect("the reference file is sound");
    let shown = format!("{config:?} {config:#?}");
    for secret in [
        "operators-secret",
        "payments-secret",
        "cmVwcmlz",
        "url-secret",
    ] {
        assert!(!shown.contains(secret), "{secret} is shown");
    }
}
