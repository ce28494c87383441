//! The check digit of payment cards.

use super::{Validator, Validity};

/// The last digit makes the weighted sum of all digits a multiple of ten (ISO/IEC 7812-1, annex B).
#[derive(Debug)]
pub struct Luhn;

impl Validator for Luhn {
    fn name(&self) -> &'static str {
        "luhn"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        match sum(secret, 0) {
            (_, count) if count < 2 => Validity::Unknown,
            (sum, _) => Validity::decided(sum % 10 == 0),
        }
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let (sum, _) = sum(body, 1);
        Some(vec![b'0' + u8::try_from((10 - sum % 10) % 10).ok()?])
    }
}

/// The weighted sum of the digits when `skipped` more will follow, and how many there are.
fn sum(text: &[u8], skipped: usize) -> (u64, usize) {
    let digits = text.iter().rev().filter(|byte| byte.is_ascii_digit());
    digits.fold((0, 0), |(sum, count), byte| {
        let digit = u64::from(byte - b'0');
        let weighted = if (count + skipped) % 2 == 1 { digit * 2 } else { digit };
        (sum + weighted / 10 + weighted % 10, count + 1)
    })
}
