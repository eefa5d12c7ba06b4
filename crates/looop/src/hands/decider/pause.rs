//! Waiting: how long is left, and waits that do not fall together with those of others.

use std::time::{Duration, Instant};

/// When a decide must be over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// So long from now; what is farther away than the clock can tell never comes.
    pub(crate) fn after(length: Duration) -> Self {
        Self(Instant::now().checked_add(length))
    }

    /// What is left.
    pub(crate) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// Waits, if what is to be done after it can still begin. Tells whether it waited.
    pub(crate) fn wait(self, length: Duration) -> bool {
        let fits = length < self.left();
        if fits {
            std::thread::sleep(length);
        }
        fits
    }
}

/// Between half and one and a half times as long, by chance.
pub(crate) fn jitter(length: Duration) -> Duration {
    let mut byte = [128_u8];
    // Without chance it is the length itself.
    rustix::rand::getrandom(&mut byte, rustix::rand::GetRandomFlags::empty()).ok();
    length / 2 + length.saturating_mul(u32::from(byte[0])) / 256
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_stays_near_the_length() {
        let length = Duration::from_secs(10);
        let waits: Vec<Duration> = (0..200).map(|_| jitter(length)).collect();
        assert!(waits.iter().all(|wait| (Duration::from_secs(5)..Duration::from_secs(15)).contains(wait)));
        assert!(waits.iter().any(|wait| *wait != waits[0]));
    }

    #[test]
    fn what_does_not_fit_is_not_waited_for() {
        assert!(!Deadline::after(Duration::ZERO).wait(Duration::from_hours(1)));
        assert!(Deadline::after(Duration::MAX).wait(Duration::ZERO));
        assert_eq!(Deadline::after(Duration::MAX).left(), Duration::MAX);
    }
}
