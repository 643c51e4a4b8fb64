//! Placement as the original places: the hash of an object's name, the stable modulus, and CRUSH with one `straw2` bucket of equal
//! OSDs, chosen by `step choose firstn 0 type osd` with the tunables of the profile `jewel`.
//!
//! Published figures are those of unevenly filled groups on unevenly loaded OSDs, so a study of them needs the same unevenness
//! (`spec/qos.md` 4.4). The hashes are Robert Jenkins' of 1996, in the two forms that the original has.

use loadline_osd::OsdId;

/// Golden ratio, where the hash of a name begins.
const NAME_SEED: u32 = 0x9e37_79b9;
/// Where the hash of numbers begins.
const NUMBER_SEED: u32 = 1_315_423_911;
/// How often a group tries to find one of its members (`choose_total_tries`).
const TRIES: u32 = 50;

/// The number of a pool in the cluster that is drawn by a seed. Pool 1 is the cluster's own, then come the first and the second pool of
/// the first seed, as a fresh cluster numbers them; other seeds are clusters in which pools were made before.
pub(crate) fn pool_number(seed: u64, pool: u32) -> u32 {
    (seed as u32).wrapping_mul(2).wrapping_add(pool)
}

/// The group of an object, which has the name of a block image's.
pub(crate) fn group(pool: u32, pgs: u32, block: u64) -> u32 {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut name = *b"rbd_data.00000000.0000000000000000";
    for (digit, at) in name[9..17].iter_mut().zip((0..8).rev()) {
        *digit = HEX[(pool >> (4 * at)) as usize & 15];
    }
    for (digit, at) in name[18..].iter_mut().zip((0..16).rev()) {
        *digit = HEX[(block >> (4 * at)) as usize & 15];
    }
    stable_modulus(hash_name(&name), pgs)
}

/// The members of a group of this pool, primary first; an OSD that is out is passed over.
pub(crate) fn members(
    (pool, pgs): (u32, u32),
    group: u32,
    copies: usize,
    osds: &[OsdId],
    is_in: impl Fn(OsdId) -> bool,
) -> Vec<OsdId> {
    let x = hash_two(stable_modulus(group, pgs), pool);
    let mut members = Vec::with_capacity(copies);
    for copy in 0..copies as u32 {
        let tries = (copy..copy + TRIES).filter_map(|draw| drawn(x, draw, osds));
        let found = tries.into_iter().find(|osd| is_in(*osd) && !members.contains(osd));
        members.extend(found);
    }
    members
}

/// Whose straw is the longest. With equal weights its length rises with the hash, and the first of equal ones wins.
fn drawn(x: u32, draw: u32, osds: &[OsdId]) -> Option<OsdId> {
    let straw = |osd: OsdId| hash_three(x, osd.get(), draw) & 0xffff;
    osds.iter().copied().reduce(|best, osd| if straw(osd) > straw(best) { osd } else { best })
}

/// The remainder that changes for few when a number of groups grows.
fn stable_modulus(hash: u32, groups: u32) -> u32 {
    let mask = groups.next_power_of_two() - 1;
    if hash & mask < groups { hash & mask } else { hash & (mask >> 1) }
}

fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    let step = |x: u32, y: u32, z: u32| x.wrapping_sub(y).wrapping_sub(z);
    for [first, second, third] in [[13, 8, 13], [12, 16, 5], [3, 10, 15]] {
        a = step(a, b, c) ^ (c >> first);
        b = step(b, c, a) ^ (a << second);
        c = step(c, a, b) ^ (b >> third);
    }
    [a, b, c]
}

fn hash_two(a: u32, b: u32) -> u32 {
    let [a, b, hash] = mix([a, b, NUMBER_SEED ^ a ^ b]);
    let [_, _, hash] = mix([231_232, a, hash]);
    let [_, _, hash] = mix([b, 1_232, hash]);
    hash
}

fn hash_three(a: u32, b: u32, c: u32) -> u32 {
    let [a, b, hash] = mix([a, b, NUMBER_SEED ^ a ^ b ^ c]);
    let [c, x, hash] = mix([c, 231_232, hash]);
    let [y, _, hash] = mix([1_232, a, hash]);
    let [_, _, hash] = mix([b, x, hash]);
    let [_, _, hash] = mix([y, c, hash]);
    hash
}

