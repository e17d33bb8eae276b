//! `cargo xtask demo`: the story of what Reprise is for, played over real HTTP against the built component on our own
//! host, and checked. It ends within a minute, or in an error; nothing of it is left unless it was asked to stay.
//!
//! The payment API is the sandbox of `spin.toml`. Between it and Reprise stands a gate of the demo's own, where answers
//! get lost and outages happen, so that who counts the charges is not who makes the trouble.

mod acts;
mod application;
mod gate;
mod host;
mod options;
mod post;
mod promise;
mod stage;

use std::env;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::build;
use crate::screen::{Ink, Screen};
use crate::token::{self, Token};
use crate::toolchain::WasmToolchain;
use crate::workspace::Workspace;

use acts::{ACTS, Act};
pub(crate) use options::Options;
use stage::{Stage, tenths};

/// Our host, already built along with the components: the tests that play this name it, so that nothing is built under them.
const BUILT_HOST: &str = "REPRISE_HOST";

/// Builds what is needed, and plays.
pub(crate) fn demo(workspace: &Workspace, options: Options) -> Result<()> {
    if let Some(program) = env::var_os(BUILT_HOST) {
        return play(workspace, program.into(), options);
    }
    build::components(workspace, &WasmToolchain::prepare(workspace)?)?;
    let program = build::host(workspace)?;
    play(workspace, program, options)
}

/// Plays the story with what is built.
fn play(workspace: &Workspace, program: PathBuf, options: Options) -> Result<()> {
    let token = Token::choose(&[], env::var_os(token::ENVIRONMENT).as_deref())?;
    let mut screen = Screen::stdout();
    screen.line("")?;
    screen.passing("starting the host")?;
    let start = Instant::now();
    let mut stage = Stage::set(workspace, program, screen, token)?;
    begin(&mut stage)?;
    let mut outcome = Ok(());
    for (number, act) in (1..).zip(&ACTS) {
        announce(&mut stage, number, act, options)?;
        outcome = (act.play)(&mut stage, workspace)
            .with_context(|| format!("act {number} ({}) could not be played", act.title));
        if outcome.is_err() {
            break;
        }
    }
    let screen = &mut stage.screen;
    screen.line("")?;
    for line in stage.promises.table(screen) {
        screen.line(&line)?;
    }
    let took = tenths(start.elapsed());
    screen.line(&format!("\nPlayed in {took}."))?;
    let verdict = match (stage.promises.settle(), outcome) {
        (Err(broken), Err(error)) => Err(error.context(broken)),
        (settled, outcome) => settled.and(outcome),
    };
    end(&mut stage, options)?;
    verdict
}

fn begin(stage: &mut Stage) -> Result<()> {
    let address = stage.address().to_owned();
    let watch = watch_command(stage);
    let lines = [
        format!(
            "Reprise serves http://{address} before a payment API, which is a sandbox that counts its charges."
        ),
        "Lines with > are sent by a client, with < answered, with * what happens elsewhere."
            .to_owned(),
        format!("To see the counters meanwhile, in another terminal: {watch}"),
    ];
    lines.iter().try_for_each(|line| stage.screen.line(line))?;
    Ok(())
}

/// How to watch the counters. A token that the user has set is not told.
fn watch_command(stage: &Stage) -> String {
    let command = format!("cargo xtask watch --listen {}", stage.address());
    match stage.token() {
        Token::Given(_) => command,
        Token::Drawn(token) => format!("{}={token} {command}", token::ENVIRONMENT),
    }
}

fn announce(stage: &mut Stage, number: usize, act: &Act, options: Options) -> Result<()> {
    let screen = &mut stage.screen;
    screen.line("")?;
    if options.step {
        screen.line("Enter goes on.")?;
        // An input that has ended, or that is none, keeps nobody waiting.
        let _ = io::stdin().read_line(&mut String::new());
    }
    let title = format!("{number}/{}  {}", ACTS.len(), act.title);
    let title = screen.painted(Ink::Bold, &title);
    screen.line(&title)?;
    Ok(screen.line(&format!("     {}", act.story))?)
}

fn end(stage: &mut Stage, options: Options) -> Result<()> {
    if !options.keep {
        let line = "Look further: `cargo xtask demo --keep` leaves all of this running, `cargo xtask up` serves, and \
                    README.md has the commands.";
        return Ok(stage.screen.line(line)?);
    }
    let (address, watch) = (stage.address().to_owned(), watch_command(stage));
    let folder = stage.folder().to_string();
    for line in [
        format!("The service goes on at http://{address} until Ctrl-C; its state is in {folder}."),
        format!("  curl 'http://{address}/payment-sandbox/charges?reference=order-1'"),
        format!("  {watch}"),
    ] {
        stage.screen.line(&line)?;
    }
    stage.wait_for_the_end()
}
