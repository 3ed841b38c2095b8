//! Finite fields GF(q), as far as slim flies need them: sums, products and the powers of a primitive element.

/// A field of q = c^n elements, which are `0..q`: the digits of an element in base c are the coefficients of a polynomial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    /// The prime c.
    characteristic: u32,
    /// Powers of a primitive element, from 0 to q - 2.
    powers: Vec<u32>,
    /// Exponent of each element; the exponent of 0 has no meaning.
    exponents: Vec<u32>,
}

impl Field {
    /// `None` if `q` is no power of a prime.
    pub(super) fn new(q: u32) -> Option<Self> {
        let characteristic = (2..=q).find(|d| q.is_multiple_of(*d))?;
        let mut rest = q;
        while rest.is_multiple_of(characteristic) {
            rest /= characteristic;
        }
        if rest != 1 {
            return None;
        }
        // The first candidate whose powers are all elements but 0 is primitive. In a prime field the candidates are the
        // elements; otherwise they are the polynomials by which x^n is replaced, and x is the element.
        let powers = (1..q).find_map(|candidate| primitive(q, characteristic, candidate))?;
        let mut exponents = vec![0; q as usize];
        for (exponent, &element) in powers.iter().enumerate() {
            exponents[element as usize] = exponent as u32;
        }
        Some(Self {
            characteristic,
            powers,
            exponents,
        })
    }

    /// The primitive element to the power of `exponent`.
    pub(super) fn power(&self, exponent: u32) -> u32 {
        self.powers[exponent as usize % self.powers.len()]
    }

    pub(super) fn product(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.power(self.exponents[a as usize] + self.exponents[b as usize])
    }

    pub(super) fn sum(&self, a: u32, b: u32) -> u32 {
        sum(self.characteristic, a, b)
    }
}

/// The sum of two polynomials.
fn sum(characteristic: u32, mut a: u32, mut b: u32) -> u32 {
    let (mut all, mut place) = (0, 1);
    while a > 0 || b > 0 {
        all += (a % characteristic + b % characteristic) % characteristic * place;
        (a, b) = (a / characteristic, b / characteristic);
        place *= characteristic;
    }
    all
}

/// The powers of the element of `candidate`, if they are all elements but 0.
fn primitive(q: u32, characteristic: u32, candidate: u32) -> Option<Vec<u32>> {
    let top = q / characteristic;
    let mut powers = vec![1];
    let mut element = 1;
    for _ in 1..q {
        // Times x: the highest coefficient moves out, and comes back as a multiple of the candidate.
        let out = if top == 1 { element } else { element / top };
        let kept = if top == 1 {
            0
        } else {
            element % top * characteristic
        };
        element = (0..out).fold(kept, |all, _| sum(characteristic, all, candidate));
        if element == 1 {
            break;
        }
        powers.push(element);
    }
    (element == 1 && powers.len() == q as usize - 1).then_some(powers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_obey_their_axioms() {
        for q in [3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 25, 27, 32] {
            let field = Field::new(q).unwrap();
            for (a, b) in (0..q).flat_map(|a| (0..q).map(move |b| (a, b))) {
                assert_eq!(field.sum(a, b), field.sum(b, a));
                assert_eq!(field.product(a, b), field.product(b, a));
                assert_eq!(field.product(a, b) == 0, a == 0 || b == 0);
                for c in 0..q {
                    let apart = field.sum(field.product(a, b), field.product(a, c));
                    assert_eq!(field.product(a, field.sum(b, c)), apart, "GF({q})");
                }
            }
        }
        for q in [0, 1, 6, 10, 12, 15, 20] {
            assert_eq!(Field::new(q), None);
        }
    }
}
