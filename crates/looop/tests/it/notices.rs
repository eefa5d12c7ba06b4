//! What needs a person reaches them: the real binary, a real command, a real small server.

#![expect(clippy::unwrap_used, reason = "a helper that fails ends its test")]

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use looop_core::ledger::entry::Entry;
use looop_core::model::outcome::Outcome;
use looop_sim::profile::Profile;
use looop_sim::waiting::{HANGS, finish};
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use serde_json::{Value, json};

/// What a server was sent.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) line: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    /// Arguments of any process on this machine that held the server's secret meanwhile.
    seen: Vec<String>,
}

/// A web server on this machine that takes one request a connection and answers as it is told; 200 if not.
pub(crate) struct Server {
    port: u16,
    posted: Receiver<Posted>,
    answers: Arc<Mutex<VecDeque<String>>>,
}

impl Server {
    pub(crate) fn start(secret: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, posted) = channel();
        let answers: Arc<Mutex<VecDeque<String>>> = Arc::default();
        let next = answers.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                serve(stream.unwrap(), &next, &sender, secret);
            }
        });
        Self { port, posted, answers }
    }

    pub(crate) fn answer(&self, head: &str, body: &str) {
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        self.answers.lock().unwrap().push_back(answer);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    #[track_caller]
    pub(crate) fn next(&self) -> Posted {
        self.posted.recv_timeout(HANGS).expect("a request")
    }

    #[track_caller]
    pub(crate) fn silent(&self) {
        let posted = self.posted.try_recv();
        assert!(posted.is_err(), "{posted:?}");
    }
}

fn serve(
    stream: TcpStream,
    answers: &Mutex<VecDeque<String>>,
    sender: &Sender<Posted>,
    secret: &'static str,
) {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let headers = head.iter().skip(1).filter_map(|line| line.split_once(": "));
    let headers: BTreeMap<String, String> =
        headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let length = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let posted = Posted {
        line: head.first().cloned().unwrap_or_default(),
        headers,
        body: String::from_utf8(body).unwrap(),
        seen: arguments().into_iter().filter(|text| !secret.is_empty() && text.contains(secret)).collect(),
    };
    let answer = answers.lock().unwrap().pop_front();
    let answer = answer
        .unwrap_or_else(|| "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok".into());
    // Before the answer: whoever waits for the notice to be sent finds it here.
    drop(sender.send(posted));
    reader.get_mut().write_all(answer.as_bytes()).unwrap();
}

/// A port that is taken and at which nobody listens, as long as the socket is held.
fn deaf() -> (OwnedFd, u16) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap().port();
    (socket, port)
}

/// The arguments of every process, where the kernel shows them.
fn arguments() -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|bytes| String::from_utf8_lossy(&bytes).replace('\0', " ")).collect()
}

/// A profile whose decider gives what the test wants next, with channels on top of its configuration.
fn asking(prompt: &str, channels: &str) -> Profile {
    let profile = Profile::bare(env!("CARGO_BIN_EXE_looop")).decider(&ask(prompt));
    let config = profile.file("config.toml").unwrap();
    profile.write("config.toml", format!("{channels}\n{config}"));
    profile
}

fn ask(prompt: &str) -> Value {
    json!({"action": "ask_human", "prompt": prompt})
}

fn notified(profile: &Profile) -> Vec<String> {
    let key = |entry: &Entry| if let Entry::Notified { key, .. } = entry { Some(key.clone()) } else { None };
    profile.entries().iter().filter_map(key).collect()
}

fn undelivered(profile: &Profile) -> Value {
    profile.run(&["status", "--json"]).ok().json()["undelivered"].clone()
}

/// A command that appends what it was told to a file.
fn command(file: &str) -> String {
    format!(
        r#"notification = "printf '%s|%s|%s\\n' \"$LOOOP_KIND\" {{{{id}}}} \"$LOOOP_MESSAGE\" >> ../{file}""#
    )
}

