//! Microsoft's keys which carry a signature and a checksum.
//!
//! Facts: `IdentifiableMetadata.cs`, `IdentifiableSecrets.cs` and `Marvin.NetFramework.cs` of
//! github.com/microsoft/security-utilities (signatures, seeds, which bytes are summed), read and
//! written anew. Marvin32 is checked against the vectors of SymCrypt in the tests.

use base64::Engine as _;

use super::crc;
use super::text;
use super::{Validator, Validity};

/// Marvin32, folded to 32 bits.
pub fn marvin32(data: &[u8], seed: u64) -> u32 {
    let bytes = seed.to_le_bytes();
    let [a, b, c, d, e, f, g, h] = bytes;
    let mut state = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
    let mut blocks = data.chunks_exact(4);
    for block in &mut blocks {
        let mut word = [0; 4];
        word.copy_from_slice(block);
        state = mix((state.0.wrapping_add(u32::from_le_bytes(word)), state.1));
    }
    // The rest is closed with one bit, as in other hashes.
    let mut last = [0; 4];
    for (slot, &byte) in last.iter_mut().zip(blocks.remainder().iter().chain(&[0x80])) {
        *slot = byte;
    }
    state = mix((state.0.wrapping_add(u32::from_le_bytes(last)), state.1));
    state = mix(state);
    state.0 ^ state.1
}

fn mix((mut low, mut high): (u32, u32)) -> (u32, u32) {
    high ^= low;
    low = low.rotate_left(20).wrapping_add(high);
    high = high.rotate_left(9) ^ low;
    low = low.rotate_left(27).wrapping_add(high);
    (low, high.rotate_left(19))
}

/// A kind of key: where its signature stands and which seeds its issuers use.
struct Kind {
    signature: &'static str,
    /// Characters before the signature.
    offset: usize,
    seeds: &'static [&'static [u8; 8]],
}

/// The seeds are eight letters, read as a number with the first letter highest.
const KINDS: &[Kind] = &[
    Kind { signature: "+ASt", offset: 76, seeds: &[b"Default0"] },
    Kind { signature: "+ABa", offset: 76, seeds: &[b"AbAcct00"] },
    Kind {
        signature: "ACDb",
        offset: 76,
        seeds: &[b"MastRO00", b"MastRW00", b"SysAll00", b"Resour00", b"SystRO00", b"SystRW00", b"Encryp00"],
    },
    Kind { signature: "+AMC", offset: 76, seeds: &[b"Classic0"] },
    Kind { signature: "APIM", offset: 76, seeds: &[b"Tenant00", b"IoTHub00", b"Gatewy00", b"GitKey00"] },
    Kind { signature: "+ASb", offset: 33, seeds: MESSAGING },
    Kind { signature: "+AEh", offset: 33, seeds: MESSAGING },
    Kind { signature: "+ARm", offset: 33, seeds: MESSAGING },
    Kind { signature: "AIoT", offset: 33, seeds: &[b"IoTHub00", b"DpsKey00", b"Device00"] },
    Kind { signature: "AzCa", offset: 33, seeds: &[b"Access00"] },
    Kind { signature: "AZEG", offset: 33, seeds: &[b"SendRecv"] },
    Kind { signature: "AzSe", offset: 42, seeds: &[b"Query000", b"PAdmin00"] },
    Kind { signature: "+ACR", offset: 42, seeds: &[b"ACRDflt0"] },
    Kind { signature: "AzFu", offset: 44, seeds: &[b"Master00", b"System00", b"Functi00"] },
];

const MESSAGING: &[&[u8; 8]] = &[b"Send0000", b"Listen00", b"Manage00", b"System00", b"Unknow00", b"Unknown0"];

/// Bytes of a checksum.
const SUM: usize = 4;

/// Keys of Azure Storage, Cosmos DB, Batch, Service Bus, Event Hubs, IoT, Redis, Search, Functions,
/// Container Registry and API Management: base64 with a signature at a fixed place, whose last four
/// bytes are Marvin32 of the others.
#[derive(Debug)]
pub struct AzureKey;

impl Validator for AzureKey {
    fn name(&self) -> &'static str {
        "azure-key"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some(kind) = kind_of(secret) else { return Validity::Unknown };
        let Some(bytes) = text::base64(secret) else { return Validity::Invalid };
        let Some((body, sum)) = bytes.len().checked_sub(SUM).and_then(|at| bytes.split_at_checked(at)) else {
            return Validity::Invalid;
        };
        let right = kind.seeds.iter().any(|seed| {
            let right = marvin32(body, u64::from_be_bytes(**seed)).to_le_bytes();
            right == sum || (kind.signature == "AzCa" && is_redis_spelling(secret, body, right))
        });
        Validity::decided(right)
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        let kind = kind_of(body)?;
        let seed = kind.seeds.first()?;
        let mut bytes = text::base64_bits(body)?;
        let whole = bytes.len();
        bytes.extend(marvin32(&bytes, u64::from_be_bytes(**seed)).to_le_bytes());
        let url = kind.signature == "AzFu";
        let engine = if url { &base64::prelude::BASE64_URL_SAFE } else { &base64::prelude::BASE64_STANDARD };
        let encoded = engine.encode(&bytes);
        debug_assert!(whole < bytes.len());
        encoded.into_bytes().get(body.len()..).map(<[u8]>::to_vec)
    }
}

