//! Where the demo and the watch write: lines, one line that is written over while something goes on, and a picture that
//! is drawn again in its place. Without a terminal these are lines alone, and there are no colours.

use std::env;
use std::io::{self, IsTerminal as _, Write};

/// Takes the cursor to the line's start and clears the line.
const CLEAR_LINE: &str = "\r\x1b[K";

/// Clears from the cursor to the screen's end.
const CLEAR_BELOW: &str = "\r\x1b[J";

/// Long lines are cut off and not wrapped while a picture is drawn, since it is drawn again by counting its lines.
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";

/// What a text looks like, where there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Bold,
    Dim,
    Good,
    Bad,
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Good => "32",
            Self::Bad => "1;31",
        }
    }
}

/// A place to write to.
pub(crate) struct Screen {
    out: Box<dyn Write>,
    is_terminal: bool,
    has_colours: bool,
    /// Whether the cursor stands behind a line that is to be written over.
    is_passing: bool,
    /// How many lines the last picture has.
    picture_lines: usize,
}

impl Screen {
    /// The standard output. Colours are for terminals whose user has not asked for none (<https://no-color.org>).
    pub(crate) fn stdout() -> Self {
        let is_dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_terminal = io::stdout().is_terminal() && !is_dumb;
        let wants_none = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self::new(Box::new(io::stdout()), is_terminal, !wants_none)
    }

    fn new(out: Box<dyn Write>, is_terminal: bool, wants_colours: bool) -> Self {
        Self {
            out,
            is_terminal,
            has_colours: is_terminal && wants_colours,
            is_passing: false,
            picture_lines: 0,
        }
    }

    /// Whether what is written can be written over.
    pub(crate) const fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// The text in this ink, where there are colours.
    pub(crate) fn painted(&self, ink: Ink, text: &str) -> String {
        if self.has_colours {
            format!("\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            text.to_owned()
        }
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.clear_passing()?;
        writeln!(self.out, "{text}")?;
        self.out.flush()
    }

    /// Shows a short text that the next one takes the place of. Without a terminal it is not shown.
    pub(crate) fn passing(&mut self, text: &str) -> io::Result<()> {
        if !self.is_terminal {
            return Ok(());
        }
        let text = self.painted(Ink::Dim, text);
        write!(self.out, "{CLEAR_LINE}{text}")?;
        self.is_passing = true;
        self.out.flush()
    }

    /// Draws a picture in the place of the one before.
    pub(crate) fn picture(&mut self, lines: &[String]) -> io::Result<()> {
        self.clear_passing()?;
        if !self.is_terminal {
            return lines.iter().try_for_each(|line| self.line(line));
        }
        if self.picture_lines > 0 {
            write!(self.out, "\x1b[{}A", self.picture_lines)?;
        }
        write!(self.out, "{CLEAR_BELOW}{WRAP_OFF}")?;
        for line in lines {
            writeln!(self.out, "{line}")?;
        }
        write!(self.out, "{WRAP_ON}")?;
        self.picture_lines = lines.len();
        self.out.flush()
    }

    fn clear_passing(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_passing) {
            write!(self.out, "{CLEAR_LINE}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// What was written, to be looked at while the screen lives.
    #[derive(Debug, Clone, Default)]
    pub(crate) struct Written(Rc<RefCell<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }

        /// A screen that writes here.
        pub(crate) fn screen(&self, is_terminal: bool, wants_colours: bool) -> Screen {
            Screen::new(Box::new(self.clone()), is_terminal, wants_colours)
        }
    }

    fn shown(is_terminal: bool, wants_colours: bool) -> String {
        let written = Written::default();
        let mut screen = written.screen(is_terminal, wants_colours);
        let good = screen.painted(Ink::Good, "good");
        screen.line(&good).unwrap();
        screen.passing("1 s").unwrap();
        screen.passing("2 s").unwrap();
        screen.line("after 2 s").unwrap();
        let picture = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
        screen.picture(&picture(&["a 1", "b 1"])).unwrap();
        screen.picture(&picture(&["a 2"])).unwrap();
        written.text()
    }

    #[test]
    fn a_terminal_is_written_over() {
        assert_eq!(
            shown(true, true),
            "\x1b[32mgood\x1b[0m\n\
             \r\x1b[K\x1b[2m1 s\x1b[0m\r\x1b[K\x1b[2m2 s\x1b[0m\r\x1b[Kafter 2 s\n\
             \r\x1b[J\x1b[?7la 1\nb 1\n\x1b[?7h\x1b[2A\r\x1b[J\x1b[?7la 2\n\x1b[?7h"
        );
        let colourless = shown(true, false);
        assert!(!colourless.contains("\x1b[32m"), "{colourless:?}");
        assert!(colourless.contains("\r\x1b[K2 s"), "{colourless:?}");
    }

    #[test]
    fn without_a_terminal_there_are_lines_alone() {
        for wants_colours in [true, false] {
            let text = shown(false, wants_colours);
            assert_eq!(text, "good\nafter 2 s\na 1\nb 1\na 2\n");
        }
    }
}
