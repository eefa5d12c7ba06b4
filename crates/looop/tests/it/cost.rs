//! Money, with the real binary: what workers record, what their agents' files say, allowances, caps, and reports.

use std::fs;

use looop_core::ledger::entry::Entry;
use looop_sim::profile::{Profile, Ran, write_program};
use looop_sim::waiting::{Fifo, finish};
use serde_json::{Value, json};

const LOOOP: &str = env!("CARGO_BIN_EXE_looop");

/// Acts as claude does, as far as its session file goes: each number that it is told is so many tokens read, at a dollar
/// per million.
const CLAUDE: &str = r#"#!/bin/sh
folder="$HOME/.claude/projects/here"
mkdir -p "$folder"
file="$folder/$LOOOP_SESSION_ID.jsonl"
printf '{"type":"user","cwd":"%s","message":{"content":"Read %s and do it."}}\n' "$PWD" "$1" >> "$file"
echo there > "$HERE"
n=0
while read -r tokens < "$GATE"; do
  n=$((n + 1))
  printf '{"type":"assistant","cwd":"%s","message":{"id":"m%s","model":"claude-haiku-4-5","usage":{"input_tokens":%s,"output_tokens":0}}}\n' "$PWD" "$n" "$tokens" >> "$file"
  echo done > "$HERE"
done
"#;

/// A profile whose workers are such a claude.
struct Desk {
    profile: Profile,
    here: Fifo,
    gate: Fifo,
}

impl Desk {
    fn new(config: &str) -> Self {
        let profile = Profile::bare(LOOOP);
        let (here, gate) = (profile.fifo("here"), profile.fifo("gate"));
        let script = profile.outside().join("claude");
        write_program(&script, CLAUDE);
        let interactive = Value::from(format!("'{}' {{{{prompt_file}}}}", script.display()));
        let profile = profile
            .config(&format!("{config}\n[runners.claude]\ninteractive = {interactive}\n"))
            .env("HERE", here.path())
            .env("GATE", gate.path());
        Self { profile, here, gate }
    }

    fn run(&self, args: &[&str]) -> Ran {
        finish(self.profile.start(args))
    }

    /// Starts a worker and waits until it works.
    fn hire(&self, id: &str) {
        self.run(&["worker", "start", id, "do it"]).ok();
        assert_eq!(self.here.hear(), "there\n");
    }

    /// The worker reads so many tokens.
    fn reads(&self, tokens: u64) {
        self.gate.say(&format!("{tokens}\n"));
        assert_eq!(self.here.hear(), "done\n");
    }

    fn spend(&self) -> Value {
        self.run(&["status", "--json"]).ok().json()["spend"].clone()
    }

    fn standing(&self, id: &str) -> String {
        let rows = self.run(&["worker", "list", "--json"]).ok().json();
        let row = rows.as_array().expect("rows").iter().find(|row| row["id"] == id).cloned();
        row.unwrap_or_default()["standing"].as_str().unwrap_or_default().to_owned()
    }

    /// Beats until a person is asked, and gives the ask. What a worker's agent wrote may be found a look later.
    #[track_caller]
    fn asked(&self) -> String {
        self.profile.until("an ask", || {
            self.run(&["beat"]).ok();
            let asks = self.run(&["asks", "--json"]).ok().json();
            asks[0]["id"].as_str().map(str::to_owned)
        })
    }

    /// Waits until a worker stands so: its host says it a moment after it is so.
    #[track_caller]
    fn stands(&self, id: &str, standing: &str) {
        self.profile.until_is(&format!("{id} {standing}"), || self.standing(id).starts_with(standing));
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(self.profile.run(&["kill", "--all", "--force"]));
    }
}

