//! What is kept of a placement group's scrubs: when they were, what the last one found, and how far one has come that is under way.

use super::found::{InconsistentState, ScrubErrorCounts, ScrubErrors};
use super::kind::{ScrubKind, ScrubRequest};
use crate::ids::{OsdId, OsdSet};
use crate::snapshots::SnapshotNo;
use loadline_base::{Span, WallTime};
use loadline_store::ObjectNo;

/// So many states are named; the rest is counted. A disk keeps fewer where they do not fit one value.
const NAMED_MAX: usize = 256;

/// What scrubs have told of a placement group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubRecord {
    /// Since when the group is known to who leads it: until it was scrubbed once, its time is counted from there.
    pub since: Option<WallTime>,
    /// When the last one of any kind ended.
    pub last: Option<WallTime>,
    /// When the last deep one ended.
    pub last_deep: Option<WallTime>,
    /// When the last one ended that found nothing.
    pub last_clean: Option<WallTime>,
    /// How long the last one took.
    pub duration: Span,
    /// What is wrong by the last one.
    pub findings: ScrubFindings,
    /// What was to be repaired by the last one and has no good copy.
    pub has_failed_repair: bool,
    /// The one that is under way, or was broken off.
    pub under_way: Option<ScrubProgress>,
}

/// What is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubFindings {
    /// The errors of all states.
    pub counts: ScrubErrorCounts,
    /// Objects and former states of objects that are not as they should be, all of them.
    pub inconsistent: u64,
    /// The first of them.
    pub named: Vec<InconsistentState>,
}

/// How far a scrub has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrubProgress {
    /// What it is.
    pub request: ScrubRequest,
    /// When it began.
    pub began: WallTime,
    /// Whose copies it has compared so far; nobody's before it has begun.
    pub members: OsdSet,
    /// Everything up to here is compared.
    pub reached: Option<ObjectNo>,
    /// Objects and former states of objects that are compared.
    pub objects: u64,
    /// What was found so far.
    pub findings: ScrubFindings,
}

impl ScrubProgress {
    /// One that has compared nothing yet.
    pub(super) fn new(request: ScrubRequest, began: WallTime, members: OsdSet) -> ScrubProgress {
        let findings = ScrubFindings::default();
        ScrubProgress { request, began, members, reached: None, objects: 0, findings }
    }

    /// The same from its start, of these copies.
    pub(super) fn anew(&self, members: OsdSet) -> ScrubProgress {
        ScrubProgress::new(self.request, self.began, members)
    }
}

impl ScrubFindings {
    /// Some more, found behind all of these.
    pub(super) fn extend(&mut self, found: Vec<InconsistentState>) {
        for state in found {
            self.counts.count(&state);
            self.inconsistent += 1;
            if self.named.len() < NAMED_MAX {
                self.named.push(state);
            }
        }
    }

    /// These, and what is new of others that saw less.
    pub(super) fn with(mut self, others: ScrubFindings) -> ScrubFindings {
        let is_named = |state: &InconsistentState| {
            let place = (state.object, state.label);
            self.named.iter().any(|named| (named.object, named.label) == place)
        };
        let new = others.named.into_iter().filter(|state| !is_named(state)).collect();
        self.extend(new);
        self
    }

    /// Whose copies are bad in something: anybody's of these, where not all of it is named.
    fn bad_copies(&self, members: OsdSet) -> OsdSet {
        if self.inconsistent > self.named.len() as u64 {
            return members;
        }
        self.named.iter().flat_map(|state| state.bad.iter().map(|(osd, _)| *osd)).collect()
    }

    fn encode(&self, value: &mut Vec<u8>) {
        for word in [self.counts.shallow, self.counts.deep, self.inconsistent] {
            value.extend_from_slice(&word.to_le_bytes());
        }
        value.extend_from_slice(&(self.named.len() as u16).to_le_bytes());
        for InconsistentState { object, label, authority, as_recorded, bad } in &self.named {
            value.extend_from_slice(&object.0.to_le_bytes());
            value.extend_from_slice(&label.0.to_le_bytes());
            let authority = authority.map_or(NOBODY, OsdId::get);
            value.extend_from_slice(&authority.to_le_bytes());
            value.push(u8::from(as_recorded.is_some()));
            value.extend_from_slice(&as_recorded.unwrap_or_default().bits().to_le_bytes());
            value.push(bad.len() as u8);
            for (osd, errors) in bad {
                value.extend_from_slice(&osd.get().to_le_bytes());
                value.push(errors.bits());
            }
        }
    }
}

