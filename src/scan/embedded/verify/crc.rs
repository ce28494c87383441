//! CRC-32 in base 62 at the end of a token, as GitHub and npm write it.

use super::{Validator, Validity};

/// Digits of base 62 in GitHub's order.
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Digits of the checksum.
const LENGTH: usize = 6;

/// `<prefix>_<body><crc32 of body in base 62, padded to 6>` (GitHub's blog, 5 April 2021).
#[derive(Debug)]
pub struct GithubCrc32;

impl Validator for GithubCrc32 {
    fn name(&self) -> &'static str {
        "github-crc32"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some((body, sum)) = secret.len().checked_sub(LENGTH).and_then(|at| secret.split_at_checked(at)) else {
            return Validity::Unknown;
        };
        Validity::decided(self.seal(body).is_some_and(|right| right == sum))
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let start = body.iter().position(|&byte| byte == b'_').map_or(0, |at| at + 1);
        Some(base62(crc32fast::hash(body.get(start..)?), LENGTH))
    }
}

/// A number in base 62, padded with zeros to `length` digits.
pub fn base62(mut number: u32, length: usize) -> Vec<u8> {
    let mut digits = vec![b'0'; length];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62.get((number % 62) as usize).copied().unwrap_or(b'0');
        number /= 62;
    }
    digits
}
