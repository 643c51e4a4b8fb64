//! The profile tables against qos.md 5, resolved on the study's devices.

use super::*;
use crate::{Era, PROFILE_TABLES, profile_table, sharding};
use loadline_device::Medium;

const INFINITE: f64 = 999_999.0;

fn capacity(medium: Medium, iops: f64) -> Capacity {
    let shards = sharding(Era::E1a, medium).shards;
    Capacity { iops, ..Capacity::default_for(medium, shards) }
}

/// Client, recovery, best effort, each as reservation, weight, limit.
type Nine = [[f64; 3]; 3];

fn check(table: &str, profile: &str, capacity: &Capacity, expected: Nine) {
    let table = profile_table(table).expect("a published table");
    let values = table.profile(profile).expect("a published profile").values(table.unit, capacity);
    let nine = [values.client, values.recovery, values.best_effort]
        .map(|class| [class.reservation, class.weight, class.limit]);
    assert_eq!(nine, expected, "{profile} of {}", table.name);
}

/// NVMe: 2687.5 units/s per shard, values rounded half up.
#[test]
fn first_eras_profiles_per_nvme_shard() {
    let nvme = capacity(Medium::Ssd, 21_500.0);
    let high_client = [[1344.0, 2.0, INFINITE], [672.0, 1.0, 2688.0], [672.0, 2.0, INFINITE]];
    let balanced = [[1075.0, 1.0, 2688.0], [1075.0, 1.0, 4031.0], [538.0, 2.0, INFINITE]];
    let high_recovery = [[806.0, 1.0, 2150.0], [1613.0, 2.0, 5375.0], [1.0, 2.0, INFINITE]];
    for table in ["quincy", "quincy-scrub-study"] {
        check(table, "high_client_ops", &nvme, high_client);
        check(table, "balanced", &nvme, balanced);
        check(table, "high_recovery_ops", &nvme, high_recovery);
    }
}

/// HDD with its log on flash: 340/5 = 68 units/s per shard.
#[test]
fn first_eras_profiles_per_hdd_shard() {
    let hdd = capacity(Medium::Hybrid, 340.0);
    let check = |profile, nine| check("quincy", profile, &hdd, nine);
    check("high_client_ops", [[34.0, 2.0, INFINITE], [17.0, 1.0, 68.0], [17.0, 2.0, INFINITE]]);
    check("balanced", [[27.0, 1.0, 68.0], [27.0, 1.0, 102.0], [14.0, 2.0, INFINITE]]);
    check("high_recovery_ops", [[20.0, 1.0, 54.0], [41.0, 2.0, 136.0], [1.0, 2.0, INFINITE]]);
}

#[test]
fn the_misprint_differs_in_the_best_effort_weight_only() {
    let nvme = capacity(Medium::Ssd, 21_500.0);
    let [code, printed] = ["quincy", "quincy-misprinted"].map(|name| profile_table(name).unwrap());
    for name in code.names() {
        let [code, printed] =
            [code, printed].map(|table| table.profile(name).unwrap().values(table.unit, &nvme));
        assert_eq!((code.best_effort.weight, printed.best_effort.weight), (2.0, 1.0));
        let corrected = ClassValues { weight: 2.0, ..printed.best_effort };
        assert_eq!(ProfileValues { best_effort: corrected, ..printed }, code);
    }
}

/// On 100 units/s per shard percentages can be read off.
#[test]
fn the_other_first_era_tables() {
    let hundred = Capacity { iops: 800.0, ..capacity(Medium::Ssd, 800.0) };
    let check = |table, profile, nine| check(table, profile, &hundred, nine);
    let build = "quincy-17.0.0-12483";
    check(build, "high_client_ops", [[50., 2., INFINITE], [25., 1., 100.], [25., 1., 30.]]);
    check(build, "balanced", [[40., 1., 100.], [40., 1., 150.], [20., 1., 50.]]);
    check(build, "high_recovery_ops", [[30., 1., 80.], [60., 2., 200.], [10., 1., 40.]]);
    let tight = "quincy-60-25-15";
    check(tight, "high_client_ops", [[60., 2., INFINITE], [25., 1., 50.], [15., 1., 30.]]);
    check(tight, "balanced", [[40., 1., 100.], [40., 1., 80.], [20., 1., 50.]]);
    check(tight, "high_recovery_ops", [[30., 1., 80.], [60., 2., 100.], [10., 1., 40.]]);
    let scrub = "quincy-scrub-study";
    check(scrub, "scrub_first", [[1., 1., 80.], [5., 1., 100.], [90., 2., INFINITE]]);
}

#[test]
fn reef_profiles_are_fractions() {
    let nvme = capacity(Medium::Ssd, 21_500.0);
    let check = |profile, nine| check("reef", profile, &nvme, nine);
    check("balanced", [[0.5, 1.0, 0.0], [0.5, 1.0, 0.0], [0.0, 1.0, 0.9]]);
    check("high_client_ops", [[0.6, 2.0, 0.0], [0.4, 1.0, 0.0], [0.0, 1.0, 0.7]]);
    check("high_recovery_ops", [[0.3, 1.0, 0.0], [0.7, 2.0, 0.0], [0.0, 1.0, 0.0]]);
}

/// Under `high_recovery_ops` clients and recovery share the surplus as they share the told capacity.
#[test]
fn own_high_recovery_ops_shares_the_surplus_three_to_seven() {
    let nvme = capacity(Medium::Ssd, 21_500.0);
    let nine = [[0.3, 3.0, 0.0], [0.65, 7.0, 0.0], [0.05, 7.0, 0.0]];
    check("loadline", "high_recovery_ops", &nvme, nine);
}

/// "balanced client reservation 78.6 MB/s, i.e. 1344 four-KiB writes per second and shard" (qos.md 5.3).
#[test]
fn reef_balanced_per_nvme_shard() {
    let nvme = capacity(Medium::Ssd, 21_500.0);
    let reef = profile_table("reef").unwrap();
    let values = reef.profile("balanced").unwrap().values(reef.unit, &nvme);
    let client = values.client.params(reef.unit, &nvme).unwrap();
    assert_eq!(client.reservation(), 78_643_200.0);
    assert_eq!(client.limit(), None);
    assert_eq!((client.reservation() / nvme.bytes_per_io()).round(), 1344.0);
    let best_effort = values.best_effort.params(reef.unit, &nvme).unwrap();
    assert_eq!(best_effort.reservation(), 0.0);
    assert_eq!(best_effort.limit(), Some(0.9 * 157_286_400.0));
}

/// The first eras' reservations of balanced and high_recovery_ops and all of Loadline's add up to a whole.
#[test]
fn own_reservations_add_up_to_the_capacity_and_all_tables_can_be_scheduled() {
    let nvme = capacity(Medium::Ssd, 21_500.0);
    for table in PROFILE_TABLES {
        assert!(table.profile(table.default_profile).is_some(), "{}", table.name);
        for profile in table.profiles {
            let values = profile.values(table.unit, &nvme);
            let classes = [values.client, values.recovery, values.best_effort];
            let sum: f64 = classes.iter().map(|class| class.reservation).sum();
            assert!(table.name != "loadline" || (sum - 1.0).abs() < 1e-12, "{}", profile.name);
            for class in classes {
                class.params(table.unit, &nvme).expect("published values can be scheduled");
            }
        }
    }
}
