//! The screens of pi.

use super::table::{Screens, Sign};

pub(super) const SCREENS: Screens = Screens {
    name: "pi",
    composer: &["k (auto)"],
    dialogs: &[Sign { what: "asks whether the folder is trusted", texts: &["Trust project folder?"] }],
    always: &[],
    limits: &["usage limit", "rate limit"],
    over: &[],
    go_on: None,
};
