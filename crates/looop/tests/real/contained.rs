//! Nothing of a worker runs outside its session: several of one agent at the same time, in one home.

use std::fs;
use std::path::Path;

use looop_sim::waiting::Fifo;
use rustix::process::{Pid, Signal, getpid, kill_process};

use crate::agents::{Agent, claude, codex, gemini, hired, opencode, pi};
use crate::desk::Desk;
use crate::needs::{agents, found};
use crate::person::Person;

const PROMPT: &str = "Count the herons at the harbour.";
/// The two workers.
const IDS: [&str; 2] = ["one", "two"];

/// A command that says whose environment it has and what its number is, and goes on and on.
fn says(up: &Fifo) -> String {
    format!("run: echo \"<$LOOOP_SESSION_ID> $$\" > {}; exec sleep 3600", up.path().display())
}

/// What such a command said: whose environment, and its number.
#[track_caller]
fn heard(up: &Fifo) -> (String, i32) {
    let said = up.hear();
    let (whose, pid) = said.trim().split_once(' ').unwrap_or_else(|| panic!("{said:?}"));
    (whose.to_owned(), pid.parse().unwrap())
}

fn runs(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}/cwd")).read_link().is_ok()
}

/// Two workers have each their own environment; the end of one is not that of the other, nor of what runs `beside` them,
/// and leaves nothing.
fn apart(agent: &Agent, desk: &Desk, beside: &[i32]) {
    let profile = desk.profile();
    let fifos = IDS.map(|id| profile.fifo(id));
    let mut pids = Vec::new();
    for (id, up) in IDS.into_iter().zip(&fifos) {
        profile.run(&["worker", "start", id, PROMPT]).ok();
        let worker = desk.beside(id);
        worker.expect("I (read it\\.|heard: )");
        worker.expect(agent.ready);
        worker.send(&says(up));
        let (whose, pid) = heard(up);
        assert_eq!(whose, format!("<{id}~1>"));
        pids.push(pid);
    }
    let all_run = |pids: &[i32]| pids.iter().chain(beside).filter(|pid| !runs(**pid)).count();
    assert_eq!(all_run(&pids), 0);
    profile.run(&["kill", "one"]).ok();
    assert!(!runs(pids[0]));
    assert_eq!(all_run(&pids[1..]), 0, "the other goes on");
    profile.run(&["kill", "two"]).ok();
    assert!(!runs(pids[1]));
    assert_eq!(all_run(&[]), 0, "what is not a worker's goes on");
}

fn two_workers(agent: &Agent) {
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, _model, _gate) = hired(agent, "one", "talk");
    desk.profile().run(&["init", "--runner", agent.runner]).ok();
    apart(agent, &desk, &[]);
    desk.left_nothing();
}

#[test]
fn two_of_claude() {
    two_workers(&claude());
}

#[test]
fn two_of_opencode() {
    two_workers(&opencode());
}

#[test]
fn two_of_pi() {
    two_workers(&pi());
}

#[test]
fn two_of_gemini() {
    two_workers(&gemini());
}

/// A command that a person wrote, in which nothing keeps codex from using its server.
const OWN: &str = "[runners.codex]\ninteractive = \"A=1 codex --dangerously-bypass-approvals-and-sandbox \\\"Read {{prompt_file}} \
    and do what it says.\\\"\"\n";

/// codex has a server that all its instances in one home share, and the person's own codex has started it.
#[test]
fn two_of_codex_beside_the_persons_own() {
    let agent = codex();
    if !found(&[agent.runner, "python3"]) {
        return;
    }
    let (desk, _model, _gate) = hired(&agent, "one", "talk");
    let profile = desk.profile();
    profile.write("config.toml", OWN);
    let up = profile.fifo("person");
    let server = Server { home: profile.outside().join("home").to_string_lossy().into_owned() };
    let mut person =
        Person::running(&persons(&desk, &["--dangerously-bypass-approvals-and-sandbox"]), 110, 36);
    person.sees("Ask Codex to do anything");
    person.types(&says(&up));
    person.sees("sleep 3600");
    person.types("\r");
    let (whose, pid) = heard(&up);
    assert_eq!(whose, "<>");
    apart(&agent, &desk, &[pid]);
    drop(person);
    drop(server);
    desk.left_nothing();
}

/// A script that starts codex in a way in which nothing keeps it from using the server of the person's own codex.
const SCRIPT: &str =
    "exec codex --dangerously-bypass-approvals-and-sandbox \"Read $1 and do what it says.\"\n";

