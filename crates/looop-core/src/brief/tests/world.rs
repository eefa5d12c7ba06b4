//! Worlds to compose briefs of.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::tz::TimeZone;
use serde_json::json;

use super::super::{Brief, Input, Standing, compose};
use super::structure::structure;
use crate::gate::Limits;
use crate::ledger::entry::Force;
use crate::ledger::state::{AskRecord, Failures, GoalRecord, Ledger, Note, NoteKind};
use crate::model::digest::Digest;
use crate::model::letter::AskKind;
use crate::model::outcome::Ended;
use crate::time::{Now, Stamp};
use crate::world::baseline::{Change, ChangeKind};
use crate::world::observation::{Doc, Docs, SensorFile};
use crate::world::reading::{Reading, Trust};

/// All that an input refers to.
pub(super) struct World {
    pub(super) ledger: Ledger,
    pub(super) docs: Docs,
    pub(super) readings: BTreeMap<String, Reading>,
    pub(super) changes: Vec<Change>,
    pub(super) flapping: Vec<String>,
    pub(super) forced: Option<Force>,
    pub(super) fairness: Vec<Standing>,
    pub(super) now: Now,
    pub(super) limits: Limits,
}

pub(super) const SECRET: [u8; 16] = [7; 16];

pub(super) fn limits(brief_bytes: usize) -> Limits {
    Limits {
        decides_per_hour: 120,
        noop_ttl: Duration::from_hours(6),
        fairness_wait: Duration::from_hours(24),
        flap_streak: 5,
        max_next_interval: Duration::from_hours(1),
        can_notify: false,
        config: Digest::of(b"policy"),
        brief_bytes,
        max_workers: Some(8),
        worker_stuck: Duration::from_mins(15),
        session_ttl: Duration::from_hours(72),
        worker_runners: vec!["claude".to_owned()],
        ..Limits::default()
    }
}

pub(super) fn stamp(minutes_ago: u64) -> Stamp {
    let ms = minutes_ago * 60_000;
    Stamp { wall: WALL - i64::try_from(ms).unwrap(), up: UP - ms, boot: 1 }
}

pub(super) const WALL: i64 = 1_794_726_180_000;
const UP: u64 = 100 * 86_400_000;

impl World {
    pub(super) fn empty() -> Self {
        Self {
            ledger: Ledger::default(),
            docs: Docs::default(),
            readings: BTreeMap::new(),
            changes: Vec::new(),
            flapping: Vec::new(),
            forced: None,
            fairness: Vec::new(),
            now: Now { wall: WALL, up: UP, boot: 1, zone: TimeZone::fixed(jiff::tz::offset(1)) },
            limits: limits(256 * 1024),
        }
    }

    pub(super) fn brief(&self) -> Brief {
        let flapping: Vec<&str> = self.flapping.iter().map(String::as_str).collect();
        compose(&Input {
            ledger: &self.ledger,
            docs: &self.docs,
            readings: &self.readings,
            changes: &self.changes,
            flapping: &flapping,
            forced: self.forced.as_ref(),
            fairness: &self.fairness,
            now: &self.now,
            limits: &self.limits,
            secret: SECRET,
            catalogue_in_text: true,
            workers_available: true,
        })
    }

    pub(super) fn structure(&self) -> Vec<String> {
        structure(&self.brief())
    }

    pub(super) fn note(&mut self, what: NoteKind) {
        self.ledger.notes.push(Note { tainted: false, seq: 1, what });
    }

    pub(super) fn ask(&mut self, id: &str, from: &str, prompt: &str) {
        let goal = Some("release".to_owned());
        let (from, prompt, kind) = (from.to_owned(), prompt.to_owned(), AskKind::Question);
        let record = AskRecord {
            question: None,
            topic: None,
            tainted: false,
            from,
            prompt,
            goal,
            kind,
            at: stamp(130),
            asked: 0,
        };
        self.ledger.asks.insert(id.into(), record);
    }
}

