//! From what was seen to the decision to act, to ask, or to do nothing.

use std::collections::BTreeMap;

use super::asking::{Commission, Offer};
use super::goals;
use super::io::{Effect, Reply};
use super::letters::{News, letters};
use super::limits::Waiters;
use super::looks::Look;
use super::machine::Engine;
use super::wake::{Timetable, dues};
use super::workers::{Known, ends};
use crate::admit::{Admission, Context, admit};
use crate::builtin::{self, Choice};
use crate::gate::{Why, flappers, paused};
use crate::ledger::entry::{Cause, Entry, SensorState};
use crate::ledger::fold::apply;
use crate::ledger::state::Ledger;
use crate::model::digest::Digest;
use crate::model::name::Name;
use crate::model::plan::Author;
use crate::time::Now;
use crate::world::baseline::{Change, Delta, Items, diff, items, shown};
use crate::world::observation::{Doc, Observation, Scope};
use crate::world::probe::{ready_goals, with_probes};
use crate::world::reading::Reading;

/// What a beat works with.
pub(super) struct Scene<'a> {
    pub(super) look: Look,
    pub(super) seen: &'a Observation,
    pub(super) readings: BTreeMap<String, Reading>,
    pub(super) items: Items,
    pub(super) changes: Vec<Change>,
    pub(super) ready: Vec<String>,
}

impl Engine {
    /// A beat that could not see the world does nothing and says why.
    pub(super) fn blind(&mut self, error: String, scope: Scope, now: &Now) {
        let Some(look) = self.end_look(scope, false, now) else { return };
        for id in look.dry {
            self.reply(id, Reply::Refused { reason: error.clone() });
        }
        if look.wet {
            self.last_failed = true;
            self.end_idle(look.cause, Why::BadFile { error }, (Vec::new(), None), now);
        }
    }

    pub(super) fn sensed(&mut self, seen: &Observation, now: &Now) {
        if let Some(error) = seen.broken.first().or(seen.docs.fleet.fault.as_ref()) {
            // What was not seen must not look as if it were gone.
            return self.blind(error.clone(), seen.scope, now);
        }
        let Some(look) = self.end_look(seen.scope, !seen.early, now) else { return };
        self.note_policy(&seen.docs);
        self.timetable = Timetable::of(&seen.docs, now);
        self.waiters = Waiters::of(&self.ledger, seen, now);
        let before = self.fold_news(seen, look.wet, now);
        if seen.early {
            // The full look under way may have begun before what this one saw came to be.
            self.looks.owe(look);
            return self.notify(now);
        }
        let readings = with_probes(&self.ledger, seen, now, &self.setup.limits);
        let items = items(&seen.docs, &readings);
        let changes = diff(&self.ledger.baseline, &items);
        let ready = ready_goals(&self.ledger, seen, &readings, now);
        let scene = Scene { look, seen, readings, items, changes, ready };
        for id in scene.look.dry.clone() {
            let reply = self.dry_run(&scene, now);
            self.reply(id, reply);
        }
        if scene.look.wet {
            self.note_seen(&scene, now);
            self.push(Effect::Snapshots(scene.readings.clone()));
            if self.ledger.acting.is_some() {
                self.looks.owe(scene.look.clone());
            } else {
                let before = self.is_still().then(|| self.beat_reply());
                self.last_failed = false;
                self.last_why = None;
                self.choose(&scene, now);
                if let Some(reply) = before {
                    self.end_beats_before(&reply);
                }
                self.decided_waiters.extend(&scene.look.beats);
            }
            self.notify(now);
        }
        if let Some(before) = before {
            self.ledger = before;
        }
    }

    /// A look is over.
    fn end_look(&mut self, scope: Scope, checked: bool, now: &Now) -> Option<Look> {
        let look = self.looks.end(scope, checked)?;
        if scope == Scope::Full {
            (self.rested, self.looked_at) = (Some(now.up), Some(now.up));
            self.moved = false;
            self.looked += 1;
        }
        Some(look)
    }

    /// Letters and the ends of workers become entries. A dry run sees the same and leaves no trace: it gets the ledger to go back to.
    fn fold_news(&mut self, seen: &Observation, wet: bool, now: &Now) -> Option<Ledger> {
        let News { mut entries, settled, more, .. } = letters(&self.ledger, seen);
        entries.extend(ends(&self.ledger, seen));
        entries.extend(dues(&self.ledger, &seen.docs, now));
        let before = (!wet).then(|| self.ledger.clone());
        let known = Known::of(&self.ledger);
        for entry in entries {
            self.note(entry, wet, now);
        }
        self.fold_spend(seen, wet, now);
        if wet {
            self.note_workers(&known, now);
            self.clean(seen);
            if more {
                self.looks.want(Look::by(Cause::Files));
            }
            for ask in settled {
                self.push(Effect::Settle(ask));
            }
            self.tend_parked(seen, now);
            self.tidy(seen, now);
            self.forget(seen, now);
            self.restrain(seen, now);
        }
        before
    }

