//! An operator's day: a charge that has failed, events that nobody took, and names that somebody wrote as markup.

use crate::setting::{PATIENT, Setting};
use reprise_e2e::Browser;
use serde_json::json;

/// A name that the configuration takes, and that would run a script if a page took it for markup.
const MARKUP: &str = "<img/src=x/onerror=broken=1>";

#[test]
fn an_operator_finds_what_failed_and_has_it_done_after_all() {
    let setting = Setting::start(MARKUP);
    let browser = &setting.browser;
    let charge = setting.charge("first");
    assert_eq!(charge.status, 202, "{charge:?}");
    setting.await_operations("state=failed", 1);
    for key in ["a", "b"] {
        assert_eq!(setting.order(key).status, 201);
    }
    setting.await_dead_letters(2);
    let text = "<img src=x onerror=broken=1>";
    assert_eq!(setting.client.task(text, Some("task")).status, 201);

    a_wrong_token_is_told(&setting);
    the_list_is_live(&setting);
    a_failed_charge_is_retried(&setting);
    dead_letters_are_replayed_and_dropped(&setting);
    a_waiting_charge_is_cancelled(&setting);
    markup_in_an_error_is_text(browser);
    what_was_not_looked_at_is_told(browser);

    browser.click("#tick");
    browser.await_text("#told", "Tick:");
    browser.click("#lock");
    browser.await_text("#entry-title", "Operators only");
    browser.await_true(
        "an empty page",
        "return document.querySelector('#list').children.length === 0",
    );

    assert_eq!(browser.run("return typeof window.broken", &[]), "undefined");
    let refused = format!(
        "{}/-/operations?limit=1 - Failed to load resource: ",
        setting.origin()
    );
    let log = browser.log();
    // The one entry is the browser's own, about the token that was wrong.
    assert!(log.len() == 1 && log[0].1.starts_with(&refused), "{log:?}");
    let requests = browser.requests();
    assert!(requests.len() > 20, "{requests:?}");
    for url in requests {
        assert!(url.starts_with(&setting.origin()), "{url}");
    }
}

fn a_wrong_token_is_told(setting: &Setting) {
    let browser = &setting.browser;
    browser.open(&format!("{}/-/console", setting.origin()));
    browser.enter("#token", "wrong");
    browser.click("#entry-form button");
    browser.await_text("#token-trouble", "not the operators’ token");
    assert_eq!(browser.text("#operations"), None);
    browser.enter("#token", crate::setting::TOKEN);
    browser.click("#entry-form button");
    browser.await_text("#listed", "4 operations");
    assert_eq!(browser.text("#token-trouble"), None);
}

fn the_list_is_live(setting: &Setting) {
    let browser = &setting.browser;
    for (state, count) in [
        ("done", "3"),
        ("failed", "1"),
        ("waiting", "0"),
        ("dead", "2"),
    ] {
        browser.await_text(&format!("[data-focus=counter-{state}] strong"), count);
    }
    assert_eq!(setting.client.task("another", None).status, 201);
    browser.await_text("[data-focus=counter-done] strong", "4");
    browser.await_text("#listed", "5 operations");
    browser.enter("#filter-key", "first");
    browser.click("#filters button[type=submit]");
    browser.await_text("#listed", "1 operation");
    browser.click("#filters button[type=reset]");
    browser.await_text("#listed", "5 operations");
}

fn a_failed_charge_is_retried(setting: &Setting) {
    let browser = &setting.browser;
    browser.click("[data-focus=counter-failed]");
    browser.await_text("#listed", "1 operation");
    browser.click("#list a");
    browser.await_text("#operation-title", "charge");
    browser.await_text("#operation-state", "failed");
    let marks = |word: &str| {
        let count = "return document.querySelectorAll(`#picture .mark[data-word='${arguments[0]}']`).length";
        browser.run(count, &[json!(word)])
    };
    for (word, count) in [
        ("retrying", 1),
        ("failed", 1),
        ("succeeded", 0),
        ("Request", 1),
        ("Deadlines", 1),
    ] {
        assert_eq!(marks(word), count, "{word}");
    }
    for part in [
        "Client’s request",
        "Attempt 1",
        "503",
        "Wait",
        "300 ms, by our own backoff",
        "Attempt 2",
        "no further attempt: attempts exhausted",
        "Expiry",
    ] {
        browser.await_text("#steps", part);
    }
    let before = setting.payments.seen().len();
    setting.switch(true);
    browser.click("#retry");
    browser.await_text("#operation-state", "done");
    browser.await_text("#told", "done after 3 attempts");
    browser.await_text("#steps", "succeeded");
    assert_eq!(marks("succeeded"), 1);
    assert_eq!(browser.text("#retry"), None);
    assert_eq!(setting.payments.seen().len(), before + 1);
}

