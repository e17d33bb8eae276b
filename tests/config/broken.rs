//! Broken files: each gives one error that says where and what.

mod operations;
mod sections;
mod settings;

use super::read;
use operations::{OF_CHARGE, OPERATIONS};
use sections::{SECTIONS, SERVICES};
use settings::OF_TASKS;

/// A file, and the line, the field and a part of the problem that it must be refused with.
type Case = (&'static str, Option<usize>, &'static str, &'static str);

/// Lines 1 to 4 of the files that only add to a sound operation.
const TASKS: &str = "[[operations]]\nname = 'tasks'\nroute = '/tasks'\nhandler = 'analyze'\n";

/// Lines 1 to 7, with an upstream.
const CHARGE: &str = "[upstreams.bank]\nurl = 'http://bank.example'\n[[operations]]\nname = 'charge'\n\
    route = '/charge/{to}'\nhandler = 'forward'\nupstream = 'bank'\n";

#[test]
fn each_broken_file_is_refused_with_the_line_and_the_field() {
    let mut count = 0;
    for (before, cases) in [
        ("", SECTIONS),
        ("", SERVICES),
        ("", OPERATIONS),
        (TASKS, OF_TASKS),
        (CHARGE, OF_CHARGE),
    ] {
        for (text, line, field, problem) in cases {
            let text = format!("{before}{text}");
            let error = read(&text).expect_err(&text);
            assert_eq!(
                (error.line, error.field.as_str()),
                (*line, *field),
                "{error}\n{text}"
            );
            assert!(
                error.problem.contains(problem),
                "{error}: not {problem:?}\n{text}"
            );
            count += 1;
        }
    }
    assert!(count > 100, "the cases were found");
}

#[test]
fn what_the_broken_files_add_to_is_sound() {
    for text in [TASKS, CHARGE] {
        read(text).expect("each is sound by itself");
    }
}

#[test]
fn other_methods_may_have_the_same_route() {
    let put = TASKS.replace("'tasks'", "'put'") + "method = 'PUT'\n";
    let config = read(&format!("{TASKS}{put}")).expect("no request matches both");
    assert_eq!(config.operations.len(), 2);
}

#[test]
fn a_file_without_bounds_is_not_read() {
    let error = read(&"#".repeat(256 * 1_024 + 1)).expect_err("too large");
    assert_eq!((error.line, error.field.as_str()), (None, ""));
    assert!(error.problem.contains("262144 bytes"), "{error}");
}

#[test]
fn an_error_reads_as_a_sentence() {
    let line = |text: &str| read(text).expect_err("broken").to_string();
    assert_eq!(line(""), "reprise.toml, operations: is missing");
    assert_eq!(
        line(&format!("{TASKS}lease = '5s'")),
        "reprise.toml, line 5, operations.tasks.lease: is not longer than attempt_timeout, so a slow outcome would \
         come too late"
    );
}
