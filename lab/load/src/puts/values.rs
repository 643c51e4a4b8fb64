//! Values of about 100 bytes, of four kinds that compress as differently as stored records do.
//!
//! Names, cities and words repeat from value to value; identifiers, amounts and times are drawn anew with each put. What
//! each kind compresses to is measured, not aimed at: `docs/checkpoint.md` has the table.

use loadline_base::{Rng, mix64};
use serde::Deserialize;
use std::fmt;
use std::io::Write;
use std::str::FromStr;

/// What values look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueForm {
    /// A small JSON document, most of whose fields take one of a few words.
    #[default]
    Accounts,
    /// A small JSON document with many digits.
    Orders,
    /// Numbers as little-endian words, and two strings with their lengths before them.
    Rows,
    /// A random token, an address and a program's name.
    Sessions,
    /// Each of them for a quarter of the keys.
    Mixed,
}

impl ValueForm {
    const NAMES: [(ValueForm, &'static str); 5] = [
        (ValueForm::Accounts, "accounts"),
        (ValueForm::Orders, "orders"),
        (ValueForm::Rows, "rows"),
        (ValueForm::Sessions, "sessions"),
        (ValueForm::Mixed, "mixed"),
    ];

    /// Appends a new value of `key`.
    pub fn value(self, key: u64, rng: &mut Rng, out: &mut Vec<u8>) {
        let form = match (self, mix64(key) % 4) {
            (ValueForm::Mixed, 0) => ValueForm::Accounts,
            (ValueForm::Mixed, 1) => ValueForm::Orders,
            (ValueForm::Mixed, 2) => ValueForm::Rows,
            (ValueForm::Mixed, _) => ValueForm::Sessions,
            (form, _) => form,
        };
        let written = match form {
            ValueForm::Accounts => account(key, rng, out),
            ValueForm::Orders => order(key, rng, out),
            ValueForm::Rows => row(key, rng, out),
            ValueForm::Sessions | ValueForm::Mixed => session(rng, out),
        };
        written.expect("memory takes every write");
    }
}

impl fmt::Display for ValueForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = ValueForm::NAMES.iter().find(|(form, _)| form == self);
        f.write_str(found.map_or("", |(_, name)| name))
    }
}

/// There is no such kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownForm;

impl fmt::Display for UnknownForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected `accounts`, `orders`, `rows`, `sessions` or `mixed`")
    }
}

impl FromStr for ValueForm {
    type Err = UnknownForm;

    fn from_str(text: &str) -> Result<ValueForm, UnknownForm> {
        let found = ValueForm::NAMES.iter().find(|(_, name)| *name == text);
        found.map(|(form, _)| *form).ok_or(UnknownForm)
    }
}

const FIRST_NAMES: [&str; 24] = [
    "Ada", "Bruno", "Carla", "Dmitri", "Elena", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Keiko",
    "Liam", "Marta", "Nadia", "Oscar", "Paula", "Quentin", "Rosa", "Sven", "Tarek", "Uma",
    "Viktor", "Wanda", "Yusuf",
];
const LAST_NAMES: [&str; 24] = [
    "Almeida", "Bauer", "Castro", "Duarte", "Eriksen", "Fischer", "Garcia", "Hansen", "Ivanov",
    "Jensen", "Kowalski", "Lindberg", "Moreau", "Novak", "Okafor", "Petrov", "Rossi", "Schmidt",
    "Tanaka", "Usman", "Varga", "Weber", "Yilmaz", "Zhang",
];
const CITIES: [&str; 20] = [
    "Aarhus",
    "Bologna",
    "Cordoba",
    "Dresden",
    "Eindhoven",
    "Fukuoka",
    "Gdansk",
    "Helsinki",
    "Izmir",
    "Jakarta",
    "Krakow",
    "Lisbon",
    "Malmo",
    "Nantes",
    "Oslo",
    "Porto",
    "Quito",
    "Riga",
    "Seville",
    "Turin",
];
const ORDER_STATES: [&str; 4] = ["open", "shipped", "pending", "closed"];
const ACCOUNT_STATES: [&str; 3] = ["active", "trial", "locked"];
const PLANS: [&str; 4] = ["free", "basic", "family", "business"];
const LANGUAGES: [&str; 6] = ["en", "de", "pt", "es", "fr", "ja"];
const AGENTS: [&str; 6] = [
    "Firefox/128.0 Linux",
    "Chrome/126.0 Windows",
    "Safari/17.5 macOS",
    "okhttp/4.12 Android",
    "curl/8.7",
    "Edge/125.0 Windows",
];

/// One of `words`, the same for a key each time.
fn of_key<'a>(words: &[&'a str], key: u64, field: u64) -> &'a str {
    words[(mix64(key ^ field << 56) % words.len() as u64) as usize]
}

fn drawn<'a>(words: &[&'a str], rng: &mut Rng) -> &'a str {
    words[rng.below(words.len() as u64) as usize]
}

/// A second of the year 2025.
fn second(rng: &mut Rng) -> u64 {
    1_735_689_600 + rng.below(31_536_000)
}

fn account(key: u64, rng: &mut Rng, out: &mut Vec<u8>) -> std::io::Result<()> {
    write!(
        out,
        r#"{{"id":{key},"name":"{} {}","plan":"{}","state":"{}","lang":"{}","visits":{},"seen":"2025-{:02}-{:02}"}}"#,
        of_key(&FIRST_NAMES, key, 1),
        of_key(&LAST_NAMES, key, 2),
        of_key(&PLANS, key, 4),
        drawn(&ACCOUNT_STATES, rng),
        of_key(&LANGUAGES, key, 5),
        rng.below(500),
        1 + rng.below(12),
        1 + rng.below(28),
    )
}

fn order(key: u64, rng: &mut Rng, out: &mut Vec<u8>) -> std::io::Result<()> {
    write!(
        out,
        r#"{{"id":{key},"name":"{} {}","city":"{}","state":"{}","total":{}.{:02},"time":{}}}"#,
        of_key(&FIRST_NAMES, key, 1),
        of_key(&LAST_NAMES, key, 2),
        of_key(&CITIES, key, 3),
        drawn(&ORDER_STATES, rng),
        rng.below(5_000),
        rng.below(100),
        second(rng),
    )
}

fn row(key: u64, rng: &mut Rng, out: &mut Vec<u8>) -> std::io::Result<()> {
    out.extend_from_slice(&key.to_le_bytes());
    out.extend_from_slice(&second(rng).to_le_bytes());
    out.extend_from_slice(&rng.below(1 << 20).to_le_bytes());
    // Four small counters, as most columns of most rows are.
    for _ in 0..4 {
        out.extend_from_slice(&(rng.below(1_000) as u32).to_le_bytes());
    }
    let (first, last) = (of_key(&FIRST_NAMES, key, 1), of_key(&LAST_NAMES, key, 2));
    let name = format!("{first} {last}");
    let address = format!("{first}.{last}{}@mail.example.org", key % 100);
    for text in [name, address] {
        out.push(text.len() as u8);
        out.extend_from_slice(text.as_bytes());
    }
    Ok(())
}

fn session(rng: &mut Rng, out: &mut Vec<u8>) -> std::io::Result<()> {
    let token = (rng.next_u64(), rng.next_u64());
    let address = rng.next_u64().to_le_bytes();
    write!(
        out,
        "sid={:016x}{:016x};ip=10.{}.{}.{};agent={};seen={}",
        token.0,
        token.1,
        address[0] % 16,
        address[1],
        address[2],
        drawn(&AGENTS, rng),
        second(rng),
    )
}