/// What that server runs for a worker has neither the worker's environment nor its mark: it is said that it runs, and it
/// is left to the person.
#[test]
fn what_codex_runs_outside_the_session_is_said() {
    let agent = codex();
    if !found(&[agent.runner, "python3", "git"]) {
        return;
    }
    let (desk, _model, _gate) = hired(&agent, "one", "talk");
    let profile = desk.profile();
    let (script, repo) = (profile.outside().join("codex.sh"), profile.outside().join("repo"));
    fs::write(&script, SCRIPT).unwrap();
    let runner = format!("sh {} {{{{prompt_file}}}}", script.display());
    profile.write("config.toml", format!("[runners.codex]\ninteractive = {runner:?}\n"));
    made(&repo);
    let settings = profile.outside().join("home/.codex/config.toml");
    let trusted = [&repo, &profile.data().join("work/one~1")]
        .map(|folder| format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", folder.display().to_string()));
    let trusts = fs::read_to_string(&settings).unwrap() + &trusted.concat();
    fs::write(&settings, trusts).unwrap();
    let server = Server { home: profile.outside().join("home").to_string_lossy().into_owned() };
    let mut person =
        Person::running(&persons(&desk, &["--dangerously-bypass-approvals-and-sandbox"]), 110, 36);
    person.sees("Ask Codex to do anything");
    let up = profile.fifo("up");
    let place = repo.to_string_lossy().into_owned();
    profile.run(&["worker", "start", "one", PROMPT, "--repo", &place]).ok();
    let worker = desk.beside("one");
    worker.expect("I (read it\\.|heard: )");
    worker.expect(agent.ready);
    worker.send(&says(&up));
    let (whose, pid) = heard(&up);
    assert_eq!(whose, "<>", "it runs in the session: this codex has no such server");
    let rows = profile.run(&["ls", "--json"]).ok().json();
    let strays = rows[0]["strays"].as_array().unwrap().clone();
    let row = strays.iter().find(|row| row["pid"] == pid).unwrap_or_else(|| panic!("{pid}: {rows}"));
    // Its shell becomes the program that it runs last.
    let program = row["program"].as_str().unwrap();
    assert!(["bash", "sleep"].contains(&program) && row["marked"] == false, "{row}");
    let said = profile.run(&["kill", "one"]).ok().stderr;
    assert!(said.contains(&format!("(pid {pid}) runs in its folder, outside its session")), "{said}");
    assert!(runs(pid));
    drop(person);
    drop(server);
    desk.left_nothing();
}

/// A repository with one commit.
fn made(repo: &Path) {
    fs::create_dir(repo).unwrap();
    let git = |args: &[&str]| {
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
        let ran =
            std::process::Command::new("git").arg("-C").arg(repo).args(who).args(args).output().unwrap();
        assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    fs::write(repo.join("file"), "one\n").unwrap();
    git(&["add", "file"]);
    git(&["commit", "--quiet", "-m", "one"]);
}

/// What the person's own codex leaves running, which is its server and what that runs. It ends with this value.
struct Server {
    home: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = process.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw);
            // Whatever ended meanwhile has no files.
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            if let Some(pid) = pid.filter(|pid| *pid != getpid())
                && String::from_utf8_lossy(&environment).contains(&self.home)
            {
                kill_process(pid, Signal::KILL).ok();
            }
        }
    }
}

/// The person's own codex, in the home that the workers have, too.
fn persons(desk: &Desk, args: &[&str]) -> std::process::Command {
    let profile = desk.profile();
    let settings = profile.command::<&str>(&[]);
    let mut command = std::process::Command::new("codex");
    command.args(args).env_clear();
    command.envs(settings.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(profile.outside());
    command
}

/// A confined worker reads its prompt, talks to its model and keeps its state, with nothing of the home but that.
fn confined(agent: &Agent) {
    if !found(&[agent.runner, "python3", "bwrap"]) {
        return;
    }
    let (desk, model, _gate) = hired(agent, "one", "talk");
    let profile = desk.profile();
    profile.run(&["init", "--runner", agent.runner]).ok();
    let config = profile.file("config.toml").unwrap();
    let tools = agents().canonicalize().unwrap();
    profile.write("config.toml", format!("sandbox_tools = ['{}']\n{config}", tools.display()));
    fs::write(profile.outside().join("home/secret"), "").unwrap();
    profile.run(&["worker", "start", "one", PROMPT, "--sandbox"]).ok();
    desk.expect("I (read it\\.|heard: )");
    desk.expect(agent.ready);
    assert!(model.was_told(PROMPT), "{:?}", model.heard());
    let report = profile.data().join("box/reports/empty");
    desk.send(&format!("run: test ! -e ~/secret && touch {}", report.display()));
    profile.until("a report", || profile.file("box/reports/empty"));
    profile.run(&["kill", "one"]).ok();
    desk.left_nothing();
}

#[test]
fn claude_is_confined() {
    confined(&claude());
}

#[test]
fn codex_is_confined() {
    confined(&codex());
}

#[test]
fn opencode_is_confined() {
    confined(&opencode());
}

#[test]
fn pi_is_confined() {
    confined(&pi());
}

#[test]
fn gemini_is_confined() {
    confined(&gemini());
}
