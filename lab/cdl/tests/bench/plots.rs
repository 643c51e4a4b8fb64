//! Plots of folders: the files of the script, whole or with parts missing.

use super::{asked, drive, run};
use loadline_cdl::bench::{BenchOptions, Modelled};
use loadline_cdl::plot::{PAGE, Plotted, Save, Size, plot};
use loadline_device::cdl::{DescriptorPage, ModePage};
use std::fs;
use std::path::Path;

const SIZE: Size = Size { width: 430, height: 300 };
const SAVE: Save = Save { size: SIZE, png: cfg!(feature = "png") };

fn plotted(root: &Path) -> (Plotted, Vec<String>) {
    let mut said = Vec::new();
    let plotted = plot(root, Some(SAVE), &mut |line| said.push(line.to_owned()));
    (plotted.expect("the folder has results"), said)
}

/// Names of the plots without their ending, sorted.
fn stems(root: &Path) -> Vec<String> {
    let names = fs::read_dir(root.join("plots")).expect("plots were saved");
    let names = names.map(|entry| entry.expect("an entry").file_name().into_string().unwrap());
    let mut stems: Vec<String> =
        names.filter_map(|name| name.strip_suffix(".svg").map(str::to_owned)).collect();
    stems.sort();
    stems
}

#[test]
fn every_plot_of_the_script_is_made() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    run(&BenchOptions { runtime: 10, ..asked() }, drive(), &root, 2).unwrap();
    let (plotted, said) = plotted(&root);
    assert_eq!(plotted.notes, [""; 0]);
    let wanted = ["Processing baseline results\n  QD=1, QD=16", "  Plotting IOPS"];
    assert_eq!(said[..2], wanted);
    assert_eq!(said.last().unwrap(), "  Plotting latency distribution, class BE, level 0, hint 4");
    let mut wanted: Vec<String> =
        ["_lat_pdf", "_iops", "_lat_avg", "_lat_p99"].map(|name| format!("baseline{name}")).into();
    let parts: [(&str, &[&str]); 3] = [
        ("ncqprio", &["lopri", "hipri"]),
        ("cdlsingle", &["nolimit", "50ms"]),
        ("cdlmulti", &["nolimit", "100ms", "300ms"]),
    ];
    for (workload, kinds) in parts {
        wanted.extend(["iops", "lat_avg", "lat_p99"].map(|name| format!("{workload}_{name}")));
        wanted.extend(kinds.iter().map(|kind| format!("{workload}_lat_pdf_{kind}")));
    }
    wanted.sort();
    assert_eq!(stems(&root), wanted);
    for stem in &wanted {
        let svg = fs::read_to_string(root.join("plots").join(format!("{stem}.svg"))).unwrap();
        assert!(svg.contains("class=\"course\"") && !svg.contains("NaN"), "{stem}");
    }
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    assert!(wanted.iter().all(|stem| page.contains(&format!("<figure id=\"{stem}\">"))));
    assert!(
        !page.contains("http://www")
            || page.matches("http").count() == page.matches("http://www.w3.org/2000/svg").count()
    );
}

/// Beside each drawing its pixels, in the size asked for.
#[cfg(feature = "png")]
#[test]
fn every_plot_has_its_pixels() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    run(&BenchOptions { runtime: 10, ..asked() }, drive(), &root, 2).unwrap();
    plotted(&root);
    for stem in stems(&root) {
        let png = fs::read(root.join("plots").join(format!("{stem}.png"))).unwrap();
        // A PNG file tells its width and height in the first chunk.
        let size = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((size(16), size(20)), (SIZE.width, SIZE.height), "{stem}");
    }
}

/// The blocks of `randread.csv` and the columns of the latencies, as cdl.md 3.7 lays them out.
#[test]
fn tables_have_the_scripts_layout() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    run(
        &BenchOptions { runtime: 10, baseline: false, ncq_prio: false, ..asked() },
        drive(),
        &root,
        2,
    )
    .unwrap();
    plotted(&root);
    let csv = fs::read_to_string(root.join("cdlmulti/randread.csv")).unwrap();
    let blocks: Vec<&str> = csv.split("\n\n\n").collect();
    let titles: Vec<_> =
        blocks.iter().map(|block| block.lines().next().unwrap_or_default()).collect();
    let wanted =
        ["Total IOPS (all limits)", "No limit I/Os", "100ms limit I/Os", "300ms limit I/Os", ""];
    assert_eq!(titles, wanted);
    for block in &blocks[1..4] {
        let depths: Vec<_> =
            block.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(depths, ["1", "16"]);
        assert!(block.lines().skip(1).all(|line| line.split(',').count() == 26), "{block}");
    }
    let columns = fs::read_to_string(root.join("cdlmulti/lat_pdf_100.csv")).unwrap();
    for (column, depth) in [(0, "1"), (1, "16")] {
        let values = columns.lines().map(|line| line.split(',').nth(column).unwrap());
        let values: String =
            values.filter(|value| !value.is_empty()).map(|value| format!("{value}\n")).collect();
        let saved =
            fs::read_to_string(root.join("cdlmulti").join(depth).join("priolat.BE.0.2.log"))
                .unwrap();
        assert_eq!(values, saved, "QD={depth}");
    }
}

