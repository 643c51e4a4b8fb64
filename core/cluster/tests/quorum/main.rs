//! Quorums and committed maps: every pair of quorums, and lives of owners against a judge who knows what was committed.

mod lives;
mod random;
mod rules;
mod small;
