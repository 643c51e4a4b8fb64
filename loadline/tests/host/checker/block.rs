//! What a block of 4 KiB holds: every word follows from its address and its generation, so that a block tells where it
//! belongs, which write it came from, and whether it is whole.

use loadline_base::mix64;
use std::fmt;

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 4096;

/// The contents that a block can have on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Never written, or zeroed.
    Zeroes,
    /// Written by the write with this number; each write of a campaign has its own.
    Generation(u64),
}

/// A block that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    /// The address that its first word names.
    pub(crate) names_block: u64,
    /// The generation that its second word names.
    pub(crate) names_generation: u64,
    /// The first word that is not what address and generation make it.
    pub(crate) wrong_word: usize,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Damage { names_block, names_generation, wrong_word } = self;
        write!(f, "names block {names_block}, generation {names_generation}, ")?;
        write!(f, "and is wrong from word {wrong_word} of 512")
    }
}

/// The block's bytes.
pub(crate) fn encode(block: u64, content: Content) -> Vec<u8> {
    match content {
        Content::Zeroes => vec![0; BLOCK_BYTES],
        Content::Generation(generation) => {
            words(block, generation).flat_map(u64::to_le_bytes).collect()
        }
    }
}

/// What these bytes, read at `block`, are.
pub(crate) fn decode(block: u64, bytes: &[u8]) -> Result<Content, Damage> {
    assert_eq!(bytes.len(), BLOCK_BYTES);
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(Content::Zeroes);
    }
    let found = |word: usize| u64::from_le_bytes(bytes[word * 8..][..8].try_into().unwrap());
    let generation = found(1);
    match words(block, generation).enumerate().find(|(word, right)| found(*word) != *right) {
        None => Ok(Content::Generation(generation)),
        Some((wrong_word, _)) => {
            Err(Damage { names_block: found(0), names_generation: generation, wrong_word })
        }
    }
}

/// Address, generation, and then noise that depends on both: no two blocks share a word but by chance.
fn words(block: u64, generation: u64) -> impl Iterator<Item = u64> {
    let noise = mix64(mix64(block) ^ generation);
    let rest = (2..(BLOCK_BYTES / 8) as u64).map(move |word| mix64(noise.wrapping_add(word)));
    [block, generation].into_iter().chain(rest)
}

#[test]
fn a_block_tells_what_it_is() {
    let whole = encode(7, Content::Generation(9));
    assert_eq!(decode(7, &whole), Ok(Content::Generation(9)));
    assert_eq!(decode(7, &encode(7, Content::Zeroes)), Ok(Content::Zeroes));
    let elsewhere = Damage { names_block: 7, names_generation: 9, wrong_word: 0 };
    assert_eq!(decode(8, &whole), Err(elsewhere));
    let torn = [&whole[..512], &encode(7, Content::Generation(8))[512..]].concat();
    assert_eq!(decode(7, &torn), Err(Damage { wrong_word: 64, ..elsewhere }));
}
