//! Sensors: `sensors/<name>[.<ext>]`.

use looop_core::bounds::SENSORS;
use looop_core::model::name::{is_name, shown};
use looop_core::world::observation::SensorFile;

use super::cache::Pass;
use super::scan::{Scan, listed, within};
use crate::dir::STATE_LIMIT;
use crate::disk::{Kind, Stored};

/// Lines at the top of a script that may hold headers.
const HEAD_LINES: usize = 20;
/// Most bytes of the top that are kept.
const HEAD_BYTES: usize = 8 << 10;
/// What editors leave beside a file.
const LEFTOVERS: &[&str] = &["~", ".bak", ".orig", ".swp"];

/// A sensor as it is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sensor {
    /// File names that share this stem; more than one is a clash.
    pub files: Vec<String>,
    /// The first lines, where headers stand; what is not UTF-8 is replaced.
    pub head: String,
    /// Why it cannot be run, with the file's name.
    pub problem: Option<String>,
}

/// The stem is the name without its last extension, so that `write_sensor a.b`, which writes `a.b.sh`, is found again.
pub(super) fn scan(pass: &mut Pass<'_>, scan: &mut Scan) {
    let listed = listed(pass, "sensors", &mut scan.broken);
    for entry in within(&listed, "sensors", ("", SENSORS), &mut scan.odd) {
        let name = entry.name.to_string_lossy();
        if LEFTOVERS.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let (stem, extension) = name.rsplit_once('.').unwrap_or((&name, "sh"));
        if !is_name(stem) || !is_name(extension) {
            scan.odd.push(format!("sensors/{}", shown(&name)));
            continue;
        }
        if let Some(first) = scan.sensors.get_mut(stem) {
            first.files.push(name.clone().into_owned());
            let both = first.files.join(", ");
            first.problem =
                Some(format!("sensors/: {both} are two sensors of one name; rename or remove one"));
            continue;
        }
        if let Some((sensor, file)) = look(pass, &name, entry.kind) {
            scan.docs.sensors.insert(stem.to_owned(), file);
            scan.sensors.insert(stem.to_owned(), sensor);
        }
    }
}

/// A sensor's file, if it is there.
pub(super) fn look(pass: &mut Pass<'_>, name: &str, kind: Kind) -> Option<(Sensor, SensorFile)> {
    let path = format!("sensors/{name}");
    let broken = |problem: String| {
        let sensor = Sensor { files: vec![name.to_owned()], head: String::new(), problem: Some(problem) };
        (sensor, SensorFile { file: name.to_owned(), digest: None })
    };
    if !matches!(kind, Kind::File | Kind::Link) {
        return Some(broken(format!("{path} is {}, not a regular file", kind.text())));
    }
    let stored = pass.read(&path, STATE_LIMIT);
    if matches!(stored, Stored::Corrupt(_)) {
        // A program may be larger than what is read of state files; it runs without a digest.
        return Some(large(pass, name));
    }
    let whole = match stored.known(&path) {
        Ok(whole) => whole?,
        Err(problem) => return Some(broken(problem)),
    };
    let problem = (!whole.meta.is_executable()).then(|| not_executable(pass, &path));
    let sensor = Sensor { files: vec![name.to_owned()], head: head(&whole.bytes), problem };
    Some((sensor, SensorFile { file: name.to_owned(), digest: Some(whole.digest) }))
}

fn large(pass: &Pass<'_>, name: &str) -> (Sensor, SensorFile) {
    let path = format!("sensors/{name}");
    let meta = pass.reader.disk().stat(&path).value().filter(|meta| meta.kind == Kind::File);
    let problem = match meta {
        Some(meta) => crate::dir::judge(pass.reader.root(), &path, &meta)
            .map(|found| format!("{found}; mend it with: {}", found.fix))
            .or_else(|| (!meta.is_executable()).then(|| not_executable(pass, &path))),
        None => Some(format!("{path} is too large to be reached through a link")),
    };
    let sensor = Sensor { files: vec![name.to_owned()], head: String::new(), problem };
    (sensor, SensorFile { file: name.to_owned(), digest: None })
}

fn not_executable(pass: &Pass<'_>, path: &str) -> String {
    format!("{path} is not executable; mend it with: chmod u+x '{}'", pass.reader.path(path).display())
}

fn head(bytes: &[u8]) -> String {
    let lines = bytes.split_inclusive(|b| *b == b'\n').take(HEAD_LINES).map(<[u8]>::len).sum::<usize>();
    String::from_utf8_lossy(&bytes[..lines.min(HEAD_BYTES)]).into_owned()
}
