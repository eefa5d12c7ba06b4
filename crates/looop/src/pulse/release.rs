//! When the loop releases the code that it used: once nothing has happened for a while and a long rest is ahead.

use std::time::Duration;

/// For so many milliseconds after a message or a caller their threads may still run, and between two releases lie at
/// least as many.
const GAP: u64 = 1000;

/// What was used since the last release. Times are those of the boot-time clock, in milliseconds.
#[derive(Debug)]
pub(super) struct Release {
    released: Option<u64>,
    /// When a message or a caller last came.
    talked: Option<u64>,
    used: bool,
}

/// What a loop that rests does about its code.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AtRest {
    /// It releases it now.
    Release,
    /// It waits for so long at most, and asks again.
    Within(Duration),
    /// It has nothing to release.
    Nothing,
}

impl Default for Release {
    fn default() -> Self {
        Self { released: None, talked: None, used: true }
    }
}

impl Release {
    /// The loop looks at the world.
    pub(super) fn look(&mut self) {
        self.used = true;
    }

    /// A message or a caller came.
    pub(super) fn talk(&mut self, up: u64) {
        self.used = true;
        self.talked = Some(up);
    }

    /// A long rest is ahead.
    pub(super) fn rest(&mut self, up: u64) -> AtRest {
        if !self.used {
            return AtRest::Nothing;
        }
        let last = self.released.max(self.talked);
        let left = last.map_or(0, |last| (last + GAP).saturating_sub(up).min(GAP));
        if left > 0 {
            return AtRest::Within(Duration::from_millis(left));
        }
        *self = Self { released: Some(up), talked: None, used: false };
        AtRest::Release
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_released_once_after_each_use() {
        let mut release = Release::default();
        assert_eq!(release.rest(5000), AtRest::Release, "what the start used");
        assert_eq!(release.rest(5001), AtRest::Nothing);
        release.look();
        assert_eq!(release.rest(65_000), AtRest::Release, "a beat by itself leaves nothing behind");
        assert_eq!(release.rest(70_000), AtRest::Nothing);
    }

    #[test]
    fn what_a_message_used_is_released_after_its_threads_have_ended() {
        let mut release = Release::default();
        assert_eq!(release.rest(5000), AtRest::Release);
        release.talk(8000);
        release.look();
        assert_eq!(release.rest(8010), AtRest::Within(Duration::from_millis(990)));
        release.talk(8500);
        assert_eq!(release.rest(9000), AtRest::Within(Duration::from_millis(500)));
        assert_eq!(release.rest(9500), AtRest::Release);
        assert_eq!(release.rest(9501), AtRest::Nothing);
    }

    #[test]
    fn a_look_right_after_a_release_is_released_later() {
        let mut release = Release::default();
        assert_eq!(release.rest(5000), AtRest::Release);
        release.look();
        assert_eq!(release.rest(5400), AtRest::Within(Duration::from_millis(600)));
        assert_eq!(release.rest(6000), AtRest::Release);
        assert_eq!(release.rest(60_000), AtRest::Nothing);
    }
}
