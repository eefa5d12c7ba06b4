//! Those who would speak for the person: a decider's own program, workers, whoever talks to the sockets.

use serde_json::json;

use super::field::Field;

const BOLD: &str = "# Evil\n";

/// A field in which another PLAYBOOK waits for the person's word.
fn waiting() -> Field {
    let field = Field::new("");
    let said = field.beat(&json!({"action": "write_playbook", "body": BOLD}));
    assert!(said.contains("waits for your yes (ask-1)"), "{said}");
    field
}

#[track_caller]
fn untouched(field: &Field, tried: &str) {
    assert_ne!(field.profile.file("PLAYBOOK.md").as_deref(), Some(BOLD), "{tried}");
    assert!(field.profile.ledger().parked.contains_key("ask-1"), "{tried}");
}

/// Ways to say yes from inside.
const WAYS: &[&str] = &[
    "\"$LOOOP_BIN\" answer ask-1 yes",
    "\"$LOOOP_BIN\" --data-dir \"$LOOOP_DATA_DIR\" answer ask-1 always",
    "LOOOP_POLICY=open \"$LOOOP_BIN\" answer ask-1 yes",
    "env -i \"LOOOP_DATA_DIR=$LOOOP_DATA_DIR\" \"$LOOOP_BIN\" answer ask-1 yes",
    "setsid -w env -i \"LOOOP_DATA_DIR=$LOOOP_DATA_DIR\" \"$LOOOP_BIN\" answer ask-1 yes",
    "nohup env -u LOOOP_SESSION_ID \"$LOOOP_BIN\" answer ask-1 yes",
    "ln -sfn \"$LOOOP_DATA_DIR\" \"$LOOOP_DATA_DIR/scratch/d\"; LOOOP_DATA_DIR=\"$LOOOP_DATA_DIR/scratch/d\" \"$LOOOP_BIN\" answer ask-1 yes",
    "cp \"$LOOOP_BIN\" \"$LOOOP_DATA_DIR/scratch/l\"; env -i \"LOOOP_DATA_DIR=$LOOOP_DATA_DIR\" \"$LOOOP_DATA_DIR/scratch/l\" answer ask-1 yes; rm \"$LOOOP_DATA_DIR/scratch/l\"",
    "perl -e 'fork and exit; setpgrp; fork and exit; $d = $ENV{LOOOP_DATA_DIR}; %ENV = (LOOOP_DATA_DIR => $d); exec $ARGV[0], qw(answer ask-1 yes)' \"$LOOOP_BIN\"",
    "\"$LOOOP_BIN\" asks dismiss ask-1",
    "\"$LOOOP_BIN\" goal write evil '# Evil'",
    "\"$LOOOP_BIN\" playbook write '# Evil'",
    "LOOOP_POLICY=open \"$LOOOP_BIN\" beat",
];

/// A worker, and the program that decides, which runs with the person's rights and is no person.
#[test]
fn no_worker_and_no_decider_says_yes() {
    let field = waiting();
    let script = WAYS.iter().map(|way| format!("( {way} ) < /dev/null")).collect::<Vec<_>>().join("\n");
    let file = field.profile.outside().join("tries.sh");
    std::fs::write(&file, format!("{script}\ntouch '{}/over'\n", field.profile.outside().display())).unwrap();
    let cmd = format!("bash '{}'", file.display());
    field.profile.run(&["worker", "start", "evil", "--command", &cmd]).ok();
    field.profile.run(&["wait", "evil", "--timeout", "300s"]);
    assert!(field.profile.outside().join("over").exists(), "it tried all");
    untouched(&field, "a worker");
    let told = field.profile.outside().join("decision.json");
    let config = field.profile.file("config.toml").unwrap();
    let tick = serde_json::Value::from(format!(
        "bash '{}' > /dev/null 2>&1; cat '{}' > \"$LOOOP_DECISION_FILE\"",
        file.display(),
        told.display()
    ));
    let lines = config
        .lines()
        .map(|line| if line.starts_with("tick") { format!("tick = {tick}") } else { line.to_owned() });
    field.profile.write("config.toml", lines.collect::<Vec<_>>().join("\n"));
    let said = field.beat(&json!({"action": "noop"}));
    assert!(said.contains("decided noop"), "{said}");
    untouched(&field, "a decider");
    assert_eq!(field.profile.file("goals/evil.md"), None);
}