#[test]
fn an_ask_is_told_once_over_many_beats_and_not_again_when_answered() {
    let profile = asking("Ship it; $(touch x)?", &command("heard"));
    profile.beat().ok();
    profile.decide_next(&json!({"action": "noop"}));
    for _ in 0..3 {
        profile.beat().ok();
    }
    let heard = || fs::read_to_string(profile.outside().join("heard")).unwrap();
    let told = "question|ask-1|looop asks: Ship it; $(touch x)? (looop answer ask-1 '…')\n";
    assert_eq!(heard(), told);
    profile.run(&["answer", "ask-1", "yes"]).ok();
    profile.beat().ok();
    assert_eq!((heard().as_str(), notified(&profile)), (told, vec!["ask:ask-1".to_owned()]));
    assert!(profile.ledger().notices.is_empty());
    let events = profile.run(&["events", "--json"]).ok().stdout;
    assert!(
        events.contains(r#""event":"notified","key":"ask:ask-1","kind":"question","id":"ask-1""#),
        "{events}"
    );
}

#[test]
fn without_a_channel_an_ask_is_kept_and_nothing_is_said_about_notices() {
    let profile = asking("Ship it?", "");
    profile.beat().ok();
    assert_eq!(notified(&profile), Vec::<String>::new());
    assert_eq!(profile.ledger().asks.len(), 1);
    assert_eq!(undelivered(&profile), json!([]));
}

#[test]
fn ntfy_and_webhook_get_what_they_expect() {
    let (ntfy, hook) = (Server::start(""), Server::start(""));
    let channels = format!("ntfy = \"{}\"\nwebhook = \"{}\"", ntfy.url("/topic"), hook.url("/in?x=1"));
    let profile = asking("Ship “it”?", &channels);
    profile.beat().ok();
    let message = "looop asks: Ship “it”? (looop answer ask-1 '…')";
    let got = ntfy.next();
    assert_eq!((got.line.as_str(), got.body.as_str()), ("POST /topic HTTP/1.1", message));
    let header = |got: &Posted, name: &str| got.headers.get(name).cloned();
    assert_eq!(header(&got, "title").as_deref(), Some("looop: question"));
    assert_eq!(header(&got, "tags").as_deref(), Some("question"));
    assert_eq!(header(&got, "content-type").as_deref(), Some("text/plain; charset=utf-8"));
    assert_eq!(header(&got, "authorization"), None);
    assert!(header(&got, "user-agent").is_some_and(|agent| agent.starts_with("looop/")), "{got:?}");
    let got = hook.next();
    assert_eq!(got.line, "POST /in?x=1 HTTP/1.1");
    assert_eq!(header(&got, "content-type").as_deref(), Some("application/json"));
    let body: Value = serde_json::from_str(&got.body).unwrap();
    let host = body["host"].as_str().unwrap_or_default().to_owned();
    let expected = json!({
        "v": 1, "kind": "question", "id": "ask-1", "message": message,
        "host": host, "profile": profile.data().to_string_lossy(),
    });
    assert_eq!((body, host.is_empty()), (expected, false));
    assert_eq!(undelivered(&profile), json!([]));
    ntfy.silent();
    hook.silent();
}

#[test]
fn a_failing_channel_is_in_the_status_until_it_works() {
    let (ntfy, hook) = (Server::start(""), Server::start(""));
    let (_held, gone) = deaf();
    let channels = format!("ntfy = \"{}\"\nwebhook = \"http://127.0.0.1:{gone}/x\"", ntfy.url("/topic"));
    let profile = asking("First?", &channels);
    ntfy.answer("500 Internal Server Error", "out of\norder");
    profile.beat().ok();
    let failing = undelivered(&profile);
    let text = |at: usize| failing[at].as_str().unwrap().to_owned();
    assert!(text(0).starts_with("ntfy did not take 1 in a row"), "{failing}");
    assert!(text(0).ends_with("127.0.0.1: status 500: out of order"), "{failing}");
    assert!(
        text(1).starts_with("webhook did not take 1 in a row") && text(1).contains("refused"),
        "{failing}"
    );
    let shown = profile.run(&["status"]).ok().stdout;
    assert!(shown.contains("notices   ntfy did not take 1"), "{shown}");
    let config = profile.file("config.toml").unwrap();
    profile.write("config.toml", config.replace(&format!("http://127.0.0.1:{gone}/x"), &hook.url("/x")));
    profile.decide_next(&ask("Second?"));
    profile.write("goals/new.md", "# New\n");
    profile.beat().ok();
    assert_eq!(undelivered(&profile), json!([]));
    let events = profile.run(&["events", "--json"]).ok().stdout;
    for event in ["undelivered", "delivered"] {
        assert_eq!(events.matches(&format!("\"event\":\"{event}\"")).count(), 2, "{events}");
    }
    assert!(hook.next().body.contains("Second?"));
}

#[test]
fn a_server_that_speaks_no_tls_is_an_error_like_any_other() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    let profile = asking("Ship it?", &format!("ntfy = \"https://127.0.0.1:{port}/topic\""));
    profile.beat().ok();
    let failing = undelivered(&profile).to_string();
    assert!(failing.contains("ntfy did not take 1 in a row") && !failing.contains("panicked"), "{failing}");
}

