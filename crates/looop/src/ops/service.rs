//! The loop as a service of the person: a systemd unit, a launchd property list.

use std::io;
use std::path::{Path, PathBuf};

use super::Place;
use super::init::outside_only;
use crate::failure::{Failure, Result};
use crate::hands::environ;

/// The first line of a unit that we wrote. Another one is not ours to replace.
const OURS: &str = "# Written by looop service install; looop service uninstall removes it.";
/// No unit is longer.
const MOST: u64 = 1 << 20;

/// The service of one profile.
#[derive(Debug)]
pub(crate) struct Service {
    /// The name of its unit.
    pub(crate) name: String,
    /// Where its unit belongs.
    pub(crate) unit: PathBuf,
    /// The program and the folder of the profile.
    binary: String,
    data: String,
}

impl Service {
    /// The service of this profile, for the binary that runs.
    pub(crate) fn of(place: &Place) -> Result<Self> {
        let binary =
            environ::bin().ok_or_else(|| Failure::new("the path of this program cannot be found out"))?;
        let set = |name: &str| place.env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let no_home = || Failure::new("no place for the unit is known: HOME is not set");
        let config =
            set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config"))).ok_or_else(no_home)?;
        let usual = [
            set("XDG_STATE_HOME").map(|state| state.join("looop")),
            set("HOME").map(|home| home.join(".local/state/looop")),
        ];
        let name = if usual.contains(&Some(place.data.clone())) {
            "looop".to_owned()
        } else {
            format!("looop-{}", slug(&place.data))
        };
        let unit = config.join("systemd/user").join(format!("{name}.service"));
        Ok(Self { name, unit, binary: plain(&binary)?, data: plain(&place.data)? })
    }

    /// The text of the unit.
    ///
    /// Only the loop itself is ended with the service: workers outlive it, in control groups of their own below its.
    pub(crate) fn systemd(&self) -> String {
        let command = [program(&self.binary), argument("--data-dir"), argument(&self.data)].join(" ");
        format!(
            "{OURS}\n\
             [Unit]\n\
             Description=looop on {}\n\
             StartLimitIntervalSec=600\n\
             StartLimitBurst=20\n\
             \n\
             [Service]\n\
             ExecStart={command} --keep-workers\n\
             Restart=on-failure\n\
             RestartSec=5\n\
             KillMode=process\n\
             Delegate=yes\n\
             \n\
             [Install]\n\
             WantedBy=default.target\n",
            self.data.replace('%', "%%")
        )
    }

    /// The text of the property list.
    pub(crate) fn launchd(&self) -> String {
        let words = [self.binary.as_str(), "--data-dir", &self.data, "--keep-workers"];
        let words = words.map(|word| format!("\t\t<string>{}</string>\n", escaped_xml(word))).concat();
        let log = escaped_xml(&format!("{}/pulse.log", self.data));
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
             <plist version=\"1.0\">\n\
             <dict>\n\
             \t<key>Label</key>\n\t<string>{}</string>\n\
             \t<key>ProgramArguments</key>\n\t<array>\n{words}\t</array>\n\
             \t<key>RunAtLoad</key>\n\t<true/>\n\
             \t<key>KeepAlive</key>\n\t<dict>\n\t\t<key>SuccessfulExit</key>\n\t\t<false/>\n\t</dict>\n\
             \t<key>AbandonProcessGroup</key>\n\t<true/>\n\
             \t<key>StandardOutPath</key>\n\t<string>{log}</string>\n\
             \t<key>StandardErrorPath</key>\n\t<string>{log}</string>\n\
             </dict>\n\
             </plist>\n",
            self.name
        )
    }

    /// Writes the unit. One that somebody else wrote is replaced by force only.
    pub(crate) fn install(&self, place: &Place, force: bool) -> Result<()> {
        outside_only(place)?;
        if !force && self.found()? == Found::Foreign {
            return Err(Failure::new(format!("{} was not written by looop", self.unit.display()))
                .hint("looop service install --force replaces it; looop service print shows the new one"));
        }
        let failed = |error| Failure::new(format!("{} cannot be written: {error}", self.unit.display()));
        if let Some(folder) = self.unit.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let temporary = self.unit.with_extension(format!("tmp-{}", std::process::id()));
        std::fs::write(&temporary, self.systemd()).map_err(failed)?;
        std::fs::rename(&temporary, &self.unit).map_err(failed)
    }

    /// Removes the unit, and the link by which it is started. `false`: there was none.
    pub(crate) fn uninstall(&self, place: &Place) -> Result<bool> {
        outside_only(place)?;
        match self.found()? {
            Found::Foreign => {
                return Err(Failure::new(format!("{} was not written by looop", self.unit.display()))
                    .hint("remove it yourself"));
            }
            Found::Absent => return Ok(false),
            Found::Ours => {}
        }
        let failed = |error| Failure::new(format!("{} cannot be removed: {error}", self.unit.display()));
        let file = self.unit.file_name().unwrap_or_default();
        let wanted = self.unit.with_file_name("default.target.wants").join(file);
        let is_link = wanted.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        if is_link && wanted.read_link().is_ok_and(|target| target.file_name() == Some(file)) {
            std::fs::remove_file(&wanted).map_err(failed)?;
        }
        std::fs::remove_file(&self.unit).map_err(failed)?;
        Ok(true)
    }

    fn found(&self) -> Result<Found> {
        let failed = |error| Failure::new(format!("{} cannot be read: {error}", self.unit.display()));
        match self.unit.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Absent),
            Err(error) => return Err(failed(error)),
            Ok(meta) if !meta.is_file() || meta.len() > MOST => return Ok(Found::Foreign),
            Ok(_) => {}
        }
        let text = std::fs::read(&self.unit).map_err(failed)?;
        Ok(if text.starts_with(OURS.as_bytes()) { Found::Ours } else { Found::Foreign })
    }
}

