//! What a node is to be: from a file (`--config node.toml`) or from flags, which both become the same [`NodeConfig`].
//!
//! What was typed is a [`NodeFile`], whoever typed it; [`NodeConfig`] is what was meant, checked as far as that is
//! possible before a disk is opened. `docs/node-toml.md` describes the file.

mod file;
mod flags;
mod meant;
mod node_config;
mod places;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use flags::ServeArgs;
pub(crate) use node_config::{DISKS_FILE, NodeConfig, PAGE_FILE};

use crate::common_args::WANTED_ADDRESS;
use crate::failure::Failure;
use file::NodeFile;
use loadline_base::TextFault;
use loadline_host::{read_text, why};
use places::check_places;
use std::path::Path;

impl NodeConfig {
    /// What the flags mean, or the file that they name.
    ///
    /// # Errors
    /// One sentence that names the file, line and field, or the flag.
    pub(crate) fn from_args(args: ServeArgs) -> Result<NodeConfig, Failure> {
        match &args.config {
            Some(path) => NodeConfig::read(path),
            // Asked before each is looked for in the folder: it would be looked for as often.
            None => {
                args.check_folder()?;
                args.check_osds()
                    .and_then(|()| args.check_size())
                    .and_then(|()| args.check_settings())
                    .and_then(|()| NodeFile::from(args).meant(Path::new("")))
                    .and_then(check_places)
                    .map_err(|fault| Failure::Input(fault.of_flags()))
            }
        }
    }

    fn read(path: &Path) -> Result<NodeConfig, Failure> {
        let shown = path.display().to_string();
        let text = read_text(path).map_err(|error| {
            let text = format!("{shown}: cannot be read: {}", why(&error));
            Failure::refused(error.kind(), text)
        })?;
        NodeConfig::parse(&shown, path.parent().unwrap_or(Path::new("")), &text)
            .and_then(|config| check_places(config).map_err(|fault| fault.of_file(&shown, &text)))
            .map_err(Failure::Input)
    }

    /// Reads a file's text. Relative paths in it are relative to its `folder`.
    fn parse(shown: &str, folder: &Path, text: &str) -> Result<NodeConfig, String> {
        let file: NodeFile = toml::from_str(text).map_err(|problem| {
            let at = problem.span().map(|span| span.start);
            let fault = TextFault::of_toml(text, at, in_words(problem.message()));
            let place = fault.line.map_or(shown.to_owned(), |line| format!("{shown}:{line}"));
            format!("{place}: {}", fault.sentence())
        })?;
        file.meant(folder).map_err(|fault| fault.of_file(shown, text))
    }
}

/// What the reader of TOML says, but for a sentence of the standard library that does not say what would be right.
fn in_words(message: &str) -> &str {
    if message.starts_with("invalid socket address") { WANTED_ADDRESS } else { message }
}
