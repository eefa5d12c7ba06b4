//! Looks at the world: which are wanted and which are under way.
//!
//! A full look runs every sensor, which may take a minute. A quick one reuses the last readings; it does not wait for a
//! full one, nor for a move, so that an edit, an answer or the end of a worker is taken in at once.

use std::collections::BTreeSet;

use super::io::{Effect, RequestId};
use super::machine::Engine;
use crate::ledger::entry::Cause;
use crate::world::observation::Scope;

/// A beat that is looking at the world.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about who wants it")]
pub(super) struct Look {
    pub(super) cause: Cause,
    pub(super) scope: Scope,
    pub(super) by_person: bool,
    /// Whether a person has just started the loop.
    pub(super) begun: bool,
    /// Whether only what costs nothing may come of it: the look after a move of our own.
    pub(super) free: bool,
    /// Whether something may come of it; a dry run changes nothing.
    pub(super) wet: bool,
    pub(super) dry: Vec<RequestId>,
    /// Who asked for this beat and waits for its end.
    pub(super) beats: Vec<RequestId>,
}

impl Look {
    /// A look for this cause, as wide as the cause asks for.
    pub(super) fn by(cause: Cause) -> Self {
        let (scope, free) = (cause.scope(), cause == Cause::Followup);
        Self {
            cause,
            scope,
            by_person: false,
            begun: false,
            free,
            wet: true,
            dry: Vec::new(),
            beats: Vec::new(),
        }
    }

    /// Takes over what another look was for.
    fn join(&mut self, other: Self) {
        self.by_person |= other.by_person;
        self.begun |= other.begun;
        self.free &= other.free;
        self.wet |= other.wet;
        self.dry.extend(other.dry);
        self.beats.extend(other.beats);
    }
}

/// The looks of one scope.
#[derive(Debug, Default)]
struct Slot {
    wanted: Option<Look>,
    under_way: Option<Look>,
}

/// All looks.
#[derive(Debug, Default)]
pub(super) struct Looks {
    full: Slot,
    quick: Slot,
    /// A look that saw the world while a move or a decide was under way, and has to decide upon it after that.
    owed: Option<Look>,
    /// Goals whose last check is of no use to a quick look: a move for them has ended since. A full look checks them all.
    stale: BTreeSet<String>,
    /// Those that the quick look under way checks again.
    checking: BTreeSet<String>,
    /// Goals for which a move has ended since the last full look began: what is known of them is from before it.
    served: BTreeSet<String>,
    /// Goals for which a move has ended since the last quick look began. It may have checked them before the end of the
    /// move and come back after a full look that was begun later.
    served_meanwhile: BTreeSet<String>,
}

impl Looks {
    fn slot(&mut self, scope: Scope) -> &mut Slot {
        match scope {
            Scope::Full => &mut self.full,
            Scope::Quick => &mut self.quick,
        }
    }

    fn under_way(&self, scope: Scope) -> Option<&Look> {
        match scope {
            Scope::Full => self.full.under_way.as_ref(),
            Scope::Quick => self.quick.under_way.as_ref(),
        }
    }

    /// Wants a look. One that is wanted already serves both.
    pub(super) fn want(&mut self, look: Look) {
        match &mut self.slot(look.scope).wanted {
            Some(wanted) => wanted.join(look),
            empty => *empty = Some(look),
        }
    }

    /// The look of this scope is over. `checked`: its checks are the last ones now.
    pub(super) fn end(&mut self, scope: Scope, checked: bool) -> Option<Look> {
        let checking = match scope {
            Scope::Quick => std::mem::take(&mut self.checking),
            Scope::Full => BTreeSet::new(),
        };
        match (scope, checked) {
            // Of goals whose move has ended since it began it says nothing that is of use.
            (Scope::Full, true) => self.stale.retain(|goal| self.served.contains(goal)),
            (Scope::Quick, true) => self.stale.extend(self.served_meanwhile.iter().cloned()),
            (_, false) => self.stale.extend(checking),
        }
        self.slot(scope).under_way.take()
    }

    /// A look could not decide because of a move; it does after that, upon the readings that it took.
    pub(super) fn owe(&mut self, look: Look) {
        let look = Look { scope: Scope::Quick, ..look };
        match &mut self.owed {
            Some(owed) => owed.join(look),
            empty => *empty = Some(look),
        }
    }

    /// A move is over.
    pub(super) fn pay(&mut self, goal: Option<&String>) {
        self.stale.extend(goal.cloned());
        self.served.extend(goal.cloned());
        if self.quick.under_way.is_some() {
            self.served_meanwhile.extend(goal.cloned());
        }
        self.repay();
    }

    /// Nothing is under way any more: what a decide did not see is looked at again.
    pub(super) fn repay(&mut self) {
        if let Some(owed) = self.owed.take() {
            self.want(owed);
        }
    }

