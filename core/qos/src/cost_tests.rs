//! The worked tables of qos.md 4.3, number by number.

use super::*;
use crate::Capacity;

const NVME: f64 = 1_258_291_200.0;
const HDD: f64 = 157_286_400.0;

#[test]
fn first_eras_cost_as_tabulated() {
    let models = [
        CostModel::time(&TimeCostOptions::E1A, Medium::Ssd),
        CostModel::time(&TimeCostOptions::E1A, Medium::Hdd),
        CostModel::time(&TimeCostOptions::E1C, Medium::Hdd),
    ];
    let check = |bytes: u64, costs: [u32; 3]| {
        assert_eq!(models.map(|model| model.scaled(bytes)), costs, "{bytes} bytes");
    };
    check(0, [1, 1, 1]);
    check(4_096, [1, 1, 1]);
    check(65_536, [1, 1, 1]);
    check(1_048_576, [12, 5, 3]);
    check(4_195_304, [46, 22, 11]);
    check(8_389_608, [92, 44, 22]);
    check(20_971_520, [231, 109, 55]);
    check(52_428_800, [577, 273, 136]);
}

/// The table's column "raw": two or one decimals as printed there.
#[test]
fn first_eras_raw_cost_as_tabulated() {
    let check = |options, medium, bytes: f64, printed: f64, half_digit: f64| {
        let CostModel::Time { per_io, per_byte } = CostModel::time(options, medium) else {
            panic!("the time model gives time");
        };
        let raw = per_io + per_byte * bytes;
        assert!((raw - printed).abs() <= half_digit, "{raw} is not {printed}");
    };
    check(&TimeCostOptions::E1A, Medium::Ssd, 4_096.0, 0.095, 0.000_5);
    check(&TimeCostOptions::E1A, Medium::Hdd, 4_096.0, 0.046, 0.000_5);
    check(&TimeCostOptions::E1C, Medium::Hdd, 4_096.0, 0.022, 0.000_5);
    check(&TimeCostOptions::E1A, Medium::Ssd, 20_971_520.0, 230.7, 0.05);
    check(&TimeCostOptions::E1A, Medium::Hybrid, 20_971_520.0, 109.1, 0.05);
    check(&TimeCostOptions::E1C, Medium::Hdd, 52_428_800.0, 136.3, 0.05);
}

#[test]
fn a_common_cost_option_is_used_undivided() {
    let options = TimeCostOptions { per_io_usec: 7.0, per_byte_usec: 0.5, ..TimeCostOptions::E1A };
    for medium in [Medium::Hdd, Medium::Ssd] {
        assert_eq!(CostModel::time(&options, medium).scaled(10), 12);
    }
}

/// An SSD request rounds to 1 below (1.5 - 0.05) / 0.000011 = 131,818 bytes ("about 128 KiB"), an HDD one
/// below (1.5 - 0.025) / 5.2e-6 = 283,654 (277 KiB) and (1.5 - 0.0114) / 2.6e-6 = 572,538 (559 KiB).
#[test]
fn small_requests_cost_one() {
    let check = |options, medium, bytes| {
        let model = CostModel::time(options, medium);
        assert_eq!((model.scaled(bytes), model.scaled(bytes + 1)), (1, 2));
    };
    check(&TimeCostOptions::E1A, Medium::Ssd, 131_818);
    check(&TimeCostOptions::E1A, Medium::Hdd, 283_653);
    check(&TimeCostOptions::E1C, Medium::Hdd, 572_538);
}

#[test]
fn byte_costs_as_tabulated() {
    let devices = [(NVME, 21_500.0), (HDD, 315.0), (HDD, 340.0)];
    let check = |bytes: u64, sums: [u32; 3], maxima: [u32; 3]| {
        for (combine, costs) in [(Combine::Sum, sums), (Combine::Max, maxima)] {
            let scaled =
                devices.map(|(bw, iops)| CostModel::bytes(bw, iops, combine).scaled(bytes));
            assert_eq!(scaled, costs, "{bytes} bytes, {combine:?}");
        }
    };
    check(4_096, [62_621, 503_417, 466_703], [58_525, 499_321, 462_607]);
    check(0, [58_526, 499_322, 462_608], [58_525, 499_321, 462_607]);
    check(4_195_304, [4_253_829, 4_694_625, 4_657_911], [4_195_304; 3]);
    check(4_194_304, [4_252_829, 4_693_625, 4_656_911], [4_194_304; 3]);
    check(1, [58_526, 499_322, 462_608], [58_525, 499_321, 462_607]);
    check(52_428_800, [52_487_325, 52_928_121, 52_891_407], [52_428_800; 3]);
}

#[test]
fn scrub_chunks_cost_as_tabulated() {
    let check = |objects, average, depth, costs: [u64; 3]| {
        let devices = [(NVME, 21_500.0), (HDD, 315.0), (HDD, 340.0)];
        let chunk = devices.map(|(bandwidth, iops)| {
            let model = CostModel::bytes(bandwidth, iops, Combine::Max);
            model.scrub_chunk(4_096, objects, average, depth).unwrap()
        });
        assert_eq!(chunk, costs);
    };
    check(15, 4 << 20, ScrubDepth::Deep, [63_796_533, 70_408_484, 69_857_761]);
    check(15, 32 << 10, ScrubDepth::Deep, [1_373_493, 7_985_444, 7_434_721]);
    check(100, 4 << 20, ScrubDepth::Shallow, [5_856_613, 49_936_286, 46_264_801]);
    let time = CostModel::time(&TimeCostOptions::E1A, Medium::Ssd);
    assert_eq!(time.scrub_chunk(4_096, 15, 4 << 20, ScrubDepth::Deep), None);
}

/// "In equivalents of one 4 KiB write (max rule)", to the digits printed.
#[test]
fn byte_costs_in_equivalents_of_one_write() {
    let check = |bandwidth, iops, bytes, printed: f64, half_digit: f64| {
        let model = CostModel::bytes(bandwidth, iops, Combine::Max);
        let ratio = f64::from(model.scaled(bytes)) / f64::from(model.scaled(4_096));
        assert!((ratio - printed).abs() <= half_digit, "{ratio} is not {printed}");
    };
    for (bandwidth, iops, push, event) in
        [(NVME, 21_500.0, 71.7, 896.0), (HDD, 315.0, 8.4, 105.0), (HDD, 340.0, 9.1, 113.0)]
    {
        check(bandwidth, iops, 4_195_304, push, 0.05);
        check(bandwidth, iops, 52_428_800, event, 0.5);
    }
}

/// "One scrub event occupies 0.215 s of an NVMe shard's nominal capacity, and 4.0 s of an HDD shard's."
#[test]
fn one_scrub_event_of_the_first_era_fills_a_shard_for_seconds() {
    let check = |medium, iops, shards, printed: f64, half_digit: f64| {
        let capacity = Capacity { iops, sequential_bandwidth: 0.0, shards };
        let cost = CostModel::time(&TimeCostOptions::E1A, medium).scaled(52_428_800);
        let seconds = f64::from(cost) / capacity.iops_per_shard();
        assert!((seconds - printed).abs() <= half_digit, "{seconds} is not {printed}");
    };
    check(Medium::Ssd, 21_500.0, 8, 0.215, 0.000_5);
    check(Medium::Hdd, 340.0, 5, 4.0, 0.05);
}
