//! Simple bandwidth table: a weight in packets per SL (Hiperion §3.2, Algorithm 1, without
//! its comparison of VLs with table entries).

use super::Head;

#[derive(Debug)]
pub(in crate::engine) struct Sbt {
    vls: usize,
    /// Weight per SL.
    initial: Vec<u32>,
    /// Weight left per (output, SL).
    left: Vec<u32>,
    /// Sum of the weights left, per output.
    sum: Vec<u32>,
    /// VL selected last, per output. The scan starts with it.
    last: Vec<u8>,
}

impl Sbt {
    pub(super) fn new(outputs: usize, vls: usize, weights: &[u32]) -> Self {
        Self {
            vls,
            initial: weights.to_vec(),
            left: weights.repeat(outputs),
            sum: vec![weights.iter().sum(); outputs],
            last: vec![0; outputs],
        }
    }

    /// See [`Schedulers::pick`](super::Schedulers::pick).
    pub(super) fn pick(
        &mut self,
        output: usize,
        candidates: u32,
        head: impl Fn(usize) -> Head,
    ) -> usize {
        let sls = self.initial.len();
        let left = &mut self.left[output * sls..(output + 1) * sls];
        let mut without_weight = usize::from(self.last[output]);
        for i in 0..self.vls {
            let vl = (usize::from(self.last[output]) + i) % self.vls;
            if candidates >> vl & 1 == 0 {
                continue;
            }
            let sl = usize::from(head(vl).sl);
            if left[sl] > 0 {
                left[sl] -= 1;
                self.sum[output] -= 1;
                if self.sum[output] == 0 {
                    left.copy_from_slice(&self.initial);
                    self.sum[output] = self.initial.iter().sum();
                }
                self.last[output] = vl as u8;
                return vl;
            }
            without_weight = vl;
        }
        // No active SL has weight left. The last candidate of the scan sends all the same,
        // so that the link does not idle (Hiperion §3.2).
        self.last[output] = without_weight as u8;
        without_weight
    }
}