impl InconsistentState {
    /// What it takes of a record: object, label and authority, who is as recorded, and what is wrong with each copy.
    fn bytes(&self) -> usize {
        8 + 4 + 4 + 1 + 8 + 1 + 5 * self.bad.len()
    }
}

/// No OSD.
const NOBODY: u32 = u32::MAX;
/// Which form the bytes of a record have.
const FORM: u8 = 2;
/// The form before digests were recorded.
const FORM_UNRECORDED: u8 = 1;

/// The newest of these that has been; `None` if nothing was noted.
fn newest_by(stamps: [Option<WallTime>; 2], now: WallTime) -> Option<WallTime> {
    let noted = stamps.into_iter().flatten();
    noted.map(|at| if at > now { WallTime::default() } else { at }).max()
}

impl ScrubRecord {
    /// Whether it tells of no scrub, neither of one that has ended nor of one that is wanted.
    pub(crate) fn is_new(&self) -> bool {
        self.last.is_none() && self.under_way.is_none()
    }

    /// When the last scrub of any kind ended, or since when the group has waited for one. What a clock that was ahead has said is not known: where
    /// nothing else is, the last one was never.
    pub fn last_by(&self, now: WallTime) -> Option<WallTime> {
        newest_by([self.last, self.since], now)
    }

    /// The same of deep ones.
    pub fn last_deep_by(&self, now: WallTime) -> Option<WallTime> {
        newest_by([self.last_deep, self.since], now)
    }

    /// Of which of these members' copies something was found bad, and not found good since.
    pub(crate) fn found_bad(&self, members: OsdSet) -> OsdSet {
        let under_way = self.under_way.as_ref().map(|progress| &progress.findings);
        let all = [Some(&self.findings), under_way].into_iter().flatten();
        all.fold(OsdSet::EMPTY, |bad, findings| bad.with(findings.bad_copies(members)))
    }

    /// The bytes that a disk keeps whose values have so many at most: the last of the named states are left out where all do not fit.
    /// They are counted all the same, so the record says how many it does not name.
    pub(crate) fn encode_within(&self, bytes_max: usize) -> Vec<u8> {
        let whole = self.encode();
        let mut excess = whole.len().saturating_sub(bytes_max);
        if excess == 0 {
            return whole;
        }
        let mut cut = self.clone();
        while excess > 0 {
            let under_way = cut.under_way.as_mut().map(|progress| &mut progress.findings.named);
            let found = &mut cut.findings.named;
            let longer = under_way.filter(|named| named.len() > found.len()).unwrap_or(found);
            let Some(state) = longer.pop() else { break };
            excess = excess.saturating_sub(state.bytes());
        }
        cut.encode()
    }

    fn encode(&self) -> Vec<u8> {
        let mut value = vec![FORM, u8::from(self.has_failed_repair)];
        for stamp in [self.since, self.last, self.last_deep, self.last_clean] {
            value.extend_from_slice(&stamp.map_or(0, WallTime::unix_nanos).to_le_bytes());
        }
        value.extend_from_slice(&self.duration.nanos().to_le_bytes());
        self.findings.encode(&mut value);
        value.push(u8::from(self.under_way.is_some()));
        if let Some(progress) = &self.under_way {
            let ScrubProgress { request, began, members, reached, objects, findings } = progress;
            let flags = [
                request.kind == ScrubKind::Deep,
                request.is_requested,
                request.repairs,
                reached.is_some(),
                // An older program, which did not write them, has it begin anew.
                true,
            ];
            let flags = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
            value.push(flags);
            let reached = reached.unwrap_or_default().0;
            for word in [began.unix_nanos(), reached, *objects] {
                value.extend_from_slice(&word.to_le_bytes());
            }
            value.extend_from_slice(&members.bits().to_le_bytes());
            findings.encode(&mut value);
        }
        value
    }

