//! A record to bytes and back: the frame, and all but the images.
//!
//! | list of | entry |
//! |---|---|
//! | OSDs | number (4), 1 up + 2 in + 4 lost + 8 out until it is up (1), disk bytes (8), last term promised to the disk (8; all ones: the disk was given up), the disk that its capacity was measured on (8), its store (8), and the one that takes its place (8; 0: none is known) |
//! | pools | number (4), name, placement groups (4), copies (4), object bytes (8), recovery priority (1), first placement group (4), then each placement group |
//! | settings | 0 everything, 1 every OSD, or 2 and the OSD (4); option's name; value |
//!
//! A placement group is acting OSDs, OSDs being filled (each a count and the numbers, one byte each), interval (4), last
//! interval in which it was served (4), and the term of the owner that began that one (8). Where others than the acting OSDs served in that one, the
//! highest bit of their count is set, and who did follows at the end in the same way; until format 6 nobody told. Format 1 had no such terms; its
//! owners left room between their epochs instead, so that 0 tells its intervals apart well enough. Format 2 did not tell
//! what was promised to disks (none of them is older than 0), nor what was measured, and format 3 nothing of stores: each is learnt
//! when its OSD serves. Until format 5 whoever was out was so by somebody's word.

use super::error::MapError;
use super::fields::{put_list, put_u32, put_u64, read_list, read_text};
use super::images;
use super::types::{MapRecord, OsdRecord, OwnStores, PgRecord, PoolRecord, VERSION};
use crate::images::Images;
use crate::pool::{PoolId, PoolSpec};
use crate::quorum::{Holders, Term};
use crate::served::LastServed;
use crate::settings::Scope;
use loadline_base::Bytes;
use loadline_osd::{IntervalId, OsdId, OsdSet, PgId};
use loadline_store::paged::codec::{Reader, put_bytes};
use loadline_store::paged::ids::StoreId;

/// The last one that did not tell who served last where nobody, or somebody else, does now.
const WITHOUT_SERVED_BY: u32 = 6;
/// The last one that did not tell who is out until it is up.
const WITHOUT_TAKEN_OUT: u32 = 5;
/// The last one without the stores of OSDs.
const WITHOUT_STORES: u32 = 3;
/// The last one without the promises to disks, and without what was measured.
const WITHOUT_PROMISES: u32 = 2;
/// The oldest one that it reads, without the terms of intervals.
const WITHOUT_TERMS: u32 = 1;
const MAGIC: [u8; 8] = *b"LOADLMAP";
/// Magic, version and length.
const HEAD: usize = 16;
/// The checksum at the end.
const TAIL: usize = 4;

/// Beside the count of acting OSDs: others served last.
const OTHERS_SERVED: u8 = 0x80;
const UP: u8 = 1;
const IN: u8 = 2;
const LOST: u8 = 4;
const TAKEN_OUT: u8 = 8;

impl MapRecord {
    pub(super) fn to_bytes(&self, version: u32) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&MAGIC);
        put_u32(&mut out, version);
        put_u32(&mut out, 0);
        self.put_body(&mut out, version);
        let length = u32::try_from(out.len() + TAIL).expect("a map is smaller than 4 GiB");
        out[HEAD - 4..HEAD].copy_from_slice(&length.to_le_bytes());
        let checksum = crc32c::crc32c(&out);
        put_u32(&mut out, checksum);
        out
    }

    fn put_body(&self, out: &mut Vec<u8>, version: u32) {
        out.extend_from_slice(&self.cluster_id.to_le_bytes());
        put_u64(out, self.term.0);
        put_u32(out, self.epoch);
        put_set(out, self.holders.now);
        put_set(out, self.holders.before);
        put_u64(out, self.placement_seed);
        put_u32(out, self.next_pool.get());
        put_u32(out, self.next_pg.get());
        put_list(out, self.osds.iter(), |out, (osd, record)| put_osd(out, *osd, record, version));
        put_list(out, self.pools.iter(), |out, (pool, record)| {
            put_pool(out, *pool, record);
            record.pgs.iter().for_each(|pg| put_pg(out, pg, version));
        });
        put_list(out, self.settings.iter(), |out, ((scope, option), value)| {
            put_scope(out, *scope);
            put_bytes(out, option.as_bytes());
            put_bytes(out, value.as_bytes());
        });
        images::put(out, &self.images, version);
    }
}

