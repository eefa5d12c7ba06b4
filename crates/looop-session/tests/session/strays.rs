//! What a session has running outside its tree is found; what carries its mark ends with it, and nothing else.

use std::fs;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use looop_session::{Ended, Roll, Sign, Spec, Standing, Stray, end_strays, host, strays};

use crate::support::{Ground, await_death, is_alive};

/// A server of the same user that runs before the session: whoever connects has it start a program, with or without the
/// environment of whoever connected, as daemons of agents do. Here it is a thread of the test: outside every session.
struct Server {
    socket: std::path::PathBuf,
}

/// A program that the server started.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // It may have been ended.
        self.0.kill().ok();
        self.0.wait().unwrap();
    }
}

impl Served {
    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }
}

impl Server {
    fn new(ground: &Ground) -> (Self, UnixListener) {
        let socket = ground.at("server");
        let listener = UnixListener::bind(&socket).unwrap();
        (Self { socket }, listener)
    }

    /// A shell text that hands a program to the server and waits for word that it runs.
    fn client(&self) -> String {
        let code = "import os,socket,sys\n\
            s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n\
            s.sendall((os.environ[\"LOOOP_MARK\"]+\"\\n\").encode()); s.recv(1)";
        format!("python3 -c '{code}' '{}'", self.socket.display())
    }
}

/// Takes one order: starts a sleeping program in this folder, with the mark of whoever asked or without one.
fn serve(listener: &UnixListener, cwd: &Path, marked: bool) -> Served {
    use std::io::{BufRead, BufReader, Write};
    let (stream, _) = listener.accept().unwrap();
    let mut mark = String::new();
    let mut from = BufReader::new(stream);
    from.read_line(&mut mark).unwrap();
    let mut command = Command::new("sleep");
    command.arg("1000").current_dir(cwd).stdin(Stdio::null()).env_remove("LOOOP_MARK");
    if marked {
        command.env("LOOOP_MARK", mark.trim());
    }
    let child = command.spawn().unwrap();
    let mut stream: UnixStream = from.into_inner();
    stream.write_all(b"!").unwrap();
    Served(child)
}

/// A session in a terminal whose status is published, in `root/w~1`, with a folder of its own.
fn spec(ground: &Ground, body: &str) -> Spec {
    fs::create_dir_all(ground.at("status")).unwrap();
    fs::create_dir_all(ground.at("work")).unwrap();
    let spec = ground.terminal_spec(body);
    Spec { publish: true, own: vec![ground.at("work").into()], ..spec }
}

fn found(pid: i32, by: Sign, ended: bool) -> Stray {
    Stray { pid, program: "sleep".into(), by, ended }
}

/// What is listed of the only session.
fn listed(ground: &Ground) -> Vec<Stray> {
    let rows = Roll::default().read(&ground.path(), &|_| true).unwrap();
    strays(&ground.path(), &rows).unwrap().remove("w~1").unwrap_or_default()
}

#[test]
fn what_a_server_runs_for_a_session_is_listed_and_ended_with_it() {
    let ground = Ground::new();
    ground.fifo("go");
    let (server, listener) = Server::new(&ground);
    let (client, go) = (server.client(), ground.at("go"));
    let body = format!("{client}; {client}; sleep 1000 & read _ < '{}'; exit 3", go.display());
    let (folder, launched) = ground.launch("w~1", &spec(&ground, &body));
    let marked = serve(&listener, Path::new("/"), true);
    let unmarked = serve(&listener, &ground.at("work"), false);
    let elsewhere = Served(Command::new("sleep").arg("1000").current_dir("/").spawn().unwrap());
    let mut expected =
        vec![found(marked.pid(), Sign::Mark, false), found(unmarked.pid(), Sign::Folder, false)];
    expected.sort_by_key(|stray| stray.pid);
    assert_eq!(listed(&ground), expected);

    // It ends by itself: its host looks for them.
    fs::write(&go, "\n").unwrap();
    let Standing::Ended(receipt) = launched.wait().unwrap() else { panic!("no receipt") };
    assert_eq!((receipt.ended, receipt.left), (Ended::Exited(3), Vec::new()));
    for stray in expected.iter_mut().filter(|stray| stray.by == Sign::Mark) {
        stray.ended = true;
    }
    assert_eq!(receipt.strays, expected);
    assert!(await_death(marked.pid()));
    assert!(is_alive(unmarked.pid()) && is_alive(elsewhere.pid()), "what only works there is a person's");
    let row = looop_session::row(&ground.path(), "w~1").unwrap().unwrap();
    assert_eq!(row.status.strays, expected);
    assert!(folder.exists());
}

#[test]
fn whoever_ends_sessions_ends_what_they_left_elsewhere() {
    let ground = Ground::new();
    let (server, listener) = Server::new(&ground);
    let (client, folder) = (server.client(), ground.at("w~1"));
    let (_, launched) = ground.launch("w~1", &spec(&ground, &format!("{client}; {client}; exec sleep 1000")));
    let marked = serve(&listener, &ground.path(), true);
    let unmarked = serve(&listener, &folder, false);
    assert!(host::kill(&folder).unwrap().killed());
    launched.wait().unwrap();
    assert!(is_alive(marked.pid()), "a host that is told to end leaves the look to whoever told it");

    let mut expected =
        vec![found(marked.pid(), Sign::Mark, true), found(unmarked.pid(), Sign::Folder, false)];
    expected.sort_by_key(|stray| stray.pid);
    let ended = end_strays(&ground.path(), &["w~1", "absent~1"]).unwrap();
    assert_eq!(ended.into_iter().collect::<Vec<_>>(), [("w~1".to_owned(), expected)]);
    assert!(await_death(marked.pid()) && is_alive(unmarked.pid()));
}

#[test]
fn whoever_is_spared_is_left_alone_elsewhere_too() {
    let ground = Ground::new();
    let (server, listener) = Server::new(&ground);
    let spec = Spec { spare: vec!["sleep".into()], ..spec(&ground, &format!("{}; exit 0", server.client())) };
    let (_, launched) = ground.launch("w~1", &spec);
    let spared = serve(&listener, Path::new("/"), true);
    let Standing::Ended(receipt) = launched.wait().unwrap() else { panic!("no receipt") };
    assert_eq!(receipt.strays, []);
    assert!(is_alive(spared.pid()));
}

#[test]
fn who_worked_in_the_folder_before_the_session_is_not_of_it() {
    let ground = Ground::new();
    fs::create_dir_all(ground.at("work")).unwrap();
    let before = Served(Command::new("sleep").arg("1000").current_dir(ground.at("work")).spawn().unwrap());
    // Start times are rounded: another process begins and ends meanwhile.
    assert!(Command::new("sleep").arg("0.1").status().unwrap().success());
    let (_, launched) = ground.launch("w~1", &spec(&ground, "exit 0"));
    let Standing::Ended(receipt) = launched.wait().unwrap() else { panic!("no receipt") };
    assert_eq!(receipt.strays, []);
    assert!(is_alive(before.pid()));
}
