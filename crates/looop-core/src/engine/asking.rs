//! Asking a paid decider: which one, with what set aside, and what it is shown.

use super::beat::Scene;
use super::interview::SETUP;
use super::io::{DecideOrder, Effect};
use super::looks::Look;
use super::machine::{Engine, PaidDecider};
use crate::admit::{file_digests, session_name};
use crate::brief::{self, Brief};
use crate::builtin::{self, Choice};
use crate::gate::{Asking, Verdict, Why, flappers, gate, limited, paused};
use crate::ledger::entry::{Entry, Force};
use crate::ledger::state::Interview;
use crate::meter::Micros;
use crate::model::plan::RunId;
use crate::purse::{self, Fee};
use crate::time::Now;
use crate::world::baseline::{Delta, shown};
use crate::world::probe::{is_overdue, that_matter};

/// Most sources of taint that are remembered of a brief.
const TAINTS: usize = 12;

/// Whether somebody is asked.
pub(super) enum Offer {
    /// Ask.
    Decide(Commission),
    /// Nobody is asked.
    Skip(Why),
}

/// A decide to be started.
pub(super) struct Commission {
    /// Who decides.
    pub(super) decider: PaidDecider,
    /// What lets it through, if not a change.
    pub(super) forced: Option<Force>,
    /// Dollars to set aside.
    reserve: Micros,
    /// What it is shown.
    brief: Brief,
}

impl Engine {
    pub(super) fn ask_paid(&mut self, scene: &Scene<'_>, choice: &Choice, now: &Now) {
        if let Some(deciding) = &self.ledger.deciding {
            let with = format!("decide {} by {}", deciding.run, deciding.decider);
            // A person who asks for a beat joins the one under way; what has changed meanwhile is looked at after it.
            if !scene.look.by_person {
                self.looks.owe(Look { begun: false, dry: Vec::new(), ..scene.look.clone() });
            }
            return self.skip(scene, Why::Busy { with }, None, now);
        }
        if scene.look.free && self.paid(now).is_some() {
            return;
        }
        match self.offer(scene, choice, now) {
            Offer::Decide(commission) => self.start_decide(scene, commission, now),
            Offer::Skip(why) => {
                // Where there is no model, the built-in decider's noop is the decision that has seen the world.
                let sees = Delta::between(&self.ledger.baseline, &scene.items);
                let commits = matches!(why, Why::NothingReady { .. }) && !sees.is_empty();
                self.skip(scene, why, commits.then_some(sees), now);
            }
        }
    }

    /// Who is asked, if the gates let it through and it can be paid. One for whom there is no money is passed over; if
    /// that is so of all, the first of them says why.
    pub(super) fn offer(&self, scene: &Scene<'_>, choice: &Choice, now: &Now) -> Offer {
        if let Some(why) = self.unset(scene) {
            return Offer::Skip(why);
        }
        let mut poor = None;
        for decider in self.turn(now) {
            match self.offer_to(decider, scene, now) {
                Offer::Skip(why @ (Why::Purse { .. } | Why::Unmetered { .. })) => {
                    poor.get_or_insert(why);
                }
                offer @ (Offer::Decide(_) | Offer::Skip(_)) => return offer,
            }
        }
        if let Some(why) = poor {
            return Offer::Skip(why);
        }
        let shut = self.is_stopping().then_some(Why::Stopping).or_else(|| paused(&self.ledger, now));
        let reason = builtin::nothing_text(choice);
        Offer::Skip(shut.unwrap_or(Why::NothingReady { reason }))
    }

    /// Why nobody is asked about a fresh profile while its interview waits: there is nothing in it to decide upon.
    fn unset(&self, scene: &Scene<'_>) -> Option<Why> {
        let waits = self.ledger.interview != Interview::None && !self.setup.paid.is_empty();
        let empty = scene.seen.docs.goals.keys().all(|id| id == SETUP);
        let reason =
            "the profile is new: answer whether you want to be interviewed, or write a goal".to_owned();
        (waits && empty).then_some(Why::NothingReady { reason })
    }

    fn offer_to(&self, decider: &PaidDecider, scene: &Scene<'_>, now: &Now) -> Offer {
        let failing = scene.readings.values().any(|reading| reading.failed);
        let asking = Asking {
            changes: &scene.changes,
            by_person: scene.look.by_person,
            fee: fee(decider, ""),
            open_work: !scene.ready.is_empty() || failing,
            policy: self.policy,
            limited: self.limit(now),
            deciders: self.setup.paid.len(),
            stopping: self.is_stopping(),
            begun: scene.look.begun,
        };
        let forced = match gate(&self.ledger, &asking, now, &self.setup.limits) {
            Verdict::Decide { forced, .. } => forced,
            Verdict::Skip(why) => return Offer::Skip(why),
        };
        // What a call may cost is known only with its brief, which is made for those alone who got so far.
        let brief = self.brief(scene, (Some(decider), forced.as_ref()), now);
        match purse::decide(&self.ledger, &self.setup.limits, fee(decider, &brief.render()), now) {
            Ok(reserve) => Offer::Decide(Commission { decider: decider.clone(), forced, reserve, brief }),
            Err(why) => Offer::Skip(why),
        }
    }

