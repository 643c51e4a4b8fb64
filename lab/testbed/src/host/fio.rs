//! fio as the clients: its nbd engine against the node's socket, so that the study's own generator is not its only witness.

use super::ground::NBD_SOCKET;
use super::guest::Guest;
use super::node::RunningNode;
use super::spec::TICK;
use crate::fio_child::FioChild;
use crate::place::ClientKind;
use crate::{Heed, Latency, Outside, PERCENTILES, Seen, Stop, TestImage};
use loadline_base::{Bytes, Span};
use loadline_fio::{Direction, LatencyLogReader};
use loadline_load::{LoadSpec, Pattern};
use loadline_stats::LatencySecond;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

/// Writes in flight while the image is filled.
const FILL_DEPTH: u32 = 8;

/// fio ends what is in flight and writes its results when it is interrupted; a node answers within this.
const END_WITHIN: Span = Span::from_secs(30);

/// fio writes the line of a second when it is over, within this, and none once its load has ended: a second that is over by less then may
/// have no line.
const LINE_WITHIN: Span = Span::from_millis(100);

/// Whether fio is there with its nbd engine, if it is to be the client.
pub(super) fn check(client: ClientKind, images: &[TestImage]) -> Result<(), String> {
    if client == ClientKind::Own {
        return Ok(());
    }
    loads(images)?;
    let asked = Command::new("fio").arg("--enghelp=nbd").output();
    let has_engine = asked.is_ok_and(|found| {
        found.status.success() && String::from_utf8_lossy(&found.stdout).contains("uri")
    });
    match has_engine {
        true => Ok(()),
        false => Err("--client fio needs fio with its nbd engine; `fio --enghelp=nbd` must answer (Debian: apt-get \
                      install fio)"
            .to_owned()),
    }
}

/// The jobs that write each whole image once.
pub(super) fn fillings(object_size: Bytes, images: &[TestImage]) -> Vec<(String, String)> {
    let job = |image: &TestImage| (image.name.clone(), filling(object_size, image.load.image));
    images.iter().map(job).collect()
}

/// The jobs that do what each image's clients do, until somebody stops them.
pub(super) fn loads(images: &[TestImage]) -> Result<Vec<(String, String)>, String> {
    let job = |image: &TestImage| {
        let logged = load(&image.load)?
            + "write_lat_log=seconds\nwrite_iops_log=seconds\nlog_avg_msec=1000\n";
        Ok((image.name.clone(), logged))
    };
    images.iter().map(job).collect()
}

/// The job that writes the whole image once, object by object.
pub(crate) fn filling(object_size: Bytes, image: Bytes) -> String {
    let (block, size) = (object_size.get(), image.get());
    format!("rw=write\nbs={block}\niodepth={FILL_DEPTH}\nsize={size}\nrefill_buffers=1\n")
}

/// The job that does what the study's clients do, until somebody stops it.
pub(crate) fn load(spec: &LoadSpec) -> Result<String, String> {
    if spec.rate.is_some() {
        return Err(
            "--client fio runs closed loops only; leave `rate` out and set `depth`".to_owned()
        );
    }
    let direction = match spec.reads {
        0.0 => "write",
        1.0 => "read",
        _ => "rw",
    };
    let random = if spec.pattern == Pattern::Random { "rand" } else { "" };
    let mut job = format!("rw={random}{direction}\n");
    if direction == "rw" {
        writeln!(job, "rwmixread={:.0}", spec.reads * 100.0).expect("writing to a string");
    }
    job += &sizes(spec)?;
    writeln!(job, "iodepth={}", spec.depth.unwrap_or(1)).expect("writing to a string");
    job += "norandommap=1\nrandrepeat=0\nrefill_buffers=1\ntime_based=1\nruntime=24h\n";
    job += "unified_rw_reporting=mixed\npercentile_list=50:95:99:99.5:99.9\n";
    Ok(job)
}