    /// The record of these bytes; `None` if they are none.
    pub(crate) fn decode(value: &[u8]) -> Option<ScrubRecord> {
        let (form, rest) = value.split_first()?;
        let mut bytes = RecordBytes { rest, has_recorded: *form == FORM };
        if *form != FORM && *form != FORM_UNRECORDED {
            return None;
        }
        let has_failed_repair = bytes.flag()?;
        let mut stamp =
            || Some(Some(bytes.word()?).filter(|at| *at > 0).map(WallTime::from_unix_nanos));
        let since = stamp()?;
        let (last, last_deep, last_clean) = (stamp()?, stamp()?, stamp()?);
        let duration = Span::from_nanos(bytes.word()?);
        let findings = bytes.findings()?;
        let under_way = if bytes.flag()? { Some(bytes.progress()?) } else { None };
        let record = ScrubRecord {
            since,
            last,
            last_deep,
            last_clean,
            duration,
            findings,
            has_failed_repair,
            under_way,
        };
        bytes.rest.is_empty().then_some(record)
    }
}

/// What is left to read of a record.
struct RecordBytes<'a> {
    rest: &'a [u8],
    /// Whether it says which copies are as recorded.
    has_recorded: bool,
}

impl RecordBytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn word(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn findings(&mut self) -> Option<ScrubFindings> {
        let counts = ScrubErrorCounts { shallow: self.word()?, deep: self.word()? };
        let inconsistent = self.word()?;
        let count = u16::from_le_bytes(self.take()?);
        let named = (0..count).map(|_| self.state()).collect::<Option<Vec<_>>>()?;
        Some(ScrubFindings { counts, inconsistent, named })
    }

    fn state(&mut self) -> Option<InconsistentState> {
        let (object, label) = (ObjectNo(self.word()?), SnapshotNo(self.number()?));
        let authority = Some(self.number()?).filter(|osd| *osd != NOBODY).map(OsdId::new);
        let as_recorded = if self.has_recorded { self.as_recorded()? } else { None };
        let count = self.byte()?;
        let mut bad = || Some((OsdId::new(self.number()?), ScrubErrors::of_bits(self.byte()?)));
        let bad = (0..count).map(|_| bad()).collect::<Option<Vec<_>>>()?;
        Some(InconsistentState { object, label, authority, as_recorded, bad })
    }

    fn as_recorded(&mut self) -> Option<Option<OsdSet>> {
        let is_recorded = self.flag()?;
        let copies = OsdSet::of_bits(self.word()?);
        Some(is_recorded.then_some(copies))
    }

    fn progress(&mut self) -> Option<ScrubProgress> {
        let flags = self.byte()?;
        let is = |bit: u8| flags >> bit & 1 == 1;
        let kind = if is(0) { ScrubKind::Deep } else { ScrubKind::Shallow };
        let request = ScrubRequest { kind, is_requested: is(1), repairs: is(2) };
        let began = WallTime::from_unix_nanos(self.word()?);
        let reached = Some(ObjectNo(self.word()?)).filter(|_| is(3));
        let objects = self.word()?;
        let members = if is(4) { OsdSet::of_bits(self.word()?) } else { OsdSet::EMPTY };
        let findings = self.findings()?;
        let progress = ScrubProgress { request, began, members, reached, objects, findings };
        (flags < 32).then_some(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::super::found::ScrubError;
    use super::*;
    use loadline_store::paged::bounds::VALUE_LEAST;

    fn findings() -> ScrubFindings {
        let state = |object| InconsistentState {
            object: ObjectNo(object),
            label: SnapshotNo(3),
            authority: (object % 2 == 0).then(|| OsdId::new(4)),
            as_recorded: (object % 3 == 0).then(|| OsdSet::one(OsdId::new(4))),
            bad: vec![(OsdId::new(1), ScrubErrors::one(ScrubError::Read))],
        };
        let mut findings = ScrubFindings::default();
        findings.extend((0..300).map(state).collect());
        findings
    }

    #[test]
    fn a_record_reads_back() {
        let request = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
        let under_way = ScrubProgress {
            request,
            began: WallTime::from_unix_nanos(77),
            members: OsdSet::of_bits(0b101),
            reached: Some(ObjectNo(0)),
            objects: 9,
            findings: findings(),
        };
        let record = ScrubRecord {
            since: Some(WallTime::from_unix_nanos(3)),
            last: Some(WallTime::from_unix_nanos(1)),
            last_deep: None,
            last_clean: Some(WallTime::from_unix_nanos(u64::MAX)),
            duration: Span::from_secs(5),
            findings: findings(),
            has_failed_repair: true,
            under_way: Some(under_way),
        };
        assert_eq!((record.findings.inconsistent, record.findings.counts.deep), (300, 300));
        assert_eq!(record.findings.named.len(), NAMED_MAX);
        let bytes = record.encode();
        assert_eq!(ScrubRecord::decode(&bytes), Some(record));
        let nothing = ScrubRecord::default();
        assert_eq!(ScrubRecord::decode(&nothing.encode()), Some(nothing));
        for cut in [0, 1, 40, bytes.len() - 1] {
            assert_eq!(ScrubRecord::decode(&bytes[..cut]), None);
        }
        assert_eq!(ScrubRecord::decode(&[&bytes[..], &[0]].concat()), None);
        assert_eq!(ScrubRecord::decode(&[&[3], &bytes[1..]].concat()), None);
    }

    #[test]
    fn a_record_tells_whose_copies_are_bad_and_means_all_where_it_does_not_name_all() {
        let members: OsdSet = (0..3).map(OsdId::new).collect();
        let mut record = ScrubRecord::default();
        assert_eq!(record.found_bad(members), OsdSet::EMPTY);
        let mut some = findings();
        some.named.truncate(1);
        some.inconsistent = 1;
        record.findings = some.clone();
        assert_eq!(record.found_bad(members), OsdSet::one(OsdId::new(1)));
        record.findings = findings();
        assert_eq!(record.found_bad(members), members);
        // What one has found so far that is under way counts too.
        let request = ScrubRequest { kind: ScrubKind::Deep, is_requested: true, repairs: false };
        let progress = ScrubProgress::new(request, WallTime::from_unix_nanos(1), members);
        let under_way = Some(ScrubProgress { findings: some, ..progress });
        let record = ScrubRecord { under_way, ..ScrubRecord::default() };
        assert_eq!(record.found_bad(members), OsdSet::one(OsdId::new(1)));
    }

    /// A record that named many states of many copies was larger than a value may be, and the store refused it: the OSD stopped.
    #[test]
    fn a_record_is_cut_to_fit_one_value_and_says_how_many_it_does_not_name() {
        let wrong = ScrubErrors::one(ScrubError::Read);
        let state = |object| InconsistentState {
            object: ObjectNo(object),
            label: SnapshotNo::HEAD,
            authority: None,
            as_recorded: None,
            bad: (0..64).map(|osd| (OsdId::new(osd), wrong)).collect(),
        };
        let mut findings = ScrubFindings::default();
        findings.extend((0..300).map(state).collect());
        let request = ScrubRequest { kind: ScrubKind::Deep, is_requested: false, repairs: true };
        let (began, reached) = (WallTime::from_unix_nanos(1), Some(ObjectNo(9)));
        let under_way = ScrubProgress {
            request,
            began,
            reached,
            objects: 9,
            members: OsdSet::EMPTY,
            findings: findings.clone(),
        };
        let mut record =
            ScrubRecord { findings, under_way: Some(under_way), ..ScrubRecord::default() };
        assert!(record.encode().len() > 32 << 10, "as large as many disks' values are");
        for bytes_max in [VALUE_LEAST, 32 << 10, 1 << 20] {
            let bytes = record.encode_within(bytes_max);
            assert!(bytes.len() <= bytes_max, "{} of {bytes_max}", bytes.len());
            assert!(bytes.len() + 2 * state(0).bytes() > bytes_max.min(record.encode().len()));
            let kept = ScrubRecord::decode(&bytes).expect("it reads back");
            let told = &kept.under_way.as_ref().expect("it is under way").findings;
            for (kept, all) in [(&kept.findings, &record.findings), (told, &record.findings)] {
                assert_eq!((kept.inconsistent, kept.counts), (300, all.counts));
                assert_eq!(kept.named[..], all.named[..kept.named.len()]);
                assert!(!kept.named.is_empty(), "the first ones are named");
            }
        }
        record.under_way = None;
        assert!(record.encode_within(VALUE_LEAST).len() <= VALUE_LEAST);
    }

    /// A record of an older program, before digests were recorded.
    #[test]
    fn a_record_of_the_form_before_reads_back() {
        let mut findings = findings();
        findings.named.truncate(1);
        findings.named[0].as_recorded = None;
        let record = ScrubRecord { findings, ..ScrubRecord::default() };
        let mut old = record.encode();
        old[0] = FORM_UNRECORDED;
        // Form and flag, stamps, duration, counts, number of states; object, label, authority.
        let at = 2 + 4 * 8 + 8 + 3 * 8 + 2 + 8 + 4 + 4;
        assert_eq!(old.drain(at..at + 9).collect::<Vec<u8>>(), [0; 9]);
        assert_eq!(ScrubRecord::decode(&old), Some(record));
    }
}