    /// The paid deciders in the order of their turn: each failure moves on to the next of the list. Those whose
    /// provider takes no calls are left out, unless that is so of all.
    fn turn(&self, now: &Now) -> Vec<&PaidDecider> {
        let failed = self.ledger.failures.as_ref().map_or(0, |failures| failures.count as usize);
        let count = self.setup.paid.len();
        let all = self.setup.paid.iter().cycle().skip(failed % count.max(1)).take(count);
        let (limited, able): (Vec<_>, Vec<_>) = all.partition(|paid| self.limit_of(paid, now).is_some());
        if able.is_empty() { limited } else { able }
    }

    /// The paid decider whose turn it is.
    pub(super) fn paid(&self, now: &Now) -> Option<&PaidDecider> {
        self.turn(now).first().copied()
    }

    fn limit_of(&self, paid: &PaidDecider, now: &Now) -> Option<i64> {
        limited(&self.ledger, &paid.name, now, &self.setup.limits)
    }

    /// Until when no paid decider's provider takes calls, if that is so.
    pub(super) fn limit(&self, now: &Now) -> Option<i64> {
        let limits: Option<Vec<i64>> = self.setup.paid.iter().map(|paid| self.limit_of(paid, now)).collect();
        limits?.into_iter().min()
    }

    fn start_decide(&mut self, scene: &Scene<'_>, commission: Commission, now: &Now) {
        let Commission { decider: PaidDecider { name: decider, free, .. }, forced, reserve, brief } =
            commission;
        let reserved_usd = reserve.dollars();
        let tainted: Vec<String> = brief.tainted.iter().take(TAINTS).cloned().collect();
        let brief = brief.render();
        let run = RunId(self.ledger.runs.saturating_add(1));
        let session = session_name(&self.ledger, "decide");
        self.log(
            Entry::DecideStarted {
                beat: self.next_beat(),
                run,
                session: session.clone(),
                decider: decider.clone(),
                cause: scene.look.cause,
                forced,
                changes: shown(&scene.changes),
                sees: Delta::between(&self.ledger.baseline, &scene.items),
                files: file_digests(&scene.seen.docs),
                reserved_usd,
                free,
                config: Some(self.setup.limits.config),
                tainted: tainted.clone(),
            },
            now,
        );
        self.adopted = false;
        let workers = self.offers_workers(scene);
        let order = DecideOrder { run, session, decider, brief, reserved_usd, workers, tainted };
        self.push(Effect::Decide(Box::new(order)));
    }

    pub(super) fn brief(
        &self,
        scene: &Scene<'_>,
        (decider, forced): (Option<&PaidDecider>, Option<&Force>),
        now: &Now,
    ) -> Brief {
        let fairness = self.fairness(scene, now);
        let readings = that_matter(&scene.readings, &scene.changes);
        let input = brief::Input {
            ledger: &self.ledger,
            docs: &scene.seen.docs,
            readings: &readings,
            changes: &scene.changes,
            flapping: &flappers(&self.ledger, &self.setup.limits),
            forced,
            fairness: &fairness,
            now,
            limits: &self.setup.limits,
            secret: scene.seen.secret,
            catalogue_in_text: !decider.is_some_and(|decider| decider.tool),
            workers_available: self.offers_workers(scene),
        };
        brief::compose(&input)
    }

    /// Whether moves about workers are on offer: there are some, or they can be started.
    fn offers_workers(&self, scene: &Scene<'_>) -> bool {
        !self.setup.limits.worker_runners.is_empty() || !scene.seen.docs.fleet.workers.is_empty()
    }

    fn fairness(&self, scene: &Scene<'_>, now: &Now) -> Vec<brief::Standing> {
        let goals = scene.seen.docs.goals.keys();
        let mut rows: Vec<brief::Standing> = goals
            .map(|id| brief::Standing {
                goal: id.clone(),
                unserved: self.ledger.goal(id).served.map(|served| now.since(&served)),
                ready: scene.ready.contains(id),
                overdue: is_overdue(&self.ledger, id, now, &self.setup.limits),
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.unserved.unwrap_or(std::time::Duration::MAX)));
        rows
    }
}

/// What a decide by this decider costs at most.
fn fee(decider: &PaidDecider, brief: &str) -> Fee {
    match decider.bound {
        _ if decider.free => Fee::Free,
        Some(bound) => Fee::Call(bound.of(brief.len())),
        None => Fee::Usual,
    }
}
