//! The screens of opencode.

use super::table::{Screens, Sign};

pub(super) const SCREENS: Screens = Screens {
    name: "opencode",
    composer: &["ctrl+p commands"],
    dialogs: &[Sign { what: "asks for permission", texts: &["Permission required"] }],
    // It stands over the composer.
    always: &[Sign { what: "offers an update", texts: &["Update Available", "A new release v"] }],
    limits: &["Too Many Requests", "usage limit"],
    over: &[],
    go_on: None,
};