/// What stands where the unit belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Absent,
    Ours,
    Foreign,
}

/// A name for a profile: readable, and different for different folders.
fn slug(data: &Path) -> String {
    let last = data.file_name().unwrap_or_default().to_string_lossy();
    let word: String =
        last.chars().map(|char| if char.is_ascii_alphanumeric() { char } else { '-' }).take(40).collect();
    let hash = blake3::hash(data.as_os_str().as_encoded_bytes()).to_hex();
    let word = word.trim_matches('-');
    if word.is_empty() { hash[..8].to_owned() } else { format!("{word}-{}", &hash[..8]) }
}

/// A path that can be written into a file of lines.
fn plain(path: &Path) -> Result<String> {
    let text = path.to_str().filter(|text| !text.chars().any(char::is_control));
    text.map(str::to_owned).ok_or_else(|| {
        Failure::new(format!("{} cannot be named in a service: it is not plain text", path.display()))
    })
}

/// The program of a unit. systemd takes neither quotes nor backslashes in its path, and does not treat a dollar sign in it
/// as in other words; a shell takes them all.
fn program(path: &str) -> String {
    if path.contains(['"', '\'', '\\', '$']) {
        format!("/bin/sh -c {} {}", argument("exec \"$0\" \"$@\""), argument(path))
    } else {
        argument(path)
    }
}

/// A word of a command in a unit.
fn argument(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+,:@=".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut quoted = String::from("\"");
    for char in word.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '%' | '$' => quoted.extend([char, char]),
            _ => quoted.push(char),
        }
    }
    quoted + "\""
}

fn escaped_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path with everything that a unit or a property list could take amiss.
    const ODD: &str = "/home/me/a b/100%/$HOME/it's \"it\" <&>\\end";

    fn service(binary: &str, data: &str) -> Service {
        Service { name: "looop".into(), unit: "unit".into(), binary: binary.into(), data: data.into() }
    }

    fn command(service: &Service) -> String {
        let unit = service.systemd();
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap().to_owned()
    }

    #[test]
    fn the_unit_is_as_agreed() {
        let unit = service("/home/me/bin/looop", "/home/me/.local/state/looop").systemd();
        assert_eq!(unit, include_str!("../../tests/fixtures/service/looop.service"));
    }

    #[test]
    fn the_property_list_is_as_agreed() {
        let list = service("/home/me/bin/looop", "/home/me/a & b").launchd();
        assert_eq!(list, include_str!("../../tests/fixtures/service/looop.plist"));
    }

    #[test]
    fn words_of_a_command_are_quoted() {
        let plain = command(&service("/opt/a b%/looop", "/srv/x"));
        assert_eq!(plain, r#""/opt/a b%%/looop" --data-dir /srv/x --keep-workers"#);
        let odd = command(&service("/bin/looop", ODD));
        let quoted = r#""/home/me/a b/100%%/$$HOME/it's \"it\" <&>\\end""#;
        assert_eq!(odd, format!("/bin/looop --data-dir {quoted} --keep-workers"));
        let through_a_shell = command(&service(ODD, "/srv/x"));
        let shell = r#"/bin/sh -c "exec \"$$0\" \"$$@\"""#;
        assert_eq!(through_a_shell, format!("{shell} {quoted} --data-dir /srv/x --keep-workers"));
        assert!(
            service("/bin/looop", ODD).systemd().contains("Description=looop on /home/me/a b/100%%/$HOME/")
        );
    }

    #[test]
    fn what_is_no_plain_text_is_refused() {
        for path in ["/a\nb", "/a\tb", "/a\u{7f}"] {
            assert!(plain(Path::new(path)).is_err());
        }
    }

    #[test]
    fn different_profiles_have_different_names() {
        let names =
            ["/srv/a/work", "/srv/b/work", "/srv/a-work", "/", "/srv/ä"].map(|path| slug(Path::new(path)));
        for (at, name) in names.iter().enumerate() {
            assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{name}");
            assert!(!names[..at].contains(name));
        }
        assert!(names[0].starts_with("work-"));
    }
}
