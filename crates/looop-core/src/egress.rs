//! Which hosts a box may reach: the `net` list of a grant or runner, and the addresses that no name may lead to.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

/// The port of a destination that names none.
const HTTPS: u16 = 443;
/// The name of the machine's loopback.
const LOCAL: &str = "localhost";
/// Longest name of a host.
const LONGEST: usize = 253;

/// One entry of a `net` list: `api.github.com`, `*.example.com:8443`, `127.0.0.1:4010`, or `git.corp.example private`
/// for a name that may lead to an address of a private network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Destination {
    host: Host,
    port: u16,
    private: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Name(String),
    /// Every name below this one.
    Below(String),
    Address(IpAddr),
}

/// Why a box may not connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No destination names it.
    NotGranted {
        /// The host that was asked for.
        host: String,
        /// Its port.
        port: u16,
    },
    /// The name leads to an address that a name may not lead to.
    Private {
        /// The host that was asked for.
        host: String,
        /// Where its name leads.
        address: IpAddr,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGranted { host, port: HTTPS } => write!(f, "{host} is not granted (net = [\"{host}\"])"),
            Self::NotGranted { host, port } => {
                write!(f, "{host}:{port} is not granted (net = [\"{host}:{port}\"])")
            }
            Self::Private { host, address } if is_metadata(*address) => {
                write!(f, "{host} leads to {address}, a metadata service")
            }
            Self::Private { host, address } => write!(
                f,
                "{host} leads to {address}, which is no public address (net = [\"{host} private\"] allows it)"
            ),
        }
    }
}

impl TryFrom<String> for Destination {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Destination> for String {
    fn from(destination: Destination) -> Self {
        destination.to_string()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Name(name) => f.write_str(name)?,
            Host::Below(name) => write!(f, "*.{name}")?,
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}")?,
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]")?,
        }
        if self.port != HTTPS {
            write!(f, ":{}", self.port)?;
        }
        let is_said = self.private && self.host != Host::Name(LOCAL.to_owned());
        if is_said { f.write_str(" private") } else { Ok(()) }
    }
}

impl Destination {
    /// Reads an entry as a person writes it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (target, private) = match text.split_once(' ') {
            Some((target, "private")) => (target, true),
            Some(_) => return Err(format!("\"{text}\" is no host: use name, name:port or \"name private\"")),
            None => (text, false),
        };
        if target.contains("://") || target.contains('/') {
            return Err(format!("\"{text}\" is no host: a name such as api.github.com, and no path"));
        }
        let (host, port) = authority(target).ok_or_else(|| format!("\"{text}\" is no host and port"))?;
        let host = match (host.parse::<IpAddr>(), host.strip_prefix("*.")) {
            (Ok(address), _) if is_metadata(address) => {
                return Err(format!("{address} is a metadata service, which no box may reach"));
            }
            (Ok(address), _) => Host::Address(address),
            (Err(_), Some(below)) if is_name(below) && below.contains('.') => Host::Below(lower(below)),
            (Err(_), None) if is_name(host) => Host::Name(lower(host)),
            (Err(_), _) => return Err(format!("\"{host}\" is no name of a host")),
        };
        // The loopback is never public; whoever names it means it.
        let private = private || host == Host::Name(LOCAL.to_owned());
        Ok(Self { host, port: port.unwrap_or(HTTPS), private })
    }

    fn is_for(&self, host: &str, port: u16) -> bool {
        let named = || lower(host.strip_suffix('.').unwrap_or(host));
        self.port == port
            && match &self.host {
                Host::Name(name) if name == LOCAL => named() == LOCAL || host == "127.0.0.1",
                Host::Name(name) => *name == named(),
                Host::Below(name) => {
                    named().strip_suffix(name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
                }
                Host::Address(address) => host.parse() == Ok(*address),
            }
    }
}

impl Destination {
    /// The port, if this is a server on the loopback of the machine: a box has a loopback of its own.
    pub fn loopback_port(&self) -> Option<u16> {
        let is_loopback = match &self.host {
            Host::Name(name) => name == LOCAL,
            Host::Below(_) => false,
            Host::Address(address) => address.is_loopback(),
        };
        is_loopback.then_some(self.port)
    }
}

