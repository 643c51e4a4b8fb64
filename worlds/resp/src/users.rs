//! Who may use the database, and on which terms.

use loadline_base::TextFault;
use loadline_host::open_named;
use loadline_tls::SecretFile;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The users of a server. The place of a user in the list is its number.
#[derive(Clone, Debug)]
pub struct Users {
    users: Vec<(String, UserTerms)>,
}

/// What a user is promised, and what it may take.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserTerms {
    /// What it says to prove who it is; without one nobody asks.
    #[serde(default)]
    pub password: Option<String>,
    /// Commands per second that it gets whatever others do. Default none.
    #[serde(default, deserialize_with = "rate")]
    pub reservation: f64,
    /// Its part of what is left, beside others'. Default 1.
    #[serde(default = "one", deserialize_with = "share")]
    pub weight: f64,
    /// Commands per second at most; 0, the default, for no limit.
    #[serde(default, deserialize_with = "rate")]
    pub limit: f64,
    /// Whether it may change what holds for all users (`CONFIG SET`, `CONFIG RESETSTAT`). Default no.
    #[serde(default)]
    pub administrator: bool,
}

fn one() -> f64 {
    1.0
}

fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let rate = f64::deserialize(from)?;
    let is_rate = rate.is_finite() && rate >= 0.0;
    let wanted = "takes commands per second, a number that is not negative";
    if is_rate { Ok(rate) } else { Err(D::Error::custom(wanted)) }
}

fn share<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let weight = f64::deserialize(from)?;
    let is_share = weight.is_finite() && weight > 0.0;
    if is_share { Ok(weight) } else { Err(D::Error::custom("takes a number above 0")) }
}

/// Why a file of users cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    /// It is not there, or may not be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// It is no text.
    #[error("is no text")]
    NoText,
    /// The passwords are not secret.
    #[error(
        "everybody on this machine may read the passwords in it; take that right away (chmod o-r)"
    )]
    Open,
    /// It is no such file: the line, and what is wrong with it.
    #[error("line {0}: {1}")]
    File(usize, String),
    /// It names nobody.
    #[error(
        "it names no user, and nobody could come in: give each a table such as [user.{DEFAULT_USER}]"
    )]
    Nobody,
    /// A user may take less than it is promised.
    #[error("user {0}: its limit is below its reservation; raise the one or lower the other")]
    Limit(String),
}

/// The user that a connection is before it says anything.
pub const DEFAULT_USER: &str = "default";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UsersFile {
    #[serde(default)]
    user: BTreeMap<String, UserTerms>,
}

impl Default for UserTerms {
    fn default() -> UserTerms {
        UserTerms {
            password: None,
            reservation: 0.0,
            weight: one(),
            limit: 0.0,
            administrator: false,
        }
    }
}

impl Default for Users {
    /// One user without a password and without terms. There are no others whose data it could make less durable.
    fn default() -> Users {
        let terms = UserTerms { administrator: true, ..UserTerms::default() };
        Users { users: vec![(DEFAULT_USER.to_owned(), terms)] }
    }
}

impl Users {
    /// Reads a file of users from where it is. One with passwords is read by not everybody.
    ///
    /// # Errors
    /// [`UsersError`].
    pub fn open(path: &Path) -> Result<Users, UsersError> {
        let file = SecretFile::read(open_named(path)?)?;
        let text = std::str::from_utf8(&file.bytes).map_err(|_| UsersError::NoText)?;
        let users = Users::parse(text)?;
        let has_passwords = users.terms().any(|terms| terms.password.is_some());
        if file.is_open && has_passwords { Err(UsersError::Open) } else { Ok(users) }
    }

    /// Reads what a file of users says: a table `[user.NAME]` for each. With a file, who says no name and is not in it as `default` is let in nowhere.
    ///
    /// # Errors
    /// The line and what is wrong with it, or the user whose terms contradict each other.
    pub fn parse(text: &str) -> Result<Users, UsersError> {
        let file: UsersFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let fault = TextFault::of_toml(text, Some(at), error.message());
            UsersError::File(fault.line.unwrap_or(1), fault.sentence())
        })?;
        if file.user.is_empty() {
            return Err(UsersError::Nobody);
        }
        for (name, UserTerms { reservation, limit, .. }) in &file.user {
            if *limit > 0.0 && limit < reservation {
                return Err(UsersError::Limit(name.clone()));
            }
        }
        Ok(Users { users: file.user.into_iter().collect() })
    }

    /// Whether each has a password.
    pub fn all_have_passwords(&self) -> bool {
        self.users
            .iter()
            .all(|(_, terms)| terms.password.as_ref().is_some_and(|word| !word.is_empty()))
    }

    pub(crate) fn terms(&self) -> impl Iterator<Item = &UserTerms> {
        self.users.iter().map(|(_, terms)| terms)
    }

    pub(crate) fn name(&self, number: usize) -> &str {
        &self.users[number].0
    }

    /// Whether a user may change what holds for all.
    pub(crate) fn is_administrator(&self, number: usize) -> bool {
        self.users[number].1.administrator
    }

    /// Who a connection is that has said nothing: the default user, if nobody asks it for a password.
    pub(crate) fn at_first(&self) -> Option<usize> {
        let is_open =
            |(name, terms): &(String, UserTerms)| name == DEFAULT_USER && terms.password.is_none();
        self.users.iter().position(is_open)
    }

    /// The user of this name, if the password is its own.
    pub(crate) fn find(&self, name: &[u8], password: &[u8]) -> Option<usize> {
        let number = self.users.iter().position(|(own, _)| own.as_bytes() == name)?;
        match &self.users[number].1.password {
            Some(own) => is_same(own.as_bytes(), password).then_some(number),
            None => Some(number),
        }
    }
}

/// Compares all bytes, so that the time does not tell how many were right.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differing == 0
}
