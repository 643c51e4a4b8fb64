//! The simulated twin of a study on this machine's disks: the same order, on a simulated machine that is as its runs found the real one.

use crate::folder::RunFolder;
use crate::input::{InputError, Source};
use crate::kind::StudyKind;
use crate::place::Place;
use crate::record::RunRecord;
use crate::session::{Order, Session, SessionError};
use loadline_testbed::ProcessorUse;
use std::fmt::Write;
use std::path::Path;

/// What the twin of the runs in a folder is computed from. Its drive is the one that they name, so that has to be a measured one.
///
/// # Errors
/// [`SessionError`] if the folder holds no such runs, or they tell too little of the machine.
pub fn twin_of(folder: &Path, engine: String) -> Result<Order, SessionError> {
    let name = folder.display().to_string();
    let refuse = |reason: &str| InputError::new(format!("--twin {name}"), reason);
    let session = Session::reopen(RunFolder::at(folder))?;
    let Order { mut inputs, setups, seed, repeats, .. } = session.order();
    if inputs.kind()? != StudyKind::Recovery || !matches!(inputs.place, Place::Host(_)) {
        let reason = "a study of recovery on real disks alone has a twin (`study run recovery-nvme --on files:DIR`)";
        return Err(refuse(reason).into());
    }
    let setups_of = &session.study().setups;
    let reckons =
        |name: &str| setups_of.iter().any(|setup| setup.name == name && setup.profile.is_some());
    let records: Vec<&RunRecord> = session.recorded().into_iter().map(|(_, run)| run).collect();
    let text = told(&records, reckons).map_err(refuse)?;
    inputs.place = Place::Sim;
    inputs.twin = Some(Source { name: "twin".to_owned(), file: name, text });
    Ok(Order { inputs, setups, seed, repeats, trace: None, engine })
}

/// What runs found of their machine, as the section of a study file and what mClock reckoned with in the setups that have it.
fn told(records: &[&RunRecord], reckons: impl Fn(&str) -> bool) -> Result<String, &'static str> {
    let first = records.iter().find_map(|run| run.real.as_ref());
    let first = first.ok_or("none of its runs is over")?;
    let alone = records.iter().filter(|run| run.counted.get("recovery/objects").is_none());
    let alone: Vec<ProcessorUse> = alone.filter_map(|run| run.real.as_ref()?.processors).collect();
    let of = |value: fn(&ProcessorUse) -> f64| median(alone.iter().map(value).collect());
    let per_op = of(|of| of.node_us_per_op + if of.cores == 1 { of.client_us_per_op } else { 0.0 });
    let (Some(per_op), Some(per_mib)) = (per_op, of(|of| of.fill_us_per_mib)) else {
        return Err(
            "none of its runs without recovery tells what clients' ops take of the processor: run its baseline with the study's own clients",
        );
    };
    let stood =
        records.iter().filter(|run| reckons(&run.setup)).filter_map(|run| run.real.as_ref());
    let measured: Vec<f64> = stood.flat_map(|facts| facts.capacities.clone()).collect();
    // Nobody reckons with it where no setup has mClock.
    let capacity = median(measured).or_else(|| first.capacities.first().copied());
    let capacity = capacity.ok_or("no capacity of an OSD is recorded")?;
    let spread = round_spread(records).unwrap_or(0.0);
    let mut devices: Vec<&String> = Vec::new();
    let mut device_of = Vec::new();
    for device in &first.devices {
        let known = devices.iter().position(|known| *known == device);
        device_of.push(known.unwrap_or(devices.len()));
        if known.is_none() {
            devices.push(device);
        }
    }
    let mut text = String::new();
    let mut line = |words: &str| writeln!(text, "{words}").expect("a text grows");
    line("# Medians of what these runs found of their machine.");
    line(&format!("capacity_iops = {capacity:.1}      # of each OSD, as mClock was given it"));
    line("");
    line("[host]");
    line(&format!("device_of = {device_of:?}"));
    line("one_thread = true        # the node's, which does all that its OSDs do");
    line(&format!("round_spread = {spread:.3}     # of its rounds, by how ops alone spread"));
    line(&format!("cpu_per_op = \"{per_op:.2} us\"   # of the node, in the runs without recovery"));
    line(&format!("cpu_per_mib = \"{per_mib:.1} us\"  # of the node, while it was filled"));
    Ok(text)
}

/// By what share of its length a round of the node is longer or shorter, if all between are alike. An op that waits for nothing but the
/// thread is over after two, whose sum is longer than that of means by 0.86 of the share in one of a hundred (the triangle's
/// 99th percentile: 1 - sqrt(0.02)).
fn round_spread(records: &[&RunRecord]) -> Option<f64> {
    let alone = records.iter().filter(|run| run.counted.get("recovery/objects").is_none());
    let tails = alone.filter_map(|run| {
        let clat = |of: &str| run.counted.get(&format!("client/clat_ms/{of}"));
        Some(clat("p99")? / clat("p50")?)
    });
    let tail = median(tails.collect())?;
    Some(((tail - 1.0) / (1.0 - f64::sqrt(0.02))).clamp(0.0, 0.9))
}

fn median(mut of: Vec<f64>) -> Option<f64> {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::RunFacts;
    use crate::folder::Manifest;
    use crate::inputs::Inputs;
    use crate::library::Library;
    use crate::plan::plan;

    use loadline_testbed::{ClientKind, HostPlace, MachineFacts, RealDisks};

    fn order() -> Order {
        let inputs = Library::built_in().inputs("recovery-nvme", Vec::new()).expect("it is there");
        let (disks, client) = (RealDisks::Files("disk".into()), ClientKind::Own);
        let place = HostPlace { disks, client, keep_files: false, overwrite: false };
        Order {
            inputs: Inputs { place: Place::Host(place), ..inputs },
            setups: "baseline".to_owned(),
            seed: 7,
            repeats: 1,
            trace: None,
            engine: "test".to_owned(),
        }
    }

    fn found(us: f64) -> MachineFacts {
        MachineFacts {
            capacities: vec![100.0 * us],
            processors: Some(ProcessorUse { node_us_per_op: us, ..ProcessorUse::default() }),
            ..MachineFacts::default()
        }
    }

    /// Runs of another build stood in the folder, and moved the medians that the twin is made of.
    #[test]
    fn a_twin_is_of_the_runs_of_its_order() {
        let text = |strangers: usize| {
            let place = tempfile::tempdir().expect("a folder");
            let folder = RunFolder::at(place.path());
            let (study, request) = order().resolve().expect("it can be used");
            let manifest = Manifest::new(order(), RunFacts::default());
            folder.write_manifest(&manifest).expect("it can be written");
            for job in plan(&study, &request) {
                let own = RunRecord { real: Some(found(9.0)), ..RunRecord::of(&job, "baseline") };
                folder.append(&own).expect("it can be written");
                let key = "of another build".to_owned();
                let strange = RunRecord { key, real: Some(found(90.0)), ..own };
                (0..strangers).for_each(|_| folder.append(&strange).expect("it can be written"));
            }
            let twin = twin_of(place.path(), "test".to_owned()).expect("there is one");
            twin.inputs.twin.expect("it is a twin's").text
        };
        assert!(text(0).contains("cpu_per_op = \"9.00 us\""), "{}", text(0));
        assert_eq!(text(3), text(0));
    }
}