/// The destinations of one box.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Destinations(pub Vec<Destination>);

impl Destinations {
    /// Which of the addresses that a host has may be connected to. All are looked at: a name that leads to a public and
    /// to a private address is refused, since nobody can say which one the next question gives.
    pub fn reach(&self, host: &str, port: u16, addresses: &[IpAddr]) -> Result<(), Refused> {
        self.names(host, port)?;
        let matching = || self.0.iter().filter(|entry| entry.is_for(host, port));
        let is_literal = matching().any(|entry| matches!(entry.host, Host::Address(_)));
        let may_be_private = is_literal || matching().any(|entry| entry.private);
        match addresses.iter().find(|one| is_metadata(**one) || !may_be_private && !is_public(**one)) {
            Some(address) => Err(Refused::Private { host: host.to_owned(), address: *address }),
            None => Ok(()),
        }
    }

    /// Whether a host and port are named at all; to be asked before the name is looked up, since a question to a name
    /// server can carry a secret.
    pub fn names(&self, host: &str, port: u16) -> Result<(), Refused> {
        if self.0.iter().any(|entry| entry.is_for(host, port)) {
            return Ok(());
        }
        Err(Refused::NotGranted { host: host.to_owned(), port })
    }
}

/// Splits `host`, `host:port` and `[::1]:port`.
pub fn authority(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        let port = if rest.is_empty() { None } else { Some(port(rest.strip_prefix(':')?)?) };
        return Some((host, port));
    }
    match text.split_once(':') {
        Some((host, number)) => Some((host, Some(port(number)?))),
        None => Some((text, None)),
    }
}

/// A port as digits alone, without a sign.
fn port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

fn lower(text: &str) -> String {
    text.to_ascii_lowercase()
}

/// Whether a text can be the name of a host. One whose last label is a number is none: resolvers take `0x7f.1` and
/// `2130706433` for addresses.
fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        plain && !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_number =
        |label: &str| label.starts_with(|first: char| first.is_ascii_digit()) && !label.contains('-');
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= LONGEST && text.split('.').all(is_label) && !is_number(last)
}

/// Whether an address is the one at which clouds give out the rights of a machine.
fn is_metadata(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => {
            address.octets()[..2] == [169, 254] || address == Ipv4Addr::new(100, 100, 100, 200)
        }
        IpAddr::V6(address) => address == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    }
}

/// Whether an address is one of the public internet.
fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(address) => {
            let [first, second, third, _] = address.octets();
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_documentation()
                || first == 0
                || first == 100 && (64..128).contains(&second)
                || (first, second, third) == (192, 0, 0)
                || first == 198 && (second == 18 || second == 19)
                || first >= 224)
        }
        // Global unicast is 2000::/3; parts of it are for documents, for tests, and for tunnels that hide an address.
        IpAddr::V6(address) => match address.segments() {
            [0x2001, second, ..] => second >= 0x200 && second != 0xdb8,
            [0x2002, high, low, ..] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                is_public(IpAddr::V4(joined(high, low)))
            }
            [0x3fff, second, ..] => second >= 0x1000,
            [first, ..] => (0x2000..0x4000).contains(&first),
        },
    }
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(a, b, c, d)
}

