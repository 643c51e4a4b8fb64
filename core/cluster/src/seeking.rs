//! Objects that the members of a placement group give nowhere, and who else may have them.
//!
//! A primary asks none but those that take part. Another one that was kept may have what is missing, though the interval began without it
//! because nothing was missing then: so all are asked once more, and whoever may have some of it takes part until all is recovered.

use loadline_osd::{OsdId, OsdSet};
use loadline_store::ObjectNo;
use std::collections::BTreeSet;

/// What is sought for one placement group, until all of it is recovered.
#[derive(Debug, Default)]
pub(crate) struct Seeking {
    /// Who had a copy when all were asked last, or has come since and may have one, and takes no part.
    strays: OsdSet,
    /// What was found nowhere since all was recovered last.
    objects: BTreeSet<ObjectNo>,
    /// What of it was not found since then either.
    missing: BTreeSet<ObjectNo>,
}

impl Seeking {
    /// All have told their copies, and these take no part.
    pub(crate) fn asked(&mut self, strays: OsdSet) {
        self.strays = strays;
    }

    /// This one has come into the middle of an interval, and was not asked.
    pub(crate) fn has_come(&mut self, osd: OsdId) {
        self.strays.insert(osd);
    }

    /// These are found nowhere. Whether somebody is to be asked about one of them for the first time.
    pub(crate) fn found_nowhere(&mut self, objects: &[ObjectNo], up: OsdSet) -> bool {
        let before = self.objects.len();
        self.objects.extend(objects);
        self.missing.extend(objects);
        self.objects.len() > before && self.strays.iter().any(|osd| up.contains(osd))
    }

    /// The same primary says no more of these that they are found nowhere.
    pub(crate) fn found(&mut self, objects: impl Iterator<Item = ObjectNo>) {
        for object in objects {
            self.missing.remove(&object);
        }
    }

    /// Whether something was found nowhere, as far as is known. No disk tells of what reads alone have found, and the primary of a later interval may not have
    /// met it.
    pub(crate) fn is_missing_any(&self) -> bool {
        !self.missing.is_empty()
    }

    /// What is sought.
    pub(crate) fn objects(&self) -> &BTreeSet<ObjectNo> {
        &self.objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_no_part_is_asked_once_about_each_object() {
        let [one, other] = [4, 5].map(OsdId::new).map(OsdSet::one);
        let [first, second] = [7, 8].map(ObjectNo);
        let mut seeking = Seeking::default();
        assert!(!seeking.found_nowhere(&[first], one), "nobody else has a copy");
        seeking.asked(one);
        assert!(!seeking.found_nowhere(&[second], other), "who has one does not run");
        let mut seeking = Seeking::default();
        seeking.asked(one);
        assert!(seeking.found_nowhere(&[first], one));
        assert!(!seeking.found_nowhere(&[], one) && !seeking.found_nowhere(&[first], one));
        assert!(seeking.found_nowhere(&[first, second], one));
        assert_eq!(*seeking.objects(), BTreeSet::from([first, second]));
    }
}