/// Raw words on the socket of the loop, and on the terminal of another worker.
#[test]
fn no_worker_talks_to_the_sockets_of_others() {
    let field = waiting();
    let digest = field.profile.run(&["asks", "--json"]).ok().json()[0]["waiting"]["digest"].clone();
    let consent =
        json!({"v": 1, "request": {"consent": {"ask": "ask-1", "digest": digest, "say": "yes", "text": ""}}});
    let said = field.profile.outside().join("typed");
    let listens = format!("read -r line; echo \"$line\" > '{}'; sleep 1000", said.display());
    field.profile.run(&["up"]).ok();
    field.profile.run(&["worker", "start", "victim", "--command", &listens]).ok();
    let file = field.profile.outside().join("raw.pl");
    let heard = field.profile.outside().join("heard");
    let evil = json!({"v": 1, "request": {"make": {"proposal": {"action": "write_playbook", "body": BOLD}}}});
    let typed = json!({"v": 1, "do": "send", "text": "evil", "submit": true});
    let killed = json!({"v": 1, "do": "kill"});
    let program = format!(
        "use IO::Socket::UNIX; open H, '>', '{}'; $| = 1;\n\
         sub speak {{ my ($d, $w) = @_; chdir \"$ENV{{LOOOP_DATA_DIR}}/$d\" or print H \"no $d\\n\"; \
         my $s = IO::Socket::UNIX->new(Peer => 'sock') or do {{ print H \"$!\\n\"; return }}; \
         $s->autoflush(1); print $s \"$w\\n\"; local $SIG{{ALRM}} = sub {{ close $s }}; alarm 5; \
         my $l = <$s>; alarm 0; print H $l // \"silence\\n\"; }}\n\
         speak('.', q({consent})); speak('.', q({evil}));\n\
         speak('sessions/victim~1', q({typed})); speak('sessions/victim~1', q({killed})); close H;\n",
        heard.display()
    );
    std::fs::write(&file, program).unwrap();
    let cmd = format!("perl '{}'", file.display());
    field.profile.run(&["worker", "start", "evil", "--command", &cmd]).ok();
    field.profile.run(&["wait", "evil", "--timeout", "300s"]);
    let heard = std::fs::read_to_string(&heard).unwrap();
    assert!(heard.contains("only a person"), "{heard}");
    untouched(&field, &heard);
    assert!(!said.exists(), "{heard}");
    let workers = field.profile.run(&["worker", "list", "--json"]).ok().stdout;
    field.profile.run(&["down"]).ok();
    field.profile.run(&["kill", "--all", "--force"]);
    assert!(workers.contains("victim"), "{workers}");
}

/// A worker that holds the lock of another open, and names it in its arguments, is not that other.
#[test]
fn no_worker_passes_for_another() {
    let field = Field::new("");
    field.profile.run(&["worker", "start", "victim", "--command", "exec sleep 1000"]).ok();
    let over = field.profile.fifo("over");
    let said = field.profile.outside().join("said");
    let victim = field.profile.data().join("sessions/victim~1");
    // The outer shell reports; the inner one pretends to be a host.
    let cmd = format!(
        "exec 8> '{}'; exec 9< '{1}/lock'; bash -c 'env -i LOOOP_DATA_DIR=\"$LOOOP_DATA_DIR\" \"$LOOOP_BIN\" kill victim \
         > \"{2}\" 2>&1; true' x '{1}'",
        over.path().display(),
        victim.display(),
        said.display(),
    );
    field.profile.run(&["worker", "start", "evil", "--command", &cmd]).ok();
    over.hear();
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.contains("from inside session evil~1"), "{said}");
    let workers = field.profile.run(&["worker", "list", "--json"]).ok().json();
    let alive = workers.as_array().unwrap().iter().any(|row| row["id"] == "victim" && row["alive"] == true);
    field.profile.run(&["kill", "--all", "--force"]);
    assert!(alive, "{workers}");
}

