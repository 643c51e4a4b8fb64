//! Which setups of two results are the same: by what their OSDs were set to, not by what they are called.
//!
//! A Ceph cluster runs every setup as its own release means it, so what a study calls `balanced` is Reef's there, and the study's
//! own simulation calls that `balanced (reef)`. Between results of one place a name means the same, and what was set
//! otherwise is what somebody wants to compare.

use crate::figure::{Figure, ShownIn};
use crate::result::{Configuration, SetupResult, StudyResult};
use std::collections::BTreeMap;

/// A setup of each of two results.
#[derive(Clone, Debug)]
pub struct SetupPair<'a> {
    /// The one of the old result.
    pub old: &'a SetupResult,
    /// The one of the new.
    pub new: &'a SetupResult,
    /// In what they differ all the same, as a clause.
    pub differs: Option<String>,
}

/// A setup that has no counterpart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpairedSetup {
    /// Its name.
    pub name: String,
    /// Whether it is the new result's.
    pub is_new: bool,
    /// Why it has none, as a clause.
    pub why: String,
}

/// The setups of two results.
#[derive(Clone, Debug, Default)]
pub struct SetupPairs<'a> {
    /// In the order of the old result.
    pub pairs: Vec<SetupPair<'a>>,
    /// Those of the old result, then those of the new.
    pub unpaired: Vec<UnpairedSetup>,
}

impl<'a> SetupPairs<'a> {
    /// Pairs what is the same.
    pub fn of(old: &'a StudyResult, new: &'a StudyResult) -> SetupPairs<'a> {
        let is_elsewhere = old.is_of_ceph() != new.is_of_ceph();
        let mut taken = vec![false; new.setups.len()];
        let mut found: Vec<Option<usize>> = vec![None; old.setups.len()];
        // What is surest is paired first, so that no other setup takes its counterpart.
        for rule in if is_elsewhere { &ELSEWHERE[..] } else { &ALIKE[..] } {
            for (place, setup) in old.setups.iter().enumerate() {
                let is_it = |(at, other): (usize, &SetupResult)| {
                    (!taken[at] && rule((old, setup), (new, other))).then_some(at)
                };
                if found[place].is_none()
                    && let Some(at) = new.setups.iter().enumerate().find_map(is_it)
                {
                    (found[place], taken[at]) = (Some(at), true);
                }
            }
        }
        let mut pairs = SetupPairs::default();
        for (setup, at) in old.setups.iter().zip(found) {
            match at {
                Some(at) => pairs.pairs.push(pair(setup, &new.setups[at])),
                None => pairs.unpaired.push(unpaired(setup, new, false)),
            }
        }
        let left = new.setups.iter().zip(taken).filter(|(_, taken)| !taken);
        pairs.unpaired.extend(left.map(|(setup, _)| unpaired(setup, old, true)));
        pairs
    }
}

/// Whether a setup of one result is the counterpart of one of another.
type PairRule = fn((&StudyResult, &SetupResult), (&StudyResult, &SetupResult)) -> bool;

/// Between results of one place.
const ALIKE: [PairRule; 2] = [
    |(_, old), (_, new)| old.name() == new.name(),
    |(_, old), (_, new)| SetupMeaning::of(old) == SetupMeaning::of(new),
];

/// Between a cluster and what is no cluster.
const ELSEWHERE: [PairRule; 4] = [
    |(_, old), (_, new)| old.name() == new.name() && SetupMeaning::of(old) == SetupMeaning::of(new),
    |(_, old), (_, new)| SetupMeaning::of(old) == SetupMeaning::of(new),
    |(_, old), (_, new)| {
        let [one, other] = [old, new].map(SetupMeaning::of);
        old.name() == new.name() && one.scheduling() == other.scheduling()
    },
    // What the others are measured by ran under whichever queue the cluster had.
    |(old, one), (new, other)| is_alone(old, one) && is_alone(new, other),
];

/// A setup that counts less than others of its study shows clients without what the study is about.
fn is_alone(result: &StudyResult, setup: &SetupResult) -> bool {
    let of_runs = |figure: &&Figure| figure.seen == ShownIn::Table && figure.is_of_runs();
    let counted = result.kind.figures().iter().filter(of_runs);
    counted.into_iter().any(|figure| {
        let has = |of: &SetupResult| of.figure(figure.key).is_some();
        !has(setup) && result.setups.iter().any(has)
    })
}

/// What the OSDs of a setup were set to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SetupMeaning<'a> {
    preset: &'a str,
    queue: &'a str,
    /// mClock's.
    profile: Option<&'a str>,
    /// What was set for it beside these.
    set: BTreeMap<&'a str, &'a str>,
}

