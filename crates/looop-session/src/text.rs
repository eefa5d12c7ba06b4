//! Arguments and paths in JSON: text where they are UTF-8, a list of bytes where they are not.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use serde::{Deserialize, Serialize};

/// An argument on the wire.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Bytes(Vec<u8>),
}

impl From<OsString> for Text {
    fn from(value: OsString) -> Self {
        value.into_string().map_or_else(|odd| Self::Bytes(odd.into_vec()), Self::Plain)
    }
}

impl From<Text> for OsString {
    fn from(value: Text) -> Self {
        match value {
            Text::Plain(text) => text.into(),
            Text::Bytes(bytes) => Self::from_vec(bytes),
        }
    }
}

/// For a list of arguments.
pub(crate) mod list {
    use super::{OsString, Text};
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(list: &[OsString], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(list.iter().cloned().map(Text::from))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<OsString>, D::Error> {
        Ok(Vec::<Text>::deserialize(from)?.into_iter().map(OsString::from).collect())
    }
}

/// For a path.
pub(crate) mod path {
    use super::{OsString, Text};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::path::{Path, PathBuf};

    pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        Text::from(path.as_os_str().to_owned()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(PathBuf::from(OsString::from(Text::deserialize(from)?)))
    }
}

/// For a path that may be absent.
pub(crate) mod maybe_path {
    use super::{OsString, Text};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::path::PathBuf;

    #[expect(clippy::ref_option, reason = "serde calls it with a reference")]
    pub(crate) fn serialize<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
        path.as_ref().map(|path| Text::from(path.as_os_str().to_owned())).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
        Ok(Option::<Text>::deserialize(from)?.map(|text| PathBuf::from(OsString::from(text))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Holder(#[serde(with = "list")] Vec<OsString>);

    #[test]
    fn odd_names_survive() {
        let holder = Holder(vec!["plain".into(), OsString::from_vec(vec![b'a', 0xff, b'\n'])]);
        let json = serde_json::to_string(&holder).unwrap();
        assert_eq!(json, r#"["plain",[97,255,10]]"#);
        assert_eq!(serde_json::from_str::<Holder>(&json).unwrap(), holder);
    }
}
