//! The machine itself: processes, services, users, disks, the network's rules.

use super::family::{Family, PLAIN};
use crate::shell::call::{Call, Verdict};
use crate::shell::screening::Danger;
use crate::shell::word::{Arg, Part};

const WHY: &str = "changes this machine";

/// Programs that do nothing but change the machine.
pub(super) const NAMES: &[&str] = &[
    "addgroup",
    "adduser",
    "at",
    "atrm",
    "batch",
    "blkdiscard",
    "cfdisk",
    "chattr",
    "chpasswd",
    "chsh",
    "chfn",
    "cryptsetup",
    "debugfs",
    "deluser",
    "delgroup",
    "dmsetup",
    "fdisk",
    "fsck",
    "gdisk",
    "gpasswd",
    "groupadd",
    "groupdel",
    "groupmod",
    "grub-install",
    "halt",
    "hdparm",
    "init",
    "insmod",
    "iptables",
    "iptables-restore",
    "ip6tables",
    "kexec",
    "killall",
    "killall5",
    "launchctl",
    "losetup",
    "lvremove",
    "mdadm",
    "mkswap",
    "modprobe",
    "mount",
    "newusers",
    "nft",
    "nvme",
    "osascript",
    "parted",
    "passwd",
    "pivot_root",
    "pkill",
    "poweroff",
    "pvremove",
    "reboot",
    "rmmod",
    "sfdisk",
    "sgdisk",
    "shutdown",
    "skill",
    "snice",
    "swapoff",
    "swapon",
    "telinit",
    "tune2fs",
    "ufw",
    "umount",
    "useradd",
    "userdel",
    "usermod",
    "vgremove",
    "vipw",
    "visudo",
    "wipefs",
    "xkill",
    "zpool",
    "update-rc.d",
    "chkconfig",
    "setcap",
    "setfacl",
    "update-grub",
    "fstrim",
    "badblocks",
    "renice",
    "update-alternatives",
    "loginctl",
    "hostnamectl",
    "timedatectl",
];

/// Programs that hand something to the desktop.
const DESKTOP: &[&str] = &[
    "gio",
    "kde-open",
    "open",
    "wslview",
    "x-www-browser",
    "xdg-open",
    "notify-send",
    "pbcopy",
    "xclip",
    "xsel",
    "wl-copy",
    "xdotool",
    "say",
    "afplay",
];

/// Verbs with which a program of the list above only looks.
const LOOKING: &[(&str, &[&str])] = &[
    ("iptables", &["-L", "-S", "--list", "-nL", "-vL"]),
    ("ufw", &["status"]),
    ("nft", &["list"]),
    ("fdisk", &["-l", "--list"]),
    ("parted", &["-l", "--list"]),
    ("mount", &["-l", "--version"]),
    ("launchctl", &["list", "print"]),
    ("loginctl", &["list-sessions", "show-session", "session-status"]),
    ("timedatectl", &["status", "show"]),
    ("hostnamectl", &["status", "hostname"]),
    ("zpool", &["list", "status", "iostat"]),
    ("swapon", &["-s", "--show"]),
];

pub(super) const FAMILIES: &[Family] = &[
    Family {
        programs: &["systemctl"],
        valued: &["-n", "-t", "--type", "-p", "--property", "-o", "--output", "-H", "-M", "--state"],
        plain: &[
            "status",
            "show",
            "cat",
            "list-*",
            "is-*",
            "get-default",
            "help",
            "list-units",
            "list-timers",
        ],
        rest: Danger::Destructive,
        why: WHY,
        ..PLAIN
    },
    Family { programs: &["journalctl"], ..PLAIN },
    Family {
        programs: &["ip"],
        destructive: &[
            "link set",
            "link add",
            "link delete",
            "link del",
            "addr add",
            "addr del",
            "addr flush",
            "address add",
            "address del",
            "route add",
            "route del",
            "route flush",
            "route replace",
            "a add",
            "a del",
            "r add",
            "r del",
            "rule add",
            "rule del",
            "netns add",
            "netns del",
            "netns exec",
            "neigh flush",
            "l set",
        ],
        why: WHY,
        ..PLAIN
    },
];

