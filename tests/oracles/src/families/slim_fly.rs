//! Slim flies (Besta, Hoefler 2014): switches (0, x, y) and (1, m, c) with coordinates in GF(q).

use super::{Plan, in_order};
use flitwise_fabric::topology::SlimFly;
use std::sync::OnceLock;

/// The field of q = c^n elements: polynomials over the integers modulo c, of which x^n is `reduced`.
struct Field {
    q: u32,
    c: u32,
    reduced: u32,
}

impl Field {
    /// The coefficients of an element, the constant one first.
    fn coefficients(&self, element: u32) -> Vec<u32> {
        let mut rest = element;
        let mut all = Vec::new();
        let mut size = 1;
        while size < self.q {
            all.push(rest % self.c);
            rest /= self.c;
            size *= self.c;
        }
        all
    }

    fn element(&self, coefficients: &[u32]) -> u32 {
        let upwards = coefficients.iter().rev();
        upwards.fold(0, |all, digit| all * self.c + digit % self.c)
    }

    fn sum(&self, a: u32, b: u32) -> u32 {
        let pairs = self.coefficients(a).into_iter().zip(self.coefficients(b));
        self.element(&pairs.map(|(a, b)| a + b).collect::<Vec<_>>())
    }

    fn product(&self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.coefficients(a), self.coefficients(b));
        let n = a.len();
        let mut product = vec![0; 2 * n];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                product[i + j] = (product[i + j] + x * y) % self.c;
            }
        }
        // x^n is replaced from the top.
        let reduced = self.coefficients(self.reduced);
        for top in (n..2 * n).rev() {
            let high = std::mem::take(&mut product[top]);
            for (i, r) in reduced.iter().enumerate() {
                product[top - n + i] = (product[top - n + i] + high * r) % self.c;
            }
        }
        self.element(&product[..n])
    }

    /// The powers of `generator` from its zeroth on, until they repeat.
    fn powers(&self, generator: u32) -> Vec<u32> {
        let mut powers = vec![1];
        loop {
            let next = self.product(*powers.last().expect("there is one"), generator);
            if next == 1 || next == 0 || powers.len() >= self.q as usize {
                return powers;
            }
            powers.push(next);
        }
    }
}

/// The field and the powers of its generator: in a prime field the least number whose powers are all but 0; else x, with the least polynomial
/// for x^n for which they are.
fn field(q: u32) -> (Field, Vec<u32>) {
    let c = (2..)
        .find(|c| q.is_multiple_of(*c))
        .expect("q is at least 2");
    for candidate in 1..q {
        let (reduced, generator) = if q == c {
            (0, candidate)
        } else {
            (candidate, c)
        };
        let field = Field { q, c, reduced };
        let powers = field.powers(generator);
        let last = *powers.last().expect("there is one");
        if powers.len() == q as usize - 1 && field.product(last, generator) == 1 {
            return (field, powers);
        }
    }
    panic!("{q} is no power of a prime")
}

/// The graphs that were asked for, by q: every hop of every packet asks.
static GRAPHS: [OnceLock<Vec<Vec<u32>>>; 64] = [const { OnceLock::new() }; 64];

/// The switches that `switch` has links to, ascending.
fn neighbours(fly: &SlimFly, switch: u32) -> &'static [u32] {
    let q = fly.q();
    let graph = GRAPHS[q as usize].get_or_init(|| {
        let field = field(q);
        (0..2 * q * q).map(|s| linked_to(&field, q, s)).collect()
    });
    &graph[switch as usize]
}

/// The switches that `switch` has links to by the definition, ascending.
fn linked_to((field, powers): &(Field, Vec<u32>), q: u32, switch: u32) -> Vec<u32> {
    let w = q.div_ceil(4);
    let exponents = |side: u32| -> Vec<u32> {
        match (q % 4, side) {
            (3, 0) => (0..4 * w - 2)
                .filter(|e| (e % 2 == 0) == (*e <= 2 * w - 2))
                .collect(),
            (3, _) => (1..4 * w - 1)
                .filter(|e| (e % 2 == 1) == (*e < 2 * w))
                .collect(),
            (_, 0) => (0..q - 1).filter(|e| e % 2 == 0).collect(),
            _ => (1..q).filter(|e| e % 2 == 1).collect(),
        }
    };
    let (side, first, second) = (switch / (q * q), switch / q % q, switch % q);
    let of_side = exponents(side);
    let is_step = |step: u32| {
        of_side
            .iter()
            .any(|&e| powers[(e % (q - 1)) as usize] == step)
    };
    let is_linked = |&other: &u32| {
        let (there, a, b) = (other / (q * q), other / q % q, other % q);
        if there == side {
            return a == first && (1..q).any(|step| is_step(step) && field.sum(second, step) == b);
        }
        let ((x, y), (m, c)) = match side {
            0 => ((first, second), (a, b)),
            _ => ((a, b), (first, second)),
        };
        y == field.sum(field.product(m, x), c)
    };
    (0..2 * q * q).filter(is_linked).collect()
}

pub fn plan(fly: &SlimFly, nics: u32) -> Plan {
    let switches = 2 * fly.q() * fly.q();
    let all: Vec<_> = (0..switches).map(|s| neighbours(fly, s)).collect();
    let port = |from: u32, to: u32| {
        let at = all[from as usize].iter().position(|&other| other == to);
        fly.p() + at.expect("links lead both ways") as u32
    };
    let mut cables = Vec::new();
    for low in 0..switches {
        for &high in all[low as usize].iter().filter(|&&high| high > low) {
            cables.push([(low, port(low, high)), (high, port(high, low))]);
        }
    }
    Plan {
        switches,
        ports: fly.p() + all[0].len() as u32,
        homes: in_order(nics, fly.p()),
        cables,
    }
}

/// Straight, or over one of the common neighbours, which the destination chooses.
pub fn route(fly: &SlimFly, switch: u32, home: u32, dst: u32) -> usize {
    let own = neighbours(fly, switch);
    let next = if own.contains(&home) {
        home
    } else {
        let theirs = neighbours(fly, home);
        let common: Vec<_> = own.iter().filter(|other| theirs.contains(other)).collect();
        *common[dst as usize % common.len()]
    };
    let at = own.iter().position(|&other| other == next);
    fly.p() as usize + at.expect("a neighbour")
}
