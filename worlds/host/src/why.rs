//! What the system says when it refuses a file or folder, in words.

use std::io;

/// Why the system refused, and what would help, in words.
pub fn why(error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full; make room, or choose another folder",
        io::ErrorKind::QuotaExceeded => "the quota is used up; make room, or choose another folder",
        io::ErrorKind::PermissionDenied => {
            "permission denied; choose another place, or run as who owns it"
        }
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only; choose another folder",
        io::ErrorKind::NotFound => "there is no such file or folder",
        io::ErrorKind::AlreadyExists => "something of this name is there already; choose another",
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a folder",
        io::ErrorKind::InvalidData => "it is no text: something else was written over it",
        io::ErrorKind::IsADirectory => "it is a folder, and a file is needed",
        _ => return error.to_string(),
    };
    remedy.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Each was told with its number before, "(os error 17)", and no remedy.
    #[test]
    fn what_the_system_refuses_is_told_in_words() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, [0xff, 0xfe]).unwrap();
        let refused: [io::Error; 4] = [
            fs::create_dir_all(&file).unwrap_err(),
            fs::create_dir_all(file.join("below")).unwrap_err(),
            fs::read_to_string(&file).unwrap_err(),
            fs::read_to_string(place.path()).unwrap_err(),
        ];
        let told = refused.each_ref().map(why);
        assert!(told.iter().all(|told| !told.contains("os error")), "{told:?}");
        assert!(told[0].contains("there already") && told[2].contains("no text"), "{told:?}");
    }
}