/// One of everything.
pub(super) fn rich() -> World {
    let mut world = World::empty();
    world.docs.playbook =
        Doc::of("# Priorities\n1. main stays green\n2. releases on Tuesdays\n\nNever merge on Fridays.\n");
    let flaky = Doc::of("---\nevery: soon\n---\nFind out why parser_test is flaky.\n");
    world.ledger.written.insert("goals/flaky.md".into(), flaky.digest().unwrap());
    world.docs.goals = BTreeMap::from([
        ("flaky".to_owned(), flaky),
        (
            "green-main".to_owned(),
            Doc::of("---\ncheck: ./ci-green\n---\n# main is green\n\n=== NOW ===\nAll is well.\n"),
        ),
        ("release".to_owned(), Doc::Broken { error: "goals/release.md is not UTF-8 at byte 17".into() }),
    ]);
    world.docs.odd = vec!["new goal\\n.md".to_owned()];
    let failed = json!({"error": true, "kind": "exit", "exit_code": 3});
    world.readings = BTreeMap::from([
        (
            "ci".to_owned(),
            Reading::of_value(
                json!({"signal": {"red": 1}, "detail": {"run": 812, "title": "fix \u{202e}parser"}}),
                Trust::External,
            ),
        ),
        (
            "mail".to_owned(),
            Reading {
                signal: failed,
                detail: json!({"message": "exit 3"}),
                failed: true,
                trust: Trust::External,
            },
        ),
        (
            "sys-goals".to_owned(),
            Reading::of_value(json!({"signal": {"failed": ["green-main"]}}), Trust::Owner),
        ),
        ("today".to_owned(), Reading::of_value(json!({"signal": "2026-11-15"}), Trust::Owner)),
    ]);
    let today = SensorFile { file: "today.sh".into(), digest: Some(Digest::of(b"script")) };
    world.ledger.written.insert("sensors/today.sh".into(), Digest::of(b"script"));
    world.docs.sensors.insert("today".into(), today);
    world.ask("pulse-3", "pulse", "May I publish 2.1?\nThe notes are in reports/2.1.md.");
    world.ledger.goals.insert(
        "release".into(),
        GoalRecord { ask: Some("pulse-3".into()), attempts: 2, ..GoalRecord::default() },
    );
    let standing = |goal: &str, hours: Option<u64>, ready, overdue| {
        let unserved = hours.map(|hours| Duration::from_secs(hours * 3600));
        Standing { goal: goal.into(), unserved, ready, overdue }
    };
    world.fairness = vec![
        standing("flaky", None, false, false),
        standing("release", Some(30), true, true),
        standing("green-main", Some(1), true, false),
    ];
    world.ledger.journal =
        vec!["- 2026-11-15 06:58 Reran CI 811".into(), "- 2026-11-15 07:02 Asked about 2.1".into()];
    let change = |item: &str, kind, old: Option<&str>, new: Option<&str>| Change {
        item: item.into(),
        kind,
        old: old.map(str::to_owned),
        new: new.map(str::to_owned),
    };
    world.changes = vec![
        change("goal:flaky", ChangeKind::Appeared, None, None),
        change("reading:ci", ChangeKind::Changed, Some("{\"red\":0}"), Some("{\"red\":1}")),
    ];
    world.forced = Some(Force::Shell);
    world.flapping = vec!["today".into()];
    let tail = "\u{1b}[32mok\u{1b}[0m 3 files\r\n".into();
    world.note(NoteKind::Shell { cmd: "git -C repo pull".into(), ended: Ended::Exited(0), tail, own: true });
    world.note(NoteKind::Failure { reason: "claude: Invalid API key (status 401)".into() });
    world.note(NoteKind::Refused {
        reason: "unknown action \"run_shel\"; did you mean \"run_shell\"?".into(),
    });
    world.note(NoteKind::Overtaken { reason: "archived goal release: goal:release changed".into() });
    world.note(NoteKind::Interrupted { reason: "ran make deploy: the machine went down".into() });
    let (ask, prompt) = ("pulse-2".to_owned(), "Which branch?".to_owned());
    world.note(NoteKind::Answer { ask, prompt, text: "main".into() });
    world.note(NoteKind::Unknown { fields: vec!["confidence".into()] });
    world.ledger.failures = Some(Failures {
        count: 3,
        at: stamp(5),
        reason: "x".into(),
        policy: Digest::of(b"policy"),
        resumed: false,
    });
    world
}
