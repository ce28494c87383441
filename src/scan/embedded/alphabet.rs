//! Alphabets that examples and shapes are written with.

/// The characters of an alphabet as they stand in a character class; a minus stands at the end.
pub(crate) fn ranges(name: &str) -> Option<&str> {
    Some(match name {
        "digits" => "0-9",
        "lower" => "a-z",
        "upper" => "A-Z",
        "letters" => "a-zA-Z",
        "alnum" => "a-z0-9",
        "ALNUM" => "A-Z0-9",
        "base62" => "0-9A-Za-z",
        "base64" => "0-9A-Za-z+/",
        "base64url" => "0-9A-Za-z_-",
        "base32" => "A-Z2-7",
        "hex" => "0-9a-f",
        "HEX" => "0-9A-F",
        "word" => "0-9A-Za-z_",
        own => own.strip_prefix('[')?.strip_suffix(']')?,
    })
}
