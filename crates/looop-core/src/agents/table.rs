//! The form of the tables, and all of them.

use super::{claude, codex, gemini, opencode, pi};

/// How the screens of one agent look.
pub(super) struct Screens {
    /// The program.
    pub(super) name: &'static str,
    /// On the screen while one can type a message: then there is no dialog.
    pub(super) composer: &'static [&'static str],
    /// Dialogs, which take the place of the composer.
    pub(super) dialogs: &'static [Sign],
    /// What needs a person although one can type.
    pub(super) always: &'static [Sign],
    /// The provider takes no calls.
    pub(super) limits: &'static [&'static str],
    /// The provider takes calls again, and the agent goes on by itself.
    pub(super) over: &'static [&'static str],
    /// How it is told to go on once its provider takes calls again; nothing where that is not known.
    pub(super) go_on: Option<GoOn>,
}

/// How something is known: all of these texts are on the screen.
pub(super) struct Sign {
    /// What the agent does.
    pub(super) what: &'static str,
    pub(super) texts: &'static [&'static str],
}

/// How an agent is told to go on.
pub(super) struct GoOn {
    /// The line of the composer while nothing stands in it.
    pub(super) empty: &'static [&'static str],
    /// What is typed.
    pub(super) text: &'static str,
}

/// The agents that looop knows.
pub(super) const KNOWN: [&Screens; 5] =
    [&claude::SCREENS, &codex::SCREENS, &opencode::SCREENS, &pi::SCREENS, &gemini::SCREENS];
