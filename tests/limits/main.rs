//! docs/guarantees.md says every limit, and what it says is true.
//!
//! Both tables of its section *Limits* are read as they stand. A setting is tried: its default may be left out, its largest
//! value is taken, and one more is refused. A constant is read from the source that the table names; in a file of limits
//! each has to have its line.

mod constants;

use constants::Amount;
use reprise::config::{Config, Draft};
use std::fs;
use std::path::PathBuf;

/// The file in which every constant is a limit.
const ALL_OF: &str = "src/machine/limits.rs";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of the table behind a heading, cell by cell.
fn table(heading: &str) -> Vec<Vec<String>> {
    let page = read("docs/guarantees.md");
    let (_, section) = page
        .split_once(&format!("\n{heading}\n"))
        .expect("the heading");
    let lines = section.lines().skip_while(|line| !line.starts_with('|'));
    let lines = lines.take_while(|line| line.starts_with('|')).skip(2);
    let cells = |line: &str| {
        let line = line.trim_matches('|');
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    lines.map(cells).collect()
}

/// A configuration in which one field has a value, or is left out.
fn configured(field: &str, value: Option<&str>) -> Result<Config, String> {
    let (section, name) = field.split_once('.').expect("a section and a name");
    let line = value
        .map(|value| format!("{name} = {value}\n"))
        .unwrap_or_default();
    let mut text = "[upstreams.u]\nurl = \"http://127.0.0.1\"\n".to_owned();
    if section != "operations" {
        let origins = if section == "cors" {
            "allowed_origins = [\"*\"]\n"
        } else {
            ""
        };
        text = format!("[{section}]\n{origins}{line}{text}");
    }
    let handler = if name == "quantity_max" {
        "handler = \"order\""
    } else {
        "handler = \"forward\"\nupstream = \"u\""
    };
    text += "[[operations]]\nname = \"o\"\nroute = \"/o\"\n";
    text += handler;
    text += "\n";
    if section == "operations" {
        text.push_str(&line);
    }
    let draft = Draft::parse(&text).map_err(|error| error.to_string())?;
    draft.settle(|_| None).map_err(|error| error.to_string())
}

/// A value as a configuration writes it: a whole number, or a duration, which is a string.
fn written(value: &str) -> String {
    if value.bytes().all(|byte| byte.is_ascii_digit()) {
        value.to_owned()
    } else {
        format!("{value:?}")
    }
}

/// The least value that is larger.
fn one_more(value: &str) -> String {
    match Amount::parse(value).expect("a value of the table") {
        Amount::Count(count) => (count + 1).to_string(),
        Amount::Ms(ms) => format!("\"{}ms\"", ms + 1),
    }
}

#[test]
fn each_setting_has_its_default_and_its_most() {
    let rows = table("### What you set");
    assert!(rows.len() > 10, "{rows:?}");
    for row in rows {
        let [field, default, most] = &row[..] else {
            panic!("three cells: {row:?}");
        };
        let [field, default, most] = [field, default, most].map(|cell| cell.trim_matches('`'));
        let shown = |value: Option<&str>| format!("{:?}", configured(field, value).expect(field));
        assert_eq!(
            shown(Some(&written(default))),
            shown(None),
            "{field} is {default} by default"
        );
        if most == "–" {
            continue;
        }
        configured(field, Some(&written(most)))
            .unwrap_or_else(|error| panic!("{field} = {most}: {error}"));
        let error = configured(field, Some(&one_more(most)));
        assert!(error.is_err(), "{field} takes more than {most}");
    }
}

#[test]
fn each_fixed_limit_is_that_of_the_code() {
    let rows = table("### What is fixed");
    let mut listed = Vec::new();
    for row in &rows {
        let [what, value, place] = &row[..] else {
            panic!("three cells: {row:?}");
        };
        let names: Vec<&str> = place.split('`').collect();
        let ["", path, " ", name, ""] = names[..] else {
            panic!("a file and a constant: {place}");
        };
        let source = read(path);
        let constant = constants::find(&source, name);
        let constant =
            constant.unwrap_or_else(|| panic!("{path} has no constant {name} that can be read"));
        let value = Amount::parse(value).unwrap_or_else(|| panic!("{what}: {value}"));
        assert_eq!(value, constant, "{what}");
        listed.push((path, name));
    }
    for name in constants::public_names(&read(ALL_OF)) {
        assert!(
            listed.contains(&(ALL_OF, &*name)),
            "docs/guarantees.md does not tell of {name} in {ALL_OF}"
        );
    }
}
