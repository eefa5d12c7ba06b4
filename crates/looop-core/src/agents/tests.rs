use super::screen::*;
use crate::time::Now;

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
    (
        "claude",
        include_str!("screens/claude-usage.txt"),
        Some(
            "waits for its provider, which says: ⚠ Usage limit reached · limit resets 10:54am Continuing automatically at \
             10:54am · Esc to cancel",
        ),
    ),
    ("claude", include_str!("screens/claude-reset.txt"), None),
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

/// The fourteenth of January 2027, 06:05 in UTC.
fn now() -> Now {
    Now { wall: AT, up: 0, boot: 0, zone: jiff::tz::TimeZone::UTC }
}

const AT: i64 = 1_799_906_700_000;

fn lines(screen: &str) -> Vec<String> {
    screen.lines().map(str::to_owned).collect()
}

#[test]
fn screens_of_the_real_agents() {
    for (program, screen, expected) in SEEN {
        let found = halt(Some(program), &lines(screen), false, &now());
        assert_eq!(found.as_ref().map(|halt| halt.what.as_str()), *expected, "{screen}");
    }
}

/// The words are those of its program; the dialog stands in the middle of the screen, over what is there.
#[test]
fn an_update_that_opencode_offers_over_its_composer() {
    let dialog = "┃\n   Update Available            esc\n   A new release v9.9.9 is available. Would you\n   like to update now?\n   Cancel  Confirm\n┃\n tab agents  ctrl+p commands";
    let found = halt(Some("opencode"), &lines(dialog), false, &now());
    assert_eq!(found.map(|halt| halt.what).as_deref(), Some("offers an update"));
    assert_eq!(halt(Some("opencode"), &lines("┃\n tab agents  ctrl+p commands"), false, &now()), None);
}

#[test]
fn a_dialog_that_no_table_has_is_known_by_its_menu() {
    let dialogs = SEEN.iter().filter(|(_, _, what)| what.is_some_and(|what| !what.starts_with("waits")));
    for (program, screen, _) in dialogs.filter(|(program, ..)| *program != "opencode") {
        let found = halt(None, &lines(screen), true, &now()).unwrap_or_else(|| panic!("{program}: {screen}"));
        assert_eq!(found.what, "shows a menu");
        assert_eq!(halt(None, &lines(screen), false, &now()), None, "it draws on");
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
        assert_eq!(halt(None, &lines(screen), true, &now()), None, "{screen}");
    }
}

#[test]
fn the_screen_is_safe_to_print_and_bounded() {
    let mut screen = lines(include_str!("screens/claude-perm.txt"));
    screen.insert(3, "\u{1b}[31mred\u{202e}".repeat(2000));
    let found = halt(Some("claude"), &screen, false, &now()).unwrap();
    assert!(found.screen.ends_with("Esc to cancel · Tab to amend"), "{}", found.screen);
    screen.push(format!("Do you want to {}", "\u{1b}".repeat(5000)));
    let found = halt(Some("claude"), &screen, false, &now()).unwrap();
    assert!(!found.screen.contains('\u{1b}') && found.screen.lines().count() <= LINES, "{}", found.screen);
    assert!(found.screen.len() < LINES * COLUMNS * "\\u{202e}".len());
}

#[test]
fn the_end_of_a_limit_is_read_from_the_screen() {
    let table = [
        ("codex", include_str!("screens/codex-limit.txt"), Some(AT + 119 * 60_000)),
        ("claude", include_str!("screens/claude-limit.txt"), None),
        ("claude", include_str!("screens/claude-usage.txt"), Some(AT + 289 * 60_000)),
        (
            "claude",
            "● You've hit your limit · resets 3pm (UTC)\n\n❯ \n? for shortcuts",
            Some(AT + 535 * 60_000),
        ),
    ];
    for (program, screen, until) in table {
        let found = halt(Some(program), &lines(screen), false, &now()).unwrap();
        assert_eq!(found.limit, Some(Reset { until }), "{screen}");
        let said = found.text(until, &now());
        assert_eq!(said.starts_with("it is waiting until "), until.is_some(), "{said}");
    }
    let dialog = halt(Some("codex"), &lines(include_str!("screens/codex-trust.txt")), false, &now());
    assert_eq!(dialog.unwrap().limit, None);
    assert_eq!(until_text(AT + 535 * 60_000, &now()), "15:00");
    assert_eq!(until_text(AT + 24 * 3_600_000, &now()), "2027-01-15 06:05");
}

#[test]
fn an_empty_composer_is_told_from_one_in_which_something_stands() {
    let (claude, codex) = (include_str!("screens/claude-limit.txt"), include_str!("screens/codex-limit.txt"));
    assert!(is_composer_empty("claude", &lines(claude)));
    assert!(is_composer_empty("codex", &lines(codex)));
    assert!(!is_composer_empty("codex", &lines(&codex.replace("› Ask Codex to do anything", "› and then"))));
    let typed = claude.rsplit_once('❯').map(|(before, after)| format!("{before}❯ and then{after}")).unwrap();
    assert!(!is_composer_empty("claude", &lines(&typed)));
    for dialog in [include_str!("screens/claude-perm.txt"), include_str!("screens/claude-trust.txt"), ""] {
        assert!(!is_composer_empty("claude", &lines(dialog)), "{dialog}");
    }
    assert!(!is_composer_empty("pi", &lines(claude)) && go_on("pi").is_none() && go_on("vim").is_none());
}

#[test]
fn a_limit_above_what_was_typed_since_is_over() {
    let (claude, codex) = (include_str!("screens/claude-limit.txt"), include_str!("screens/codex-limit.txt"));
    let told = "The limit of your provider is over.";
    let codex = codex.replace("› Ask", &format!("› {told}\n\n• I go on.\n\n› Ask"));
    assert_eq!(halt(Some("codex"), &lines(&codex), false, &now()), None);
    let typed = claude.replace("✻ Sautéed for 1s · done 6:04 AM", &format!("❯ {told}\n\n● I go on."));
    assert_eq!(halt(Some("claude"), &lines(&typed), false, &now()), None);
    // What stands in the composer was not typed to anybody yet.
    let half = claude.rsplit_once('❯').map(|(before, after)| format!("{before}❯ and then{after}")).unwrap();
    assert!(halt(Some("claude"), &lines(&half), false, &now()).is_some_and(|halt| halt.limit.is_some()));
}

#[test]
fn what_is_said_of_the_largest_screen_is_not_cut_in_the_log() {
    for wide in ["\u{10ffff}", "\u{202e}", "漢", "😀", "x"] {
        let long = wide.repeat(1000);
        let dialog =
            format!("{long}\nDo you want to {long}\n{}❯ 1. Yes\n2. No", format!("{long}\n").repeat(998));
        let limit = format!("{}usage limit reached {long}\n{long}\nThe end", format!("{long}\n").repeat(997));
        for (screen, end) in [(dialog, "❯ 1. Yes\n2. No"), (limit, "The end")] {
            let halt = halt(Some("claude"), &lines(&screen), false, &now()).unwrap();
            let text = halt.text(Some(AT), &now());
            assert!(text.len() <= crate::bounds::PROMPT, "{} bytes of {wide:?}", text.len());
            assert!(text.ends_with(end), "{text}");
        }
    }
}
