//! The stored forms of letters, ours and those of looop 0.16 to 1.1.

use looop_core::model::letter::{Answer, Ask, AskKind, Claim, Expense, Tell};
use looop_core::model::name::is_name;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::names::is_session;

/// Version of the stored form.
pub(super) const VERSION: u32 = 1;

/// An ask of an older version: seconds since the epoch, the worker by name.
#[derive(Deserialize)]
struct OlderAsk {
    worker: String,
    prompt: String,
    reference: Option<String>,
    #[serde(default)]
    options: Option<Vec<String>>,
    #[serde(default)]
    ts: i64,
}

#[derive(Deserialize)]
struct OlderAnswer {
    answer: String,
    #[serde(default)]
    ts: i64,
}

#[derive(Deserialize)]
struct OlderTell {
    worker: String,
    msg: String,
    #[serde(default)]
    ts: i64,
}

/// A claim of an older version, in parts written by hand: only the session is sure.
#[derive(Deserialize)]
struct OlderClaim {
    session: String,
    #[serde(default)]
    nonce: String,
    #[serde(default)]
    ts: i64,
}

/// A letter and whether an older version wrote it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found<T> {
    pub(super) letter: T,
    pub(super) older: bool,
}

/// How the bytes of a letter whose file has this stem become one.
pub(super) type Parse<T> = fn(stem: &str, bytes: &[u8]) -> Result<Found<T>, String>;

/// Reads an ask whose file has this stem.
pub(super) fn ask(stem: &str, bytes: &[u8]) -> Result<Found<Ask>, String> {
    let value = parse(bytes, "an ask")?;
    if value.get("worker").is_none() {
        let ask: Ask = typed(value, "an ask")?;
        check(ask.v, stem, &ask.id)?;
        names(&ask.from, ask.goal.as_deref())?;
        return Ok(Found { letter: ask, older: false });
    }
    let older: OlderAsk = typed(value, "an ask")?;
    names(&bare(&older.worker), None)?;
    let letter = Ask {
        v: VERSION,
        id: stem.to_owned(),
        from: bare(&older.worker),
        kind: AskKind::Question,
        prompt: older.prompt,
        options: older.options.unwrap_or_default(),
        reference: older.reference,
        goal: None,
        proposal: None,
        asked: older.ts.saturating_mul(1000),
        closed: false,
        fetched: false,
        limit: None,
    };
    Ok(Found { letter, older: true })
}

/// Reads an answer whose file has this stem.
pub(super) fn answer(stem: &str, bytes: &[u8]) -> Result<Found<Answer>, String> {
    let value = parse(bytes, "an answer")?;
    if value.get("answer").is_none() {
        let answer: Answer = typed(value, "an answer")?;
        check(answer.v, stem, &answer.ask)?;
        return Ok(Found { letter: answer, older: false });
    }
    let older: OlderAnswer = typed(value, "an answer")?;
    let answered = older.ts.saturating_mul(1000);
    let letter = Answer { v: VERSION, ask: stem.to_owned(), text: older.answer, answered };
    Ok(Found { letter, older: true })
}

/// Reads a tell whose file has this stem.
pub(super) fn tell(stem: &str, bytes: &[u8]) -> Result<Found<Tell>, String> {
    let value = parse(bytes, "a tell")?;
    if value.get("worker").is_none() {
        let tell: Tell = typed(value, "a tell")?;
        check(tell.v, stem, &tell.id)?;
        names(&tell.to, None)?;
        return Ok(Found { letter: tell, older: false });
    }
    let older: OlderTell = typed(value, "a tell")?;
    let sent = older.ts.saturating_mul(1000);
    let letter = Tell { v: VERSION, id: stem.to_owned(), to: bare(&older.worker), text: older.msg, sent };
    Ok(Found { letter, older: true })
}

/// Reads a claim whose file has this stem.
pub(super) fn claim(stem: &str, bytes: &[u8]) -> Result<Found<Claim>, String> {
    let value = parse(bytes, "a claim")?;
    if value.get("v").is_some() {
        let claim: Claim = typed(value, "a claim")?;
        check(claim.v, stem, &claim.name)?;
        names(&claim.session, None)?;
        return Ok(Found { letter: claim, older: false });
    }
    let older: OlderClaim = typed(value, "a claim")?;
    let ts = older.ts.saturating_mul(1000);
    let session = bare(&older.session);
    let letter = Claim { v: VERSION, name: stem.to_owned(), session, ts, nonce: older.nonce };
    Ok(Found { letter, older: true })
}

/// Reads an expense whose file has this stem. Older versions left none.
pub(super) fn expense(stem: &str, bytes: &[u8]) -> Result<Found<Expense>, String> {
    let expense: Expense = typed(parse(bytes, "an expense")?, "an expense")?;
    check(expense.v, stem, &expense.id)?;
    names(&expense.session, expense.goal.as_deref())?;
    if !is_amount(expense.usd) {
        return Err("does not say an amount of dollars".to_owned());
    }
    Ok(Found { letter: expense, older: false })
}