fn kind_of(key: &[u8]) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| key.get(kind.offset..kind.offset + SUM) == Some(kind.signature.as_bytes()))
}

/// Keys of Azure Cache for Redis write `P` for `+` and `F` for `/`, after the checksum was made.
fn is_redis_spelling(secret: &[u8], body: &[u8], sum: [u8; SUM]) -> bool {
    let mut bytes = body.to_vec();
    bytes.extend(sum);
    let spelled = base64::prelude::BASE64_STANDARD.encode(bytes).replace('+', "P").replace('/', "F");
    spelled.as_bytes() == secret
}

/// Client secrets of Entra ID with the signature `8Q~`: the last three characters are the first
/// three of Marvin32 of the others, in base 66.
#[derive(Debug)]
pub struct EntraSecret;

impl Validator for EntraSecret {
    fn name(&self) -> &'static str {
        "entra-secret"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        if secret.get(3..6) != Some(b"8Q~") {
            return Validity::Unknown;
        }
        let Some((body, sum)) = secret.len().checked_sub(3).and_then(|at| secret.split_at_checked(at)) else {
            return Validity::Unknown;
        };
        Validity::decided(self.seal(body).is_some_and(|right| right == sum))
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        const ALPHABET: &[u8; 66] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890.-_~";
        let sum = marvin32(body, u64::from_be_bytes(*b"AadPwd00"));
        crc::digits(sum, ALPHABET, 6).get(..3).map(<[u8]>::to_vec)
    }
}

/// Keys of the common annotated form (`JQQJ99` at 52): 84 characters whose last four are the first of
/// Marvin32 of the 60 bytes before, in base 62 or base 64.
#[derive(Debug)]
pub struct AzureCask;

/// Characters before the checksum.
const CASK_BODY: usize = 80;

impl Validator for AzureCask {
    fn name(&self) -> &'static str {
        "azure-cask"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some((body, sum)) = secret.split_at_checked(CASK_BODY) else { return Validity::Unknown };
        let sum = sum.get(..4).unwrap_or(sum);
        let Some(right) = cask_sum(body) else { return Validity::Unknown };
        let bytes = base64::prelude::BASE64_STANDARD.encode(right);
        let agrees = base62_of_bytes(right).starts_with(sum) || bytes.as_bytes().starts_with(sum);
        Validity::decided(agrees)
    }

    fn seal(&self, body: &[u8]) -> Option<Vec<u8>> {
        base62_of_bytes(cask_sum(body)?).get(..4).map(<[u8]>::to_vec)
    }
}

fn cask_sum(body: &[u8]) -> Option<[u8; SUM]> {
    let bytes = text::base64(body)?;
    Some(marvin32(&bytes, u64::from_be_bytes(*b"Default0")).to_le_bytes())
}

/// The bytes as one number, highest first, in base 62, filled up with zeros behind.
fn base62_of_bytes(bytes: [u8; SUM]) -> Vec<u8> {
    let padded = crc::base62(u32::from_be_bytes(bytes), 6);
    let mut shown: Vec<u8> = padded.iter().copied().skip_while(|&digit| digit == b'0').collect();
    shown.resize(6, b'0');
    shown
}

/// Personal access tokens of Azure DevOps, older form: 52 characters of base32, of whose 32 bytes four
/// are a CRC-32 of the others, exclusive-or a number for users or for applications (`SEC101_102_AdoPat.cs`).
#[derive(Debug)]
pub struct AzureDevops;

/// Where the four bytes of the checksum stand, lowest first.
const DEVOPS_SUM_AT: [usize; SUM] = [22, 8, 7, 2];
const DEVOPS_MASKS: [u32; 2] = [0xE0B9_692D, 0x1019_F92E];

impl Validator for AzureDevops {
    fn name(&self) -> &'static str {
        "azure-devops"
    }

    fn check(&self, secret: &[u8], _matched: &[u8]) -> Validity {
        let Some(bytes) = text::base32(secret).filter(|bytes| bytes.len() == 32) else { return Validity::Invalid };
        let held = DEVOPS_SUM_AT.map(|at| bytes.get(at).copied().unwrap_or(0));
        let others: Vec<u8> =
            bytes.iter().enumerate().filter(|(at, _)| !DEVOPS_SUM_AT.contains(at)).map(|(_, &byte)| byte).collect();
        let sum = crc32fast::hash(&others);
        Validity::decided(DEVOPS_MASKS.iter().any(|mask| sum ^ mask == u32::from_le_bytes(held)))
    }
}
