//! The page by keyboard alone.

use crate::setting::{PATIENT, Setting, TOKEN};
use reprise_e2e::{Browser, keys};

/// How often a key is pressed before what is looked for counts as out of reach.
const PRESSES_MAX: u32 = 40;

#[test]
fn the_keyboard_alone_is_enough() {
    let mut setting = Setting::start("order.created");
    let browser = &setting.browser;
    assert_eq!(setting.charge("first").status, 202);
    setting.await_operations("state=failed", 1);
    browser.open(&format!("{}/-/console", setting.origin()));
    browser.await_true(
        "the focus in the field",
        "return document.activeElement.id === 'token'",
    );
    for letter in TOKEN.split("").filter(|letter| !letter.is_empty()) {
        browser.press(&[letter]);
    }
    browser.press(&[keys::ENTER]);
    browser.await_text("#listed", "1 operation");

    // The skip link is the first that the focus comes to, and leads to the content.
    walk(
        browser,
        &[keys::SHIFT, keys::TAB],
        "document.activeElement.id === 'skip'",
    );
    browser.press(&[keys::ENTER]);
    browser.await_true("the content", "return document.activeElement.id === 'main'");
    walk(
        browser,
        &[keys::TAB],
        "document.activeElement.matches('#list a')",
    );
    browser.press(&[keys::ENTER]);
    browser.await_text("#operation-state", "failed");
    browser.await_true(
        "the heading",
        "return document.activeElement.id === 'operation-title'",
    );
    walk(
        browser,
        &[keys::TAB],
        "document.activeElement.id === 'retry'",
    );
    setting.switch(true);
    browser.press(&[keys::ENTER]);
    browser.await_text("#operation-state", "done");
    // The button has gone, the focus has not.
    browser.await_true(
        "the heading",
        "return document.activeElement.id === 'operation-title'",
    );

    a_dialog_keeps_the_focus(&setting);

    setting.end();
    let stale = "The service cannot be reached. What is shown may be out of date";
    setting.browser.await_text("#stale", stale);
}

fn a_dialog_keeps_the_focus(setting: &Setting) {
    let browser = &setting.browser;
    let id = setting.charge(PATIENT).id();
    browser.run(
        "location.hash = `#/operations/${arguments[0]}`",
        &[id.into()],
    );
    browser.await_text("#operation-state", "waiting");
    walk(
        browser,
        &[keys::TAB],
        "document.activeElement.id === 'cancel'",
    );
    browser.press(&[keys::ENTER]);
    browser.await_true(
        "the safe answer",
        "return document.activeElement.id === 'ask-no'",
    );
    for _ in 0..5 {
        browser.press(&[keys::TAB]);
        // Between the last and the first, the focus is on the browser's own controls.
        let inside = "const at = document.activeElement; return at === document.body || at.closest('dialog') !== null";
        assert_eq!(browser.run(inside, &[]), true);
    }
    browser.press(&[keys::ESCAPE]);
    browser.await_true(
        "the button again",
        "return document.activeElement.id === 'cancel'",
    );
    assert_eq!(browser.text("#ask"), None);
    browser.await_text("#operation-state", "waiting");
}

/// Presses keys until this holds. Whatever has the focus on the way shows that it has it.
fn walk(browser: &Browser, keys: &[&str], end: &str) {
    let script = format!(
        "const at = document.activeElement;
         const isShown = at === document.body || getComputedStyle(at).outlineStyle !== 'none';
         return [isShown, {end}, at.outerHTML.slice(0, 80)]"
    );
    let mut way = Vec::new();
    for _ in 0..PRESSES_MAX {
        browser.press(keys);
        let seen = browser.run(&script, &[]);
        assert_eq!(seen[0], true, "the focus is not to be seen: {seen}");
        if seen[1] == true {
            return;
        }
        way.push(seen[2].to_string());
    }
    panic!("{end} is out of reach: {way:#?}");
}
