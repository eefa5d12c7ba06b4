//! Making room: what gives way when a brief is too long.

use super::escape::count;
use super::mark::{Mark, Page};
use super::section::{Item, Section, Topic, Trust};

/// Bytes that the note about a cut may take.
const NOTE: usize = 48;

/// The order in which bodies are shortened once goals have only their names left.
const SHORTENED: [Topic; 9] = [
    Topic::Readings,
    Topic::Shell,
    Topic::Changes,
    Topic::Journal,
    Topic::Asks,
    Topic::Fairness,
    Topic::Last,
    Topic::Flapping,
    Topic::Playbook,
];

/// The order in which whole items are left out at last, from the end.
const DROPPED: [Topic; 4] = [Topic::Readings, Topic::Asks, Topic::Shell, Topic::Last];

/// Brings the sections within `room` bytes: goals' bodies give way first, each goal stays named as long as the names
/// fit at all.
pub(super) fn fit(sections: &mut [Section], mark: &Mark, room: usize) {
    if size(sections, mark) <= room {
        return;
    }
    shorten(sections, Topic::Goals, mark, room);
    if size(sections, mark) > room {
        name_only(sections);
    }
    for topic in SHORTENED {
        shorten(sections, topic, mark, room);
    }
    for topic in DROPPED {
        leave_out(sections, topic, mark, room);
    }
    shorten(sections, Topic::Goals, mark, room);
}

/// The sections as text.
pub(super) fn written(sections: &[Section], mark: &Mark) -> String {
    let mut page = Page::new(mark);
    for section in sections {
        section.write(&mut page);
    }
    page.into_text()
}

fn size(sections: &[Section], mark: &Mark) -> usize {
    written(sections, mark).len()
}

/// Shortens the bodies of a topic to one common level, so that the longest give most.
fn shorten(sections: &mut [Section], topic: Topic, mark: &Mark, room: usize) {
    let over = size(sections, mark).saturating_sub(room);
    let items: Vec<&mut Item> = of(sections, topic).flat_map(|section| &mut section.items).collect();
    if over == 0 || items.is_empty() {
        return;
    }
    let bodies: usize = items.iter().map(|item| item.body_len()).sum();
    let target = bodies.saturating_sub(over + NOTE * items.len());
    let level = level(items.iter().map(|item| item.body_len()).collect(), target);
    for item in items {
        item.cut_to(level);
    }
}

fn of(sections: &mut [Section], topic: Topic) -> impl Iterator<Item = &mut Section> {
    sections.iter_mut().filter(move |section| section.topic == topic)
}

/// The highest level to which lengths may be cut so that they add up to at most `target`.
fn level(mut lengths: Vec<usize>, target: usize) -> usize {
    lengths.sort_unstable();
    let mut left = target;
    let mut count = lengths.len();
    for length in lengths {
        if length.saturating_mul(count) > left {
            return left / count;
        }
        left -= length;
        count -= 1;
    }
    usize::MAX
}

/// Replaces the goals by one list of their names.
fn name_only(sections: &mut [Section]) {
    for section in of(sections, Topic::Goals).filter(|section| !section.items.is_empty()) {
        let names: Vec<&str> = section.items.iter().map(Item::name).collect();
        let note = format!("{} goals, for want of room by name only", count(names.len()));
        let list = names.join("\n");
        section.items = vec![Item::new("goal names", "", Trust::Owner, &list, usize::MAX)];
        section.notes = vec![note];
    }
}

fn leave_out(sections: &mut [Section], topic: Topic, mark: &Mark, room: usize) {
    let mut over = size(sections, mark).saturating_sub(room);
    if over == 0 {
        return;
    }
    over += 2 * NOTE;
    for section in of(sections, topic) {
        while over > 0
            && let Some(item) = section.items.pop()
        {
            let mut page = Page::new(mark);
            item.write(&mut page);
            over = over.saturating_sub(page.into_text().len());
            section.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::level;

    #[test]
    fn a_level_takes_from_the_longest() {
        assert_eq!(level(vec![10, 100, 1000], 1110), usize::MAX);
        assert_eq!(level(vec![10, 100, 1000], 210), 100);
        assert_eq!(level(vec![10, 100, 1000], 30), 10);
        assert_eq!(level(vec![10, 100, 1000], 2), 0);
        assert_eq!(level(vec![], 0), usize::MAX);
    }
}