#[test]
fn what_the_file_of_its_agent_says_is_counted_while_a_worker_lives_and_settled_at_its_end() {
    let desk = Desk::new("");
    desk.hire("w");
    assert_eq!(desk.spend()["reserved_usd"], json!(2.0));
    desk.reads(500_000);
    desk.run(&["beat"]).ok();
    let spend = desk.spend();
    assert_eq!(json!([spend["usd"], spend["reserved_usd"], spend["tokens"]]), json!([0.5, 1.5, 500_000]));
    desk.reads(250_000);
    desk.run(&["kill", "w"]).ok();
    desk.run(&["beat"]).ok();
    let spend = desk.spend();
    assert_eq!(json!([spend["usd"], spend["reserved_usd"]]), json!([0.75, 0.0]));
    desk.run(&["beat"]).ok();
    let csv = desk.run(&["cost", "all", "--by", "worker", "--csv"]).ok().stdout;
    assert_eq!(
        csv,
        "worker,usd,tokens_in,tokens_out,tokens_cached,count,unreported_usd\nw,0.75,750000,0,0,2,0\n"
    );
    let models = desk.run(&["cost", "today", "--by", "model", "--json"]).ok().json();
    assert_eq!(models["groups"][0]["name"], "claude-haiku-4-5");
}

#[test]
fn two_workers_in_one_folder_have_each_their_own_file() {
    let desk = Desk::new("");
    desk.hire("a");
    desk.reads(100_000);
    desk.run(&["kill", "a"]).ok();
    desk.hire("b");
    desk.reads(300_000);
    desk.run(&["kill", "b"]).ok();
    desk.run(&["beat"]).ok();
    let csv = desk.run(&["cost", "all", "--by", "worker", "--csv"]).ok().stdout;
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    assert_eq!(rows, ["b,0.3,300000,0,0,1,0", "a,0.1,100000,0,0,1,0"]);
}

#[test]
fn a_worker_that_passes_its_allowance_is_stopped_until_the_person_says_continue() {
    let desk = Desk::new("max_worker_usd = 0.5");
    desk.hire("w");
    desk.reads(510_000);
    desk.run(&["beat"]).ok();
    desk.stands("w", "paused");
    let asks = desk.run(&["asks", "--json"]).ok().json();
    assert_eq!(asks.as_array().unwrap().len(), 1, "{asks}");
    assert_eq!(asks[0]["options"], json!(["continue", "kill"]));
    let prompt = asks[0]["prompt"].as_str().unwrap();
    assert!(prompt.starts_with("w~1 has spent $0.51 of its $0.50 and is paused."), "{prompt}");
    assert!(desk.run(&["status"]).ok().stdout.contains("$0.51 of $0.50"));
    desk.run(&["beat"]).ok();
    assert_eq!(desk.run(&["asks", "--json"]).ok().json().as_array().unwrap().len(), 1, "asked once");
    desk.run(&["answer", asks[0]["id"].as_str().unwrap(), "continue"]).ok();
    desk.run(&["beat"]).ok();
    // It takes this only if it goes on.
    desk.reads(100_000);
    desk.run(&["beat"]).ok();
    desk.stands("w", "alive");
    assert_eq!(desk.spend()["usd"], json!(0.61));
}

#[test]
fn a_worker_that_passes_its_allowance_is_killed_if_the_person_says_so() {
    let desk = Desk::new("max_worker_usd = 0.5");
    desk.hire("w");
    desk.reads(700_000);
    desk.run(&["answer", &desk.asked(), "kill"]).ok();
    desk.run(&["beat"]).ok();
    desk.stands("w", "killed");
    desk.run(&["beat"]).ok();
    let spend = desk.spend();
    assert_eq!(json!([spend["usd"], spend["reserved_usd"]]), json!([0.7, 0.0]));
}

#[test]
fn a_worker_whose_question_is_dismissed_stays_stopped_and_says_how_to_go_on() {
    let desk = Desk::new("max_worker_usd = 0.5");
    desk.hire("w");
    desk.reads(700_000);
    let ask = desk.asked();
    desk.stands(
        "w",
        &format!("paused: it passed its allowance ($0.70 of $0.50); looop answer {ask} continue"),
    );
    desk.run(&["asks", "dismiss", &ask]).ok();
    desk.run(&["beat"]).ok();
    assert_eq!(desk.run(&["asks", "--json"]).ok().json(), json!([]));
    let said = "paused: it passed its allowance ($0.70 of $0.50); you will be asked again in ";
    desk.stands("w", said);
    for verb in ["status", "why"] {
        let text = desk.run(&[verb]).ok().stdout;
        assert!(text.contains(said) && text.contains("or looop kill w"), "{verb}: {text}");
    }
    desk.run(&["kill", "w"]).ok();
    desk.stands("w", "killed");
}

