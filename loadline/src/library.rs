//! The data files that commands read, and the drives among them.

use crate::failure::Failure;
use loadline_sim::AnyDrive;
use loadline_sim::hdd::HddSpec;
use loadline_study::{Library, Shelf};

/// The data files around the current folder, and the program's own.
pub(crate) fn library() -> Library {
    std::env::current_dir().map_or_else(|_| Library::built_in(), |folder| Library::around(&folder))
}

/// A drive by its name, or by the path of its file.
pub(crate) fn drive(name: &str) -> Result<AnyDrive, Failure> {
    let source = library().find(Shelf::Drives, name)?;
    AnyDrive::parse(&source.name, &source.file, &source.text)
        .map_err(|error| Failure::Input(error.to_string()))
}

/// A mechanical one.
pub(crate) fn mechanical(name: &str) -> Result<HddSpec, Failure> {
    match drive(name)? {
        AnyDrive::Mechanical(spec) => Ok(spec),
        AnyDrive::Calibrated(_) => Err(Failure::Input(format!(
            "drive `{name}` is a calibrated one, whose queue is not modelled; a mechanical one is needed, such as hdd-22tb-cdl"
        ))),
    }
}
