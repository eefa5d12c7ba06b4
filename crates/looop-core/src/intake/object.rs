//! The one JSON object in a text or file.

use serde_json::Value;

use super::field::found;
use super::refusal::Refusal;
use super::scan::spans;

/// Longest text in which a decision is looked for.
pub const MOST_BYTES: usize = 1 << 20;

/// What a text holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// A JSON object that may be a decision.
    One(Value),
    /// No JSON object.
    None,
    /// Something that was meant as one and cannot be used.
    Unusable(Refusal),
}

/// Looks for the decision in a final message: the last object with an `action`, else the last object, so that the
/// error can name what is missing. Prose, code fences, a BOM and trailing commas around it do not matter. A last
/// object that has an `action` and breaks off is no reason to fall back on an earlier one.
pub fn find(text: &str) -> Found {
    let text = match checked(text) {
        Ok(text) => text,
        Err(refusal) => return Found::Unusable(refusal),
    };
    let (mut last, mut decision, mut broken) = (None, None, None);
    for span in spans(text) {
        match read(span.json) {
            Ok(value) if span.has_action => decision = Some(Ok(value)),
            Ok(value) => last = Some(value),
            Err(refusal) if span.has_action => decision = Some(Err(refusal)),
            Err(refusal) if span.has_key => broken = Some(refusal),
            Err(_) => {}
        }
    }
    match (decision, last, broken) {
        (Some(Ok(value)), _, _) | (None, Some(value), _) => Found::One(value),
        (Some(Err(refusal)), _, _) | (None, None, Some(refusal)) => Found::Unusable(refusal),
        (None, None, None) => Found::None,
    }
}

/// Reads a decision file: exactly one JSON object, with the same tolerance for what stands around it.
pub fn from_file(bytes: &[u8]) -> Result<Value, Refusal> {
    if bytes.len() > MOST_BYTES {
        return Err(Refusal::TooLarge { bytes: bytes.len(), most: MOST_BYTES });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| Refusal::NotUtf8 { at: error.valid_up_to() })?;
    let (mut one, mut blank): (Option<Value>, _) = (None, None);
    for span in spans(checked(text)?) {
        if !span.has_key {
            // Empty braces stand in prose too; they count only where there is nothing else.
            blank = blank.or(read(span.json).ok());
            continue;
        }
        let value = read(span.json)?;
        match &one {
            Some(first) if *first != value => return Err(Refusal::TwoObjects),
            _ => one = Some(value),
        }
    }
    one.or(blank).ok_or(Refusal::NoObject)
}

/// The text without its BOM; refused where it is too long, or is as a whole JSON of another type.
fn checked(text: &str) -> Result<&str, Refusal> {
    if text.len() > MOST_BYTES {
        return Err(Refusal::TooLarge { bytes: text.len(), most: MOST_BYTES });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str::<Value>(unfenced(text.trim())) {
        Ok(Value::Object(_)) | Err(_) => Ok(text),
        Ok(other) => Err(Refusal::NotAnObject { found: found(&other) }),
    }
}

/// What stands in a code fence that spans the whole text.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.and_then(|inner| inner.split_once('\n')).map_or(text, |(_, body)| body.trim())
}

