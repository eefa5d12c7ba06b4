//! The screens of codex.

use super::table::{GoOn, Screens, Sign};

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
    over: &[],
    go_on: Some(GoOn {
        empty: &["› Ask Codex to do anything"],
        text: "The limit of your provider is over. Go on with your task.",
    }),
};
