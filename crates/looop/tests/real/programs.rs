//! Programs that people use in terminals.

use std::fs;

use crate::desk::Desk;
use crate::needs::found;
use crate::views;

#[test]
fn vim_edits_a_file() {
    if !found(&["vim", "tmux"]) {
        return;
    }
    let desk = Desk::new("vim");
    let file = desk.profile().outside().join("notes.txt");
    desk.start(&format!("vim '{}'", file.display()));
    desk.expect(r"notes\.txt. \[New\]");
    desk.press(&["i"]);
    desk.expect("-- INSERT --");
    desk.types("the heron waits\nhigh over 漢字 and café");
    desk.expect("and café");
    let shot = desk.shot();
    assert_eq!(shot.lines[..3], ["the heron waits", "high over 漢字 and café", "~"], "{}", shot.text());
    assert!(shot.lines.last().unwrap().starts_with("-- INSERT --"), "{}", shot.text());
    views::attach(&desk, "the heron waits", &[(" there", "café there")]);
    views::agree(&desk, "the heron waits");

    desk.press(&["Escape", "g", "g", "x", ":", "w", "q", "Enter"]);
    assert_eq!(desk.wait(), 0);
    assert_eq!(fs::read_to_string(file).unwrap(), "he heron waits\nhigh over 漢字 and café there\n");
    desk.left_nothing();
}

#[test]
fn vim_is_named_as_a_full_screen_program_and_takes_keys() {
    if !found(&["vim"]) {
        return;
    }
    let desk = Desk::new("vi");
    let file = desk.profile().outside().join("plan.txt");
    desk.start(&format!("vim --clean '{}'", file.display()));
    desk.expect(r"plan\.txt. \[New\]");
    // Vim puts a paste into the file also in normal mode, and it is said that this is no prompt.
    let sent = desk.verb("send", &["--json", "--", ":quit!"]).fails(4, "full-screen program");
    let value = sent.json();
    let said = (&value["delivery"], &value["full_screen"], &value["pasted"]);
    assert_eq!(said, (&"not_typed".into(), &true.into(), &true.into()), "{value}");
    assert!(sent.stderr.contains("pasted into it") && sent.stderr.contains("looop send --keys"), "{sent:?}");
    desk.expect(r"\A:quit!\n");

    // Keys are keys: an undo, a text, a command with Enter.
    let keyed = desk.verb("send", &["--keys", "-n", "--", "u"]).ok();
    assert!(keyed.stderr.contains("typed as keys"), "{keyed:?}");
    desk.expect(r"\A\n~");
    desk.verb("send", &["--keys", "--", "ithe heron waits"]).ok();
    desk.expect(r"\Athe heron waits\n");
    desk.press(&["Escape"]);
    desk.verb("send", &["--keys", "--", ":set number"]).ok();
    desk.expect(r"\A  1 the heron waits\n  2");

    views::attach(&desk, "the heron waits", &[("Ahigh", "2 high")]);
    desk.press(&["Escape"]);
    // Vim says when it is done with the key: the cursor stands on the last letter, and no mode is named.
    desk.expect(r"\n +2,4 +All");
    let shot = desk.shot();
    assert_eq!(shot.lines[..3], ["  1 the heron waits", "  2 high", "~"], "{}", shot.text());
    views::watch(&desk, "2 high", "60x14 of 100x30");

    desk.verb("send", &["--keys", "--", ":wq"]).ok();
    assert_eq!(desk.wait(), 0);
    assert_eq!(fs::read_to_string(file).unwrap(), "the heron waits\nhigh\n");
    desk.left_nothing();
}

#[test]
fn less_pages_and_searches() {
    if !found(&["less", "tmux"]) {
        return;
    }
    let desk = Desk::new("less");
    let lines: Vec<String> = (1..=500).map(|line| format!("this is line {line}\n")).collect();
    desk.profile().write("lines.txt", lines.concat());
    desk.start("less -M lines.txt");
    desk.expect(r"lines\.txt lines 1-29/500");
    desk.press(&["G"]);
    desk.expect(r"this is line 500\n.*\(END\)");
    desk.press(&["?"]);
    desk.types("line 25[0]");
    desk.press(&["Enter"]);
    desk.expect(r"\Athis is line 250\n");
    views::attach(&desk, "this is line 250", &[("400g", "this is line 400"), ("250g", "this is line 250")]);
    views::agree(&desk, "this is line 250");
    desk.press(&["q"]);
    assert_eq!(desk.wait(), 0);
    desk.left_nothing();
}

