//! Every view, checked by axe-core in light and dark, on a desk and on a phone, and photographed there.
//!
//! The pictures are left in the target directory, for people.

use crate::setting::{PATIENT, Setting};
use reprise_e2e::Browser;
use serde_json::json;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

const SIZES: [(&str, u32, u32); 2] = [("desk", 1_080, 720), ("phone", 360, 780)];
const SCHEMES: [&str; 2] = ["light", "dark"];
/// Other widths that nothing may be wider than. 320 is what a page on a desk has when it is enlarged four times.
const WIDTHS: [u32; 6] = [320, 414, 640, 705, 929, 1_000];

#[test]
fn every_view_is_accessible_in_both_schemes_and_fits_a_phone() {
    let setting = Setting::start("order.created");
    let browser = &setting.browser;
    setting.switch(true);
    assert_eq!(setting.charge("done").status, 201);
    assert_eq!(setting.client.task("hello", None).status, 201);
    assert_eq!(setting.order("taken").status, 201);
    setting.await_events(1);
    setting.switch(false);
    assert_eq!(setting.charge("failed").status, 202);
    assert_eq!(setting.order("refused").status, 201);
    let waiting = setting.charge(PATIENT).id();
    setting.await_operations("state=failed", 1);
    setting.await_dead_letters(1);

    let axe = env::var_os("REPRISE_AXE").map(PathBuf::from);
    let axe = axe.expect(
        "REPRISE_AXE names no axe-core: `cargo xtask axe` installs it, and prints where it is",
    );
    let axe = fs::read_to_string(&axe).unwrap_or_else(|error| panic!("{}: {error}", axe.display()));
    let pictures = pictures();

    browser.open(&format!("{}/-/console", setting.origin()));
    browser.run(&axe, &[]);
    browser.enter("#token", "wrong");
    browser.click("#entry-form button");
    browser.await_text("#token-trouble", "not the operators’ token");
    look(browser, "entry", &pictures);

    setting.enter();
    browser.run(&axe, &[]);
    browser.await_text("#listed", "6 operations");
    browser.await_text("[data-focus=counter-waiting] strong", "1");
    look(browser, "operations", &pictures);

    browser.click("[data-focus=counter-failed]");
    browser.await_text("#listed", "1 operation");
    browser.click("#list a");
    browser.await_text("#operation-state", "failed");
    look(browser, "failed", &pictures);

    browser.run(
        "location.hash = `#/operations/${arguments[0]}`",
        &[json!(waiting)],
    );
    browser.await_text("#operation-state", "waiting");
    look(browser, "waiting", &pictures);
    browser.click("#cancel");
    browser.await_text("#ask-title", "Cancel");
    look(browser, "dialog", &pictures);
    browser.click("#ask-no");

    browser.click("#views a[href='#/dead-letters']");
    browser.await_text("#letters-listed", "1 dead letter");
    look(browser, "dead-letters", &pictures);
    browser.click("#views a[href='#/sinks']");
    browser.await_text("#sink-list", "projection");
    look(browser, "sinks", &pictures);
}

/// Looks at what is on the screen in each scheme and size. It ends on a desk.
fn look(browser: &Browser, view: &str, pictures: &Path) {
    for width in WIDTHS {
        browser.resize(width, 800);
        assert_fits(browser, width, view);
    }
    for (size, width, height) in SIZES.iter().rev() {
        browser.resize(*width, *height);
        for scheme in SCHEMES {
            browser.prefer(scheme);
            let place = format!("{view}, {scheme}, on a {size}");
            assert_fits(browser, *width, &place);
            let found = browser.run_async(
                "const done = arguments[arguments.length - 1];
                 const told = ({ id, impact, nodes }) =>
                     `${impact} ${id}: ` + nodes.map((node) => `${node.target}: ${node.failureSummary}`).join('; ');
                 axe.run(document, { resultTypes: ['violations'] }).then(
                     ({ violations, passes }) => done([passes.length, ...violations.map(told)]),
                     (error) => done([0, String(error)]));",
            );
            let found = found.as_array().expect("a list");
            assert!(
                found[0].as_u64() > Some(5),
                "{place}: axe did not run: {found:?}"
            );
            assert!(found.len() == 1, "{place}: {found:#?}");
            browser.photograph(&pictures.join(format!("{view}-{scheme}-{size}.png")));
        }
    }
}

fn assert_fits(browser: &Browser, width: u32, place: &str) {
    let script = "const out = [...document.querySelectorAll('body *')].filter((one) =>
             one.getBoundingClientRect().right > innerWidth && !one.closest('#picture') && one.checkVisibility());
         return [document.documentElement.scrollWidth, ...out.map((one) => one.outerHTML.slice(0, 60))]";
    let found = browser.run(script, &[]);
    assert_eq!(found, json!([width]), "{place} is wider than the screen");
}

fn pictures() -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    );
    let folder = target.join("console");
    fs::create_dir_all(&folder).expect("the target directory can be written to");
    folder
}
