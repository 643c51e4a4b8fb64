//! What the system says when it refuses a file, a folder or a socket, in words.

use rustix::io::Errno;
use std::io;

/// How the system's own sentence ends, before its number.
const NUMBER: &str = " (os error ";

/// Why the system refused, and what would help, in words.
pub fn why(error: &io::Error) -> String {
    if let Some(remedy) = Errno::from_io_error(error).and_then(by_number) {
        return remedy.to_owned();
    }
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
        io::ErrorKind::InvalidFilename => "a name in the path is too long; choose a shorter one",
        io::ErrorKind::FileTooLarge => {
            "it would be larger than a file may be here; choose another file system, or raise `ulimit -f`"
        }
        io::ErrorKind::OutOfMemory => "there is no memory for it",
        io::ErrorKind::AddrInUse => "another process listens there",
        io::ErrorKind::AddrNotAvailable => "this machine has no such address",
        io::ErrorKind::ConnectionRefused => "nobody listens there",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "the other side has gone",
        io::ErrorKind::ResourceBusy => "something else uses it",
        io::ErrorKind::InvalidInput if error.raw_os_error().is_some() => {
            "what is there cannot be used so"
        }
        // The standard library's word for a socket's path.
        io::ErrorKind::InvalidInput if error.to_string().contains("SUN_LEN") => {
            "a socket's path has at most 107 bytes; choose a shorter one"
        }
        _ => return without_number(&error.to_string()).to_owned(),
    };
    remedy.to_owned()
}

/// Whether what the system has refused is refused again until something else is typed, or something else is at the place that was named. Else it
/// is refused for now: it works once there is room, or nobody else uses it, or the disk answers.
pub fn is_refused_again(kind: io::ErrorKind) -> bool {
    matches!(
        kind,
        io::ErrorKind::NotFound
            | io::ErrorKind::AlreadyExists
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::NotSeekable
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
    )
}

/// Refusals that have no kind of their own.
fn by_number(errno: Errno) -> Option<&'static str> {
    Some(match errno {
        Errno::MFILE => "too many files are open; raise `ulimit -n`",
        Errno::NFILE => "too many files are open on this machine",
        Errno::NXIO | Errno::NODEV => "there is no such device, or nobody listens there",
        Errno::IO => "the device has failed to read or write it",
        Errno::LOOP => "its links lead in a circle",
        Errno::NOTSOCK => "it is no socket",
        _ => return None,
    })
}

/// A sentence with the system's parts of it in words: libraries and other programs' errors carry them with their numbers.
pub fn in_words(sentence: &str) -> String {
    let Some((before, rest)) = sentence.split_once(NUMBER) else { return sentence.to_owned() };
    let numbered = rest.split_once(')').and_then(|(number, behind)| {
        Some((io::Error::from_raw_os_error(number.parse().ok()?), behind))
    });
    let Some((error, behind)) = numbered else { return sentence.to_owned() };
    let said = error.to_string();
    let replaced = match before.strip_suffix(without_number(&said)) {
        Some(before) => format!("{before}{}", why(&error)),
        None => before.to_owned(),
    };
    replaced + &in_words(behind)
}

fn without_number(said: &str) -> &str {
    said.split_once(NUMBER).map_or(said, |(words, _)| words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::net::{UnixListener, UnixStream};

    /// Each was told with its number before, "(os error 17)", and no remedy.
    #[test]
    fn what_the_system_refuses_is_told_in_words() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, [0xff, 0xfe]).unwrap();
        let socket = place.path().join("socket");
        drop(UnixListener::bind(&socket).unwrap());
        let refused: [io::Error; 8] = [
            fs::create_dir_all(&file).unwrap_err(),
            fs::create_dir_all(file.join("below")).unwrap_err(),
            fs::read_to_string(&file).unwrap_err(),
            fs::read_to_string(place.path()).unwrap_err(),
            fs::read_to_string(place.path().join("n".repeat(300))).unwrap_err(),
            UnixListener::bind(&socket).unwrap_err(),
            UnixStream::connect(&socket).unwrap_err(),
            fs::read_to_string(&socket).unwrap_err(),
        ];
        let told = refused.each_ref().map(why);
        assert!(told.iter().all(|told| !told.contains("os error")), "{told:?}");
        assert!(told[0].contains("there already") && told[2].contains("no text"), "{told:?}");
        assert!(told[4].contains("too long"), "{told:?}");
    }

    /// Every number has an answer without it, also one that has no words here.
    #[test]
    fn no_answer_has_a_number() {
        for number in 1..140 {
            let told = why(&io::Error::from_raw_os_error(number));
            assert!(!told.contains("os error") && !told.is_empty(), "{number}: {told}");
        }
    }

    #[test]
    fn what_others_say_of_the_system_is_put_in_words() {
        let missing = io::Error::from_raw_os_error(2);
        let full = io::Error::from_raw_os_error(28);
        let sentence = format!("a: {missing}; b ({full}), c");
        let told = "a: there is no such file or folder; b (the disk is full; make room, or choose another folder), c";
        assert_eq!(in_words(&sentence), told);
        assert_eq!(in_words("of another system (os error 2) here"), "of another system here");
        for unlike in ["nothing of it", "an (os error x)", "cut (os error 2"] {
            assert_eq!(in_words(unlike), unlike);
        }
    }
}
