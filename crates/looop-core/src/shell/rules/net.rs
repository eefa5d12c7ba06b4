//! What reaches other machines.

use crate::shell::call::{Call, Verdict};
use crate::shell::paths::place;
use crate::shell::rules::files::overwriting;
use crate::shell::word::Arg;

pub(super) const NAMES: &[&str] = &[
    "curl",
    "curlie",
    "ftp",
    "http",
    "https",
    "nc",
    "ncat",
    "netcat",
    "nmap",
    "scp",
    "sftp",
    "socat",
    "ssh",
    "telnet",
    "tftp",
    "wget",
    "xh",
    "websocat",
    "mail",
    "mailx",
    "sendmail",
    "mutt",
    "ngrok",
    "cloudflared",
    "aria2c",
];

/// Options of curl that take a value; short ones may be glued or the last of a cluster.
const CURL_VALUED: &str = "AbcCdDeEFHhiKmoPQrtTuUwxXyYz";

/// Judges what reaches other machines.
pub(super) fn judge(call: &Call, verdict: &mut Verdict) {
    match call.name.as_str() {
        "curl" => curl(call, verdict),
        "wget" | "aria2c" => wget(call, verdict),
        "http" | "https" | "xh" | "curlie" => httpie(call, verdict),
        "scp" | "sftp" | "nc" | "ncat" | "netcat" | "socat" | "telnet" | "tftp" | "ftp" | "lftp"
        | "websocat" | "mail" | "mailx" | "sendmail" | "mutt" | "ngrok" | "cloudflared" | "nmap" => {
            verdict.unknown(format!("{} sends something to another machine", call.shown()));
        }
        _ => {}
    }
}

/// One option of curl and its value.
struct Given {
    option: String,
    value: Option<Arg>,
}

fn curl_options(call: &Call) -> Vec<Given> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(arg) = call.args.get(at) {
        let (start, _) = arg.known_start();
        let next = call.args.get(at + 1).cloned();
        if start.starts_with("--") {
            let (name, glued) =
                start.split_once('=').map_or((start.as_str(), false), |(name, _)| (name, true));
            let value = if glued { Some(arg.without_start(name.len() + 1)) } else { next };
            found.push(Given { option: name.to_owned(), value });
        } else if let Some(flags) = start.strip_prefix('-') {
            for (offset, flag) in flags.char_indices() {
                let valued = CURL_VALUED.contains(flag) && !matches!(flag, 'h' | 'i');
                let rest = &flags[offset + flag.len_utf8()..];
                let glued = !rest.is_empty() || arg.literal().is_none();
                let value = if !valued {
                    None
                } else if glued {
                    Some(arg.without_start(1 + offset + flag.len_utf8()))
                } else {
                    next.clone()
                };
                found.push(Given { option: format!("-{flag}"), value });
                if valued {
                    at += usize::from(!glued);
                    break;
                }
            }
        }
        at += 1;
    }
    found
}

fn curl(call: &Call, verdict: &mut Verdict) {
    let what = format!("{} sends something out", call.shown());
    let options = curl_options(call);
    let as_query = options.iter().any(|given| given.option == "-G" || given.option == "--get");
    for given in &options {
        let option = given.option.as_str();
        match option {
            "-X" | "--request" => method(given.value.as_ref(), &what, verdict),
            "-d" | "-F" | "-T" | "--json" | "--upload-file" | "--form" | "--form-string" | "--url-query"
                if !as_query =>
            {
                verdict.unknown(what.clone());
            }
            "-Q" | "--quote" | "--mail-from" | "--mail-rcpt" => verdict.unknown(what.clone()),
            _ if option.starts_with("--data") && !as_query => verdict.unknown(what.clone()),
            "-o" | "--output" | "--output-dir" | "-D" | "--dump-header" | "-c" | "--cookie-jar"
            | "--trace" | "--trace-ascii" | "--libcurl" | "--stderr" | "--etag-save" => {
                if let Some(target) =
                    given.value.as_ref().filter(|target| target.literal().as_deref() != Some("-"))
                {
                    overwriting(&format!("{} writes", call.shown()), place(target), verdict);
                }
            }
            "-K" | "--config" => verdict.unknown(format!("{} takes its options from a file", call.shown())),
            "-x" | "--proxy" | "--unix-socket" | "--abstract-unix-socket" | "--socks5" | "--preproxy" => {
                verdict.unknown(format!("{} goes by way of another server", call.shown()));
            }
            _ => {}
        }
    }
    if call.args.iter().any(|arg| arg.known_start().0.starts_with("file:")) {
        verdict.unknown(format!("{} reads a local file", call.shown()));
    }
}

fn method(value: Option<&Arg>, what: &str, verdict: &mut Verdict) {
    match value.and_then(Arg::literal).map(|method| method.to_ascii_uppercase()).as_deref() {
        Some("GET" | "HEAD" | "OPTIONS") => {}
        Some("DELETE" | "PUT" | "PATCH") => verdict.destructive(what),
        Some(_) | None => verdict.unknown(what),
    }
}

fn wget(call: &Call, verdict: &mut Verdict) {
    let what = format!("{} sends something out", call.shown());
    if ["--post-data", "--post-file", "--body-data", "--body-file"].iter().any(|option| call.has_long(option))
    {
        verdict.unknown(what.clone());
    }
    if let Some(value) = call.value(&["--method"]) {
        method(Some(&value), &what, verdict);
    }
    if ["--use-askpass", "--config", "-e", "--execute"].iter().any(|option| call.value(&[option]).is_some()) {
        verdict.unknown(format!("{} takes its options from elsewhere", call.shown()));
    }
    for names in
        [&["-O", "--output-document"][..], &["-P", "--directory-prefix"][..], &["-o", "--output-file"][..]]
    {
        if let Some(target) = clustered(call, names).filter(|target| target.literal().as_deref() != Some("-"))
        {
            overwriting(&format!("{} writes", call.shown()), place(&target), verdict);
        }
    }
}

/// The value of an option that may end a cluster, as in `-qO file`.
fn clustered(call: &Call, names: &[&str]) -> Option<Arg> {
    call.value(names).or_else(|| {
        let letter = names.first()?.chars().nth(1)?;
        call.args.iter().enumerate().find_map(|(at, arg)| {
            let start = arg.known_start().0;
            let flags = start.strip_prefix('-').filter(|flags| !flags.starts_with('-'))?;
            let offset = flags.find(letter)?;
            if offset + 1 == flags.len() {
                call.args.get(at + 1).cloned()
            } else {
                Some(arg.without_start(offset + 2))
            }
        })
    })
}

fn httpie(call: &Call, verdict: &mut Verdict) {
    let words = call.verbs(&["-a", "--auth", "-o", "--output"], 1);
    let sends = call
        .operands(&["-a", "--auth"])
        .into_iter()
        .skip(1)
        .any(|(_, arg)| arg.raw().contains('=') && !arg.raw().contains("=="));
    let first = words.first().cloned().flatten().unwrap_or_default();
    if matches!(first.as_str(), "POST" | "PUT" | "PATCH" | "DELETE") || sends || words.first() == Some(&None)
    {
        verdict.unknown(format!("{} sends something out", call.shown()));
    }
}
