//! LU factorisation as in HPL, on a grid of P × Q ranks: in iteration k the column k mod Q
//! sends its panel round the rows, the row k mod P its block down the columns, both from
//! neighbour to neighbour; then all update what is left of the matrix. Messages shrink
//! with what is left, computation with its square.

use super::builder::Builder;
use super::grid::Grid;
use super::{GenerateError, Spec};

pub(super) fn run(
    spec: &Spec,
    b: &mut Builder,
    gaps: &[u64],
    grid: &Grid,
) -> Result<(), GenerateError> {
    let n = u128::from(spec.iterations);
    let lines = [grid.lines(1), grid.lines(0)];
    for k in 0..spec.iterations {
        let left = n - u128::from(k);
        // Neither is more than what it is a part of; `left / n` is at most 1.
        let size = (u128::from(spec.size) * left).div_ceil(n) as u64;
        for lines in &lines {
            pass_on(b, lines, k, size)?;
        }
        for (rank, &gap) in (0..).zip(gaps) {
            let once = u128::from(gap) * left / n;
            b.compute(rank, (once * left / n) as u64)?;
        }
    }
    Ok(())
}

/// In each line the `k`-th rank, round and round, starts; every rank but the last in turn
/// waits for the message and sends it to the next.
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