/// fio takes whole percents: they are rounded so that they make 100, the largest remainders up.
fn sizes(spec: &LoadSpec) -> Result<String, String> {
    if let [only] = spec.block.as_slice() {
        return Ok(format!("bs={}\n", only.size.get()));
    }
    let all: u64 = spec.block.iter().map(|block| u64::from(block.weight)).sum::<u64>().max(1);
    let mut parts: Vec<(u64, u64, u64)> = spec
        .block
        .iter()
        .map(|block| {
            let percent = u64::from(block.weight) * 100;
            (block.size.get(), percent / all, percent % all)
        })
        .collect();
    let left = 100 - parts.iter().map(|(_, share, _)| share).sum::<u64>();
    parts.sort_by_key(|(_, _, rest)| std::cmp::Reverse(*rest));
    parts.iter_mut().take(left as usize).for_each(|(_, share, _)| *share += 1);
    parts.sort_unstable();
    if let Some((size, ..)) = parts.iter().find(|(_, share, _)| *share == 0) {
        return Err(format!(
            "fio takes whole percents, and blocks of {size} bytes would be none: give them a larger weight"
        ));
    }
    let parts: Vec<String> =
        parts.iter().map(|(size, share, _)| format!("{size}/{share}")).collect();
    Ok(format!("bssplit={}\n", parts.join(":")))
}

/// The whole file of jobs, each of an image, against the socket of the node in whose folder fio stands.
pub(super) fn file(jobs: &[(String, String)]) -> String {
    let job = |(image, job): &(String, String)| {
        format!(
            "[{image}]\nioengine=nbd\nuri=nbd+unix:///{image}?socket={NBD_SOCKET}\nthread=1\n{job}"
        )
    };
    jobs.iter().map(job).collect::<Vec<_>>().join("\n")
}

/// fio under way. Dropping it kills it.
pub(super) struct FioRun {
    child: FioChild,
    jobs: usize,
}

impl FioRun {
    /// Starts fio on jobs.
    pub(super) fn begin(node: &RunningNode, jobs: &[(String, String)]) -> Result<FioRun, Stop> {
        let child = FioChild::begin(Command::new("fio"), node.folder(), &file(jobs))?;
        Ok(FioRun { child, jobs: jobs.len() })
    }

    /// Waits for a job that ends by itself.
    pub(super) fn until_it_ends(
        mut self,
        guest: &mut Guest,
        heed: &mut Heed<'_>,
    ) -> Result<(String, Vec<Seen>), Stop> {
        while self.child.is_running()? {
            guest.pause(guest.now() + TICK)?;
            heed.at(0.5)?;
        }
        self.result()
    }

    /// Stops a job that would go on, and reads what it saw.
    pub(super) fn end(
        mut self,
        guest: &mut Guest,
        heed: &mut Heed<'_>,
    ) -> Result<(String, Vec<Seen>), Stop> {
        if !self.child.is_running()? {
            let text = format!("fio ended before recovery did: {}", self.child.last_words());
            return Err(Stop::Failed(text));
        }
        self.child.interrupt()?;
        let until = guest.now() + END_WITHIN;
        while self.child.is_running()? {
            if guest.now() > until {
                return Err(Stop::Failed(format!("fio did not end within {END_WITHIN}")));
            }
            guest.pause(guest.now() + TICK)?;
            heed.at(1.0)?;
        }
        self.result()
    }

    fn result(&self) -> Result<(String, Vec<Seen>), Stop> {
        let found = self.child.report();
        let log =
            |name: String| fs::read_to_string(self.child.folder().join(name)).unwrap_or_default();
        let all = found.as_ref().and_then(|found| {
            let mut all = Vec::new();
            for job in 0..self.jobs {
                let mut seen = read(found, job)?;
                let number = job + 1;
                seen.seconds = seconds(
                    &log(format!("seconds_iops.{number}.log")),
                    &log(format!("seconds_clat.{number}.log")),
                    seen.lasted,
                );
                all.push(seen);
            }
            let version = found["fio version"].as_str().unwrap_or("unknown").to_owned();
            Some((version, all))
        });
        all.ok_or_else(|| Stop::Failed(format!("fio left no result: {}", self.child.last_words())))
    }
}

