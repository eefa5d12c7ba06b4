//! The same session, slow and plain: it walks through time in milliseconds, keeps all that ever happened, and finds out
//! from that, at each one, whether something is to be done. It has no timers.

use super::scripts::Script;
use crate::Ended;
use crate::kernel::look::{cells, split_first, tail_of};
use crate::kernel::{Action, Answer, Delivery, Input, Look, Reads, Refusal, Stage, State};
use crate::keys;

/// When something happened, and as the how-manieth of all.
#[derive(Clone, Copy)]
struct When {
    time: u64,
    order: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Deed {
    /// Looked at the screen before anything is typed, and nobody said what it shows.
    Peeked,
    /// Typed the first character.
    Began,
    Typed,
    Looked(Option<Look>),
    Enter,
    Doubted,
    Pressed,
    Answered,
}

struct Job {
    callers: Vec<u64>,
    id: Option<String>,
    /// A text and whether it is submitted, or keys.
    text: Option<(String, bool)>,
    keys: Vec<String>,
    at: u64,
    deeds: Vec<(When, Deed)>,
    over: bool,
}

pub(super) struct World<'a> {
    screens: std::slice::Iter<'a, Option<Look>>,
    before: Option<Look>,
    stage: Stage,
    order: usize,
    outputs: Vec<(When, u64)>,
    jobs: Vec<Job>,
    /// All results under an id, whether of a text, in order.
    results: Vec<(String, bool, Answer)>,
    done: Vec<(u64, Action)>,
}

/// What a life must lead to, and how it stands in the end.
pub(super) fn expected(script: &Script) -> (Vec<(u64, Action)>, Stage) {
    let mut world = World {
        screens: script.screens.iter(),
        before: script.before,
        stage: Stage::Starting,
        order: 0,
        outputs: Vec::new(),
        jobs: Vec::new(),
        results: Vec::new(),
        done: Vec::new(),
    };
    for time in 0..=script.end {
        if script.deadline.is_some_and(|deadline| time >= deadline) {
            world.end(&Ended::TimedOut, time);
        }
        world.go_on(time);
        for (_, input) in script.inputs.iter().filter(|(at, _)| *at == time) {
            world.hear(input, time);
            world.begin(time);
        }
    }
    (world.done, world.stage)
}