    /// Takes in an entry; a dry run leaves no trace of it.
    pub(super) fn note(&mut self, mut entry: Entry, wet: bool, now: &Now) {
        if wet {
            self.log(entry, now);
        } else {
            entry.bound();
            apply(&mut self.ledger, &now.stamp(), &entry);
        }
    }

    /// Logs which readings changed since the beat before and which goals are ready, if that is news.
    fn note_seen(&mut self, scene: &Scene<'_>, now: &Now) {
        let sensors = || scene.readings.iter().filter(|(name, _)| !name.starts_with("sys-"));
        let known = |name: &str| self.ledger.readings.get(name).map(|record| record.digest);
        let mut changed: BTreeMap<String, Option<Digest>> = sensors()
            .filter(|(name, reading)| known(name) != Some(reading.digest()))
            .map(|(name, reading)| (name.clone(), Some(reading.digest())))
            .collect();
        let gone = self.ledger.readings.keys().filter(|name| !scene.readings.contains_key(*name));
        changed.extend(gone.map(|name| (name.clone(), None)));
        let was: Vec<&String> =
            self.ledger.goals.iter().filter(|(_, r)| r.ready.is_some()).map(|(id, _)| id).collect();
        let ready = (!was.iter().copied().eq(scene.ready.iter())).then(|| scene.ready.clone());
        self.note_sensors(scene, now);
        self.withdraw(scene, now);
        self.note_whole(scene, now);
        let held = goals::held(&self.ledger, (scene.seen, &scene.readings), now);
        let rewritten = goals::rewritten(&self.ledger, &scene.seen.docs);
        let some = scene.seen.scope == Scope::Quick;
        let broke = self.broke(scene);
        let counts = !held.is_empty() || !rewritten.is_empty();
        if changed.is_empty() && ready.is_none() && !counts && broke.is_none() {
            // A quick look runs no sensor that could have changed.
            self.quiet = self.quiet.saturating_add(u32::from(!some));
            return;
        }
        let before: Vec<String> =
            flappers(&self.ledger, &self.setup.limits).into_iter().map(str::to_owned).collect();
        let quiet = if changed.is_empty() { 0 } else { std::mem::take(&mut self.quiet) };
        self.log(Entry::Saw { readings: changed, quiet, some, ready, held, rewritten, broke }, now);
        let after: Vec<String> =
            flappers(&self.ledger, &self.setup.limits).into_iter().map(str::to_owned).collect();
        for reading in after.into_iter().filter(|name| !before.contains(name)) {
            self.log(Entry::Flapping { reading }, now);
        }
    }

    /// Logs which goals that wait for a review, or whose workers failed, are as they should be.
    fn note_whole(&mut self, scene: &Scene<'_>, now: &Now) {
        let goals = goals::hold(&self.ledger, (scene.seen, &scene.readings), now);
        if !goals.is_empty() {
            self.log(Entry::GoalsHold { goals }, now);
        }
    }

    /// Logs which sensors began to fail, fail in another way, work again, or are gone.
    fn note_sensors(&mut self, scene: &Scene<'_>, now: &Now) {
        let known = |name: &str| self.ledger.readings.get(name).map(|record| record.digest);
        let fails = |name: &str| self.ledger.failing.get(name).is_some_and(|record| record.works.is_none());
        let mut changed = Vec::new();
        for (name, reading) in &scene.readings {
            let state = match reading.failure() {
                Some(_) if fails(name) && known(name) == Some(reading.digest()) => continue,
                Some(reason) => SensorState::Failing { reason },
                None if fails(name) => SensorState::Works,
                None => continue,
            };
            changed.push((name.clone(), state));
        }
        let gone = self.ledger.failing.keys().filter(|name| !scene.readings.contains_key(*name));
        changed.extend(gone.map(|name| (name.clone(), SensorState::Removed)));
        for (sensor, state) in changed {
            self.log(Entry::SensorChanged { sensor, state }, now);
        }
    }

    /// Takes back the loop's own questions about goals that are gone, rewritten, or no longer fail.
    fn withdraw(&mut self, scene: &Scene<'_>, now: &Now) {
        for (ask, reason) in goals::void(&self.ledger, (scene.seen, &scene.readings), now) {
            self.log(Entry::Withdrawn { ask: ask.clone(), reason }, now);
            self.push(Effect::Settle(ask));
        }
    }