    /// Whether a goal was served after a look of this scope took its readings. To serve it again is for the next full
    /// look to say.
    pub(super) fn is_served(&self, goal: Option<&str>, scope: Scope) -> bool {
        let meanwhile = |goal: &str| scope == Scope::Quick && self.served_meanwhile.contains(goal);
        goal.is_some_and(|goal| self.served.contains(goal) || meanwhile(goal))
    }

    /// Whether there is nothing to be looked at.
    pub(super) fn is_empty(&self) -> bool {
        let idle = |slot: &Slot| slot.wanted.is_none() && slot.under_way.is_none();
        idle(&self.full) && idle(&self.quick) && self.owed.is_none()
    }

    /// Whether a full look is wanted or under way.
    pub(super) fn is_full_ahead(&self) -> bool {
        self.full.wanted.is_some() || self.full.under_way.is_some()
    }

    /// Begins a look of this scope, if one is wanted and none is under way.
    fn begin(&mut self, scope: Scope) -> Option<BTreeSet<String>> {
        let slot = self.slot(scope);
        if slot.under_way.is_some() || slot.wanted.is_none() {
            return None;
        }
        slot.under_way = slot.wanted.take();
        Some(match scope {
            Scope::Full => {
                self.served.clear();
                // A quick look that begins before this one has ended still knows only the checks from before those moves.
                self.stale.clone()
            }
            Scope::Quick => {
                self.served_meanwhile.clear();
                self.checking = std::mem::take(&mut self.stale);
                self.checking.clone()
            }
        })
    }
}

impl Engine {
    /// Whether the first full look is still to come: sensors that hang must not keep letters waiting until then.
    pub fn is_early(&self) -> bool {
        self.looked == 0 && self.looks.is_full_ahead()
    }

    /// Whether the look of this scope that is under way is for dry runs alone, so that it must change nothing.
    pub fn is_dry(&self, scope: Scope) -> bool {
        self.looks.under_way(scope).is_some_and(|look| !look.wet)
    }

    /// Begins the looks that can be begun. A full one waits for a move: it would see it half done.
    pub(super) fn begin_looks(&mut self) {
        if self.ledger.acting.is_none()
            && let Some(stale) = self.looks.begin(Scope::Full)
        {
            self.push(Effect::Sense(Scope::Full, stale));
        }
        if let Some(stale) = self.looks.begin(Scope::Quick) {
            self.push(Effect::Sense(Scope::Quick, stale));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(looks: &mut Looks, scope: Scope) {
        looks.want(Look { scope, ..Look::by(Cause::Files) });
    }

    fn y() -> BTreeSet<String> {
        ["y".to_owned()].into()
    }

    /// A quick look checked a goal before the end of its move, and comes back after a full look that began later.
    #[test]
    fn a_quick_look_that_a_move_overtook_does_not_serve_its_goal_again() {
        let mut looks = Looks::default();
        want(&mut looks, Scope::Quick);
        looks.begin(Scope::Quick).expect("a quick look");
        looks.pay(y().first());
        want(&mut looks, Scope::Full);
        looks.begin(Scope::Full).expect("a full look");
        assert!(!looks.is_served(Some("y"), Scope::Full), "the full look checks it and may have it served");
        looks.end(Scope::Full, true);
        looks.end(Scope::Quick, true).expect("the quick look");
        assert!(looks.is_served(Some("y"), Scope::Quick), "what the quick look saw is from before the move");
        want(&mut looks, Scope::Quick);
        assert_eq!(looks.begin(Scope::Quick), Some(y()), "the next one checks it itself");
        assert!(!looks.is_served(Some("y"), Scope::Quick));
    }

    /// A full and a quick look begin together after a move: the quick one ends first, and has no newer check to reuse.
    #[test]
    fn a_quick_look_beside_a_full_one_checks_what_was_served_before_both() {
        let mut looks = Looks::default();
        looks.pay(y().first());
        want(&mut looks, Scope::Full);
        want(&mut looks, Scope::Quick);
        looks.begin(Scope::Full).expect("a full look");
        assert_eq!(looks.begin(Scope::Quick), Some(y()), "it does not reuse the check from before the move");
        looks.end(Scope::Quick, true);
        looks.end(Scope::Full, true);
        want(&mut looks, Scope::Quick);
        assert_eq!(looks.begin(Scope::Quick), Some(BTreeSet::new()), "both have checked it");
    }

    /// A look that could not see, or that ran nothing, leaves the last check as it was.
    #[test]
    fn what_a_failed_look_was_to_check_is_checked_by_the_next() {
        let mut looks = Looks::default();
        looks.pay(y().first());
        for scope in [Scope::Quick, Scope::Full, Scope::Quick] {
            want(&mut looks, scope);
            looks.begin(scope).expect("a look");
            looks.end(scope, false);
        }
        want(&mut looks, Scope::Quick);
        assert_eq!(looks.begin(Scope::Quick), Some(y()));
    }
}
