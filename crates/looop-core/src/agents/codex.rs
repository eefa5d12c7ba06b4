//! The screens of codex.

use super::table::{Screens, Sign};

pub(super) const SCREENS: Screens = Screens {
    name: "codex",
    composer: &["Ask Codex to do anything"],
    dialogs: &[
        Sign { what: "asks whether the folder is trusted", texts: &["Trust this folder?"] },
        Sign { what: "wants a sign-in", texts: &["Choose how you want to use Codex"] },
        Sign { what: "offers an update", texts: &["Update available", "Press enter to continue"] },
        Sign { what: "asks for permission", texts: &["Would you like to run the following command?"] },
    ],
    always: &[],
    limits: &["hit your usage limit"],
};