fn put_osd(out: &mut Vec<u8>, osd: OsdId, record: &OsdRecord, version: u32) {
    let OsdRecord { up, is_in, taken_out, lost, size, promised, measured_on, stores } = *record;
    let taken_out = taken_out && version > WITHOUT_TAKEN_OUT;
    put_u32(out, osd.get());
    let flags = [(up, UP), (is_in, IN), (lost, LOST), (taken_out, TAKEN_OUT)];
    out.push(flags.iter().map(|(is_so, flag)| u8::from(*is_so) * flag).sum());
    put_u64(out, size.get());
    if version > WITHOUT_PROMISES {
        put_u64(out, promised.0);
        put_u64(out, measured_on);
    }
    if version > WITHOUT_STORES {
        for store in [stores.now, stores.next] {
            put_u64(out, store.map_or(0, StoreId::get));
        }
    }
}

fn put_pool(out: &mut Vec<u8>, pool: PoolId, record: &PoolRecord) {
    let PoolRecord { spec, first_pg, .. } = record;
    let PoolSpec { name, pgs: count, copies, object_bytes, recovery_priority } = spec;
    put_u32(out, pool.get());
    put_bytes(out, name.as_bytes());
    put_u32(out, *count);
    put_u32(out, *copies);
    put_u64(out, *object_bytes);
    out.extend_from_slice(&recovery_priority.to_le_bytes());
    put_u32(out, first_pg.get());
}

fn put_pg(out: &mut Vec<u8>, pg: &PgRecord, version: u32) {
    let PgRecord { acting, backfill, interval, served } = pg;
    let is_other = version > WITHOUT_SERVED_BY && served.by != acting.iter().copied().collect();
    let others = is_other.then(|| served.by.iter().collect::<Vec<_>>());
    let at = out.len();
    put_osds(out, acting);
    out[at] |= if others.is_some() { OTHERS_SERVED } else { 0 };
    put_osds(out, backfill);
    put_u32(out, *interval);
    put_u32(out, served.interval.epoch);
    if version > WITHOUT_TERMS {
        put_u64(out, served.interval.term);
    }
    if let Some(others) = others {
        put_osds(out, &others);
    }
}

fn put_scope(out: &mut Vec<u8>, scope: Scope) {
    match scope {
        Scope::Global => out.push(0),
        Scope::Osds => out.push(1),
        Scope::Osd(osd) => {
            out.push(2);
            put_u32(out, osd.get());
        }
    }
}

fn put_osds(out: &mut Vec<u8>, osds: &[OsdId]) {
    out.push(osds.len() as u8);
    out.extend(osds.iter().map(|osd| osd.get() as u8));
}

fn put_set(out: &mut Vec<u8>, set: OsdSet) {
    put_u64(out, set.iter().fold(0, |bits, osd| bits | 1 << osd.get()));
}

/// Reads a record whose parts mean something one by one, its format, and whether all that it tells is in the answer.
pub(super) fn read(bytes: &[u8]) -> Result<(MapRecord, u32, bool), MapError> {
    let (body, version) = body(bytes)?;
    let mut reader = Reader::new(body);
    let record = read_body(&mut reader, version).filter(|_| reader.is_empty());
    let at = HEAD + body.len() - reader.rest().len();
    record.map(|(record, is_all)| (record, version, is_all)).ok_or(MapError::Malformed { at })
}

/// What stands between the head and the checksum, and the format.
fn body(bytes: &[u8]) -> Result<(&[u8], u32), MapError> {
    let mut head = Reader::new(bytes);
    if head.take(MAGIC.len()) != Some(&MAGIC) {
        return Err(MapError::Foreign);
    }
    let (Some(version), Some(said)) = (head.u32(), head.u32()) else {
        return Err(MapError::Foreign);
    };
    if said as usize != bytes.len() || bytes.len() < HEAD + TAIL {
        return Err(MapError::Length { said, found: bytes.len() });
    }
    let (whole, tail) = bytes.split_at(bytes.len() - TAIL);
    if Reader::new(tail).u32() != Some(crc32c::crc32c(whole)) {
        return Err(MapError::Checksum);
    }
    match version {
        WITHOUT_TERMS..=VERSION => Ok((&whole[HEAD..], version)),
        0 => Err(MapError::Malformed { at: MAGIC.len() }),
        newer => Err(MapError::Newer(newer)),
    }
}

