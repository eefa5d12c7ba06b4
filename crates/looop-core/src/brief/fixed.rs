//! The fixed text of a brief: instructions, catalogue and norms. It is the same in every beat, so that caches hit.

use crate::intake::catalogue;

const INSTRUCTIONS: &str = include_str!("instructions.md");
const NORMS: &str = include_str!("norms.md");

/// The fixed text. The catalogue is left out where the decider has it as the schema of a tool.
pub fn fixed(catalogue_in_text: bool, workers: bool) -> String {
    let mut out = INSTRUCTIONS.to_owned();
    if catalogue_in_text {
        out.push_str("\n## Moves (? optional, [] list)\n");
        out.push_str(&catalogue::text(workers));
    }
    out.push('\n');
    out.push_str(NORMS);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_guidance_fits_in_six_kilobytes() {
        let longest = fixed(true, true).len();
        assert!(longest <= 6000, "{longest} bytes");
    }

    #[test]
    fn the_catalogue_is_said_once_or_not_at_all() {
        assert_eq!(fixed(true, false).matches("- run_shell(").count(), 1);
        assert_eq!(fixed(false, true).matches("- run_shell(").count(), 0);
        assert!(!fixed(true, false).contains("start_worker"));
    }
}