    fn choose(&mut self, scene: &Scene<'_>, now: &Now) {
        if let Some(error) = bad_file(scene.seen) {
            self.last_failed = true;
            return self.skip(scene, Why::BadFile { error }, None, now);
        }
        if !self.is_stopping()
            && let Some((plan, why)) = self.errand(scene.seen, now)
        {
            let context = (scene.look.cause, shown(&scene.changes), Some(why));
            return self.intend(plan, Some(context), now);
        }
        let limits = &self.setup.limits;
        let choice = builtin::choose(&self.ledger, scene.seen, &scene.readings, (now, limits));
        let may_act = self.setup.builtin && !self.is_stopping() && paused(&self.ledger, now).is_none();
        if may_act && let Some((proposal, why)) = choice.pick.clone() {
            if self.looks.is_served(proposal.goal.as_ref().map(Name::as_str), scene.look.scope) {
                return self.rest(scene, &choice, proposal.goal.as_ref().map(Name::as_str), now);
            }
            let cx = Context {
                ledger: &self.ledger,
                docs: &scene.seen.docs,
                limits: &self.setup.limits,
                now,
                author: Author::Builtin,
                rests: None,
                tainted: false,
            };
            match self.with_room(admit(&cx, proposal)) {
                Admission::Execute(plan) => {
                    let context = (scene.look.cause, shown(&scene.changes), Some(why));
                    return self.intend(*plan, Some(context), now);
                }
                Admission::Park(waits) => {
                    self.park(Some(self.next_beat()), *waits, &scene.seen.docs, now);
                    return;
                }
                Admission::Ask { reason: error, .. }
                | Admission::Reject(error)
                | Admission::Overtaken(error) => {
                    let why = Why::NothingReady { reason: format!("{why}, but {error}") };
                    if self.paid(now).is_none() {
                        return self.skip(scene, why, None, now);
                    }
                }
            }
        }
        self.ask_paid(scene, &choice, now);
    }

    /// The goal that is ready was served a moment ago, and the look is older than that.
    fn rest(&mut self, scene: &Scene<'_>, choice: &Choice, goal: Option<&str>, now: &Now) {
        let unchanged = matches!(self.offer(scene, choice, now), Offer::Skip(Why::Unchanged));
        if self.paid(now).is_some() && !unchanged {
            return self.ask_paid(scene, choice, now);
        }
        let goal = goal.unwrap_or_default();
        let reason = format!("{goal} was served a moment ago; the next full look tells whether it holds");
        self.skip(scene, Why::NothingReady { reason }, None, now);
    }

    fn dry_run(&self, scene: &Scene<'_>, now: &Now) -> Reply {
        let limits = &self.setup.limits;
        let choice = builtin::choose(&self.ledger, scene.seen, &scene.readings, (now, limits));
        let errand = self.errand(scene.seen, now);
        let verdict = match (&choice.pick, bad_file(scene.seen), errand) {
            (_, Some(error), _) => format!("would do nothing: {error}"),
            (_, None, Some((plan, why))) => format!("the loop itself would {}: {why}", plan.action.action()),
            (Some((proposal, why)), None, None)
                if self.setup.builtin && paused(&self.ledger, now).is_none() =>
            {
                format!("the built-in decider would propose {}: {why}", proposal.action.action())
            }
            _ => match self.offer(scene, &choice, now) {
                Offer::Decide(Commission { decider, forced, .. }) => {
                    let reason = forced.map_or_else(|| "the world changed".to_owned(), |force| force.text());
                    format!("would ask {}: {reason}", decider.name)
                }
                Offer::Skip(why) => format!("would do nothing: {}", why.text(now)),
            },
        };
        Reply::DryRun {
            brief: self.brief(scene, (self.paid(now), None), now).render(),
            verdict,
            changes: scene.changes.iter().map(Change::text).collect(),
        }
    }

    /// Ends a beat that does nothing. The same nothing for the same reason is not written twice.
    pub(super) fn skip(&mut self, scene: &Scene<'_>, why: Why, sees: Option<Delta>, now: &Now) {
        self.end_idle(scene.look.cause, why, (shown(&scene.changes), sees), now);
    }

    fn end_idle(
        &mut self,
        cause: Cause,
        mut why: Why,
        (changes, sees): (Vec<Change>, Option<Delta>),
        now: &Now,
    ) {
        why.bound();
        self.last_why = Some(why.text(now));
        let same = self.ledger.skipped.as_ref().is_some_and(|skip| skip.why == why);
        if same && sees.is_none() {
            self.idle = self.idle.saturating_add(1);
            return;
        }
        let beat = self.next_beat();
        self.log(Entry::Skipped { beat, cause, why, changes, sees }, now);
    }
}

/// What makes the world unfit to decide upon: a PLAYBOOK that is there and cannot be read.
fn bad_file(seen: &Observation) -> Option<String> {
    match &seen.docs.playbook {
        Doc::Broken { error } => Some(error.clone()),
        Doc::Absent | Doc::Text { .. } => None,
    }
}
