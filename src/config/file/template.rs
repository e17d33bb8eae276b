//! Templates: `{{ name }}` in a string stands for the value of a variable.
//!
//! A string may hold several and other text around them. What a variable holds is never looked at again, so a value
//! with braces in it is just that.

use super::super::ConfigError;
use super::at::{At, item_path, member_path};
use super::tree::{Node, Value};
use crate::sorted::Sorted;

/// The variables that the strings of a tree name.
pub(in super::super) fn variables(root: &Node) -> Result<Sorted<String, ()>, Box<ConfigError>> {
    let mut found = Sorted::new();
    collect(&At::root(root), &mut found)?;
    Ok(found)
}

fn collect(at: &At<'_>, found: &mut Sorted<String, ()>) -> Result<(), Box<ConfigError>> {
    match at.value() {
        Value::Text { text, .. } => {
            let parts = parts(text).map_err(|problem| at.wrong(problem))?;
            for name in parts.iter().filter_map(Part::variable) {
                found.insert(name.to_owned(), ());
            }
            Ok(())
        }
        Value::List(_) => at.items()?.iter().try_for_each(|item| collect(item, found)),
        Value::Table(_) => at
            .members()?
            .iter()
            .try_for_each(|(_, member)| collect(member, found)),
        Value::Integer(_) | Value::Decimal(_) | Value::Foreign => Ok(()),
    }
}

/// Puts the variables' values in place of the templates.
pub(in super::super) fn fill(
    root: &mut Node,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<(), Box<ConfigError>> {
    fill_at(root, "", variable)
}

fn fill_at(
    node: &mut Node,
    path: &str,
    variable: &impl Fn(&str) -> Option<String>,
) -> Result<(), Box<ConfigError>> {
    let wrong = |problem| {
        Box::new(ConfigError {
            line: node.line,
            field: path.to_owned(),
            problem,
        })
    };
    match &mut node.value {
        Value::Text { text, is_templated } => {
            let parts = parts(text).map_err(|problem| wrong(problem.to_owned()))?;
            let has_variable = parts.iter().any(|part| part.variable().is_some());
            let mut filled = String::new();
            for part in parts {
                match part {
                    Part::Literal(text) => filled.push_str(text),
                    Part::Variable(name) => match variable(name) {
                        Some(value) => filled.push_str(&value),
                        None => return Err(wrong(format!("the variable {name} does not exist"))),
                    },
                }
            }
            *text = filled;
            *is_templated = has_variable;
            Ok(())
        }
        Value::List(items) => items.iter_mut().enumerate().try_for_each(|(index, item)| {
            let path = item_path(path, index, item);
            fill_at(item, &path, variable)
        }),
        Value::Table(members) => members
            .iter_mut()
            .try_for_each(|(name, member)| fill_at(member, &member_path(path, name), variable)),
        Value::Integer(_) | Value::Decimal(_) | Value::Foreign => Ok(()),
    }
}

/// A piece of a string.
#[derive(Debug, PartialEq)]
enum Part<'a> {
    Literal(&'a str),
    Variable(&'a str),
}

impl<'a> Part<'a> {
    fn variable(&self) -> Option<&'a str> {
        match *self {
            Self::Literal(_) => None,
            Self::Variable(name) => Some(name),
        }
    }
}

/// Takes a string apart.
fn parts(text: &str) -> Result<Vec<Part<'_>>, &'static str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (name, after) = behind
            .split_once("}}")
            .ok_or("has a template without an end: after {{ comes }}")?;
        let name = name.trim_matches(' ');
        if !is_name(name) {
            return Err(
                "has a template that names no variable: a name is lower-case letters, digits and underscores",
            );
        }
        parts.extend([Part::Literal(before), Part::Variable(name)]);
        rest = after;
    }
    parts.push(Part::Literal(rest));
    Ok(parts)
}

/// Whether Spin takes this for the name of a variable.
fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.starts_with(|first: char| first.is_ascii_lowercase()) && text.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_taken_apart() {
        use Part::{Literal, Variable};
        let table: &[(&str, Option<&[Part<'_>]>)] = &[
            ("", Some(&[Literal("")])),
            ("a}} {b}", Some(&[Literal("a}} {b}")])),
            (
                "{{a_1}}",
                Some(&[Literal(""), Variable("a_1"), Literal("")]),
            ),
            (
                "x{{ a }}y{{  b}}",
                Some(&[
                    Literal("x"),
                    Variable("a"),
                    Literal("y"),
                    Variable("b"),
                    Literal(""),
                ]),
            ),
            ("{{ a", None),
            ("{{}}", None),
            ("{{ A }}", None),
            ("{{ 1a }}", None),
            ("{{ a b }}", None),
            ("{{{a}}}", None),
            ("{{ a-b }}", None),
        ];
        for (text, expected) in table {
            assert_eq!(parts(text).ok().as_deref(), *expected, "{text}");
        }
    }
}