impl<'a> SetupMeaning<'a> {
    fn of(setup: &'a SetupResult) -> SetupMeaning<'a> {
        let Configuration { preset, profile, settings, .. } = &setup.setup;
        let row = |key: &str| settings.iter().find(|row| row.key == key);
        // What was measured of a disk is the disk's.
        let measured = ["osd_mclock_max_", "bluestore_throttle"];
        let told = ["osd_op_queue", "osd_mclock_profile"];
        let own = settings.iter().filter(|row| {
            row.origin.starts_with("stored")
                && !measured.iter().chain(&told).any(|prefix| row.key.starts_with(prefix))
        });
        SetupMeaning {
            preset,
            queue: row("osd_op_queue").map_or("", |row| &row.value),
            profile: profile.as_deref(),
            set: own.map(|row| (row.key.as_str(), row.value.as_str())).collect(),
        }
    }

    /// Whose scheduler it is, with its profile.
    fn scheduling(&self) -> (&'a str, &'a str, Option<&'a str>) {
        (self.preset, self.queue, self.profile)
    }

    fn in_words(&self) -> String {
        let profile = self.profile.map_or(String::new(), |profile| format!(" with {profile}"));
        format!("{} of preset {}{profile}", self.queue, self.preset)
    }

    /// In what it differs from another, as a clause.
    fn differs(&self, other: &SetupMeaning<'_>) -> Option<String> {
        let mut all = Vec::new();
        if self.scheduling() != other.scheduling() {
            all.push(format!("{} in old, {} in new", self.in_words(), other.in_words()));
        }
        let keys =
            self.set.keys().chain(other.set.keys().filter(|key| !self.set.contains_key(*key)));
        for key in keys.filter(|key| self.set.get(*key) != other.set.get(*key)) {
            let value = |of: &BTreeMap<&str, &str>| {
                of.get(key).map_or("not set".to_owned(), |it| (*it).to_owned())
            };
            all.push(format!("{key}: {} in old, {} in new", value(&self.set), value(&other.set)));
        }
        (!all.is_empty()).then(|| all.join("; "))
    }
}

fn pair<'a>(old: &'a SetupResult, new: &'a SetupResult) -> SetupPair<'a> {
    let differs = SetupMeaning::of(old).differs(&SetupMeaning::of(new));
    SetupPair { old, new, differs }
}

fn unpaired(setup: &SetupResult, others: &StudyResult, is_new: bool) -> UnpairedSetup {
    let meaning = SetupMeaning::of(setup);
    let other = if is_new { "old" } else { "new" };
    let find = |is_it: &dyn Fn(&SetupMeaning<'_>) -> bool| {
        others.setups.iter().find(|it| is_it(&SetupMeaning::of(it)))
    };
    let is_near = |of: &SetupMeaning<'_>| of.scheduling() == meaning.scheduling();
    let why = if find(&|of| *of == meaning).is_some() {
        format!("what is the same in {other} is paired with another")
    } else if let Some(near) = find(&is_near) {
        let of_near = SetupMeaning::of(near);
        let (old, new) = if is_new { (&of_near, &meaning) } else { (&meaning, &of_near) };
        let differs = old.differs(new).unwrap_or_default();
        format!("`{}` of {other} is set otherwise ({differs})", near.name())
    } else if let Some(named) = others.setup(setup.name()) {
        let named = SetupMeaning::of(named).in_words();
        format!("it is {}, and in {other} {named}", meaning.in_words())
    } else {
        format!("{other} has no {}", meaning.in_words())
    };
    UnpairedSetup { name: setup.name().to_owned(), is_new, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use crate::kind::StudyKind;
    use crate::result::SettingRow;

    /// `name = preset queue profile OPTION=VALUE ...`, where `-` is no profile; clients alone are called `baseline`.
    fn result(world: &str, setups: &[&str]) -> StudyResult {
        let setup = |text: &&str| {
            let (name, rest) = text.split_once(" = ").expect("a name");
            let words: Vec<&str> = rest.split(' ').collect();
            let row = |key: &str, value: &str, origin: &str| SettingRow {
                key: key.to_owned(),
                value: value.to_owned(),
                origin: origin.to_owned(),
            };
            let own = words[3..].iter().filter_map(|word| word.split_once('='));
            let mut settings: Vec<SettingRow> =
                own.map(|(key, value)| row(key, value, "stored")).collect();
            settings.push(row("osd_op_queue", words[1], "stored"));
            settings.push(row("osd_recovery_sleep", "0 s", "built-in"));
            settings.push(row("osd_mclock_max_capacity_iops_ssd", world, "stored"));
            let mut figures = Figures::default().with([("client/iops", 1.0)]);
            if name != "baseline" {
                figures.put("recovery/seconds", 1.0);
            }
            SetupResult {
                setup: Configuration {
                    name: name.to_owned(),
                    preset: words[0].to_owned(),
                    profile: Some(words[2].to_owned()).filter(|profile| profile != "-"),
                    settings,
                    ..Configuration::default()
                },
                figures,
                ..SetupResult::default()
            }
        };
        StudyResult {
            world: world.to_owned(),
            kind: StudyKind::Recovery,
            setups: setups.iter().map(setup).collect(),
            ..StudyResult::default()
        }
    }

    fn told(old: &StudyResult, new: &StudyResult) -> (Vec<String>, Vec<String>) {
        let SetupPairs { pairs, unpaired } = SetupPairs::of(old, new);
        let pair = |of: &SetupPair<'_>| {
            let differs = of.differs.as_ref().map_or(String::new(), |it| format!(" ({it})"));
            format!("{} = {}{differs}", of.old.name(), of.new.name())
        };
        let left = |of: &UnpairedSetup| {
            format!("{}{}: {}", if of.is_new { "new " } else { "" }, of.name, of.why)
        };
        (pairs.iter().map(pair).collect(), unpaired.iter().map(left).collect())
    }

    const CLUSTER: [&str; 4] = [
        "baseline = reef mclock_scheduler balanced",
        "balanced = reef mclock_scheduler balanced osd_max_backfills=1000",
        "high_recovery_ops = reef mclock_scheduler high_recovery_ops osd_max_backfills=1000",
        "WPQ(Def) = reef wpq -",
    ];

    /// A Ceph run and its twin were compared by the baseline alone.
    #[test]
    fn a_clusters_setups_are_paired_with_what_is_the_same_elsewhere() {
        let simulated = result(
            "sim",
            &[
                "baseline = quincy wpq -",
                "balanced = quincy mclock_scheduler balanced osd_max_backfills=1000",
                "balanced (reef) = reef mclock_scheduler balanced osd_max_backfills=1000",
                "high_recovery_ops (reef) = reef mclock_scheduler high_recovery_ops osd_max_backfills=1",
                "WPQ(Def) = reef wpq -",
            ],
        );
        let (pairs, unpaired) = told(&result("ceph", &CLUSTER), &simulated);
        assert_eq!(
            pairs,
            [
                "baseline = baseline (mclock_scheduler of preset reef with balanced in old, wpq of preset quincy in new)",
                "balanced = balanced (reef)",
                "WPQ(Def) = WPQ(Def)",
            ]
        );
        assert_eq!(
            unpaired,
            [
                "high_recovery_ops: `high_recovery_ops (reef)` of new is set otherwise (osd_max_backfills: 1000 in old, 1 in new)",
                "new balanced: it is mclock_scheduler of preset quincy with balanced, and in old mclock_scheduler of preset reef with balanced",
                "new high_recovery_ops (reef): `high_recovery_ops` of old is set otherwise (osd_max_backfills: 1000 in old, 1 in new)",
            ]
        );
    }

    /// Who changes an option or a preset wants to see what it does: in one place a name means the same.
    #[test]
    fn in_one_place_names_are_paired_and_the_difference_is_told() {
        let old = result(
            "sim",
            &["a = reef mclock_scheduler balanced osd_max_backfills=1", "b = reef wpq -"],
        );
        let new = result(
            "sim",
            &["a = loadline mclock_scheduler balanced osd_max_backfills=4", "c = reef wpq -"],
        );
        let (pairs, unpaired) = told(&old, &new);
        assert_eq!(
            pairs,
            [
                "a = a (mclock_scheduler of preset reef with balanced in old, mclock_scheduler of preset loadline with balanced in new; \
                 osd_max_backfills: 1 in old, 4 in new)",
                "b = c",
            ]
        );
        assert!(unpaired.is_empty(), "{unpaired:?}");
    }

    /// Where two setups of a cluster are the same, as its release means them, the one of the same name is the counterpart.
    #[test]
    fn among_equals_the_name_counts() {
        let twice = [
            "balanced = reef mclock_scheduler balanced",
            "balanced (reef) = reef mclock_scheduler balanced",
        ];
        let simulated = ["balanced (reef) = reef mclock_scheduler balanced"];
        let (pairs, unpaired) = told(&result("ceph", &twice), &result("sim", &simulated));
        assert_eq!(pairs, ["balanced (reef) = balanced (reef)"]);
        assert_eq!(unpaired, ["balanced: what is the same in new is paired with another"]);
    }
}
