//! Author and date of a commit, from its raw bytes.

use bstr::{BString, ByteSlice};
use jiff::Timestamp;

/// What a report tells of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitFacts {
    /// The author's name.
    pub author: BString,
    /// The author's mail address.
    pub email: BString,
    /// The author's date, RFC 3339 in UTC, as gitleaks writes it; `None` when it is out of range.
    pub date: Option<String>,
    /// The whole message, without the newline at its end.
    pub message: BString,
}

impl CommitFacts {
    /// Reads a commit object's bytes (git's commit format: headers, an empty line, the message).
    /// `None` when it has no readable author line.
    pub fn of_raw(raw: &[u8]) -> Option<Self> {
        let (headers, message) = raw.split_once_str("\n\n").unwrap_or((raw, b""));
        let line = headers.lines().find_map(|line| line.strip_prefix(b"author "))?;
        let (name, rest) = line.split_once_str("<")?;
        let (email, when) = rest.rsplit_once_str(">")?;
        let seconds: Option<i64> = when.trim().split_str(" ").next().and_then(|word| word.to_str().ok()?.parse().ok());
        let date = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).map(|stamp| stamp.to_string());
        Some(Self {
            author: name.trim_end().into(),
            email: email.into(),
            date,
            message: message.trim_end_with(|character| character == '\n').into(),
        })
    }
}