/// Whether a number can be an amount of dollars.
pub(super) fn is_amount(usd: f64) -> bool {
    (0.0..=Expense::MOST_USD).contains(&usd)
}

/// A worker's id without the prefix that early versions gave to sessions.
fn bare(worker: &str) -> String {
    worker.strip_prefix("looop-").unwrap_or(worker).to_owned()
}

fn parse(bytes: &[u8], what: &str) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("is not {what}: {error}"))
}

fn typed<T: DeserializeOwned>(value: Value, what: &str) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| format!("is not {what}: {error}"))
}

fn check(v: u32, stem: &str, id: &str) -> Result<(), String> {
    if v > VERSION {
        return Err(format!("has version {v}, and this looop knows version {VERSION}"));
    }
    if id != stem {
        return Err("calls itself by another name than its file's".to_owned());
    }
    Ok(())
}

/// Whoever a letter is from or for, and the goal that waits, have names: they are printed and looked up.
fn names(from: &str, goal: Option<&str>) -> Result<(), String> {
    if !is_session(from) {
        return Err("names a session that cannot be one".to_owned());
    }
    match goal.filter(|goal| !is_name(goal)) {
        Some(_) => Err("names a goal that cannot be one".to_owned()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_letters_are_converted() {
        let text = br#"{"id":"t-1","worker":"looop-t","prompt":"Merge?","options":["yes"],"ts":5,"v":1,"detach":true}"#;
        let found = ask("t-1", text).unwrap();
        assert!(found.older);
        assert_eq!((found.letter.from.as_str(), found.letter.asked), ("t", 5000));
        let found = answer("t-1", br#"{"answer":"yes","ts":6}"#).unwrap();
        assert_eq!(
            (found.letter.text.as_str(), found.letter.ask.as_str(), found.older),
            ("yes", "t-1", true)
        );
    }

    #[test]
    fn older_tells_and_claims_are_converted() {
        let text = br#"{"v":1,"id":"t-1","worker":"t","msg":"look","ts":5}"#;
        let Found { letter, older } = tell("t-1", text).unwrap();
        assert_eq!((letter.to.as_str(), letter.text.as_str(), letter.sent, older), ("t", "look", 5000, true));
        for (text, nonce, ts) in [
            (r#"{"session":"looop-t"}"#, "", 0),
            (r#"{"name":"repo","nonce":"8727-1","session":"t","ts":6}"#, "8727-1", 6000),
        ] {
            let Found { letter, older } = claim("repo", text.as_bytes()).unwrap();
            assert_eq!((letter.name.as_str(), letter.session.as_str(), older), ("repo", "t", true));
            assert_eq!((letter.nonce.as_str(), letter.ts), (nonce, ts));
        }
    }

    #[test]
    fn an_ask_of_another_kind_says_so_and_a_question_need_not() {
        let question = br#"{"v":1,"id":"a","from":"t~1","prompt":"?","asked":1}"#;
        let letter = ask("a", question).unwrap().letter;
        assert_eq!((letter.kind, letter.proposal.clone()), (AskKind::Question, None));
        assert_eq!(serde_json::to_vec(&letter).unwrap(), question);
        let flag = br#"{"v":1,"id":"a","from":"t~1","kind":"flag","prompt":"?","asked":1}"#;
        assert_eq!(ask("a", flag).unwrap().letter.kind, AskKind::Flag);
    }

    #[test]
    fn an_expense_says_an_amount() {
        let of = |usd: &str| {
            let text = format!(r#"{{"v":1,"id":"a-1","session":"a~1","usd":{usd},"recorded":5}}"#);
            expense("a-1", text.as_bytes()).map(|found| found.letter.usd)
        };
        assert_eq!(of("0.25"), Ok(0.25));
        for bad in ["-0.1", "1e7", "null", "\"1\""] {
            assert!(of(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_letter_is_named() {
        for text in ["", "null", "{}", "[1]", r#"{"worker":3}"#, r#"{"answer":1}"#, r#"{"v":1}"#, "\u{0}"] {
            assert!(ask("a", text.as_bytes()).is_err(), "{text}");
            assert!(answer("a", text.as_bytes()).is_err(), "{text}");
            assert!(tell("a", text.as_bytes()).is_err(), "{text}");
            assert!(claim("a", text.as_bytes()).is_err(), "{text}");
            assert!(expense("a", text.as_bytes()).is_err(), "{text}");
        }
        let newer = br#"{"v":2,"ask":"a","text":"x","answered":1}"#;
        assert!(answer("a", newer).unwrap_err().contains("version 2"));
        let other = br#"{"v":1,"ask":"b","text":"x","answered":1}"#;
        assert!(answer("a", other).unwrap_err().contains("another name"));
    }
}
