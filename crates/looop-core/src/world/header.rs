//! Headers of a sensor: `# looop:<key>=<value>` in its first 20 lines.

use std::time::Duration;

use super::reading::Trust;
use crate::span::parse_duration;

/// What a sensor says about how it wants to be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Reuse the last reading while it is younger.
    pub interval: Option<Duration>,
    /// Its own deadline; zero is none.
    pub timeout: Option<Duration>,
    /// Its own cap; zero is none.
    pub max_bytes: Option<u64>,
    /// Whether its text may be taken at its word.
    pub trust: Trust,
}

impl Header {
    /// The same for a sensor that a decider wrote: it can ask for less than these bounds, never for more, and its own
    /// word about its trust does not count.
    #[must_use]
    pub fn narrowed(self, timeout: Duration, max_bytes: u64) -> Self {
        let own = self.timeout.filter(|own| !own.is_zero());
        let cap = self.max_bytes.filter(|own| *own > 0);
        Self {
            interval: self.interval,
            timeout: Some(own.map_or(timeout, |own| own.min(timeout))),
            max_bytes: Some(cap.map_or(max_bytes, |own| own.min(max_bytes))),
            trust: Trust::External,
        }
    }
}

/// Parses the headers. A header that cannot be read is an error: guessing would change how the sensor is run.
pub fn parse(head: &str) -> Result<Header, String> {
    let mut header = Header::default();
    for line in head.lines().take(20) {
        let Some(rest) = line.trim().strip_prefix("# looop:").or_else(|| line.trim().strip_prefix("#looop:"))
        else {
            continue;
        };
        let (key, value) = rest.split_once('=').ok_or_else(|| format!("header \"{rest}\" has no ="))?;
        let (key, value) = (key.trim(), value.trim());
        let bad = |expected: &str| format!("header {key}: \"{value}\" is not {expected}");
        match key {
            "interval" => {
                header.interval = Some(parse_duration(value).map_err(|_| bad("a duration such as 10m"))?);
            }
            "timeout" => {
                header.timeout = Some(parse_duration(value).map_err(|_| bad("a duration such as 30s"))?);
            }
            "max_bytes" => header.max_bytes = Some(value.parse().map_err(|_| bad("a number of bytes"))?),
            "trust" => {
                header.trust = match value {
                    "owner" => Trust::Owner,
                    "external" => Trust::External,
                    _ => return Err(bad("owner or external")),
                }
            }
            _ => return Err(format!("header \"{key}\" is not one of interval, timeout, max_bytes, trust")),
        }
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_by_table() {
        let head = "#!/bin/sh\n# looop:interval=10m\n#  a comment\n# looop:trust=owner\n# looop:max_bytes=0\n#looop:timeout=5\n";
        let header = parse(head).unwrap();
        assert_eq!(header.interval, Some(Duration::from_mins(10)));
        assert_eq!(
            (header.trust, header.max_bytes, header.timeout),
            (Trust::Owner, Some(0), Some(Duration::from_secs(5)))
        );
        for bad in ["# looop:interval=soon", "# looop:trust=me", "# looop:nope=1", "# looop:interval"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        let bounds = (Duration::from_mins(1), 1000);
        for (head, timeout, cap) in [
            ("", 60, 1000),
            ("# looop:timeout=0\n# looop:max_bytes=0\n# looop:trust=owner\n", 60, 1000),
            ("# looop:timeout=1h\n# looop:max_bytes=1000000\n", 60, 1000),
            ("# looop:timeout=5s\n# looop:max_bytes=10\n", 5, 10),
        ] {
            let narrowed = parse(head).unwrap().narrowed(bounds.0, bounds.1);
            assert_eq!(
                (narrowed.timeout, narrowed.max_bytes),
                (Some(Duration::from_secs(timeout)), Some(cap))
            );
            assert_eq!(narrowed.trust, Trust::External);
        }
        assert_eq!(parse(&format!("{}# looop:interval=1m", "\n".repeat(20))).unwrap(), Header::default());
    }
}
