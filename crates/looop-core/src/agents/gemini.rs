//! The screens of gemini.

use super::table::{GoOn, Screens, Sign};

pub(super) const SCREENS: Screens = Screens {
    name: "gemini",
    composer: &["Type your message or @path/to/file"],
    dialogs: &[
        Sign { what: "wants a sign-in", texts: &["How would you like to authenticate"] },
        Sign {
            what: "asks whether the folder is trusted",
            texts: &["Do you trust the files in this folder?"],
        },
        Sign { what: "asks for permission", texts: &["Action Required"] },
        Sign { what: "asks for permission", texts: &["Allow execution of"] },
    ],
    always: &[],
    limits: &["quota exceeded", "Usage limit reached"],
    over: &[],
    go_on: Some(GoOn {
        empty: &["> Type your message or @path/to/file", "* Type your message or @path/to/file"],
        text: "The limit of your provider is over. Go on with your task.",
    }),
};