fn read_body(from: &mut Reader<'_>, version: u32) -> Option<(MapRecord, bool)> {
    let mut record = MapRecord {
        cluster_id: u128::from_le_bytes(from.take(16)?.try_into().ok()?),
        term: Term(from.u64()?),
        epoch: from.u32()?,
        holders: Holders { now: read_set(from)?, before: read_set(from)? },
        placement_seed: from.u64()?,
        next_pool: PoolId::new(from.u32()?),
        next_pg: PgId::new(from.u32()?),
        osds: read_list(from, |from| read_osd(from, version))?,
        pools: read_list(from, |from| read_pool(from, version))?,
        settings: read_list(from, |from| {
            Some(((read_scope(from)?, read_text(from)?), read_text(from)?))
        })?,
        images: Images::default(),
    };
    let (images, is_all) = images::read(from, version)?;
    record.images = images;
    Some((record, is_all))
}

fn read_osd(from: &mut Reader<'_>, version: u32) -> Option<(OsdId, OsdRecord)> {
    let osd = osd(from.u32()?)?;
    let flags = from.byte()?;
    let [up, is_in, lost, taken_out] = [UP, IN, LOST, TAKEN_OUT].map(|flag| flags & flag != 0);
    let taken_out = taken_out && version > WITHOUT_TAKEN_OUT;
    let size = Bytes::new(from.u64()?);
    let (promised, measured_on) = match version > WITHOUT_PROMISES {
        true => (Term(from.u64()?), from.u64()?),
        false => (Term::default(), 0),
    };
    let stores = match version > WITHOUT_STORES {
        true => OwnStores { now: StoreId::new(from.u64()?), next: StoreId::new(from.u64()?) },
        false => OwnStores::default(),
    };
    Some((osd, OsdRecord { up, is_in, taken_out, lost, size, promised, measured_on, stores }))
}

fn read_pool(from: &mut Reader<'_>, version: u32) -> Option<(PoolId, PoolRecord)> {
    let pool = PoolId::new(from.u32()?);
    let spec = PoolSpec {
        name: read_text(from)?,
        pgs: from.u32()?,
        copies: from.u32()?,
        object_bytes: from.u64()?,
        recovery_priority: from.byte()? as i8,
    };
    let first_pg = PgId::new(from.u32()?);
    let pgs = (0..spec.pgs).map(|_| read_pg(from, version)).collect::<Option<_>>()?;
    Some((pool, PoolRecord { spec, first_pg, pgs }))
}

fn read_pg(from: &mut Reader<'_>, version: u32) -> Option<PgRecord> {
    let count = from.byte()?;
    let told = if version > WITHOUT_SERVED_BY { count & OTHERS_SERVED } else { 0 };
    let (acting, backfill) = (read_so_many(from, count ^ told)?, read_osds(from)?);
    let (interval, epoch) = (from.u32()?, from.u32()?);
    let term = if version > WITHOUT_TERMS { from.u64()? } else { 0 };
    let others = if told == 0 { acting.clone() } else { read_osds(from)? };
    let served =
        LastServed { interval: IntervalId { term, epoch }, by: others.into_iter().collect() };
    Some(PgRecord { acting, backfill, interval, served })
}

fn read_scope(from: &mut Reader<'_>) -> Option<Scope> {
    match from.byte()? {
        0 => Some(Scope::Global),
        1 => Some(Scope::Osds),
        2 => Some(Scope::Osd(osd(from.u32()?)?)),
        _ => None,
    }
}

fn read_osds(from: &mut Reader<'_>) -> Option<Vec<OsdId>> {
    let count = from.byte()?;
    read_so_many(from, count)
}

fn read_so_many(from: &mut Reader<'_>, count: u8) -> Option<Vec<OsdId>> {
    from.take(count.into())?.iter().map(|number| osd((*number).into())).collect()
}

fn osd(number: u32) -> Option<OsdId> {
    (number < OsdSet::OSDS_MAX).then(|| OsdId::new(number))
}

fn read_set(from: &mut Reader<'_>) -> Option<OsdSet> {
    let bits = from.u64()?;
    let osds = (0..OsdSet::OSDS_MAX).filter(|osd| bits >> osd & 1 == 1);
    Some(osds.map(OsdId::new).collect())
}
