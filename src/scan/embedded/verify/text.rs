//! Decoders that validators share. Each answers `None` on what is not of its alphabet.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Base64 of either alphabet, padded or not.
pub fn base64(encoded: &[u8]) -> Option<Vec<u8>> {
    let url = encoded.iter().any(|byte| matches!(byte, b'-' | b'_'));
    if url { URL_SAFE.decode(encoded).ok() } else { STANDARD.decode(encoded).ok() }
}

/// The whole bytes that begin in so many characters of base64; what is left of the last is cut off.
pub fn base64_bits(encoded: &[u8]) -> Option<Vec<u8>> {
    let mut padded = encoded.to_vec();
    padded.resize(encoded.len().div_ceil(4) * 4, b'A');
    let mut bytes = base64(&padded)?;
    // A byte that needs only zero bits of the next character counts: such a body is continued with `A`.
    bytes.truncate((encoded.len() * 6).div_ceil(8));
    Some(bytes)
}

/// Base32 (RFC 4648) without padding, in either case.
pub fn base32(encoded: &[u8]) -> Option<Vec<u8>> {
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for byte in encoded {
        let value = match byte.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(value)) & 0xFFF;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xFF).ok()?);
        }
    }
    Some(bytes)
}

/// The same, encoded in upper case.
pub fn to_base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let (mut bits, mut count, mut encoded) = (0_u32, 0, String::new());
    let mut push = |value: u32| {
        let at = usize::try_from(value & 31).unwrap_or(0);
        encoded.push(char::from(ALPHABET.get(at).copied().unwrap_or(b'A')));
    };
    for &byte in bytes {
        bits = (bits << 8 | u32::from(byte)) & 0xFFFF;
        count += 8;
        while count >= 5 {
            count -= 5;
            push(bits >> count);
        }
    }
    if count > 0 {
        push(bits << (5 - count));
    }
    encoded
}

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// Base58 in Bitcoin's alphabet. Quadratic, so for short texts only.
pub fn base58(encoded: &[u8]) -> Option<Vec<u8>> {
    if encoded.len() > 200 {
        return None;
    }
    let mut bytes: Vec<u8> = Vec::new();
    for byte in encoded {
        let mut carry = u32::try_from(BASE58.iter().position(|letter| letter == byte)?).ok()?;
        for slot in bytes.iter_mut() {
            carry += u32::from(*slot) * 58;
            *slot = u8::try_from(carry & 0xFF).ok()?;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(u8::try_from(carry & 0xFF).ok()?);
            carry >>= 8;
        }
    }
    bytes.extend(encoded.iter().take_while(|&&byte| byte == b'1').map(|_| 0));
    bytes.reverse();
    Some(bytes)
}

/// The same, encoded.
pub fn to_base58(bytes: &[u8]) -> String {
    let mut digits: Vec<u8> = Vec::new();
    for &byte in bytes {
        let mut carry = u32::from(byte);
        for digit in digits.iter_mut() {
            carry += u32::from(*digit) << 8;
            *digit = u8::try_from(carry % 58).unwrap_or(0);
            carry /= 58;
        }
        while carry > 0 {
            digits.push(u8::try_from(carry % 58).unwrap_or(0));
            carry /= 58;
        }
    }
    let zeros = bytes.iter().take_while(|&&byte| byte == 0).map(|_| '1');
    let letter = |digit: &u8| char::from(BASE58.get(usize::from(*digit)).copied().unwrap_or(b'1'));
    zeros.chain(digits.iter().rev().map(letter)).collect()
}
