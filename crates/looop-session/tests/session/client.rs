//! Sessions seen and driven from outside, through the client.

use std::collections::VecDeque;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::{Ground, await_death};
use looop_session::client::{Attached, Flow, Follow, Frame, News, View, last_screen};
use looop_session::kernel::Delivery;
use looop_session::{Client, ClientError, Ended, Launched, Receipt, Size, Standing, Transcript, host};
use regex::Regex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

const SIZE: Size = Size { cols: 60, rows: 10 };
/// After this long something hangs for good.
const HANGS: Duration = Duration::from_mins(5);

/// A session in a terminal.
fn started(ground: &Ground, body: &str, keep: u64) -> (PathBuf, Launched) {
    let spec = ground.spec(body).in_terminal(SIZE);
    ground.launch("s", &looop_session::Spec { publish: false, output_keep: keep, ..spec })
}

fn receipt(standing: Standing) -> Receipt {
    let Standing::Ended(receipt) = standing else { panic!("{standing:?}") };
    receipt
}

/// Waits until the pattern was printed; gives the offset after it.
fn expect(folder: &Path, from: u64, pattern: &str) -> u64 {
    let pattern = Regex::new(pattern).unwrap();
    let mut follow = Follow::open(folder, from).unwrap().unwrap();
    let mut flow = Flow::new(from);
    loop {
        match follow.next(Some(Instant::now() + HANGS)).unwrap() {
            News::Bytes(bytes) => {
                if let Some(found) = flow.find(&bytes, &pattern) {
                    return found.end;
                }
            }
            other @ (News::Dropped(_) | News::Ended | News::Nothing) => {
                panic!("{other:?} instead of {pattern}")
            }
        }
    }
}

/// Everything from an offset on until the end: what was dropped, and the bytes with their offsets.
fn all(follow: &mut Follow) -> (u64, Vec<(u64, Vec<u8>)>) {
    let (mut dropped, mut pieces) = (0, Vec::new());
    loop {
        let at = follow.at();
        match follow.next(Some(Instant::now() + HANGS)).unwrap() {
            News::Bytes(bytes) => pieces.push((at, bytes)),
            News::Dropped(count) => dropped += count,
            News::Ended => return (dropped, pieces),
            News::Nothing => panic!("nothing came"),
        }
    }
}

/// A viewer that keeps what it was shown.
struct Viewer {
    attached: Attached,
    frames: VecDeque<Frame>,
}

impl Viewer {
    fn new(folder: &Path, view: View) -> Self {
        let attached = Client::connect(folder).unwrap().attach(&view).unwrap();
        Self { attached, frames: VecDeque::new() }
    }

    fn next(&mut self) -> Option<Frame> {
        loop {
            while let Some(frame) = self.attached.next_frame().unwrap() {
                self.frames.push_back(frame);
            }
            if let Some(frame) = self.frames.pop_front() {
                return Some(frame);
            }
            if !self.attached.is_open() {
                return None;
            }
            self.attached.flush().unwrap();
            let most = Timespec { tv_sec: 60, tv_nsec: 0 };
            let fd = self.attached.as_fd();
            assert_eq!(poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&most)).unwrap(), 1);
            self.attached.hear().unwrap();
        }
    }

    /// Waits until this was shown, in output or a repaint.
    fn await_text(&mut self, text: &str) -> String {
        let mut shown = String::new();
        while !shown.contains(text) {
            match self.next() {
                Some(Frame::Output(bytes) | Frame::Repaint(bytes)) => {
                    shown.push_str(&String::from_utf8_lossy(&bytes));
                }
                Some(Frame::Size(_)) => {}
                other => panic!("{other:?} before {text:?}, after {shown:?}"),
            }
        }
        shown
    }

    fn types(&mut self, text: &str) {
        self.attached.input(text.as_bytes());
        self.attached.flush().unwrap();
    }
}

#[test]
fn what_is_sent_is_answered_and_the_offset_is_a_place_to_look_from() {
    let ground = Ground::new();
    let body = "echo old answer; echo ready; while read -r line; do echo \"answer to $line\"; done";
    let (folder, launched) = started(&ground, body, 1 << 20);
    expect(&folder, 0, "ready");
    let mut client = Client::connect(&folder).unwrap();
    let hello = client.hello().clone();
    assert_eq!((hello.v, hello.pid), (2, Some(i32::try_from(launched.pid()).unwrap())));
    assert!(hello.program.unwrap().starts_with("looop "), "its program");
    let sent = client.send(Some("one"), "hello there", true).unwrap();
    assert_eq!((sent.delivery, sent.again), (Delivery::Taken, false));
    let end = expect(&folder, sent.at, "answer to hello there");
    assert!(end > sent.at);
    let again = client.send(Some("one"), "hello there", true).unwrap();
    assert_eq!((again.at, again.delivery, again.again), (sent.at, sent.delivery, true));
    assert_eq!(client.send(None, "more", false).unwrap().delivery, Delivery::Typed);
    client.key(None, &["Enter".to_owned()]).unwrap();
    expect(&folder, end, "answer to more");
    assert!(
        matches!(client.key(None, &["Nokey".to_owned()]), Err(ClientError::Refused(why)) if why.contains("Nokey"))
    );
    client.key(None, &["C-d".to_owned()]).unwrap();
    assert_eq!(receipt(launched.wait().unwrap()).ended, Ended::Exited(0));
    let all = Transcript::open(&folder).unwrap().unwrap().span(0, u64::MAX).unwrap().1;
    assert_eq!(String::from_utf8(all).unwrap().matches("answer to hello there").count(), 1);
}