fn dead_letters_are_replayed_and_dropped(setting: &Setting) {
    let browser = &setting.browser;
    let before = setting.receiver.seen().len();
    browser.click("#views a[href='#/dead-letters']");
    browser.await_text("#letters-listed", "2 dead letters");
    browser.await_text("#letters", MARKUP);
    browser.click("#letters button[aria-label^=Replay]");
    browser.await_text("#letters-listed", "1 dead letter");
    setting.await_dead_letters(1);
    assert_eq!(setting.receiver.seen().len(), before + 1);
    browser.click("#letters button[aria-label^=Drop]");
    browser.await_text("#ask-title", "Drop this dead letter?");
    browser.click("#ask-no");
    browser.await_text("#letters-listed", "1 dead letter");
    browser.click("#letters button[aria-label^=Drop]");
    browser.click("#ask-yes");
    browser.await_text("#letters-listed", "No dead letter");
    setting.await_dead_letters(0);
    assert_eq!(setting.receiver.seen().len(), before + 1);
    browser.click("#views a[href='#/sinks']");
    browser.await_text("#sink-list", "projection");
    browser.await_text("#sink-list", "enabled");
}

fn a_waiting_charge_is_cancelled(setting: &Setting) {
    let browser = &setting.browser;
    let location = setting.charge(PATIENT);
    let id = location.id();
    browser.run(
        "location.hash = `#/operations/${arguments[0]}`",
        &[json!(id)],
    );
    browser.await_text("#operation-state", "waiting");
    browser.await_text("#steps", "1 h, as long as the upstream asked for");
    browser.click("#cancel");
    browser.await_text("#ask-title", "Cancel this operation?");
    browser.click("#ask-yes");
    browser.await_text("#operation-state", "cancelled");
    browser.await_text("#told", "cancelled after 1 attempt");
}

/// Details of errors are ours today, but not by any promise: here they are made markup on their way to the page.
fn markup_in_an_error_is_text(browser: &Browser) {
    browser.run(
        "const real = window.fetch;
         window.fetch = async (...call) => {
             const answer = await real(...call);
             const text = (await answer.text()).replaceAll('the upstream answered', arguments[0]);
             return new Response(text, { status: answer.status });
         };
         location.hash = '#/operations';",
        &[json!("<img src=x onerror=broken=1>")],
    );
    browser.click("[data-focus=counter-cancelled]");
    browser.click("#list a");
    for place in ["#steps", "#facts"] {
        browser.await_text(place, "<img src=x onerror=broken=1> 503");
    }
    let pictures = browser.run("return document.querySelectorAll('main img').length", &[]);
    assert_eq!(pictures, 0);
}

/// A store that is too large for one look, or so the page is told: behind each page there is another.
fn what_was_not_looked_at_is_told(browser: &Browser) {
    browser.run(
        "const real = window.fetch;
         window.fetch = async (...call) => {
             const answer = await real(...call);
             const text = (await answer.text()).replace('\"next\":null', '\"next\":\"/-/operations?from=0\"');
             return new Response(text, { status: answer.status });
         };
         location.hash = '#/operations';",
        &[],
    );
    browser.click("#filters button[type=reset]");
    browser.await_text("#counted", "At least so many");
    browser.await_text("[data-focus=counter-cancelled] strong", "≥ 10");
    browser.await_text("#listed", "in this part of the store");
    browser.click("#list-on");
    browser.await_true(
        "a way back",
        "return document.querySelector('#list-back').checkVisibility()",
    );
}