/// The figures of a job in a result; `None` if it is none, or the job failed.
fn read(found: &Value, job: usize) -> Option<Seen> {
    let job = found["jobs"].get(job)?;
    let interrupted = 4;
    if ![0, interrupted].contains(&job["error"].as_i64()?) {
        return None;
    }
    let of = [&job["mixed"], &job["write"]].into_iter().find(|part| part.is_object())?;
    let clat = &of["clat_ns"];
    let ms = |value: &Value| value.as_f64().unwrap_or(0.0) / 1e6;
    let latency = Latency {
        mean_ms: ms(&clat["mean"]),
        percentiles_ms: PERCENTILES
            .map(|(_, percent)| ms(&clat["percentile"][format!("{percent:.6}")])),
        max_ms: ms(&clat["max"]),
    };
    let iops = of["iops"].as_f64()?;
    let lasted = Span::from_millis(of["runtime"].as_u64()?);
    // fio tells nothing of the way to the node.
    let outside = Outside::Unknown;
    Some(Seen { iops, latency, lasted, seconds: Vec::new(), outside })
}

/// What a log tells of fio's seconds.
#[derive(Default)]
struct LoggedSeconds {
    /// By second and direction.
    values: BTreeMap<(u64, Direction), u64>,
    /// Seconds until the end of the last one that has a line.
    whole: u64,
    /// When that was, in milliseconds.
    ended_ms: u64,
}

impl LoggedSeconds {
    /// A line stands some time behind the one before it, and that makes a second each: fio's are somewhat longer than the clock's. What was counted
    /// when it ended stands in a line of its own and is none of a second.
    fn read(log: &str) -> LoggedSeconds {
        let (mut lines, mut found) = (LatencyLogReader::new(log.as_bytes()), Self::default());
        while let Ok(Some(line)) = lines.next_line() {
            found.whole += (line.time_ms.saturating_sub(found.ended_ms) + 500) / 1000;
            found.ended_ms = line.time_ms;
            if let Some(second) = found.whole.checked_sub(1) {
                found.values.entry((second, line.direction)).or_insert(line.value);
            }
        }
        found
    }
}