/// Judges what changes the machine.
pub(super) fn judge(call: &Call, verdict: &mut Verdict) {
    let name = call.name.as_str();
    let what = format!("{} {WHY}", call.shown());
    let only_asks = matches!(call.args.as_slice(), [arg] if matches!(arg.literal().as_deref(), Some("--version" | "--help")));
    if only_asks {
        return;
    }
    if (NAMES.contains(&name) && !looks(call)) || name.starts_with("mkfs") || name.starts_with("newfs") {
        return verdict.destructive(what);
    }
    if DESKTOP.contains(&name) {
        return verdict.unknown(format!("{} hands something to the desktop", call.shown()));
    }
    match name {
        "kill" => kill(call, verdict),
        "fuser" if call.has_short('k') || call.has_long("--kill") => verdict.destructive(what),
        "crontab" if !call.has_short('l') => verdict.destructive(what),
        "service" => service(call, verdict),
        "sysctl"
            if call.has_short('w')
                || call.has_short('p')
                || call.args.iter().any(|arg| arg.raw().contains('=')) =>
        {
            verdict.destructive(what);
        }
        "defaults" if verb(call) != "read" => verdict.destructive(what),
        "date" if call.has_short('s') || call.has_long("--set") => verdict.destructive(what),
        "hostname" if !call.operands(&[]).is_empty() => verdict.destructive(what),
        "journalctl"
            if call.args.iter().any(|arg| {
                arg.known_start().0.starts_with("--vacuum") || arg.known_start().0 == "--rotate"
            }) =>
        {
            verdict.destructive(what);
        }
        "dpkg" | "rpm" | "pacman" => packages(call, verdict),
        "npm" | "yarn" | "pnpm" if call.has_short('g') || call.has_long("--global") => {
            verdict.destructive(what);
        }
        _ => {}
    }
}

fn verb(call: &Call) -> String {
    call.verbs(&[], 1).into_iter().next().flatten().unwrap_or_default()
}

fn looks(call: &Call) -> bool {
    if call.args.is_empty() {
        return matches!(call.name.as_str(), "mount" | "swapon" | "timedatectl" | "hostnamectl" | "loginctl");
    }
    LOOKING
        .iter()
        .filter(|(program, _)| *program == call.name)
        .any(|(_, verbs)| call.args.iter().any(|arg| verbs.contains(&arg.known_start().0.as_str())))
}

/// A process of one's own, by job or as the last one started, may be ended.
fn kill(call: &Call, verdict: &mut Verdict) {
    if call.args.iter().any(|arg| matches!(arg.known_start().0.as_str(), "-0" | "-l" | "-L" | "--list")) {
        return;
    }
    let signalled = call.args.first().is_some_and(|arg| arg.known_start().0.starts_with('-'));
    let from = match call.args.first().map(|arg| arg.known_start().0) {
        Some(option) if matches!(option.as_str(), "-s" | "-n" | "--signal") => 2,
        Some(option) if option == "--" => 1,
        _ => usize::from(signalled),
    };
    for arg in call.args.iter().skip(from).filter(|arg| arg.known_start().0 != "--") {
        match ownership(arg) {
            Some(true) => {}
            Some(false) => verdict.destructive(format!("{} ends another process", call.shown())),
            None => verdict.unknown(format!("{} ends a process that is only known then", call.shown())),
        }
    }
}

fn ownership(arg: &Arg) -> Option<bool> {
    let own = matches!(arg.parts(), [Part::Variable(name)] if name == "!")
        || matches!(arg.parts(), [Part::Text(empty), Part::Variable(name)] if empty.is_empty() && name == "!")
        || arg.known_start().0.starts_with('%');
    if own {
        return Some(true);
    }
    arg.literal().map(|_| false)
}

fn service(call: &Call, verdict: &mut Verdict) {
    let words = call.verbs(&[], 2);
    let looks =
        words.len() < 2 && call.has_long("--status-all") || words.get(1) == Some(&Some("status".to_owned()));
    if !looks && !words.is_empty() {
        verdict.destructive(format!("{} {WHY}", call.shown()));
    }
}

fn packages(call: &Call, verdict: &mut Verdict) {
    let queries = match call.name.as_str() {
        "dpkg" => [
            "-l",
            "-L",
            "-s",
            "-S",
            "-p",
            "-c",
            "-I",
            "--list",
            "--status",
            "--search",
            "--listfiles",
            "--print-architecture",
            "--get-selections",
            "-V",
            "--verify",
            "--compare-versions",
        ]
        .as_slice(),
        "rpm" => ["-q", "--query", "-V", "--verify"].as_slice(),
        _ => ["-Q", "-Ss", "-Si"].as_slice(),
    };
    let first = call.args.first().map(|arg| arg.known_start().0).unwrap_or_default();
    let asks = queries
        .iter()
        .any(|query| if call.name == "dpkg" { first == *query } else { first.starts_with(query) });
    if !asks {
        verdict.destructive(format!("{} {WHY}", call.shown()));
    }
}
