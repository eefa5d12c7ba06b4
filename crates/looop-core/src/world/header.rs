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
        assert_eq!(parse(&format!("{}# looop:interval=1m", "\n".repeat(20))).unwrap(), Header::default());
    }
}
