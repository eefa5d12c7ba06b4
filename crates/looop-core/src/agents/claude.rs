//! The screens of claude.

use super::table::{GoOn, Screens, Sign};

pub(super) const SCREENS: Screens = Screens {
    name: "claude",
    composer: &["shift+tab to cycle", "? for shortcuts"],
    dialogs: &[
        Sign { what: "asks for permission", texts: &["Do you want to"] },
        Sign {
            what: "asks whether the folder is trusted",
            texts: &["Quick safety check", "trust this folder"],
        },
        Sign { what: "warns of skipped permissions", texts: &["Bypass Permissions mode", "Yes, I accept"] },
        Sign { what: "asks whether to use the API key", texts: &["Do you want to use this API key?"] },
        Sign { what: "wants to be set up", texts: &["Choose the text style"] },
        Sign { what: "wants a sign-in", texts: &["Select login method"] },
    ],
    always: &[Sign { what: "is not signed in", texts: &["Not logged in", "Please run /login"] }],
    limits: &[
        "usage limit reached",
        "Usage limit reached",
        "limit · resets",
        "hit your limit",
        "Request rejected (429)",
        "temporarily limiting requests",
    ],
    over: &["Usage limit reset ·"],
    go_on: Some(GoOn { empty: &["❯"], text: "The limit of your provider is over. Go on with your task." }),
};
