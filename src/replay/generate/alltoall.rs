//! All-to-all, and the transposes of an FFT, which are all-to-alls in rows and columns.

use flitwise_formats::vef::Op;

use super::builder::Builder;
use super::grid::Grid;
use super::{Form, GenerateError};

pub(super) fn run(b: &mut Builder, form: Form) -> Result<(), GenerateError> {
    let spec = b.spec;
    let world = [(0..spec.ranks).collect()];
    for _ in 0..spec.iterations {
        b.compute_all()?;
        match form {
            Form::Messages => exchange(b, &world, spec.size)?,
            Form::Collective => b.collective(0, Op::Alltoall, spec.size, 0)?,
        }
    }
    Ok(())
}

pub(super) fn fft(b: &mut Builder, grid: &Grid, form: Form) -> Result<(), GenerateError> {
    let spec = b.spec;
    // Rows lie along the second dimension.
    let lines = [grid.lines(1), grid.lines(0)];
    for _ in 0..spec.iterations {
        let mut comm = 1;
        for (lines, half) in lines.iter().zip(0..) {
            b.compute_half(half)?;
            let alone = lines.iter().all(|line| line.len() == 1);
            match form {
                _ if alone => {}
                Form::Messages => exchange(b, lines, spec.size)?,
                Form::Collective => {
                    for _ in lines {
                        b.collective(comm, Op::Alltoall, spec.size, 0)?;
                        comm += 1;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Within each group every rank sends to every other, the next one first, and then waits
/// for all, the previous one first. All groups have the same size.
fn exchange(b: &mut Builder, groups: &[Vec<u32>], size: u64) -> Result<(), GenerateError> {
    let n = groups.first().map_or(0, Vec::len);
    let first = b.next_id();
    for step in 1..n {
        for group in groups {
            for (i, &src) in group.iter().enumerate() {
                b.send(src, group[(i + step) % n], size)?;
            }
        }
    }
    // Ids count up in the order above.
    let id = |step: usize, at: usize, i: usize| {
        first + (((step - 1) * groups.len() + at) * n + i) as u64
    };
    for step in 1..n {
        for (at, group) in groups.iter().enumerate() {
            for (i, &dst) in group.iter().enumerate() {
                b.wait(dst, id(step, at, (i + n - step) % n))?;
            }
        }
    }
    Ok(())
}