#[test]
fn a_redirection_is_not_followed_and_says_so() {
    let (server, other) = (Server::start(""), Server::start(""));
    for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let profile = asking("Ship it?", &format!("ntfy = \"{}\"", server.url("/topic")));
        server.answer(&format!("{status}\r\nlocation: {}", other.url("/there")), "");
        profile.beat().ok();
        assert!(server.next().line.starts_with("POST /topic "));
        let failing = undelivered(&profile).to_string();
        let expected = format!("status {}: it is elsewhere now; set the new address", &status[..3]);
        assert!(failing.contains(&expected), "{status}: {failing}");
        other.silent();
    }
}

#[test]
fn secrets_are_in_no_argument_log_error_or_status() {
    const SECRET: &str = "s3cr3t-8d1f";
    let (ntfy, hook) = (Server::start(SECRET), Server::start(SECRET));
    let with_user = |url: String| url.replace("http://", &format!("http://me:{SECRET}u@"));
    let channels = format!(
        "ntfy = {{ url = \"{}\", token_env = \"MY_TOKEN\" }}\nwebhook = {{ url = \"{}\", header_env = \"MY_HEADER\" }}",
        ntfy.url(&format!("/{SECRET}p")),
        with_user(hook.url(&format!("/hook?key={SECRET}q"))),
    );
    let profile = asking("Ship it?", &channels)
        .env("MY_TOKEN", format!("{SECRET}t"))
        .env("MY_HEADER", format!("X-Key: Token {SECRET}h"));
    let echo = format!("no: /{SECRET}p Bearer {SECRET}t");
    ntfy.answer("403 Forbidden", &echo);
    hook.answer("403 Forbidden", &format!("no: me:{SECRET}u key={SECRET}q {SECRET}h"));
    let beat = profile.beat().ok();
    let (first, second) = (ntfy.next(), hook.next());
    assert_eq!(first.headers["authorization"], format!("Bearer {SECRET}t"));
    assert_eq!(second.headers["x-key"], format!("Token {SECRET}h"));
    assert!(second.headers["authorization"].starts_with("Basic "), "{second:?}");
    assert_eq!((first.seen, second.seen), (Vec::new(), Vec::new()), "arguments anybody can read");
    let status = profile.run(&["status"]).ok().stdout;
    assert_eq!(status.matches("status 403: no: ").count(), 2, "{status}");
    let events = profile.run(&["events", "--json"]).ok().stdout;
    let log = serde_json::to_string(&profile.lines()).unwrap();
    for text in [beat.stdout, beat.stderr, status, events, log] {
        assert!(!text.contains(SECRET), "{text}");
    }
}