/// Two descriptors of 100 ms have plots and tables of their own.
#[test]
fn equal_limits_have_their_own_files() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    let mut limits = *DescriptorPage::BENCHMARK_T2A.limits();
    limits.descriptors[3] = limits.descriptors[1];
    let reads = DescriptorPage::new(ModePage::T2A, limits).expect("the page is sound");
    let asked = BenchOptions {
        runtime: 10,
        baseline: false,
        ncq_prio: false,
        cdl_single: false,
        ..asked()
    };
    run(&asked, Modelled { reads, ..drive() }, &root, 2).unwrap();
    plotted(&root);
    let of = ["nolimit", "100ms_descriptor2", "100ms_descriptor4"];
    for name in of {
        assert!(stems(&root).contains(&format!("cdlmulti_lat_pdf_{name}")), "{:?}", stems(&root));
    }
    let csv =
        |name: &str| fs::read_to_string(root.join(format!("cdlmulti/lat_pdf_{name}.csv"))).unwrap();
    assert_ne!(csv("100_descriptor2"), csv("100_descriptor4"));
    let page = fs::read_to_string(root.join(PAGE)).unwrap();
    assert!(page.contains("100ms limit I/Os, descriptor 4"), "the page tells them apart");
    assert!(page.contains("reads with a limit of 100\u{a0}ms (descriptor 2)"), "its sentences too");
}

/// Logs that are there were called missing when they carried no priorities.
#[test]
fn logs_without_figures_are_blamed_for_what_they_lack() {
    let place = tempfile::tempdir().unwrap();
    let check = |log: &str, says: &str| {
        fs::create_dir_all(place.path().join("cdlsingle/1")).unwrap();
        fs::write(place.path().join("cdlsingle/1/randread.log_lat.log"), log).unwrap();
        let refused = plot(place.path(), None, &mut |_| ()).unwrap_err().to_string();
        let says = format!(
            "none of its latency logs can be plotted; cdlsingle/1: randread.log_lat.log{says}"
        );
        assert!(refused.ends_with(&says), "{refused}");
    };
    let none = " carries no priorities; fio writes them with --log_prio=1";
    check("5, 7000000, 0, 4096, 0\n", none);
    check("", " is empty: no read has ended in the time that counts");
    check("5, x\n", ": line 1: column 2 is no whole number of at most 19 digits");
}

#[test]
fn what_is_missing_is_named_and_the_rest_is_drawn() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("run");
    let empty = plot(&root, None, &mut |_| ()).unwrap_err().to_string();
    assert!(empty.contains("no results to plot; looked for latency logs"), "{empty}");
    run(
        &BenchOptions { runtime: 5, baseline: false, ncq_prio: false, cdl_multi: false, ..asked() },
        drive(),
        &root,
        2,
    )
    .unwrap();
    let single = root.join("cdlsingle");
    fs::remove_file(single.join("cdl_descriptors")).unwrap();
    fs::remove_file(single.join("1/randread.log_lat.log")).unwrap();
    let no_figure = "fio --bs=131072\n\n  read: IOPS=many, BW=1\n";
    fs::write(single.join("16/fio.log"), no_figure).unwrap();
    fs::create_dir(root.join("cdlmulti")).unwrap();
    let (plotted, _) = plotted(&root);
    let named = [
        "cdlsingle/1: no randread.log_lat.log",
        "cdlsingle/16/fio.log: no figure",
        "cdlsingle/cdl_descriptors: not there",
        "cdlmulti: no depth was run",
        "baseline: not there",
    ];
    for name in named {
        assert!(
            plotted.notes.iter().any(|note| note.starts_with(name)),
            "{name}: {:?}",
            plotted.notes
        );
    }
    assert_eq!(plotted.notes.len(), named.len());
    let wanted = ["iops", "lat_avg", "lat_p99", "lat_pdf_descriptor1", "lat_pdf_nolimit"];
    assert_eq!(stems(&root), wanted.map(|name| format!("cdlsingle_{name}")));
}

/// A step that was cut off was plotted beside those that had run to their end.
#[test]
fn a_step_that_is_not_finished_is_left_out() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let put = |depth: u32, said: &str| {
        let step = root.join(format!("baseline/{depth}"));
        fs::create_dir_all(&step).unwrap();
        let log = "5, 7000000, 0, 4096, 0x0000\n".repeat(100);
        fs::write(step.join("randread.log_lat.log"), log).unwrap();
        fs::write(step.join("fio.log"), format!("fio --bs=4096\n\n{said}\n")).unwrap();
    };
    put(8, "fio ended");
    let refused = plot(root, None, &mut |_| ()).unwrap_err().to_string();
    assert!(refused.contains("baseline/8: not finished (fio.log has no line"), "{refused}");
    put(1, "  read: IOPS=100, BW=1");
    let plotted = plot(root, None, &mut |_| ()).unwrap();
    let [note] = &plotted.notes[..] else { panic!("one note: {:?}", plotted.notes) };
    assert!(note.starts_with("baseline/8: not finished") && note.ends_with("; left out"), "{note}");
}

/// One line with a latency of nineteen digits asked for 40 TB of memory.
#[test]
fn a_damaged_latency_does_no_harm() {
    let place = tempfile::tempdir().unwrap();
    let step = place.path().join("baseline/1");
    fs::create_dir_all(&step).unwrap();
    let log = "5, 7000000, 0, 4096, 0x0000\n".repeat(100);
    let log = log + "6, 9999999999999999999, 0, 4096, 0x0000\n";
    fs::write(step.join("randread.log_lat.log"), log).unwrap();
    fs::write(step.join("fio.log"), "fio --bs=4096\n\n  read: IOPS=100, BW=1\n").unwrap();
    plot(place.path(), None, &mut |_| ()).unwrap();
}
