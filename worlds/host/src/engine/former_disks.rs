//! Where each OSD's disk was when the node ran last.
//!
//! It is kept in a file for one purpose: a start that is told of too few disks names the others. Which disk is whose, the disks say themselves.

use loadline_osd::OsdId;
use std::path::{Path, PathBuf, absolute};
use std::{fs, io};

/// Where each OSD's disk was, by its number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormerDisks {
    paths: Vec<PathBuf>,
}

impl FormerDisks {
    /// These, as they are found from anywhere.
    pub(super) fn of<'a>(paths: impl Iterator<Item = &'a Path>) -> FormerDisks {
        let whole = |path: &Path| absolute(path).unwrap_or_else(|_| path.to_owned());
        FormerDisks { paths: paths.map(whole).collect() }
    }

    /// What a file tells. One that is not there, or that somebody has written something else into, tells nothing.
    pub fn read(file: &Path) -> FormerDisks {
        let told = fs::read_to_string(file).ok();
        let told = told.and_then(|text| serde_json::from_str(&text).ok());
        FormerDisks { paths: told.unwrap_or_default() }
    }

    /// Writes them beside the file and then in its place.
    pub(super) fn write(&self, file: &Path) -> io::Result<()> {
        let part = file.with_extension("part");
        fs::write(&part, format!("{}\n", serde_json::json!(self.paths)))?;
        fs::rename(&part, file)
    }

    /// How many OSDs the node had.
    pub fn count(&self) -> usize {
        self.paths.len()
    }

    /// Those that are not among the named ones, in words: `osd.1 was on /dev/sdb`; `None` if there are none.
    pub fn left_out<'a>(&self, named: impl Iterator<Item = &'a Path>) -> Option<String> {
        let named = FormerDisks::of(named).paths;
        let osds = self.paths.iter().enumerate();
        let left = osds.filter(|(_, path)| !named.contains(path));
        let was = |(osd, path): (usize, &PathBuf)| {
            format!("{} was on {}", OsdId::from(osd), path.display())
        };
        let words = left.map(was).collect::<Vec<_>>().join(", ");
        Some(words).filter(|words| !words.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disks.json");
        assert_eq!(FormerDisks::read(&file), FormerDisks::default());
        let disks = FormerDisks::of([Path::new("/srv/a"), Path::new("b")].into_iter());
        disks.write(&file).unwrap();
        assert_eq!(FormerDisks::read(&file), disks);
        let left = |named: &[&str]| disks.left_out(named.iter().map(Path::new));
        assert_eq!(left(&["b", "/srv/a"]), None);
        // Whichever place of the list they have.
        assert_eq!(left(&["b"]).unwrap(), "osd.0 was on /srv/a");
        assert!(left(&[]).unwrap().starts_with("osd.0 was on /srv/a, osd.1 was on /"), "{disks:?}");
        for other in ["", "{}", "[1]"] {
            fs::write(&file, other).unwrap();
            assert_eq!(FormerDisks::read(&file).count(), 0, "{other}");
        }
    }
}