#[test]
fn a_secret_that_is_not_there_is_named() {
    let server = Server::start("");
    let channels = format!("ntfy = {{ url = \"{}\", token_env = \"NO_TOKEN\" }}", server.url("/t"));
    let profile = asking("Ship it?", &channels);
    profile.beat().ok();
    let failing = undelivered(&profile).to_string();
    assert!(
        failing.contains("the variable NO_TOKEN, which the configuration names, is not set"),
        "{failing}"
    );
    server.silent();
}

#[test]
fn a_notice_that_takes_long_holds_up_nobody_and_is_not_cut_off() {
    let profile = asking("Ship it?", "notification = \"echo > ../begun; cat ../go; echo > ../heard\"");
    let (begun, go) = (profile.fifo("begun"), profile.fifo("go"));
    let beat = profile.start(&["beat"]);
    begun.hear();
    profile.run(&["pause"]).ok();
    assert!(!profile.outside().join("heard").exists());
    go.say("on\n");
    finish(beat).ok();
    assert!(profile.outside().join("heard").exists(), "the beat waits for what it sends");
    assert_eq!(undelivered(&profile), json!([]));
}

#[test]
fn a_command_that_fails_says_why() {
    let profile = asking("Ship it?", "notification = \"echo no display >&2; exit 3\"");
    profile.beat().ok();
    let failing = undelivered(&profile).to_string();
    assert!(
        failing.contains("command did not take 1 in a row") && failing.contains("exit 3: no display"),
        "{failing}"
    );
}

#[test]
fn repeated_failures_are_told() {
    let profile = asking("", &command("heard"));
    let config = profile.file("config.toml").unwrap();
    profile.write("config.toml", format!("max_decides_per_hour = 0\n{config}"));
    profile.decide_next(&json!({"action": "fly"}));
    for n in 0..3 {
        // An edit cuts the wait.
        profile.write("goals/g.md", format!("# G {n}\n"));
        assert!(!profile.outside().join("heard").exists());
        assert_eq!(profile.beat().code, 1);
    }
    let heard = fs::read_to_string(profile.outside().join("heard")).unwrap();
    assert!(heard.starts_with("failures||deciding failed 3 times in a row; last: "), "{heard}");
    assert_eq!(notified(&profile), ["failures"]);
}

fn outcome(profile: &Profile) -> Outcome {
    let finished = |entry: &Entry| {
        if let Entry::Finished { outcome, .. } = entry { Some(outcome.clone()) } else { None }
    };
    profile.entries().iter().filter_map(finished).next_back().expect("a move")
}

#[test]
fn the_move_goes_over_every_channel_and_names_those_that_failed() {
    let server = Server::start("");
    let channels = format!("{}\nntfy = \"{}\"", command("heard"), server.url("/topic"));
    let profile = asking("", &channels);
    let say = json!({"action": "send_notification", "message": "it is done", "id": "ship"});
    profile.decide_next(&say);
    server.answer("429 Too Many Requests", "slow down");
    profile.beat().ok();
    assert_eq!(
        fs::read_to_string(profile.outside().join("heard")).unwrap(),
        "notification|ship|it is done\n"
    );
    let got = server.next();
    assert_eq!((got.body.as_str(), got.headers["title"].as_str()), ("it is done", "looop: notification"));
    let Outcome::Done { note, .. } = outcome(&profile) else { panic!("{:?}", outcome(&profile)) };
    assert_eq!(note.as_deref(), Some("not by ntfy: 127.0.0.1: status 429: slow down"));
    assert_eq!(notified(&profile), Vec::<String>::new(), "it waits for nobody");

    let profile = asking("", &format!("ntfy = \"{}\"", server.url("/topic")));
    profile.decide_next(&say);
    server.answer("500 Oops", "");
    assert_eq!(profile.beat().code, 1);
    let Outcome::Failed { reason, .. } = outcome(&profile) else { panic!("{:?}", outcome(&profile)) };
    assert_eq!(reason, "not by ntfy: 127.0.0.1: status 500");
}
