//! Seeded chance: the same seed, the same throws.

/// A small generator (`SplitMix64`), good enough to choose among ways to fail.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A generator that is all its seed's.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.throw() % bound.max(1) as u64).unwrap_or(0)
    }

    /// Heads or tails.
    pub fn coin(&mut self) -> bool {
        self.throw() & 1 == 1
    }

    /// Whether something happens that happens so many times in a thousand.
    pub fn chance(&mut self, in_thousand: usize) -> bool {
        in_thousand > 0 && self.below(1000) < in_thousand
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.throw() % (high.saturating_sub(low) + 1)
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }
}