#[test]
fn a_goal_that_its_budget_stops_says_so_everywhere_and_is_told_once() {
    let desk = Desk::new("notification = 'printf \"%s\\n\" \"$LOOOP_MESSAGE\" >> told'");
    let goal = "---\ncheck: false\nworker: make it\nbudget_usd: 1.5\n---\n# Make it\n";
    desk.profile.write("goals/g.md", goal);
    let reason = "$0.00 of the $1.50 of goal g is spent, and one more worker may cost $2.00";
    for _ in 0..3 {
        desk.run(&["beat"]).ok();
    }
    for verb in ["status", "why"] {
        let text = desk.run(&[verb]).ok().stdout;
        assert!(text.contains(reason), "{verb}: {text}");
    }
    let status = desk.run(&["status", "--json"]).ok().json();
    assert_eq!(
        (&status["goals"][0]["broke"], &status["goals"][0]["budget_usd"]),
        (&json!(reason), &json!(1.5))
    );
    let told = desk.profile.entries().into_iter().filter(|entry| matches!(entry, Entry::Notified { .. }));
    assert_eq!(told.count(), 1);
    let said = fs::read_to_string(desk.profile.data().join("told")).expect("a notice");
    assert_eq!(said, format!("the budget stops goal g: {reason} (budget_usd in goals/g.md)\n"));
}

#[test]
fn a_worker_beyond_the_cap_is_not_started_and_the_refusal_says_why() {
    let desk = Desk::new("max_daily_usd = 3");
    desk.hire("a");
    desk.run(&["worker", "start", "b", "do it"]).fails(
        1,
        "$0.00 of today's $3.00 is spent, $2.00 is reserved for what runs, and one more worker may cost $2.00",
    );
    // A plain command costs nothing.
    desk.run(&["worker", "start", "c", "--command", "exec sleep 1000"]).ok();
    desk.run(&["worker", "start", "d", "--command", "claude -p hi"]).fails(1, "is reserved for what runs");
}

#[test]
fn what_an_agent_did_not_report_is_kept_apart_from_what_it_spent() {
    let desk = Desk::new("");
    desk.hire("w");
    // What it used cannot be known where its agent's files cannot be looked for.
    let files = desk.profile.outside().join("home/.claude");
    fs::remove_dir_all(&files).unwrap();
    fs::write(&files, "no folder").unwrap();
    desk.run(&["kill", "w"]).ok();
    let beat = desk.run(&["beat"]).ok().stdout;
    assert!(beat.contains("w~1 reported no cost; $2.00 was reserved and counts"), "{beat}");
    let spend = desk.spend();
    assert_eq!(
        json!([spend["usd"], spend["reserved_usd"], spend["unreported_usd"], spend["unreported_by"]]),
        json!([0.0, 0.0, 2.0, "claude"])
    );
    let key = "set runners.claude.cost (\"free\" if it costs nothing)";
    for verb in [&["status"][..], &["why"], &["why", "w"]] {
        let text = desk.run(verb).ok().stdout;
        assert!(
            text.contains("$2.00") && text.contains("not reported") && text.contains(key),
            "{verb:?}: {text}"
        );
    }
    let cost = desk.run(&["cost", "today", "--json"]).ok().json();
    assert_eq!(json!([cost["total"]["usd"], cost["total"]["unreported_usd"]]), json!([0.0, 2.0]));
    let table = desk.run(&["cost", "today"]).ok().stdout;
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..3], ["claude", "$0.00", "$2.00"], "{table}");
}