impl World<'_> {
    fn act(&mut self, time: u64, action: Action) {
        self.done.push((time, action));
    }

    fn reply(&mut self, time: u64, caller: u64, answer: Answer) {
        self.act(time, Action::Reply { caller, answer });
    }

    fn when(&mut self, time: u64) -> When {
        self.order += 1;
        When { time, order: self.order }
    }

    fn current(&self) -> Option<usize> {
        self.jobs.iter().position(|job| !job.over && !job.deeds.is_empty())
    }

    fn hear(&mut self, input: &Input, time: u64) {
        let started = self.stage != Stage::Starting;
        let ended = match &self.stage {
            Stage::Ending(why) | Stage::Over(why) => Some(why.clone()),
            Stage::Starting | Stage::Live | Stage::Paused => None,
        };
        match input {
            Input::Output { bytes } => {
                let when = self.when(time);
                self.outputs.push((when, *bytes));
            }
            Input::Spawned if !started => {
                self.stage = Stage::Live;
                self.act(time, Action::Publish(State::Live));
            }
            Input::SpawnFailed(reason) if !started || matches!(self.stage, Stage::Ending(_)) => {
                let why = Ended::Spawn(reason.clone());
                self.silence(time, &Refusal::EndedMeanwhile(why.clone()), &Refusal::EndedBefore(why.clone()));
                self.stage = Stage::Over(why.clone());
                self.act(time, Action::Over(why));
            }
            Input::ChildEnded(why) => self.end(why, time),
            Input::Kill | Input::StopSignal => self.end(&Ended::Killed, time),
            Input::Finish => self.end(&Ended::Exited(0), time),
            Input::TreeGone => {
                if let Stage::Ending(why) = self.stage.clone() {
                    self.stage = Stage::Over(why.clone());
                    self.act(time, Action::Over(why));
                }
            }
            Input::Pause { caller } | Input::GoOn { caller } => {
                let pause = matches!(input, Input::Pause { .. });
                let answer = match ended {
                    Some(why) => Answer::Refused(Refusal::Ended(why)),
                    None if !started => Answer::Refused(Refusal::NotStarted),
                    None => {
                        self.toggle(pause, time);
                        Answer::Done
                    }
                };
                self.reply(time, *caller, answer);
            }
            Input::Send { caller, id, text, submit } => {
                let text = if *submit { text.trim_end_matches('\n').to_owned() } else { text.clone() };
                self.typing(time, *caller, id.as_ref(), Some((text, *submit)), vec![]);
            }
            Input::Key { caller, id, keys } => {
                let wrong = keys.iter().find(|key| keys::bytes(key, keys::Modes::default()).is_none());
                match wrong {
                    Some(key) => {
                        self.reply(time, *caller, Answer::Refused(Refusal::UnknownKey(key.clone())));
                    }
                    None if keys.is_empty() => self.reply(time, *caller, Answer::Refused(Refusal::NoKey)),
                    None => self.typing(time, *caller, id.as_ref(), None, keys.clone()),
                }
            }
            Input::Spawned | Input::SpawnFailed(_) | Input::Looked { .. } | Input::Timer => {}
        }
    }

    fn toggle(&mut self, pause: bool, time: u64) {
        if pause && self.stage == Stage::Live {
            self.act(time, Action::Freeze);
            self.act(time, Action::Publish(State::Paused));
            self.silence(time, &Refusal::PausedMeanwhile, &Refusal::PausedBefore);
            self.stage = Stage::Paused;
        } else if !pause && self.stage == Stage::Paused {
            self.act(time, Action::Thaw);
            self.act(time, Action::Publish(State::Live));
            self.stage = Stage::Live;
        }
    }

    fn end(&mut self, why: &Ended, time: u64) {
        if matches!(self.stage, Stage::Ending(_) | Stage::Over(_)) {
            return;
        }
        if self.stage == Stage::Paused {
            self.act(time, Action::Thaw);
        }
        self.act(time, Action::BeginEnd);
        self.silence(time, &Refusal::EndedMeanwhile(why.clone()), &Refusal::EndedBefore(why.clone()));
        self.stage = Stage::Ending(why.clone());
    }

    /// Nothing more is typed of what is not over.
    fn silence(&mut self, time: u64, meanwhile: &Refusal, before: &Refusal) {
        for number in 0..self.jobs.len() {
            if self.jobs[number].over {
                continue;
            }
            let begun = !self.jobs[number].deeds.is_empty();
            self.jobs[number].over = true;
            let submitted = self.jobs[number].deeds.iter().any(|(_, deed)| *deed == Deed::Enter);
            if matches!(meanwhile, Refusal::EndedMeanwhile(_)) && submitted && !self.answered(number) {
                let at = self.jobs[number].at;
                self.answer(number, time, &Answer::Sent { at, delivery: Delivery::Unseen, again: false });
            } else if begun && !self.answered(number) {
                self.answer(number, time, &Answer::Refused(meanwhile.clone()));
            } else if !begun {
                for caller in self.jobs[number].callers.clone() {
                    self.reply(time, caller, Answer::Refused(before.clone()));
                }
            }
        }
    }

    fn typing(
        &mut self,
        time: u64,
        caller: u64,
        id: Option<&String>,
        text: Option<(String, bool)>,
        keys: Vec<String>,
    ) {
        let recent = &self.results[self.results.len().saturating_sub(64)..];
        if let Some((known, is_text, answer)) = recent.iter().find(|(known, ..)| Some(known) == id).cloned() {
            let same = is_text == text.is_some();
            let answer = if same { again(&answer) } else { Answer::Refused(Refusal::OtherInput(known)) };
            return self.reply(time, caller, answer);
        }
        let pending = (0..self.jobs.len()).find(|number| {
            let job = &self.jobs[*number];
            id.is_some() && job.id.as_ref() == id && !job.over && !self.answered(*number)
        });
        if let Some(number) = pending {
            if self.jobs[number].text.is_some() == text.is_some() {
                return self.jobs[number].callers.push(caller);
            }
            return self.reply(time, caller, Answer::Refused(Refusal::OtherInput(id.unwrap().clone())));
        }
        match &self.stage {
            Stage::Starting | Stage::Live => self.jobs.push(Job {
                callers: vec![caller],
                id: id.cloned(),
                text,
                keys,
                at: 0,
                deeds: Vec::new(),
                over: false,
            }),
            Stage::Paused => self.reply(time, caller, Answer::Refused(Refusal::Paused)),
            Stage::Ending(why) | Stage::Over(why) => {
                let why = why.clone();
                self.reply(time, caller, Answer::Refused(Refusal::Ended(why)));
            }
        }
    }

    fn answered(&self, number: usize) -> bool {
        self.jobs[number].deeds.iter().any(|(_, deed)| *deed == Deed::Answered)
    }

    fn answer(&mut self, number: usize, time: u64, answer: &Answer) {
        let callers = self.jobs[number].callers.clone();
        self.reply(time, callers[0], answer.clone());
        for caller in &callers[1..] {
            self.reply(time, *caller, again(answer));
        }
        if let Some(id) = self.jobs[number].id.clone() {
            let is_text = self.jobs[number].text.is_some();
            self.results.push((id, is_text, answer.clone()));
        }
        self.deed(number, time, Deed::Answered);
    }

    fn settle(&mut self, number: usize, time: u64, delivery: Delivery) {
        let at = self.jobs[number].at;
        self.answer(number, time, &Answer::Sent { at, delivery, again: false });
        self.jobs[number].over = true;
        self.begin(time);
    }

    fn deed(&mut self, number: usize, time: u64, deed: Deed) {
        let when = self.when(time);
        self.jobs[number].deeds.push((when, deed));
    }

    /// Begins with the next input if none is being typed.
    fn begin(&mut self, time: u64) {
        if self.stage != Stage::Live || self.current().is_some() {
            return;
        }
        let Some(number) = self.jobs.iter().position(|job| !job.over) else { return };
        self.jobs[number].at = self.outputs.iter().map(|(_, bytes)| bytes).sum();
        match self.jobs[number].text.clone() {
            Some((text, true)) if tail_of(&text).is_empty() => self.settle(number, time, Delivery::NotTyped),
            Some((text, true)) => {
                self.act(time, Action::Look { token: 0, tail: tail_of(&text) });
                match self.before.map(|before| (before.reads, split_first(&text))) {
                    None => self.deed(number, time, Deed::Peeked),
                    Some((Reads::Blindly, _)) => self.settle(number, time, Delivery::NotTyped),
                    Some((Reads::Keys, (first, rest))) if !rest.is_empty() => {
                        self.act(time, Action::Paste(first.to_owned()));
                        self.deed(number, time, Deed::Began);
                    }
                    Some((Reads::Lines | Reads::Pastes | Reads::Keys, _)) => {
                        self.act(time, Action::Paste(text));
                        self.deed(number, time, Deed::Typed);
                    }
                }
            }
            Some((text, false)) => {
                if !text.is_empty() {
                    self.act(time, Action::Paste(text));
                }
                self.deed(number, time, Deed::Typed);
                let at = self.jobs[number].at;
                self.answer(number, time, &Answer::Sent { at, delivery: Delivery::Typed, again: false });
            }
            None => self.press(number, time),
        }
    }

    fn press(&mut self, number: usize, time: u64) {
        let pressed = self.jobs[number].deeds.iter().filter(|(_, deed)| *deed == Deed::Pressed).count();
        self.act(time, Action::Press(self.jobs[number].keys[pressed].clone()));
        self.deed(number, time, Deed::Pressed);
        if pressed + 1 == self.jobs[number].keys.len() {
            let at = self.jobs[number].at;
            self.answer(number, time, &Answer::Keyed { at, again: false });
        }
    }

    fn enter(&mut self, number: usize, time: u64) {
        self.act(time, Action::Write(b"\r".to_vec()));
        self.deed(number, time, Deed::Enter);
    }

    /// Does what has its time now.
    fn go_on(&mut self, time: u64) {
        let Some(number) = self.current() else { return };
        let deeds = &self.jobs[number].deeds;
        let is_look = |deed: Deed| matches!(deed, Deed::Looked(_));
        let (since, step) = *deeds.iter().rev().find(|(_, deed)| !is_look(*deed)).unwrap();
        let (last, deed) = *deeds.last().unwrap();
        let passed = time - since.time;
        let heard = |after: When| {
            self.outputs.iter().rev().find(|(when, bytes)| when.order > after.order && *bytes > 0)
        };
        // For how long it has been quiet since something was printed after the last deed.
        let quiet = heard(last).map(|(when, _)| time - when.time);
        let silent = heard(since).map_or(passed, |(when, _)| time - when.time);
        let printed =
            self.outputs.iter().filter(|(when, _)| when.order > since.order).map(|(_, bytes)| bytes);
        let reacted = printed.sum::<u64>() > 2;
        if deed == Deed::Looked(None) {
            if time - last.time >= 1000 {
                if matches!(step, Deed::Typed | Deed::Began) {
                    self.settle(number, time, Delivery::NotTyped);
                } else {
                    self.settle(number, time, Delivery::Unseen);
                }
            }
            return;
        }
        let enters = deeds.iter().filter(|(_, deed)| *deed == Deed::Enter).count();
        match step {
            Deed::Peeked if passed >= 1000 => self.settle(number, time, Delivery::NotTyped),
            Deed::Typed | Deed::Began
                if passed >= 8000 || time - last.time >= 1000 || quiet.is_some_and(|quiet| quiet >= 40) =>
            {
                self.look(number, time, passed >= 8000);
            }
            Deed::Enter if passed >= 2000 && !reacted => {
                self.settle(number, time, if enters == 1 { Delivery::Unseen } else { Delivery::Left });
            }
            Deed::Enter if reacted && (passed >= 2000 || quiet.is_some_and(|quiet| quiet >= 60)) => {
                self.look(number, time, passed >= 2000);
            }
            Deed::Doubted if silent >= 300 || passed >= 2000 || quiet.is_some_and(|quiet| quiet >= 60) => {
                self.look(number, time, silent >= 300 || passed >= 2000);
            }
            Deed::Pressed if passed >= 20 => self.press(number, time),
            Deed::Answered if silent >= 40 || passed >= 1000 => {
                self.jobs[number].over = true;
                self.begin(time);
            }
            Deed::Peeked
            | Deed::Began
            | Deed::Typed
            | Deed::Enter
            | Deed::Doubted
            | Deed::Pressed
            | Deed::Answered
            | Deed::Looked(_) => {}
        }
    }

    /// What is looked for: the text, or its first character while that alone is typed.
    fn tail(&self, number: usize, step: Deed) -> String {
        let text = self.jobs[number].text.as_ref().map_or("", |(text, _)| text);
        tail_of(if step == Deed::Began { split_first(text).0 } else { text })
    }

    /// Looks at the screen, and does what follows from it; `late` if there is no more time to wait.
    fn look(&mut self, number: usize, time: u64, late: bool) {
        let seen = self.screens.next().copied().unwrap_or(Some(Look::default()));
        let deeds = &self.jobs[number].deeds;
        let is_look = |deed: Deed| matches!(deed, Deed::Looked(_));
        let (_, step) = *deeds.iter().rev().find(|(_, deed)| !is_look(*deed)).unwrap();
        let enters: Vec<usize> = (0..deeds.len()).filter(|at| deeds[*at].1 == Deed::Enter).collect();
        let before = enters.last().and_then(|at| match deeds[..*at].last() {
            Some((_, Deed::Looked(look))) => *look,
            _ => None,
        });
        let count = enters.len();
        self.act(time, Action::Look { token: 0, tail: self.tail(number, step) });
        self.deed(number, time, Deed::Looked(seen));
        let Some(seen) = seen else { return };
        let left = seen.is_left(before.unwrap_or_default());
        match step {
            Deed::Began if seen.is_first_echo(self.untouched(), cells(&self.first(number).0)) => {
                let rest = self.first(number).1;
                self.act(time, Action::Paste(rest));
                self.deed(number, time, Deed::Typed);
            }
            Deed::Typed if seen.is_echo(self.untouched()) => self.enter(number, time),
            Deed::Began | Deed::Typed if late => self.settle(number, time, Delivery::NotTyped),
            Deed::Enter | Deed::Doubted if !left => self.settle(number, time, Delivery::Taken),
            Deed::Enter if count == 1 => self.deed(number, time, Deed::Doubted),
            Deed::Enter if late => self.settle(number, time, Delivery::Left),
            Deed::Doubted if late => self.enter(number, time),
            Deed::Peeked
            | Deed::Began
            | Deed::Typed
            | Deed::Enter
            | Deed::Doubted
            | Deed::Looked(_)
            | Deed::Pressed
            | Deed::Answered => {}
        }
    }

    fn untouched(&self) -> Look {
        self.before.unwrap_or_default()
    }

    fn first(&self, number: usize) -> (String, String) {
        let text = self.jobs[number].text.as_ref().map_or("", |(text, _)| text);
        let (first, rest) = split_first(text);
        (first.to_owned(), rest.to_owned())
    }
}

fn again(answer: &Answer) -> Answer {
    match answer.clone() {
        Answer::Sent { at, delivery, .. } => Answer::Sent { at, delivery, again: true },
        Answer::Keyed { at, .. } => Answer::Keyed { at, again: true },
        other @ (Answer::Done | Answer::Refused(_)) => other,
    }
}
