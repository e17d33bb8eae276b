//! The text format of Prometheus, as far as our service writes it: names, labels, and numbers with at most three
//! decimals, which are kept as whole thousandths. What is not understood is an error and not a wrong number.

use std::fmt;

/// A page of metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Metrics(Vec<Sample>);

/// One line: a number with its name and labels.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    thousandths: u64,
}

/// A line that is no sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotUnderstood(String);

impl fmt::Display for NotUnderstood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no line of metrics: {:?}", self.0)
    }
}

impl std::error::Error for NotUnderstood {}

impl Metrics {
    /// Reads a page.
    pub(crate) fn parse(page: &str) -> Result<Self, NotUnderstood> {
        let lines = page.lines().map(str::trim);
        let samples = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let samples = samples.map(|line| sample(line).ok_or_else(|| NotUnderstood(line.into())));
        samples.collect::<Result<_, _>>().map(Self)
    }

    /// The sum of all numbers of this name with these labels among theirs, in thousandths. Nothing where there is none.
    pub(crate) fn thousandths(&self, name: &str, labels: &[(&str, &str)]) -> Option<u64> {
        let has_all = |sample: &&Sample| {
            let mut labels = labels.iter();
            sample.name == name && labels.all(|(label, value)| sample.has(label, value))
        };
        let samples = self.0.iter().filter(has_all);
        let numbers = samples.map(|sample| sample.thousandths);
        numbers.reduce(u64::saturating_add)
    }

    /// The same for what is counted, in ones.
    pub(crate) fn count(&self, name: &str, labels: &[(&str, &str)]) -> Option<u64> {
        self.thousandths(name, labels).map(|sum| sum / 1_000)
    }

    /// All values of a label among the numbers of this name, each once and in their order.
    pub(crate) fn values(&self, name: &str, label: &str) -> Vec<&str> {
        let mut values = Vec::new();
        for sample in self.0.iter().filter(|sample| sample.name == name) {
            let value = sample.labels.iter().find(|(name, _)| name == label);
            if let Some((_, value)) = value
                && !values.contains(&value.as_str())
            {
                values.push(value.as_str());
            }
        }
        values
    }
}

impl Sample {
    fn has(&self, label: &str, value: &str) -> bool {
        let mut labels = self.labels.iter();
        labels.any(|(name, own)| name == label && own == value)
    }
}

/// Reads `name{label="text",…} number`, behind which a time may stand.
fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let mut words = rest.split_whitespace();
    let thousandths = thousandths(words.next()?)?;
    if name.is_empty() || words.count() > 1 {
        return None;
    }
    Some(Sample {
        name: name.to_owned(),
        labels,
        thousandths,
    })
}

type Labels = Vec<(String, String)>;

/// Reads labels up to their closing brace, and gives what follows.
fn labels(mut text: &str) -> Option<(Labels, &str)> {
    let mut labels = Vec::new();
    loop {
        if let Some(rest) = text.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, rest) = text.split_once("=\"")?;
        let (value, rest) = quoted(rest)?;
        labels.push((name.to_owned(), value));
        text = rest.strip_prefix(',').unwrap_or(rest);
    }
}

/// Reads a text up to its closing quote, and gives what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    loop {
        match characters.next()? {
            (at, '"') => return Some((value, &text[at + 1..])),
            (_, '\\') => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            (_, other) => value.push(other),
        }
    }
}

fn thousandths(number: &str) -> Option<u64> {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 3 {
        return None;
    }
    let decimals: u64 = format!("{decimals:0<3}").parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000)?
        .checked_add(decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"# HELP reprise_attempts_total Attempts.
# TYPE reprise_attempts_total counter
reprise_attempts_total{operation="charge",outcome="success"} 12
reprise_attempts_total{operation="charge",outcome="retryable"} 3
reprise_attempts_total{operation="orders",outcome="success"} 5

reprise_due_lag_seconds 12.34
reprise_time_seconds 1800000000.001 1800000000001
reprise_odd{text="a\"b\\c\nd{},=",} 0.5
"#;

    #[test]
    fn numbers_add_up_over_the_labels_that_are_not_named() {
        let metrics = Metrics::parse(PAGE).unwrap();
        let attempts = |labels: &[(&str, &str)]| metrics.count("reprise_attempts_total", labels);
        assert_eq!(attempts(&[]), Some(20));
        assert_eq!(attempts(&[("operation", "charge")]), Some(15));
        assert_eq!(attempts(&[("outcome", "success")]), Some(17));
        assert_eq!(
            attempts(&[("outcome", "success"), ("operation", "orders")]),
            Some(5)
        );
        assert_eq!(attempts(&[("operation", "tasks")]), None);
        assert_eq!(metrics.count("reprise_attempts", &[]), None);
        let operations = metrics.values("reprise_attempts_total", "operation");
        assert_eq!(operations, ["charge", "orders"]);
    }

    #[test]
    fn decimals_and_escapes_are_read_to_the_last_one() {
        let metrics = Metrics::parse(PAGE).unwrap();
        for (name, thousandths) in [
            ("reprise_due_lag_seconds", 12_340),
            ("reprise_time_seconds", 1_800_000_000_001),
            ("reprise_odd", 500),
        ] {
            assert_eq!(metrics.thousandths(name, &[]), Some(thousandths), "{name}");
        }
        assert_eq!(metrics.count("reprise_due_lag_seconds", &[]), Some(12));
        assert_eq!(metrics.values("reprise_odd", "text"), ["a\"b\\c\nd{},="]);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for line in [
            "name",
            "name ",
            " 1",
            "name one",
            "name -1",
            "name 1.",
            "name .5",
            "name 1.0001",
            "name 1e3",
            "name NaN",
            "name 99999999999999999999",
            "name 1 2 3",
            "name{a=\"b\" 1",
            "name{a=\"b} 1",
            "name{a=b} 1",
            "<html>",
        ] {
            let error = Metrics::parse(&format!("good 1\n{line}\n"));
            assert_eq!(error, Err(NotUnderstood(line.trim().to_owned())), "{line}");
        }
    }
}