#[test]
fn a_shell_script_as_a_worker_costs_nothing_unless_it_says_so() {
    let profile = Profile::bare(LOOOP);
    let script = profile.outside().join("paint.sh");
    fs::write(&script, "echo red > \"$LOOOP_REPORTS_DIR/fence.txt\"\n").expect("a script");
    let runner = |more: &str| {
        let command = Value::from(format!("bash '{}' {{{{prompt_file}}}}", script.display()));
        format!("max_daily_usd = 3\n[runners.painter]\ninteractive = {command}\n{more}")
    };
    let profile = profile.config(&runner(""));
    let run = |args: &[&str]| finish(profile.start(args));
    for worker in ["a", "b", "c"] {
        run(&["worker", "start", worker, "paint it"]).ok();
        run(&["wait", worker]).ok();
        run(&["beat"]).ok();
    }
    let spend = run(&["status", "--json"]).ok().json()["spend"].clone();
    assert_eq!(
        json!([spend["usd"], spend["reserved_usd"], spend["unreported_usd"]]),
        json!([0.0, 0.0, 0.0]),
        "{spend}"
    );
    run(&["cost", "record", "--usd", "0.25", "--session", "a"]).ok();
    run(&["beat"]).ok();
    assert_eq!(run(&["status", "--json"]).ok().json()["spend"]["usd"], json!(0.25), "what it says counts");
    // Whoever knows better says so.
    fs::write(profile.data().join("config.toml"), runner("cost = \"paid\"\n")).expect("a configuration");
    run(&["worker", "start", "d", "paint it"]).ok();
    run(&["wait", "d"]).ok();
    run(&["beat"]).ok();
    assert_eq!(run(&["status", "--json"]).ok().json()["spend"]["unreported_usd"], json!(2.0));
    run(&["worker", "start", "e", "paint it"]).fails(
        1,
        "$0.25 of today's $3.00 is spent, $2.00 was reserved and not reported, and one more worker may cost $2.00 \
         (max_daily_usd sets the cap; set runners.painter.cost (\"free\" if it costs nothing)",
    );
}

#[test]
fn what_is_recorded_is_counted_once_and_moved_away() {
    let profile = Profile::bare(LOOOP);
    profile.beat().ok();
    let record = |args: &[&str]| profile.run(&[&["cost", "record"], args].concat());
    record(&["--usd", "0.25"]).fails(2, "LOOOP_SESSION_ID is not set");
    record(&["--usd", "-1", "--session", "w"]).fails(2, "");
    record(&["--usd=nan", "--session", "w"]).fails(2, "not an amount of dollars");
    record(&["--usd", "0.25", "--tokens-in", "10", "--model", "big", "--session", "w"]).ok();
    let older = profile.run(&["_", "cost", "goal", "triage", "pi", "0.5"]).ok();
    assert_eq!(older.stdout, "recorded $0.50 for triage\n");
    profile.beat().ok();
    profile.beat().ok();
    let report = profile.run(&["cost", "today", "--by", "model", "--csv"]).ok().stdout;
    let head = "model,usd,tokens_in,tokens_out,tokens_cached,count,unreported_usd";
    assert_eq!(report, format!("{head}\n(unknown),0.5,0,0,0,1,0\nbig,0.25,10,0,0,1,0\n"));
    assert_eq!(
        fs::read_dir(profile.data().join("spend"))
            .unwrap()
            .flatten()
            .filter(|e| e.path().extension().is_some())
            .count(),
        0
    );
    assert!(profile.file("mail.d/w-1.spend.json").is_some());
}

#[test]
fn decides_without_a_receipt_are_counted_until_the_cost_is_said_and_a_beat_tries_all_the_same() {
    let config = |more: &str| {
        format!(
            "default = \"fake\"\n[runners.fake]\ntick = \"echo '{{\\\"action\\\":\\\"noop\\\"}}'\"\n{more}"
        )
    };
    let profile = Profile::bare(LOOOP).config(&config("cost = \"paid\"\n"));
    let counted = |profile: &Profile| profile.ledger().unmetered.map(|found| found.runs);
    for _ in 0..3 {
        profile.beat().ok();
    }
    assert_eq!(counted(&profile), Some(3));
    profile.beat().ok();
    assert_eq!((profile.ledger().runs, counted(&profile)), (4, Some(4)));
    let profile = profile.config(&config("cost = \"free\"\n"));
    profile.beat().ok();
    assert_eq!(profile.ledger().runs, 5);
}

