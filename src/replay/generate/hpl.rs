//! LU factorisation as in HPL, on a grid of P × Q ranks: in iteration k the column k mod Q
//! sends its panel round the rows, and the row k mod P sends its block down the columns, both
//! from neighbour to neighbour; then all ranks update the rest of the matrix. The size of messages
//! shrinks in proportion to the rest, the computation with its square.

use super::GenerateError;
use super::builder::Builder;
use super::grid::Grid;

pub(super) fn run(b: &mut Builder, grid: &Grid) -> Result<(), GenerateError> {
    let spec = b.spec;
    let n = u128::from(spec.iterations);
    let lines = [grid.lines(1), grid.lines(0)];
    for k in 0..spec.iterations {
        let left = n - u128::from(k);
        // `left / n` is at most 1, so neither result exceeds the whole.
        let size = (u128::from(spec.size) * left).div_ceil(n) as u64;
        for lines in &lines {
            pass_on(b, lines, k, size)?;
        }
        for (rank, &gap) in (0..).zip(b.gaps) {
            let once = u128::from(gap) * left / n;
            b.compute(rank, (once * left / n) as u64)?;
        }
    }
    Ok(())
}

/// In each line rank number `k` modulo its length starts. Each following rank waits for the
/// message, and each but the last sends it on to the next.
fn pass_on(b: &mut Builder, lines: &[Vec<u32>], k: u64, size: u64) -> Result<(), GenerateError> {
    let n = lines.first().map_or(0, Vec::len);
    let owner = (k % n.max(1) as u64) as usize;
    for step in 1..n {
        let (from, to) = ((owner + step - 1) % n, (owner + step) % n);
        for line in lines {
            let id = b.send(line[from], line[to], size)?;
            b.wait(line[to], id)?;
        }
    }
    Ok(())
}
