//! The person: edits files, asks for things, answers, and now and then ends it all.

use looop_core::engine::io::Request;
use looop_core::model::letter::{Ask, AskKind};
use looop_core::model::moves::Proposal;

use super::agenda::{Happening, Message};
use super::run::Storm;
use super::site::Site;
use super::texts::{self, GOALS, SCHEDULES, SENSORS};

impl Storm {
    /// The person does something, and something else later.
    pub(super) fn person_acts(&mut self) {
        let next = self.site.dice.between(100, 900_000);
        self.site.after(next, Happening::Acts);
        self.site.tale.count("deeds of the person");
        match self.site.dice.below(20) {
            0..=5 => self.site.edit_goal(),
            6 => self.site.edit_playbook(),
            7 => self.site.edit_sensor(),
            8 => self.site.edit_schedule(),
            9 => {
                let cap = self.site.config.setup.limits.daily_usd;
                self.site.config.edit(&mut self.site.dice);
                if self.site.bank.is_some() {
                    // What was started under one cap is not held against another.
                    self.site.config.setup.limits.daily_usd = cap;
                }
                let text = format!("version = {}\n", self.site.config.version);
                self.site.disk.put("config.toml", text.as_bytes());
            }
            10 | 11 => self.site.answer(),
            12 => self.site.tell_worker(),
            13 if self.site.dice.chance(self.site.weather.downs * 4) => self.down(),
            _ => self.request(),
        }
    }

    fn request(&mut self) {
        let site = &mut self.site;
        let asks: Vec<String> = site.disk.names("asks");
        let ask = asks.first().and_then(|name| name.strip_suffix(".json")).unwrap_or("none").to_owned();
        let request = match site.dice.below(18) {
            0 | 1 => Request::Beat,
            2 => Request::DryRun,
            3 => Request::Pause { until: None },
            4 => Request::Pause { until: Some(site.clock.wall() + 1_800_000) },
            5..=7 => Request::Resume,
            8 => Request::Dismiss { ask },
            9 => Request::Wake,
            10 => Request::Prune { only: None },
            11 => Request::Pulse { seen: site.dice.coin() },
            12 | 13 => Request::Undo { beat: None },
            _ => {
                let known = texts::Known::of(site);
                let Some(action) = texts::by_hand(&mut site.dice, &known) else { return };
                Request::Make { proposal: Proposal::of(action) }
            }
        };
        self.ask(request);
    }

    /// Ends the loop, and starts it again some time later.
    fn down(&mut self) {
        let keep_workers = self.site.dice.coin();
        self.site.tell(|| format!("person: down, keep workers: {keep_workers}"));
        match (&self.pulse, self.site.dice.coin()) {
            (Some(pulse), true) => {
                let life = pulse.life;
                self.site.tale.count("signals");
                self.site.post(life, 0, Message::Signal { keep_workers });
            }
            _ => self.ask(Request::Down { keep_workers }),
        }
    }
}

impl Site {
    fn edit_goal(&mut self) {
        let id = *self.dice.pick(&GOALS);
        let path = format!("goals/{id}.md");
        if self.dice.below(6) == 0 {
            self.tell(|| format!("person: removes {path}"));
            return self.disk.erase(&path);
        }
        let mut text = texts::goal(&mut self.dice, self.clock.t);
        if self.bank.is_some() && self.dice.coin() {
            let budget = format!("---\nbudget_usd: {}\n", self.dice.below(9));
            text = text.replacen("---\n", &budget, 1);
        }
        self.tell(|| format!("person: writes {path}: {text:?}"));
        self.disk.put(&path, text.as_bytes());
    }

    fn edit_playbook(&mut self) {
        let text = format!("# PLAYBOOK\n\nRound {}.\n", self.clock.t);
        self.tell(|| "person: writes PLAYBOOK.md");
        self.disk.put("PLAYBOOK.md", text.as_bytes());
    }

    fn edit_sensor(&mut self) {
        let name = *self.dice.pick(&SENSORS);
        let path = format!("sensors/{name}.sh");
        if self.dice.below(4) == 0 {
            self.tell(|| format!("person: removes {path}"));
            return self.disk.erase(&path);
        }
        self.tell(|| format!("person: writes {path}"));
        let text = format!("#!/bin/sh\n# {}\n", self.clock.t);
        self.disk.put_as(&path, text.as_bytes(), 0o700);
    }

    fn edit_schedule(&mut self) {
        let name = *self.dice.pick(&SCHEDULES);
        let path = format!("schedules/{name}.json");
        if self.dice.below(3) == 0 {
            self.tell(|| format!("person: removes {path}"));
            return self.disk.erase(&path);
        }
        let bytes = texts::schedule(&mut self.dice, self.clock.wall());
        self.tell(|| format!("person: writes {path}: {}", String::from_utf8_lossy(&bytes)));
        self.tale.count("schedules written");
        self.disk.put(&path, &bytes);
    }

    /// Answers what waits, a worker that is stopped before all else: a question with words, a flag by attaching.
    fn answer(&mut self) {
        let Some(reader) = self.reader() else { return };
        let letters = reader.letters();
        let open = letters.asks.iter().filter(|(id, _)| !letters.answers.contains_key(*id));
        let Some((id, ask)) = open.max_by_key(|(_, ask)| is_about_money(ask)) else { return };
        self.tell(|| format!("person: answers {id}"));
        let answered = match ask.kind {
            AskKind::Question => {
                let kill = self.bank.is_some() && self.dice.below(3) == 0;
                let text = if kill { "kill" } else { self.words(ask) };
                reader.post_answer(id, text, self.clock.wall()).is_ok()
            }
            AskKind::Flag => reader.attached(&ask.from, self.clock.wall()).is_ok(),
            AskKind::Proposal => false,
        };
        if answered {
            self.tale.count("answers");
        }
    }

    /// Answers what the loop asks about workers that passed their allowance: they are not to go on.
    pub(super) fn settle_money(&mut self) {
        let Some(reader) = self.reader() else { return };
        for (id, ask) in reader.letters().asks {
            if is_about_money(&ask) {
                self.tell(|| format!("person: answers {id}: kill"));
                drop(reader.post_answer(&id, "kill", self.clock.wall()));
            }
        }
    }

    /// What is said to a question. Whether a worker may go on is not always answered as one would wish.
    fn words(&mut self, ask: &Ask) -> &'static str {
        if is_about_money(ask) {
            let word: &&'static str = self.dice.pick(&["continue", "continue", "go on", "kill", "hm"]);
            return word;
        }
        "yes"
    }

    fn tell_worker(&mut self) {
        let (Some(reader), Some(session)) = (self.reader(), self.yard.living(true).pop()) else { return };
        if reader.post_tell(&session, "hurry", self.clock.wall()).is_ok() {
            self.tale.count("tells");
        }
    }
}

/// Whether it is asked if a worker may go on.
fn is_about_money(ask: &Ask) -> bool {
    ask.from == "pulse" && ask.options.iter().any(|option| option == "kill")
}