/// The whole seconds of the time that fio measured. One in which nothing completed has no line. fio tells no percentiles of single seconds.
fn seconds(iops: &str, clat: &str, lasted: Span) -> Vec<LatencySecond> {
    let (iops, clat) = (LoggedSeconds::read(iops), LoggedSeconds::read(clat));
    let second = |second: u64| {
        let of = [Direction::Read, Direction::Write].map(|direction| {
            let count = iops.values.get(&(second, direction)).copied().unwrap_or(0);
            (count, clat.values.get(&(second, direction)).filter(|_| count > 0))
        });
        let told = of.iter().filter_map(|(count, mean)| Some((*count as f64, *(*mean)? as f64)));
        let (ops, sum) =
            told.fold((0.0, 0.0), |(ops, sum), (count, mean)| (ops + count, sum + count * mean));
        LatencySecond {
            count: of.iter().map(|(count, _)| count).sum(),
            mean_ns: (ops > 0.0).then(|| sum / ops),
            p99_ns: None,
        }
    };
    let told = Span::from_millis(iops.ended_ms) + LINE_WITHIN;
    let silent = lasted.nanos().saturating_sub(told.nanos()) / Span::from_secs(1).nanos();
    (0..iops.whole + silent).map(second).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> LoadSpec {
        toml::from_str(text).expect("the text is a load")
    }

    #[test]
    fn a_load_becomes_a_job() {
        let job = load(&spec("depth = 64\nblock = '4 KiB'\nimage = '1 GiB'")).unwrap();
        assert!(job.starts_with("rw=randwrite\nbs=4096\niodepth=64\n"), "{job}");
        let mixed = "depth = 8\nreads = 0.7\nimage = '1 GiB'\nblock = [{ size = '4 KiB', weight = 3 }, \
                     { size = '64 KiB', weight = 1 }]";
        let job = load(&spec(mixed)).unwrap();
        assert!(job.contains("rwmixread=70\nbssplit=4096/75:65536/25\n"), "{job}");
        let sizes = |weights: [u32; 3]| {
            let [a, b, c] = weights;
            load(&spec(&format!(
                "depth = 8\nimage = '1 GiB'\nblock = [{{ size = '4 KiB', weight = {a} }}, \
                 {{ size = '8 KiB', weight = {b} }}, {{ size = '64 KiB', weight = {c} }}]"
            )))
        };
        assert!(sizes([1, 1, 1]).unwrap().contains("bssplit=4096/34:8192/33:65536/33\n"));
        assert!(sizes([200, 1, 1]).unwrap_err().contains("blocks of 65536 bytes would be none"));
        let open = load(&spec("rate = 5.0\nblock = '4 KiB'\nimage = '1 GiB'"));
        assert!(open.unwrap_err().contains("closed loops only"));
    }

    /// fio stands in the folder, and looked from there for the path that led to it from elsewhere.
    #[test]
    fn a_job_finds_the_socket_from_where_fio_stands() {
        let text = file(&[("clients".to_owned(), "rw=write\n".to_owned())]);
        assert!(text.contains("\nuri=nbd+unix:///clients?socket=nbd.sock\n"), "{text}");
    }

    /// fio calls the interruption that ends every run an error; any other one is.
    #[test]
    fn a_run_that_failed_has_no_result() {
        let found = |error: i64| {
            let clat =
                serde_json::json!({ "mean": 2e6, "max": 9e6, "percentile": { "99.000000": 4e6 } });
            let mixed = serde_json::json!({ "iops": 500.0, "runtime": 2900, "clat_ns": clat });
            let jobs = [serde_json::json!({ "error": error, "mixed": mixed })];
            read(&serde_json::json!({ "fio version": "fio-3.33", "jobs": jobs }), 0)
        };
        for ended in [0, 4] {
            let seen = found(ended).expect("it is a result");
            assert_eq!((seen.iops, seen.lasted), (500.0, Span::from_millis(2900)));
            assert_eq!((seen.latency.mean_ms, seen.latency.max_ms), (2.0, 9.0));
            assert_eq!(seen.latency.percentiles_ms, [0.0, 0.0, 4.0, 0.0, 0.0]);
        }
        assert!(found(5).is_none());
    }

    /// The seconds of two logs as fio 3.33 writes them, of a load that lasted so many milliseconds.
    fn check_seconds((iops, clat): (&str, &str), lasted: u64, wanted: &[(u64, Option<f64>)]) {
        let found = seconds(iops, clat, Span::from_millis(lasted)).into_iter();
        let found: Vec<_> = found.map(|second| (second.count, second.mean_ns)).collect();
        assert_eq!(found, wanted, "{lasted} ms");
    }

    /// Reads and writes of one second have a line each. The mean of the writes stood for both, and that of the last part of a second for the
    /// second before it.
    #[test]
    fn logs_become_seconds() {
        let iops = "1000, 700, 0, 0, 0\n1000, 300, 1, 0, 0\n2001, 500, 1, 0, 0\n";
        let clat = "1000, 1000000, 0, 0, 0\n1000, 2000000, 1, 0, 0\n2002, 3000000, 1, 0, 0\n\
                    2402, 9000000, 1, 0, 0\n";
        let (first, second) = ((1000, Some(1.3e6)), (500, Some(3e6)));
        check_seconds((iops, clat), 2402, &[first, second]);
        // Nothing completed in the third, and the line of one that has just ended may be missing.
        check_seconds((iops, clat), 3300, &[first, second, (0, None)]);
        check_seconds((iops, clat), 3050, &[first, second]);
        check_seconds(("", ""), 900, &[]);
        check_seconds(("", ""), 1200, &[(0, None)]);
    }

    /// fio's lines fall behind the clock, by 1 ms in each second or more. By the clock's seconds one had no line after some minutes, as if nothing
    /// had completed in it.
    #[test]
    fn seconds_of_fio_are_as_many_as_its_lines() {
        let line = |second: u64| format!("{}, 700, 1, 0, 0\n", second * 1003);
        let drifting: String = (1..=400).map(line).collect();
        check_seconds((&drifting, ""), 401_300, &[(700, None); 400]);
        let silent = (1..=400).filter(|second| *second != 300).map(line);
        let mut wanted = [(700, None); 400];
        wanted[299].0 = 0;
        check_seconds((&silent.collect::<String>(), ""), 401_300, &wanted);
    }
}