/// The hash of a name. The lowest byte of the last part is the length's.
fn hash_name(name: &[u8]) -> u32 {
    let word = |bytes: &[u8]| {
        let bytes = bytes.iter().enumerate();
        bytes.fold(0u32, |word, (at, byte)| word | u32::from(*byte) << (8 * at))
    };
    let mut parts = [NAME_SEED, NAME_SEED, 0];
    let whole = name.chunks_exact(12);
    let rest = whole.remainder();
    for chunk in whole {
        let words = [word(&chunk[..4]), word(&chunk[4..8]), word(&chunk[8..])];
        parts = mix([0, 1, 2].map(|at: usize| parts[at].wrapping_add(words[at])));
    }
    let part = |from: usize, to: usize| word(&rest[rest.len().min(from)..rest.len().min(to)]);
    let last = [part(0, 4), part(4, 8), (part(8, 11) << 8).wrapping_add(name.len() as u32)];
    mix([0, 1, 2].map(|at: usize| parts[at].wrapping_add(last[at])))[2]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the original's manual: `osd map data foo` answers `pg 0.7fc1f406`.
    #[test]
    fn a_name_has_the_hash_that_the_manual_prints() {
        assert_eq!(hash_name(b"foo"), 0x7fc1_f406);
    }

    /// What a cluster of four equal OSDs of one host answered (`pg dump`): pool, group, `up`.
    #[test]
    fn groups_are_where_a_real_cluster_has_them() {
        let answered: [(u32, u32, [u32; 3]); 8] = [
            (1, 5, [2, 3, 0]),
            (2, 1, [2, 3, 0]),
            (2, 0x19, [3, 0, 2]),
            (2, 0x1b, [3, 0, 1]),
            (3, 0x1a, [1, 2, 0]),
            (3, 0x1b, [0, 3, 1]),
            (4, 0x11, [3, 0, 2]),
            (4, 0x1d, [3, 1, 0]),
        ];
        let osds: Vec<OsdId> = (0..4).map(OsdId::new).collect();
        for (pool, group, up) in answered {
            let found = members((pool, 32), group, 3, &osds, |_| true);
            assert_eq!(found, up.map(OsdId::new), "{pool}.{group:x}");
        }
    }

    /// Of the groups that an OSD leaves, two members stay; the others do not move at all.
    #[test]
    fn with_an_osd_out_only_its_groups_change() {
        let osds: Vec<OsdId> = (0..4).map(OsdId::new).collect();
        let gone = OsdId::new(0);
        for group in 0..64 {
            let all = members((3, 64), group, 3, &osds, |_| true);
            let without = members((3, 64), group, 3, &osds, |osd| osd != gone);
            assert_eq!((all.len(), without.len()), (3, 3));
            let kept = all.iter().filter(|osd| without.contains(osd)).count();
            assert_eq!(kept, if all.contains(&gone) { 2 } else { 3 });
        }
    }

    /// 64 groups of which the returning osd.0 has 50, in each of a fresh cluster's two pools; on the eight shards of those that lead them
    /// they fall in five layers. The published curve has five straight pieces, whose slopes are those of 20, 13, 10.5, 4 and 2 shards
    /// (`spec/qos.md` 4.4). Where osd.0 should lead, the lowest of the others does (`StandIn::Authority`).
    #[test]
    fn a_fresh_cluster_has_the_five_pieces_of_the_published_curve() {
        let osds: Vec<OsdId> = (0..4).map(OsdId::new).collect();
        let gone = OsdId::new(0);
        let layers = |pool: u32| {
            let mut shards = [0u32; 32];
            for group in 0..64 {
                let up = members((pool_number(1, pool), 64), group, 3, &osds, |_| true);
                if up.contains(&gone) {
                    let leads = if up[0] == gone { 1 } else { up[0].get() };
                    shards[(leads * 8 + group % 8) as usize] += 1;
                }
            }
            let layer = |depth: u32| shards.iter().filter(|groups| **groups >= depth).count();
            (1..=6).map(layer).collect::<Vec<_>>()
        };
        assert_eq!(layers(0), [21, 13, 10, 4, 2, 0]);
        assert_eq!(layers(1), [18, 15, 10, 4, 3, 0]);
    }

    /// What slots allow a deep scrub of 64 groups that take equally long (`scrub/slots_reachable`): with ten slots the OSD with the most groups has to fill
    /// them six times in five clusters of six, so that 64 of 78 are used, 82 %, whatever begins the scrubs; with five there are eleven rounds, 64 of 66,
    /// but in one cluster of twenty-five.
    #[test]
    fn ten_slots_take_six_rounds_in_most_clusters() {
        let osds: Vec<OsdId> = (0..4).map(OsdId::new).collect();
        let most_groups = |seed| {
            let pool = pool_number(seed, 1);
            let all: Vec<OsdId> =
                (0..64).flat_map(|group| members((pool, 64), group, 3, &osds, |_| true)).collect();
            let held = osds.iter().map(|osd| all.iter().filter(|it| *it == osd).count());
            held.max().expect("there are OSDs")
        };
        let all: Vec<usize> = (1..=200).map(most_groups).collect();
        let beyond = |groups: usize| all.iter().filter(|most| **most > groups).count();
        assert_eq!([50, 55].map(beyond), [167, 8]);
        assert_eq!(all[..5], [50, 52, 50, 51, 51]);
    }

    /// A power of two: all groups alike. Otherwise those that are not split yet are twice as large.
    #[test]
    fn the_modulus_is_stable() {
        assert_eq!((0..16).map(|hash| stable_modulus(hash, 8)).max(), Some(7));
        let moved = (0..1024).filter(|hash| stable_modulus(*hash, 12) != stable_modulus(*hash, 13));
        assert_eq!(
            moved.count(),
            1024 / 16,
            "a thirteenth group takes half of one that was not split"
        );
    }
}