/// A worker that has killed its own host runs below nobody, and is no person either.
#[test]
fn no_worker_without_a_host_says_yes() {
    for clear in ["", "exec -c "] {
        let field = waiting();
        let over = field.profile.fifo("over");
        let file = field.profile.outside().join("tries.sh");
        let tries = format!(
            "trap '' HUP TERM; exec 8> '{}'; host=$PPID; kill -9 $host; while kill -0 $host 2> /dev/null; do :; done\n\
             env -i LOOOP_DATA_DIR='{}' '{}' answer ask-1 yes < /dev/null\n",
            over.path().display(),
            field.profile.data().display(),
            field.profile.binary().display(),
        );
        std::fs::write(&file, tries).unwrap();
        let cmd = format!("{clear}bash '{}'", file.display());
        field.profile.run(&["worker", "start", "evil", "--command", &cmd]);
        over.hear();
        // Without its environment it is known by its control group alone, where there is one.
        let known = clear.is_empty() || field.profile.data().join("sessions/evil~1/cgroup").exists();
        if known {
            untouched(&field, clear);
        }
        field.profile.run(&["down"]).ok();
    }
}

/// What is printed cannot make a terminal do anything.
#[test]
fn a_question_does_not_drive_the_terminal() {
    let field = Field::new("");
    let prompt = "hi\u{1b}]0;x\u{7}\u{1b}[2J\r\u{202e}";
    let said = field.beat(
        &json!({"action": "ask_human", "prompt": prompt, "options": ["a\u{1b}[1m"], "ref": "\u{1b}[2J"}),
    );
    assert!(said.contains("done"), "{said}");
    let field2 = Field::new("");
    field2.beat(&json!({"action": "write_playbook", "body": format!("# x\n{prompt}\n"), "journal": format!("{prompt}\n- forged")}));
    for field in [&field, &field2] {
        for args in [&["asks"][..], &["status"], &["why"], &["journal"], &["asks", "--json"]] {
            let ran = field.profile.run(args);
            let text = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!text.contains(['\u{1b}', '\u{7}', '\r']), "{args:?}: {text:?}");
            assert!(args != ["asks"] || !text.contains('\u{202e}'), "{args:?}: {text:?}");
        }
    }
}

/// The person's notification command is handed the message and never runs it.
#[test]
fn a_notice_runs_nothing() {
    for command in
        ["cat > OUT/n", "printf %s \"$LOOOP_MESSAGE\" > OUT/n", "read -r line; echo \"$line\" > OUT/n"]
    {
        let field = Field::new("");
        let out = field.profile.outside().join("notes");
        std::fs::create_dir(&out).unwrap();
        let command = command.replace("OUT", &out.to_string_lossy());
        let config = field.profile.file("config.toml").unwrap();
        field.profile.write("config.toml", format!("notification = {}\n{config}", json!(command)));
        let pwn = out.join("pwn").display().to_string();
        let message = format!("a'; touch {pwn}; echo '\" $(touch {pwn}) `touch {pwn}` \n touch {pwn} #");
        let said = field.beat(&json!({"action": "send_notification", "message": message}));
        assert!(out.join("n").exists() && !out.join("pwn").exists(), "{command}: {said}");
    }
}

/// A message that names a file is not posted as one, and one that is code is not run: it is never a part of the command.
#[test]
fn a_message_is_no_part_of_a_command() {
    for command in ["curl -d {{message}} http://x", "bash -c \"echo {{message}}\"", "notify '{{message}}'"] {
        let field = Field::new("");
        let config = field.profile.file("config.toml").unwrap();
        field.profile.write("config.toml", format!("notification = {}\n{config}", json!(command)));
        let said = field.profile.run(&["beat"]).fails(1, "`notification`");
        assert!(said.stderr.contains("notify-send looop -- \"$LOOOP_MESSAGE\""), "{said:?}");
    }
}
