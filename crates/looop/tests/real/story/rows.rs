//! The agents of the story, one row each.

use serde_json::json;

use crate::agents::{Agent, claude, codex, gemini, opencode, pi};

/// An agent that a person has open beside the workers, in the same home.
pub(super) struct Own {
    /// What is in the home of somebody who has used it before.
    pub(super) files: fn(&str) -> Vec<(&'static str, String)>,
    /// What it is called with.
    pub(super) args: &'static [&'static str],
    /// Shown when it can be talked to.
    pub(super) ready: &'static str,
    /// Keys that are pressed between a text and Enter.
    pub(super) between: &'static str,
    /// What else it asks for, what it leaves in the home, and how what it leaves in `/tmp` is called.
    pub(super) habits: &'static [&'static str],
    pub(super) home: &'static [&'static str],
    pub(super) tmp: &'static [&'static str],
}

/// An agent that needs nothing of all that.
pub(super) const PLAIN: Own =
    Own { files: |_| Vec::new(), args: &[], ready: "", between: "", habits: &[], home: &[], tmp: &[] };

/// One agent.
pub(super) struct Row {
    /// How its home is prepared.
    pub(super) agent: fn() -> Agent,
    /// What the model gives its shell tool, beside the command, so that it does not wait for long.
    pub(super) patience: &'static str,
    /// The same where that is a setting: what is added to a file in the home.
    pub(super) settings: Option<(&'static str, &'static str)>,
    /// The same agent as its person uses it.
    pub(super) own: Own,
    /// How what it leaves in the home is called.
    pub(super) home: &'static [&'static str],
}

pub(super) const CLAUDE: Row = Row {
    agent: claude,
    patience: "timeout=1500",
    settings: None,
    own: Own { files: claude_used, ready: "(shift+tab to cycle)", tmp: &["cc-socks", "claude-"], ..PLAIN },
    home: &[".claude", ".claude.json", ".local"],
};

pub(super) const CODEX: Row = Row {
    agent: codex,
    patience: "",
    settings: None,
    own: Own {
        ready: "Ask Codex to do anything",
        habits: &["api.github.com"],
        tmp: &["codex-daemon-"],
        ..PLAIN
    },
    home: &[".codex"],
};

pub(super) const OPENCODE: Row = Row {
    agent: opencode,
    patience: "timeout=1500",
    settings: None,
    own: Own {
        ready: "Ask anything",
        habits: &["registry.npmjs.org", "api.github.com"],
        home: &[".npm"],
        // Libraries of its own that it unpacks at each start.
        tmp: &[".", "opencode", "node-compile-cache"],
        ..PLAIN
    },
    home: &[".cache", ".config", ".local"],
};

pub(super) const PI: Row = Row {
    agent: pi,
    patience: "timeout=2",
    settings: None,
    own: Own {
        args: &["Good morning"],
        ready: "I heard: Good morning",
        tmp: &["node-compile-cache"],
        ..PLAIN
    },
    home: &[".pi"],
};

pub(super) const GEMINI: Row = Row {
    agent: gemini,
    patience: "",
    settings: Some((".gemini/settings.json", r#"{"tools":{"shell":{"inactivityTimeout":2}}}"#)),
    // To gemini an Enter that comes within 30 ms of a letter is a part of the text. A key that types nothing ends that time.
    own: Own {
        args: &["--skip-trust"],
        ready: "Type your message",
        between: "\u{1b}[F",
        tmp: &["gemini-shell-", "node-compile-cache"],
        ..PLAIN
    },
    home: &[".gemini"],
};

/// What claude has written into the home of somebody who uses it there.
fn claude_used(folder: &str) -> Vec<(&'static str, String)> {
    let file = json!({
        "hasCompletedOnboarding": true,
        "customApiKeyResponses": { "approved": ["x"], "rejected": [] },
        "projects": { folder: { "hasTrustDialogAccepted": true } },
    });
    vec![(".claude.json", file.to_string())]
}