#[test]
fn a_shell_script_that_decides_costs_nothing_unless_it_says_so() {
    let profile = Profile::bare(LOOOP);
    let script = profile.outside().join("decide.sh");
    fs::write(&script, "grep -q nothing; echo '{\"action\":\"noop\"}'\n").expect("a script");
    let tick = Value::from(format!("sh '{}'", script.display()));
    let profile = profile.config(&format!("default = \"mine\"\n[runners.mine]\ntick = {tick}\n"));
    for _ in 0..4 {
        profile.beat().ok();
    }
    assert_eq!(profile.ledger().runs, 4, "no report is missing");
    let spend = profile.run(&["status", "--json"]).ok().json()["spend"].clone();
    assert_eq!(json!([spend["usd"], spend["unreported_usd"], spend["decides"]]), json!([0.0, 0.0, 4]));
}

#[test]
fn the_default_cap_holds_and_zero_switches_it_off() {
    let tick = r#"echo '{"type":"done","usd":4.5}'; echo '{"action":"noop"}' > "$LOOOP_DECISION_FILE""#;
    let config = |cap: &str| {
        format!("default = \"fake\"\nmax_decide_usd = 6\n{cap}[runners.fake]\ntick = {}\n", Value::from(tick))
    };
    let profile = Profile::bare(LOOOP).config(&config(""));
    profile.beat().ok();
    let second = profile.beat().ok();
    assert!(second.stdout.contains("of today's $10.00 is spent"), "{second:?}");
    let profile = profile.config(&config("max_daily_usd = 0\n"));
    profile.beat().ok();
    assert_eq!(profile.ledger().runs, 2);
}

#[test]
fn what_older_versions_recorded_is_history() {
    let profile = Profile::bare(LOOOP);
    profile.beat().ok();
    let lines = [
        r#"{"cost_usd":0.0312,"id":"tick-1","kind":"tick","runner":"pi","ts":"2026-01-31T18:03:09Z"}"#,
        "halfway {",
        r#"{"cost_usd":1.25,"id":"triage","kind":"goal","runner":"claude","ts":"2026-02-01T11:47:52Z"}"#,
    ];
    profile.write("cost.jsonl", lines.join("\n"));
    let shown = profile.run(&["cost", "all"]).ok().stdout;
    let rows: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["DAY", "SPENT", "UNREPORTED", "TOKENS", "TIMES"]);
    assert_eq!(rows[1][..5], ["2026-01-31", "$0.0312", "$0.00", "0", "1"]);
    assert_eq!(rows[1][5], "▉", "a fortieth: {shown}");
    assert_eq!(rows[2], ["2026-02-01", "$1.25", "$0.00", "0", "1", &"█".repeat(40)]);
    assert_eq!(rows[3], ["total", "$1.2812", "$0.00", "0", "2"]);
    let goals = profile.run(&["cost", "all", "--by", "goal", "--csv"]).ok().stdout;
    assert!(goals.contains("\ntriage,1.25,"), "{goals}");
    assert_eq!(profile.run(&["cost", "today"]).ok().stderr, "nothing was spent in that time\n");
    profile.run(&["cost", "all", "--json", "--csv"]).fails(2, "cannot be used with");
}

#[test]
fn a_price_of_ones_own_takes_the_place_of_the_shipped_one() {
    let desk = Desk::new("[prices.claude-haiku-4-5]\ninput = 10\noutput = 50\n");
    desk.hire("w");
    desk.reads(100_000);
    desk.run(&["beat"]).ok();
    assert_eq!(desk.spend()["usd"], json!(1.0));
}
