//! Transcripts: commands behind a prompt, each with what it prints.

/// One command of a transcript.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// What is typed, on one line or several.
    pub(crate) command: String,
    /// The lines that it prints, without empty ones at the end. None means that nothing is said about them.
    pub(crate) output: Vec<String>,
}

/// Reads a block of the kind `console`. `$` is a user's prompt, `#` that of the machine's owner.
///
/// # Panics
/// When it does not begin with a prompt.
pub(crate) fn read(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_continued = false;
    for line in text.lines() {
        let typed = ["$ ", "# "]
            .iter()
            .find_map(|prompt| line.strip_prefix(prompt));
        match (typed, steps.last_mut()) {
            (_, Some(step)) if is_continued => {
                step.command.push('\n');
                step.command.push_str(line);
            }
            (Some(command), _) => steps.push(Step {
                command: command.to_owned(),
                output: Vec::new(),
            }),
            (None, Some(step)) => step.output.push(line.to_owned()),
            (None, None) => panic!("a transcript begins with a prompt, and not with {line:?}"),
        }
        is_continued = (typed.is_some() || is_continued) && line.ends_with('\\');
    }
    for step in &mut steps {
        while step.output.last().is_some_and(String::is_empty) {
            step.output.pop();
        }
    }
    steps
}

#[test]
fn a_transcript_is_commands_with_their_output() {
    let step = |command: &str, output: &[&str]| Step {
        command: command.to_owned(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(
        read("$ a \\\n    b\nx\n\ny\n\n$ c\n# d\n"),
        [
            step("a \\\n    b", &["x", "", "y"]),
            step("c", &[]),
            step("d", &[])
        ]
    );
}
