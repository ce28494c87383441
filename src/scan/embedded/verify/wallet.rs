//! Checksums of key formats that are read aloud or copied by hand: Bech32, Base58Check, NATS nkeys.

use sha2::{Digest as _, Sha256};

use super::text;
use super::{Validator, Validity};

/// age's secret keys: Bech32 (BIP 173), in upper case.
#[derive(Debug)]
pub struct Bech32;

const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const BECH32_SUM: usize = 6;

impl Validator for Bech32 {
    fn name(&self) -> &'static str {
        "bech32"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some((body, sum)) = secret.len().checked_sub(BECH32_SUM).and_then(|at| secret.split_at_checked(at)) else {
            return Validity::Unknown;
        };
        Validity::decided(self.seal(body).is_some_and(|right| right.eq_ignore_ascii_case(sum)))
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let lower = body.to_ascii_lowercase();
        // The last `1` parts the readable half from the data.
        let at = lower.iter().rposition(|&byte| byte == b'1')?;
        let (readable, data) = (lower.get(..at)?, lower.get(at + 1..)?);
        let mut values: Vec<u32> = readable.iter().map(|&byte| u32::from(byte >> 5)).collect();
        values.push(0);
        values.extend(readable.iter().map(|&byte| u32::from(byte & 31)));
        for byte in data {
            let value = BECH32.iter().position(|letter| letter == byte)?;
            values.push(u32::try_from(value).ok()?);
        }
        values.extend([0; BECH32_SUM]);
        let sum = polymod(&values) ^ 1;
        let digits = (0..BECH32_SUM).map(|place| {
            let value = usize::try_from(sum >> (5 * (BECH32_SUM - 1 - place)) & 31).unwrap_or(0);
            BECH32.get(value).copied().unwrap_or(b'q')
        });
        let digits: Vec<u8> = digits.collect();
        let upper = body.iter().any(u8::is_ascii_uppercase);
        Some(if upper { digits.to_ascii_uppercase() } else { digits })
    }
}

fn polymod(values: &[u32]) -> u32 {
    const GENERATOR: [u32; 5] = [0x3B6A_57B2, 0x2650_8E6D, 0x1EA1_19FA, 0x3D42_33DD, 0x2A14_62B3];
    values.iter().fold(1, |sum, value| {
        let top = sum >> 25;
        let mut next = (sum & 0x01FF_FFFF) << 5 ^ value;
        for (bit, generator) in GENERATOR.iter().enumerate() {
            if top >> bit & 1 == 1 {
                next ^= generator;
            }
        }
        next
    })
}

/// Base58Check: the last four bytes are the first of SHA-256 applied twice to the others (Bitcoin's
/// private keys, BIP 32's extended keys).
#[derive(Debug)]
pub struct Base58Check;

impl Validator for Base58Check {
    fn name(&self) -> &'static str {
        "base58check"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some(bytes) = text::base58(secret) else { return Validity::Invalid };
        let Some((body, sum)) = bytes.len().checked_sub(4).and_then(|at| bytes.split_at_checked(at)) else {
            return Validity::Invalid;
        };
        let right = Sha256::digest(Sha256::digest(body));
        Validity::decided(right.starts_with(sum))
    }

    /// The text is one number, so the checksum is not at its end alone: what is returned fills the text up
    /// to the number next above whose checksum is right.
    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut least = body.to_vec();
        // 58 to the seventh is above 2 to the 33rd: there is room for one step and four bytes of sum.
        least.extend(b"1111111");
        let mut bytes = text::base58(&least)?;
        bytes.truncate(bytes.len().checked_sub(4)?);
        for byte in bytes.iter_mut().rev() {
            let (next, carried) = byte.overflowing_add(1);
            *byte = next;
            if !carried {
                break;
            }
        }
        let sum = Sha256::digest(Sha256::digest(&bytes));
        bytes.extend(sum.iter().take(4));
        text::to_base58(&bytes).into_bytes().strip_prefix(body).map(<[u8]>::to_vec)
    }
}

/// NATS seeds: base32 of two type bytes, 32 bytes and a CRC-16/XMODEM in little endian (nkeys' source).
#[derive(Debug)]
pub struct Nkey;

impl Validator for Nkey {
    fn name(&self) -> &'static str {
        "nkey"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some(bytes) = text::base32(secret) else { return Validity::Invalid };
        let Some((body, sum)) = bytes.len().checked_sub(2).and_then(|at| bytes.split_at_checked(at)) else {
            return Validity::Invalid;
        };
        // Five bits say "seed", the next say whose: operator, account, user, server, cluster, curve.
        let is_seed = body.first().is_some_and(|first| first & 0xF8 == 18 << 3);
        Validity::decided(is_seed && xmodem(body).to_le_bytes() == sum)
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let mut padded = body.to_vec();
        padded.extend(b"AA");
        let mut bytes = text::base32(&padded)?;
        bytes.truncate((body.len() * 5).div_ceil(8));
        bytes.extend(xmodem(&bytes).to_le_bytes());
        text::to_base32(&bytes).into_bytes().strip_prefix(body).map(<[u8]>::to_vec)
    }
}

fn xmodem(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, &byte| {
        let mut sum = sum ^ u16::from(byte) << 8;
        for _ in 0..8 {
            sum = if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 };
        }
        sum
    })
}
