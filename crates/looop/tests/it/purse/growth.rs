//! Workers whose agent keeps a file: what it says counts when it is written, not at the next interval.

use looop_core::ledger::entry::Entry;
use looop_sim::profile::{Profile, write_program};

use super::desk::LOOOP;

/// A program that keeps files as pi does: each line that it is given is what a message has cost.
const PI: &str = r#"#!/bin/bash
folder="$HOME/.pi/agent/sessions/x"
mkdir -p "$folder"
printf '{"type":"session","version":3,"cwd":"%s"}\n{"type":"message","message":{"role":"user","content":"%s"}}\n' \
    "$PWD" "$1" > "$folder/1.jsonl"
exec 3<> "$ORDERS"
while read -r usd <&3; do
    printf '{"type":"message","message":{"role":"assistant","model":"m","usage":{"input":1,"output":1,"cost":{"total":%s}}}}\n' \
        "$usd" >> "$folder/1.jsonl"
    echo "spent $usd"
done
"#;

fn granted(profile: &Profile) -> usize {
    profile.entries().iter().filter(|entry| matches!(entry, Entry::Granted { .. })).count()
}

#[test]
fn a_worker_is_paused_when_it_writes_that_it_passed_its_allowance() {
    let profile = Profile::bare(LOOOP).config(
        "default = \"builtin\"\ninterval = \"24h\"\nmax_worker_usd = 0.15\n\
         [runners.agent]\ninteractive = \"pi {{prompt_file}}\"\n",
    );
    let orders = profile.fifo("orders");
    write_program(&profile.outside().join("pi"), PI);
    let path = format!("{}:/usr/bin:/bin", profile.outside().display());
    let profile = profile.env("PATH", path).env("ORDERS", orders.path());
    profile.run(&["up"]).ok();
    profile.run(&["worker", "start", "w", "Do it."]).ok();
    let paused = |profile: &Profile| {
        let list = profile.run(&["worker", "list", "--json"]).ok().stdout;
        list.contains("\"standing\":\"paused")
    };
    let asks = |profile: &Profile| profile.run(&["asks", "--json"]).ok().json();
    orders.say("0.10\n");
    orders.say("0.45\n");
    profile.until_is("a pause", || paused(&profile));
    let ask = profile.until("a question", || {
        let asked = asks(&profile);
        asked[0]["id"].as_str().map(str::to_owned)
    });
    let said = asks(&profile).to_string();
    assert!(said.contains("w~1 has spent $0.55 of its $0.15"), "{said}");
    profile.run(&["answer", &ask, "continue"]).ok();
    profile.until_is("it goes on", || granted(&profile) == 1 && !paused(&profile));
    assert_eq!(asks(&profile), serde_json::json!([]), "it can go on now");
    orders.say("0.15\n");
    orders.say("0.01\n");
    profile.until_is("another pause", || paused(&profile));
    profile.run(&["kill", "w", "--force"]).ok();
    profile.run(&["down"]).ok();
    assert_eq!(profile.survivors(), Vec::<String>::new());
}
