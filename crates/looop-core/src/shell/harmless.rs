//! Programs that need no grant.

/// Programs that look at files or shape text. None of them opens a network connection or runs another program; those
/// with an option that does (`sort --compress-program`) are caught by the rules.
const HARMLESS: &[&str] = &[
    "[",
    "b2sum",
    "base32",
    "base64",
    "basename",
    "cat",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expand",
    "expr",
    "factor",
    "false",
    "fgrep",
    "file",
    "fmt",
    "fold",
    "grep",
    "head",
    "hexdump",
    "id",
    "join",
    "jq",
    "ls",
    "md5sum",
    "mkdir",
    "nl",
    "nproc",
    "numfmt",
    "od",
    "paste",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "seq",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shasum",
    "sleep",
    "sort",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "touch",
    "tr",
    "true",
    "tsort",
    "tty",
    "uname",
    "unexpand",
    "uniq",
    "uptime",
    "wc",
    "whoami",
    "xxd",
];

/// Whether a program only looks at or shapes text, reaches no network and cannot run others: it needs no grant and
/// voids none.
pub fn is_harmless(program: &str) -> bool {
    HARMLESS.binary_search(&program).is_ok()
}

#[cfg(test)]
mod tests {
    use super::{HARMLESS, is_harmless};

    #[test]
    fn the_list_is_sorted_and_leaves_out_what_runs_others() {
        assert!(HARMLESS.is_sorted());
        for program in ["cat", "[", "jq", "wc", "xxd", "b2sum"] {
            assert!(is_harmless(program), "{program}");
        }
        for program in ["sed", "awk", "find", "xargs", "tar", "env", "sh", "curl", "rm", "", "./cat", "less"]
        {
            assert!(!is_harmless(program), "{program}");
        }
    }
}