#[test]
fn several_see_the_same_and_the_end() {
    let ground = Ground::new();
    let (folder, launched) =
        started(&ground, "echo hello; read -r line; echo \"got $line\"; exit 7", 1 << 20);
    expect(&folder, 0, "hello");
    let mut typing =
        Viewer::new(&folder, View { size: Some(Size { cols: 72, rows: 12 }), watch: false, repaint: true });
    let mut watching = Viewer::new(&folder, View { size: None, watch: true, repaint: true });
    assert!(typing.await_text("hello").contains("hello"));
    watching.await_text("hello");
    assert_eq!(watching.attached.size(), Some(Size { cols: 72, rows: 12 }));
    watching.types("ignored\r");
    typing.types("typed\r");
    typing.await_text("got typed");
    watching.await_text("got typed");
    for viewer in [&mut typing, &mut watching] {
        let mut ended = None;
        while let Some(frame) = viewer.next() {
            if let Frame::End(how) = frame {
                ended = Some(how);
            }
        }
        assert_eq!(ended, Some(Ended::Exited(7)));
    }
    assert_eq!(receipt(launched.wait().unwrap()).ended, Ended::Exited(7));
    let shot = last_screen(&folder).unwrap().unwrap();
    assert!(!shot.reconstructed && shot.shot.lines.iter().any(|line| line == "got typed"), "{shot:?}");
}

#[test]
fn viewers_are_sent_away_and_the_session_goes_on() {
    let ground = Ground::new();
    let (folder, launched) = started(&ground, "echo up; read -r line; echo \"bye $line\"", 1 << 20);
    expect(&folder, 0, "up");
    let mut client = Client::connect(&folder).unwrap();
    assert_eq!(client.detach().unwrap(), 0);
    let mut viewers = [(); 3].map(|()| Viewer::new(&folder, View { size: None, watch: true, repaint: true }));
    assert_eq!(client.screen(false).unwrap().viewers, 3);
    assert_eq!(client.detach().unwrap(), 3);
    for viewer in &mut viewers {
        let last = std::iter::from_fn(|| viewer.next()).last();
        assert_eq!(last, Some(Frame::Detached));
    }
    client.resize(Size { cols: 40, rows: 5 }).unwrap();
    let shot = client.screen(true).unwrap();
    assert_eq!((shot.cols, shot.rows, shot.viewers), (40, 5, 0));
    assert!(shot.ansi.unwrap().contains("up"));
    client.send(None, "now", false).unwrap();
    client.key(None, &["Enter".to_owned()]).unwrap();
    launched.wait().unwrap();
    expect(&folder, 0, "bye now");
}

/// Lines of one length, so that every byte tells its offset.
fn line(number: u64) -> String {
    format!("{number:014}\r\n")
}

fn check(pieces: &[(u64, Vec<u8>)]) {
    for (at, bytes) in pieces {
        let first = at / 16;
        let count = bytes.len() as u64 / 16 + 2;
        let expected: String = (first..first + count).map(line).collect();
        let from = usize::try_from(at % 16).unwrap();
        assert_eq!(bytes[..], expected.as_bytes()[from..from + bytes.len()], "at {at}");
    }
}

#[test]
fn a_follower_that_does_not_keep_up_misses_nothing() {
    let ground = Ground::new();
    ground.fifo("go");
    ground.fifo("done");
    let body = "read _ < go; seq -f %014.0f 0 399999; echo > done; read _ < go";
    let (folder, launched) = started(&ground, body, 64 << 20);
    let mut follow = Follow::open(&folder, 0).unwrap().unwrap();
    fs::write(ground.at("go"), "\n").unwrap();
    ground.await_fifo("done");
    // Six megabytes were printed meanwhile, and a host keeps one for a viewer.
    fs::write(ground.at("go"), "\n").unwrap();
    let (dropped, pieces) = all(&mut follow);
    let bytes: usize = pieces.iter().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!((dropped, bytes), (0, 16 * 400_000));
    check(&pieces);
    assert_eq!(receipt(launched.wait().unwrap()).output_bytes, 16 * 400_000);
}