fn read(json: Result<String, String>) -> Result<Value, Refusal> {
    let not_json = |problem| Refusal::NotJson { problem };
    let json = json.map_err(not_json)?;
    serde_json::from_str(&json).map_err(|error| not_json(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn one_object_is_found_whatever_stands_around_it() {
        let noop = json!({"action": "noop", "reason": "a } b { \" \\ c"});
        let bare = noop.to_string();
        let texts = [
            bare.clone(),
            format!("\u{feff}{bare}\r\n"),
            format!("```json\n{bare}\n```"),
            format!("```\r\n{bare}\r\n```\r\n"),
            format!("I looked at {{braces}} and {{\"odd\" things}}.\n\nSo:\n{bare}\nThat is {{it}}. \"{{"),
            format!("{{ {bare}"),
            bare.replace('}', ",}").replace(",} b", "} b"),
            "{\r\n \"action\" :\t\"noop\",\r\n\"reason\":\"a } b { \\\" \\\\ c\" , \r\n}".to_owned(),
        ];
        for text in texts {
            assert_eq!(find(&text), Found::One(noop.clone()), "{text}");
            assert_eq!(from_file(text.as_bytes()), Ok(noop.clone()), "{text}");
        }
    }

    #[test]
    fn trailing_commas_in_lists_and_depths_are_tolerated_and_only_those() {
        let text = r#"{"action":"ask_human","options":["a","b",],"x":{"y":[1,],},}"#;
        let value = json!({"action": "ask_human", "options": ["a", "b"], "x": {"y": [1]}});
        assert_eq!(find(text), Found::One(value));
        for bad in [
            r#"{"action":"noop",,}"#,
            "{,}",
            r#"{"action":,}"#,
            r#"{"action" "noop"}"#,
            r#"{"action":"noop"]"#,
        ] {
            assert!(matches!(find(bad), Found::Unusable(_) | Found::None), "{bad}");
        }
    }

    #[test]
    fn in_a_message_the_last_object_with_an_action_wins() {
        let text = r#"First {"action":"noop"} or {"action":"run_shell","cmd":"x"}? Usage: {"tokens":3}"#;
        assert_eq!(find(text), Found::One(json!({"action": "run_shell", "cmd": "x"})));
        let nested = r#"{"action":"noop"} {"meta":{"action":"kill_worker"}}"#;
        assert_eq!(find(nested), Found::One(json!({"action": "noop"})));
        assert_eq!(find(r#"{"a":1} {"move":"noop"}"#), Found::One(json!({"move": "noop"})));
        assert_eq!(find("nothing {here} at all {}".trim_end_matches("{}")), Found::None);
        assert_eq!(find(""), Found::None);
    }

    #[test]
    fn a_decision_that_breaks_off_does_not_fall_back_on_an_earlier_one() {
        let text = r#"For example {"action":"noop"}. Mine: {"action":"run_shell","cmd":"mak"#;
        assert!(matches!(find(text), Found::Unusable(Refusal::NotJson { .. })), "{:?}", find(text));
        let nested = r#"{"action":"run_shell","x":{"action":"noop"}"#;
        assert!(matches!(find(nested), Found::Unusable(Refusal::NotJson { .. })));
    }

    #[test]
    fn json_of_another_type_is_named() {
        for (text, name) in [
            ("[{\"action\":\"noop\"}]", "a list"),
            ("```json\n[{\"action\":\"noop\"}]\n```", "a list"),
            ("\"{\\\"action\\\":\\\"noop\\\"}\"", "a text"),
            ("null", "null"),
            ("42", "a number"),
        ] {
            let refusal = Refusal::NotAnObject { found: name };
            assert_eq!(find(text), Found::Unusable(refusal.clone()), "{text}");
            assert_eq!(from_file(text.as_bytes()), Err(refusal), "{text}");
        }
    }

    #[test]
    fn a_file_holds_exactly_one() {
        let two = br#"{"action":"noop"} {"action":"run_shell","cmd":"x"}"#;
        assert_eq!(from_file(two), Err(Refusal::TwoObjects));
        assert_eq!(from_file(br#"{"action":"noop"}{"action" : "noop"}"#), Ok(json!({"action": "noop"})));
        assert_eq!(from_file(br#"Not {} but {"action":"noop"}"#), Ok(json!({"action": "noop"})));
        assert_eq!(from_file(b"{}"), Ok(json!({})));
        assert_eq!(from_file(b" \n"), Err(Refusal::NoObject));
        assert_eq!(from_file(b"I did nothing."), Err(Refusal::NoObject));
        assert_eq!(from_file(b"{\"action\":\"\xff\"}"), Err(Refusal::NotUtf8 { at: 11 }));
        assert!(matches!(from_file(br#"{"action":"noop"#), Err(Refusal::NotJson { .. })));
        assert!(matches!(from_file(b"{\"action\":nope}"), Err(Refusal::NotJson { .. })));
        let large = vec![b' '; 10 << 20];
        assert_eq!(from_file(&large), Err(Refusal::TooLarge { bytes: 10 << 20, most: MOST_BYTES }));
        assert!(matches!(find(&" ".repeat(MOST_BYTES + 1)), Found::Unusable(Refusal::TooLarge { .. })));
    }

    #[test]
    fn hostile_shapes_of_a_megabyte_are_read_in_one_pass() {
        // The number of spans bounds the work: a pass that started again at each brace would not end here.
        let fill = |piece: &str| piece.repeat(MOST_BYTES / piece.len());
        for piece in
            ["{", "{\"a\":", "{\"a\":[", "[{", "{\"", "\"{", "{}", "{\"a\":1,", "\\\"{", "{\"a\":\"", "}"]
        {
            let text = fill(piece);
            drop(find(&text));
            drop(from_file(text.as_bytes()));
        }
        let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
        let refusal = Refusal::NotJson { problem: "nested deeper than 64 levels".to_owned() };
        assert_eq!(find(&deep), Found::Unusable(refusal));
    }

    proptest! {
        #[test]
        fn any_text_has_an_answer(text in "[{}\\[\\]\",:\\\\a1 \n\u{feff}é]{0,200}") {
            drop(find(&text));
            drop(from_file(text.as_bytes()));
        }

        #[test]
        fn any_decision_is_found_in_any_prose_without_braces(
            reason in any::<String>(), before in "[^{\\[]{0,60}", after in "[^{]{0,60}",
        ) {
            let value = json!({"action": "noop", "reason": reason});
            let text = format!("{before}\n{value}\n{after}");
            prop_assert_eq!(find(&text), Found::One(value));
        }
    }
}
