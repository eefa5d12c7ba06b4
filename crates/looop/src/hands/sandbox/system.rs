//! What of the machine is shown in the sandbox: programs, libraries, and what of `/etc` they need to run.

use std::ffi::OsString;
use std::path::Path;

/// Programs and libraries.
const PROGRAMS: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// What of `/etc` is shown. None of it holds a secret: no passwords, no private keys, and no settings of programs that
/// name accounts or hold tokens (`gitconfig`, `npmrc`, `pip.conf`, `environment`).
const OF_ETC: &[&str] = &[
    // The dynamic linker, and which program a name stands for.
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    // Certificates of authorities.
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    // Names of users, hosts, services.
    "gai.conf",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "networks",
    "nsswitch.conf",
    "passwd",
    "protocols",
    "resolv.conf",
    "services",
    "shells",
    // Time, language, terminals, kinds of files.
    "debian_version",
    "fonts",
    "inputrc",
    "locale.alias",
    "locale.conf",
    "localtime",
    "magic",
    "magic.mime",
    "mime.types",
    "os-release",
    "terminfo",
    "timezone",
    // Languages that keep a part of themselves there.
    "java-8-openjdk",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "perl",
    "python3",
];

/// Stands for the option that copies a file which bubblewrap is handed open: a mount for each small file would take most
/// of the time that the sandbox takes. [`super::enter`] opens it.
pub(super) const COPY: &str = "--copy";

/// What of `/proc` is the machine's and not a process's. The files are root's, so that root could write them without any
/// power.
const OF_THE_MACHINE: [&str; 9] = [
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
    "/proc/driver",
    "/proc/mtrr",
];

/// Whether a path lies in a folder of programs or libraries.
pub(super) fn is_shown(path: &Path) -> bool {
    PROGRAMS.iter().any(|folder| path.starts_with(folder))
}

/// The words that show it, after the namespaces and before everything else.
pub(super) fn words() -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for path in PROGRAMS {
        // Where `/bin` leads into `/usr`, it does so here, too.
        match std::fs::read_link(path) {
            Ok(target) => words.extend(["--symlink".into(), target.into(), path.into()]),
            Err(_) if Path::new(path).is_dir() => words.extend(["--ro-bind", path, path].map(Into::into)),
            Err(_) => {}
        }
    }
    for name in OF_ETC {
        let path = format!("/etc/{name}");
        match std::fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => words.extend(["--ro-bind", &path, &path].map(Into::into)),
            Ok(meta) if meta.is_file() => words.extend(["--perms", "0444", COPY, &path].map(Into::into)),
            Ok(_) | Err(_) => {}
        }
    }
    words.extend(["--dev", "/dev", "--proc", "/proc"].map(Into::into));
    if rustix::process::geteuid().is_root() {
        for path in OF_THE_MACHINE {
            words.extend(["--ro-bind-try", path, path].map(Into::into));
        }
    }
    words
}
