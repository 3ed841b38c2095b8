//! Random programs, most of which can be carried out.
//!
//! A recipe is bytes: some for the job, and some for each piece of the program. A piece adds
//! operations to the streams of all ranks that it concerns, one piece after the other, so ranks that
//! only did what the pieces mean could never block each other. Wildcards, waits for any and labels make
//! some do so all the same, and some pieces are made to go wrong. A shorter recipe and smaller bytes
//! make a simpler program, which is how proptest finds the simplest that fails.

mod collectives;
mod dice;
mod job;
mod pieces;
pub mod stamps;
mod track;

use super::case::Case;
use dice::Dice;
use track::Builder;

/// What a program is made of.
#[derive(Debug, Clone)]
pub struct Recipe {
    pub job: [u8; 32],
    /// Whether switches carry out collectives, and how.
    pub network: [u8; 8],
    pub pieces: Vec<[u8; 24]>,
}

/// The program of a recipe.
pub fn case(recipe: &Recipe) -> Case {
    let mut dice = Dice::new(&recipe.job);
    let mut builder = Builder::new(&mut dice);
    job::in_network(&mut builder.case, &mut Dice::new(&recipe.network));
    for piece in &recipe.pieces {
        pieces::add(&mut builder, &mut Dice::new(piece));
    }
    let mut case = builder.build();
    if dice.one_in(4) {
        stamps::add(&mut case);
    }
    case
}
