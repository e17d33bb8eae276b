//! What is measured beside the rows, of Reprise alone: growth, memory and the first answer.

pub(crate) mod growth;
pub(crate) mod memory;
pub(crate) mod start;

use anyhow::Result;

use crate::options::{Extra, Options};
use crate::world::World;
use crate::wrk::Wrk;

/// What was measured, where it was asked for.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub(crate) growth: Option<growth::Growth>,
    pub(crate) memory: Option<memory::Memory>,
    pub(crate) start: Option<start::Start>,
}

impl Extras {
    pub(crate) fn measure(options: &Options, world: &World, wrk: &Wrk) -> Result<Self> {
        let is_asked = |extra| options.extras.contains(&extra);
        let mut extras = Self::default();
        if is_asked(Extra::Growth) {
            extras.growth = Some(growth::Growth::measure(options, world, wrk)?);
        }
        if is_asked(Extra::Memory) {
            extras.memory = Some(memory::Memory::measure(world, wrk)?);
        }
        if is_asked(Extra::Start) {
            extras.start = Some(start::Start::measure(options.repetitions, world)?);
        }
        Ok(extras)
    }
}