#[test]
fn htop_is_drawn_and_resized() {
    if !found(&["htop", "tmux"]) {
        return;
    }
    let desk = Desk::new("htop");
    // It draws anew each minute, so that two looks see the same.
    desk.start("htop --delay=600");
    desk.expect(r"(?s)Tasks: .*PID *USER.*F10Quit");
    desk.verb("resize", &["132x40"]).ok();
    // On the last of the new lines: before it has drawn anew the old screen has the same words.
    desk.expect(r"\A([^\n]*\n){39}[^\n]*F10Quit");
    let shot = desk.shot();
    assert_eq!((&shot.value["cols"], &shot.value["rows"]), (&132.into(), &40.into()));
    assert!(shot.lines[39].contains("F10Quit"), "{}", shot.text());
    views::attach(&desk, "F10Quit", &[("t", "F5List"), ("t", "F5Tree")]);
    views::agree(&desk, "F10Quit");
    desk.press(&["F1"]);
    desk.expect("(?s)htop [0-9.]+ .*Press any key to return");
    desk.press(&["Space"]);
    desk.expect("F10Quit");
    desk.press(&["F10"]);
    assert_eq!(desk.wait(), 0);
    desk.left_nothing();
}

#[test]
fn tmux_splits_and_leaves_no_server() {
    if !found(&["tmux"]) {
        return;
    }
    // By itself a server of tmux is spared, since others may be in it.
    let desk = Desk::with("tmux", |profile| profile.config("spare = []\n"));
    let settings = "set -g default-shell /bin/sh\nset -g default-command \"env PS1='here> ' bash --norc\"\n";
    desk.profile().write("tmux.conf", settings);
    desk.start("tmux -u -S tmux-socket -f tmux.conf");
    desk.expect(r"(?s)\Ahere>\s.*\[0\] 0:bash");
    let at = desk.send("echo the $((6 * 7))nd");
    desk.expect_since("the 42nd", at);
    desk.press(&["C-b", "%"]);
    desk.expect(r"(?s)│here>\s.*the 42nd *│");
    // Left to run by a shell of the new pane, in a session of its own.
    let up = desk.profile().fifo("up");
    desk.send(&format!("setsid --fork bash -c 'echo up > {}; exec sleep 3600'", up.path().display()));
    assert_eq!(up.hear(), "up\n");
    views::attach(&desk, "the 42nd", &[("echo by $((7 * 8))\r", "by 56")]);
    views::agree(&desk, "the 42nd");
    desk.kill();
}

#[test]
fn bash_reads_lines() {
    if !found(&["bash", "tmux"]) {
        return;
    }
    let desk = Desk::new("bash");
    desk.start("env PS1='here> ' bash --norc");
    desk.expect(r"here>\s*\z");
    let at = desk.send("echo the $((6 * 7))nd");
    desk.expect_since("the 42nd", at);
    // A line of the text is not run before the text is whole.
    let at = desk.send("for n in 1 2 3\ndo echo \"number $n\"\ndone | tac");
    desk.expect_since("(?s)number 3.*number 2.*number 1", at);
    desk.press(&["C-r"]);
    desk.types("6 * 7");
    desk.expect(r"\(reverse-i-search\)`6 \* 7': echo the \$\(\(6 \* 7\)\)nd");
    desk.press(&["C-a", "M-d"]);
    desk.types(r"printf '%s-\n'");
    desk.press(&["Enter"]);
    desk.expect(r"the-\n42nd-\nhere>\s*\z");
    desk.types("cat PLAY");
    desk.press(&["Tab"]);
    desk.expect(r"here> cat PLAYBOOK\.md");
    desk.press(&["C-u", "Up"]);
    desk.expect(r"here> printf '%s-\\n' the \$\(\(6 \* 7\)\)nd\s*\z");
    desk.press(&["C-u"]);

    let up = desk.profile().fifo("up");
    desk.send(&format!("echo up > {}; sleep 3600; echo slept", up.path().display()));
    assert_eq!(up.hear(), "up\n");
    desk.press(&["C-c"]);
    desk.expect(r"\^C\s+here>\s*\z");
    views::attach(&desk, "number 1", &[("echo by $((7 * 8))\r", "by 56")]);
    views::agree(&desk, "number 1");
    let log = desk.verb("log", &["--grep", "number [0-9]$"]).ok();
    assert_eq!(
        log.stdout.lines().map(str::trim_end).collect::<Vec<_>>(),
        ["number 3", "number 2", "number 1"]
    );
    desk.press(&["C-d"]);
    assert_eq!(desk.wait(), 0);
    desk.left_nothing();
}
