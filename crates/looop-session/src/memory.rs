//! The memory of a process that is to live long and mostly sleeps.

/// Lets go of the code that is in memory. What a program needs to start is most of it, and is not needed again; the rest
/// comes back when it runs, from the file, which stays in the cache of the kernel. Does nothing where the kernel does not
/// list mappings.
#[cfg(target_os = "linux")]
pub fn let_go_of_code() {
    // The code of a running program stays where it is.
    static CODE: std::sync::OnceLock<Vec<(usize, usize)>> = std::sync::OnceLock::new();
    for &(from, to) in CODE.get_or_init(mapped_code) {
        crate::sys::let_go_of_code(from, to);
    }
}

/// Where the code of the program is mapped; nowhere if the kernel does not say.
#[cfg(target_os = "linux")]
fn mapped_code() -> Vec<(usize, usize)> {
    let (Ok(maps), Ok(image)) =
        (std::fs::read_to_string("/proc/self/maps"), std::fs::read_link("/proc/self/exe"))
    else {
        return Vec::new();
    };
    let image = image.to_string_lossy().into_owned();
    maps.lines().filter_map(|line| code_of(line, &image)).collect()
}

/// There is nothing to be done about it here.
#[cfg(not(target_os = "linux"))]
pub fn let_go_of_code() {}

/// The bounds of a mapping, if it is the code of the program: executable, private, not writable.
#[cfg(target_os = "linux")]
fn code_of(line: &str, image: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (bounds, rights) = (fields.next()?, fields.next()?);
    let path = line.splitn(6, ' ').nth(5)?.trim_start();
    let (from, to) = bounds.split_once('-')?;
    let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
    (rights == "r-xp" && path == image && from < to).then_some((from, to))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn only_the_programs_own_code_is_let_go_of() {
        let table = [
            (
                "00400000-00500000 r-xp 00001000 fe:00 123                  /usr/bin/looop",
                Some((0x40_0000, 0x50_0000)),
            ),
            ("00400000-00500000 rwxp 00001000 fe:00 123                  /usr/bin/looop", None),
            ("00400000-00500000 r--p 00001000 fe:00 123                  /usr/bin/looop", None),
            ("00400000-00500000 r-xp 00001000 fe:00 124                  /usr/lib/libc.so.6", None),
            ("00400000-00500000 r-xp 00000000 00:00 0                    [vdso]", None),
            ("00400000-00500000 r-xp 00000000 00:00 0", None),
            ("nonsense", None),
        ];
        for (line, expected) in table {
            assert_eq!(code_of(line, "/usr/bin/looop"), expected, "{line}");
        }
        let spaced = "00400000-00500000 r-xp 00001000 fe:00 123                  /my dir/looop";
        assert_eq!(code_of(spaced, "/my dir/looop"), Some((0x40_0000, 0x50_0000)));
    }

    /// The bounds of this program's code, and how much of it is in memory, in kilobytes.
    fn resident() -> (usize, usize, usize) {
        let image = std::fs::read_link("/proc/self/exe").expect("a program").to_string_lossy().into_owned();
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("mappings");
        let mut lines = smaps.lines();
        let (from, to) = lines.find_map(|line| code_of(line, &image)).expect("code");
        let rss = lines.find_map(|line| line.strip_prefix("Rss:")).expect("its size in memory");
        (from, to, rss.trim().trim_end_matches(" kB").parse().expect("kilobytes"))
    }

    #[test]
    fn code_leaves_memory_and_the_program_goes_on() {
        let (from, to, _) = resident();
        // Reading all of it brings all of it in; afterwards only what runs comes back.
        let memory = std::fs::File::open("/proc/self/mem").unwrap();
        let mut code = vec![0; to - from];
        memory.read_exact_at(&mut code, from as u64).unwrap();
        let (.., before) = resident();
        let_go_of_code();
        let (.., after) = resident();
        assert!(after < before, "nothing of {before} kB has gone");
    }
}