/// An address of version 4 that is written as one of version 6, as what it is.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(six) => match six.segments() {
            [0, 0, 0, 0, 0, 0xffff | 0, high, low] if high != 0 || low > 1 => IpAddr::V4(joined(high, low)),
            _ => address,
        },
        IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn list(entries: &[&str]) -> Destinations {
        Destinations(entries.iter().map(|entry| Destination::parse(entry).unwrap()).collect())
    }

    #[test]
    fn a_destination_is_a_host_and_a_port() {
        for (text, host, port, is_named) in [
            ("api.github.com", "api.github.com", 443, true),
            ("api.github.com", "API.GitHub.com.", 443, true),
            ("api.github.com", "api.github.com", 80, false),
            ("api.github.com:80", "api.github.com", 80, true),
            ("api.github.com", "xapi.github.com", 443, false),
            ("api.github.com", "api.github.com.evil.example", 443, false),
            ("*.github.com", "api.github.com", 443, true),
            ("*.github.com", "a.b.github.com", 443, true),
            ("*.github.com", "github.com", 443, false),
            ("*.github.com", ".github.com", 443, false),
            ("*.github.com", "evilgithub.com", 443, false),
            ("127.0.0.1:4010", "127.0.0.1", 4010, true),
            ("127.0.0.1:4010", "localhost", 4010, false),
            ("localhost:4010", "127.0.0.1", 4010, true),
            ("localhost:4010", "127.0.0.2", 4010, false),
            ("[::1]:4010", "::1", 4010, true),
            ("git.corp.example private", "git.corp.example", 443, true),
        ] {
            assert_eq!(list(&[text]).names(host, port).is_ok(), is_named, "{text} {host}:{port}");
        }
    }

    #[test]
    fn what_is_no_destination_is_refused() {
        for text in [
            "",
            " ",
            "https://github.com",
            "github.com/x",
            "*",
            "*.com",
            "a.*.com",
            "github.com:0",
            "github.com:99999",
            "github.com:+1",
            "github.com:",
            "a b",
            "git.corp public",
            "-a.com",
            "a..com",
            "2130706433",
            "127.1",
            "0x7f.1",
            "1.2.3.4.5",
            "169.254.169.254",
            "[::ffff:169.254.169.254]",
            "[fd00:ec2::254]:80",
            "[::1",
            "::1",
            "a\n.com",
            "ü.example",
        ] {
            assert!(Destination::parse(text).is_err(), "{text:?}: {:?}", Destination::parse(text));
        }
    }

    #[test]
    fn a_name_leads_to_public_addresses_only() {
        let (open, private) = (list(&["a.example"]), list(&["a.example private"]));
        for (address, public, reachable) in [
            ("140.82.112.5", true, true),
            ("2606:50c0:8000::153", true, true),
            ("127.0.0.1", false, true),
            ("10.1.2.3", false, true),
            ("172.16.0.1", false, true),
            ("192.168.1.1", false, true),
            ("100.64.0.1", false, true),
            ("0.0.0.0", false, true),
            ("224.0.0.1", false, true),
            ("255.255.255.255", false, true),
            ("198.18.0.1", false, true),
            ("::1", false, true),
            ("::", false, true),
            ("fd12::1", false, true),
            ("fe80::1", false, true),
            ("::ffff:10.1.2.3", false, true),
            ("::10.1.2.3", false, true),
            ("64:ff9b::a01:203", false, true),
            ("2002:a01:203::1", false, true),
            ("2001::1", false, true),
            ("2001:db8::1", false, true),
            ("169.254.169.254", false, false),
            ("::ffff:169.254.169.254", false, false),
            ("fd00:ec2::254", false, false),
            ("100.100.100.200", false, false),
        ] {
            let at: IpAddr = address.parse().unwrap();
            assert_eq!(open.reach("a.example", 443, &[at]).is_ok(), public, "{address}");
            assert_eq!(private.reach("a.example", 443, &[at]).is_ok(), reachable, "{address} private");
            let both = [IpAddr::V4(Ipv4Addr::new(140, 82, 112, 5)), at];
            assert_eq!(open.reach("a.example", 443, &both).is_ok(), public, "{address} beside a public one");
        }
        let literal = list(&["10.1.2.3:80"]);
        assert!(literal.reach("10.1.2.3", 80, &["10.1.2.3".parse().unwrap()]).is_ok());
        assert!(literal.reach("other.example", 80, &["10.1.2.3".parse().unwrap()]).is_err());
    }

    #[test]
    fn a_refusal_says_what_would_allow_it() {
        let refused = list(&[]).names("a.example", 443).unwrap_err().to_string();
        assert_eq!(refused, "a.example is not granted (net = [\"a.example\"])");
        let refused =
            list(&["a.example:80"]).reach("a.example", 80, &["10.0.0.1".parse().unwrap()]).unwrap_err();
        assert!(refused.to_string().contains("no public address"), "{refused}");
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_the_same(text in "\\PC{0,40}", name in "[a-zA-Z*][a-z0-9.*-]{0,20}(:[0-9]{1,5})?( private)?") {
            for text in [text, name] {
                if let Ok(read) = Destination::parse(&text) {
                    prop_assert_eq!(Destination::parse(&read.to_string()), Ok(read));
                }
            }
        }
    }
}
