//! The screens of opencode.

use super::table::{Screens, Sign};

pub(super) const SCREENS: Screens = Screens {
    name: "opencode",
    composer: &["ctrl+p commands"],
    dialogs: &[Sign { what: "asks for permission", texts: &["Permission required"] }],
    always: &[],
    limits: &["Too Many Requests", "usage limit"],
};