#[test]
fn offsets_stay_valid_while_the_head_is_dropped() {
    let ground = Ground::new();
    ground.fifo("go");
    let (folder, launched) =
        started(&ground, "seq -f %014.0f 0 99999; read _ < go; seq -f %014.0f 100000 199999", 64 << 10);
    let mut from_start = Follow::open(&folder, 0).unwrap().unwrap();
    expect(&folder, 1_599_000, "00000000099999");
    let mut late = Follow::open(&folder, 0).unwrap().unwrap();
    fs::write(ground.at("go"), "\n").unwrap();
    for follow in [&mut from_start, &mut late] {
        let (dropped, pieces) = all(follow);
        let bytes: u64 = pieces.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        assert_eq!(dropped + bytes, 16 * 200_000);
        check(&pieces);
    }
    launched.wait().unwrap();
    let extent = Transcript::open(&folder).unwrap().unwrap().extent().unwrap();
    assert_eq!(extent.end, 16 * 200_000);
    assert!(extent.first >= extent.end - (64 << 10) && extent.first < extent.end - (32 << 10), "{extent:?}");
}

#[test]
fn a_session_without_a_terminal_is_read_and_followed_too() {
    let ground = Ground::new();
    ground.fifo("go");
    ground.fifo("half");
    let body = "seq -f %015.0f 0 9999; echo > half; read _ < go; printf end";
    let (folder, launched) = ground.launch("s", &ground.spec(body));
    ground.await_fifo("half");
    let mut follow = Follow::open(&folder, 0).unwrap().unwrap();
    fs::write(ground.at("go"), "\n").unwrap();
    let (dropped, pieces) = all(&mut follow);
    let text: Vec<u8> = pieces.into_iter().flat_map(|(_, bytes)| bytes).collect();
    assert_eq!(dropped + text.len() as u64, 16 * 10_000 + 3);
    assert!(text.len() >= 64 << 10 && text.ends_with(b"000000000009999\nend"), "{}", text.len());
    launched.wait().unwrap();
    let extent = Transcript::open(&folder).unwrap().unwrap().extent().unwrap();
    assert_eq!((extent.first, extent.end), (160_003 - (64 << 10), 160_003));
    let last = last_screen(&folder).unwrap().unwrap();
    assert!(last.reconstructed && last.shot.lines.iter().any(|line| line == "end"));
}

#[test]
fn nobody_answers_for_one_that_has_ended_and_no_path_is_too_long() {
    let ground = Ground::new();
    let deep = format!("{}/{}", "long".repeat(40), "path".repeat(40));
    fs::create_dir_all(ground.at(&deep)).unwrap();
    let spec = ground.spec("echo up; read -r line").in_terminal(SIZE);
    let spec = looop_session::Spec { publish: false, ..spec };
    let (folder, launched) = ground.launch(&format!("{deep}/s"), &spec);
    expect(&folder, 0, "up");
    let mut client = Client::connect(&folder).unwrap();
    assert!(!client.gone_within(Duration::from_millis(1)).unwrap());
    Client::connect(&folder).unwrap().kill().unwrap();
    assert!(client.gone_within(HANGS).unwrap());
    assert_eq!(receipt(launched.wait().unwrap()).ended, Ended::Killed);
    assert!(matches!(Client::connect(&folder), Err(ClientError::Absent)));
    assert!(matches!(Client::connect(&ground.at("nobody")), Err(ClientError::Absent)));
    assert!(Follow::open(&ground.at("nobody"), 0).unwrap().is_none());
}

#[test]
fn what_a_lost_session_printed_and_showed_is_there() {
    let ground = Ground::new();
    let (folder, mut launched) =
        started(&ground, "printf 'one\\ntwo\\033[1mthree'; exec sleep 1000", 1 << 20);
    expect(&folder, 0, "three");
    let host = rustix::process::Pid::from_raw(i32::try_from(launched.pid()).unwrap()).unwrap();
    let mut follow = Follow::open(&folder, 0).unwrap().unwrap();
    rustix::process::kill_process(host, rustix::process::Signal::KILL).unwrap();
    let (_, pieces) = all(&mut follow);
    assert_eq!(pieces.concat_text(), "one\r\ntwo\x1b[1mthree");
    assert_eq!(host::wait(&folder).unwrap(), Standing::Lost);
    let last = last_screen(&folder).unwrap().unwrap();
    assert!(last.reconstructed);
    assert_eq!(
        (last.shot.cols, &last.shot.lines[..2]),
        (SIZE.cols, &["one".to_owned(), "twothree".to_owned()][..])
    );
    host::end(&folder).unwrap();
    ground.await_nobody();
    assert!(await_death(host.as_raw_nonzero().get()));
    assert!(launched.try_reap().unwrap());
}

trait ConcatText {
    fn concat_text(&self) -> String;
}

impl ConcatText for Vec<(u64, Vec<u8>)> {
    fn concat_text(&self) -> String {
        self.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)).collect()
    }
}
