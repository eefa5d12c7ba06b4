//! The purse: what may be spent before anything that costs is started.

use crate::gate::Limits;
use crate::ledger::entry::Spend;
use crate::ledger::state::Ledger;
use crate::time::Now;

/// Sets money aside for one decide: settled + open + its own must stay within the day's cap.
pub fn reserve(ledger: &Ledger, limits: &Limits, free: bool, now: &Now) -> Result<f64, String> {
    let own = if free { 0.0 } else { limits.decide_usd };
    let Some(cap) = limits.daily_usd.filter(|cap| *cap > 0.0) else { return Ok(own) };
    let settled = ledger.spend.get(&today(ledger, now)).map_or(0.0, |day| day.usd);
    let open = ledger.deciding.as_ref().map_or(0.0, |deciding| deciding.reserved_usd);
    if own == 0.0 || settled + open + own <= cap {
        return Ok(own);
    }
    Err(format!("${settled:.2} of today's ${cap:.2} is spent, and one more decide may cost ${own:.2}"))
}

/// The day that spend counts for. Days never go back: a clock set back keeps counting on the latest day.
pub fn today(ledger: &Ledger, now: &Now) -> String {
    let day = now.day();
    match ledger.spend.last_key_value() {
        Some((latest, _)) if *latest > day => latest.clone(),
        _ => day,
    }
}

/// Settles a decide. Without a receipt its reservation settles in full.
pub fn settle(ledger: &Ledger, receipt: Option<&Spend>, now: &Now) -> Spend {
    let day = today(ledger, now);
    if let Some(receipt) = receipt {
        return Spend { day, ..receipt.clone() };
    }
    let usd = ledger.deciding.as_ref().map_or(0.0, |deciding| deciding.reserved_usd);
    let source = if usd > 0.0 { "reserved" } else { "free" };
    Spend { day, usd, source: source.to_owned(), ..Spend::default() }
}

#[cfg(test)]
mod tests;
