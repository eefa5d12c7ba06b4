use super::screen::*;

/// Screens that the real agents showed, and what is to be told of them.
const SEEN: &[(&str, &str, Option<&str>)] = &[
    ("claude", include_str!("screens/claude-perm.txt"), Some("asks for permission")),
    ("claude", include_str!("screens/claude-trust.txt"), Some("asks whether the folder is trusted")),
    ("claude", include_str!("screens/claude-bypass.txt"), Some("warns of skipped permissions")),
    (
        "claude",
        include_str!("screens/claude-limit.txt"),
        Some(
            "waits for its provider, which says: ● API Error: Request rejected (429) · This request would exceed your \
             account's rate limit. ✻ Sautéed for 1s · done 6:04 AM",
        ),
    ),
    ("claude", include_str!("screens/claude-idle.txt"), None),
    ("codex", include_str!("screens/codex-trust.txt"), Some("asks whether the folder is trusted")),
    ("codex", include_str!("screens/codex-login.txt"), Some("wants a sign-in")),
    (
        "codex",
        include_str!("screens/codex-limit.txt"),
        Some(
            "waits for its provider, which says: ■ You’ve hit your usage limit. Upgrade to Pro \
             (https://chatgpt.com/explore/pro), visit https:// chatgpt.com/settings/usage to purchase more credits or try \
             again at 8:04 AM.",
        ),
    ),
    ("codex", include_str!("screens/codex-idle.txt"), None),
    ("opencode", include_str!("screens/opencode-perm.txt"), Some("asks for permission")),
    ("pi", include_str!("screens/pi-trust.txt"), Some("asks whether the folder is trusted")),
    ("gemini", include_str!("screens/gemini-auth.txt"), Some("wants a sign-in")),
    ("gemini", include_str!("screens/gemini-trust.txt"), Some("asks whether the folder is trusted")),
];

fn lines(screen: &str) -> Vec<String> {
    screen.lines().map(str::to_owned).collect()
}

#[test]
fn screens_of_the_real_agents() {
    for (program, screen, expected) in SEEN {
        let found = halt(Some(program), &lines(screen), false);
        assert_eq!(found.as_ref().map(|halt| halt.what.as_str()), *expected, "{screen}");
    }
}

/// The words are those of its program; the dialog stands in the middle of the screen, over what is there.
#[test]
fn an_update_that_opencode_offers_over_its_composer() {
    let dialog = "┃\n   Update Available            esc\n   A new release v9.9.9 is available. Would you\n   like to update now?\n   Cancel  Confirm\n┃\n tab agents  ctrl+p commands";
    let found = halt(Some("opencode"), &lines(dialog), false);
    assert_eq!(found.map(|halt| halt.what).as_deref(), Some("offers an update"));
    assert_eq!(halt(Some("opencode"), &lines("┃\n tab agents  ctrl+p commands"), false), None);
}

#[test]
fn a_dialog_that_no_table_has_is_known_by_its_menu() {
    let dialogs = SEEN.iter().filter(|(_, _, what)| what.is_some_and(|what| !what.starts_with("waits")));
    for (program, screen, _) in dialogs.filter(|(program, ..)| *program != "opencode") {
        let found = halt(None, &lines(screen), true).unwrap_or_else(|| panic!("{program}: {screen}"));
        assert_eq!(found.what, "shows a menu");
        assert_eq!(halt(None, &lines(screen), false), None, "it draws on");
    }
}

#[test]
fn prompts_and_lists_are_no_menus() {
    let screens = [
        "1. one\n2. two\n\n$ ",
        "> 1. quoted\n\nand more text\nand more\nand more",
        "> ls\nfile\n> ",
        "❯ Read /a/b and do what it says.\n\n● I read it.\n",
        "",
    ];
    for screen in screens {
        assert_eq!(halt(None, &lines(screen), true), None, "{screen}");
    }
}

#[test]
fn the_screen_is_safe_to_print_and_bounded() {
    let mut screen = lines(include_str!("screens/claude-perm.txt"));
    screen.insert(3, "\u{1b}[31mred\u{202e}".repeat(2000));
    let found = halt(Some("claude"), &screen, false).unwrap();
    assert!(found.screen.ends_with("Esc to cancel · Tab to amend"), "{}", found.screen);
    screen.push(format!("Do you want to {}", "\u{1b}".repeat(5000)));
    let found = halt(Some("claude"), &screen, false).unwrap();
    assert!(!found.screen.contains('\u{1b}') && found.screen.lines().count() <= LINES, "{}", found.screen);
    assert!(found.screen.len() < LINES * COLUMNS * "\\u{202e}".len());
}
