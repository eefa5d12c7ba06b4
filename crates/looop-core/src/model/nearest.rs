//! The name that was probably meant by one that does not exist.

/// The candidate that was probably meant, if one is near enough to say so.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST_NAME: usize = 64;
    if name.len() > LONGEST_NAME {
        return None;
    }
    let wanted = name.to_lowercase().replace('-', "_");
    let mistakes = (wanted.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= mistakes)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
