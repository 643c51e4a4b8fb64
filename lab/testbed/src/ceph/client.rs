//! The clients: fio's rbd engine with a log of every op, on the clock that the cluster is looked at by. It dies with this program.

use super::place::CephTestPlace;
use crate::fio_child::FioChild;
use crate::host::fio::{filling, load};
use crate::{Heed, Latency, Outside, Seen, Stop, TestImage};
use loadline_base::{Bytes, Span, Time};
use loadline_ceph::CephConnection;
use loadline_fio::LatencyLogReader;
use loadline_stats::{LatencyHistogram, LatencySeries};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// fio ends what is in flight when it is interrupted; a cluster that is filled answers within this.
const END_WITHIN: Span = Span::from_secs(60);

/// How often a fio that ends by itself is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Whether the clients can be had.
///
/// # Errors
/// What is missing, as a sentence.
pub(super) fn check(images: &[TestImage]) -> Result<(), String> {
    images.iter().try_for_each(|image| load(&image.load).map(drop))?;
    let answers = |program: &str, argument: &str, word: &str| {
        let asked = Command::new(program).arg(argument).output();
        asked.is_ok_and(|found| String::from_utf8_lossy(&found.stdout).contains(word))
    };
    if !answers("fio", "--enghelp=rbd", "rbdname") {
        return Err("the clients are fio with its rbd engine; `fio --enghelp=rbd` must answer (Debian: apt-get install fio)".to_owned());
    }
    if !answers("setpriv", "--help", "--pdeathsig") {
        return Err(
            "`setpriv` is missing, by which fio ends with this program (Debian: apt-get install util-linux)"
                .to_owned(),
        );
    }
    Ok(())
}

/// The whole file of jobs, each of an image.
fn file(place: &CephTestPlace, pool: &str, jobs: &[(String, String)]) -> String {
    let user = place.cluster.user.strip_prefix("client.").unwrap_or(&place.cluster.user);
    let job = |(image, job): &(String, String)| {
        format!(
            "[{image}]\nioengine=rbd\nclientname={user}\npool={pool}\nrbdname={image}\nthread=1\n{job}"
        )
    };
    jobs.iter().map(job).collect::<Vec<_>>().join("\n")
}

/// The text that fills the images.
pub(super) fn fillings(
    place: &CephTestPlace,
    pool: &str,
    object: Bytes,
    images: &[TestImage],
) -> String {
    let job = |image: &TestImage| (image.name.clone(), filling(object, image.load.image));
    file(place, pool, &images.iter().map(job).collect::<Vec<_>>())
}

/// The text of the loads; `limit` is when they end if nobody ends them.
pub(super) fn loads(
    place: &CephTestPlace,
    pool: &str,
    images: &[TestImage],
    limit: Span,
) -> Result<String, String> {
    let job = |image: &TestImage| {
        let mut job = load(&image.load)?;
        // Of an option that stands twice fio takes the last.
        job += &format!(
            "runtime={}\nwrite_lat_log=ops\nlog_unix_epoch=1\n",
            limit.as_secs_f64().ceil()
        );
        Ok((image.name.clone(), job))
    };
    Ok(file(place, pool, &images.iter().map(job).collect::<Result<Vec<_>, String>>()?))
}

/// fio under way.
pub(super) struct RbdClients {
    child: FioChild,
    images: usize,
}

impl RbdClients {
    /// Starts fio on jobs.
    pub(super) fn begin(
        place: &CephTestPlace,
        jobs: &str,
        images: usize,
    ) -> Result<RbdClients, Stop> {
        let folder: PathBuf = place.folder.join("fio");
        let cannot = |error: std::io::Error| {
            Stop::Failed(format!("{} cannot be used: {error}", folder.display()))
        };
        fs::create_dir_all(&folder).map_err(cannot)?;
        let conf = fs::canonicalize(&place.cluster.conf).map_err(cannot)?;
        let mut program = Command::new("setpriv");
        program.args(["--pdeathsig", "KILL", "fio"]).env("CEPH_CONF", conf);
        Ok(RbdClients { child: FioChild::begin(program, &folder, jobs)?, images })
    }

    /// Waits for jobs that end by themselves, as long as `look` finds nothing wrong meanwhile.
    pub(super) fn until_they_end(
        mut self,
        on: &dyn CephConnection,
        heed: &mut Heed<'_>,
        look: &mut dyn FnMut() -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        while self.child.is_running()? {
            on.pause(LOOK);
            look()?;
            heed.at(0.5)?;
        }
        let failed = || Stop::Failed(format!("fio failed: {}", self.child.last_words()));
        let report = self.child.report().ok_or_else(failed)?;
        let jobs = report["jobs"].as_array().ok_or_else(failed)?;
        let is_done = jobs.iter().all(|job| job["error"].as_i64() == Some(0));
        if is_done && jobs.len() == self.images { Ok(()) } else { Err(failed()) }
    }

    /// Whether they still go on; the error says why not.
    pub(super) fn go_on(&mut self) -> Result<(), Stop> {
        match self.child.is_running()? {
            true => Ok(()),
            false => Err(Stop::Failed(format!("fio ended by itself: {}", self.child.last_words()))),
        }
    }

    /// Ends jobs that would go on.
    pub(super) fn end(
        mut self,
        on: &dyn CephConnection,
        heed: &mut Heed<'_>,
    ) -> Result<EndedClients, Stop> {
        self.go_on()?;
        self.child.interrupt()?;
        let tries = END_WITHIN.nanos() / LOOK.as_nanos() as u64;
        for _ in 0..tries {
            if !self.child.is_running()? {
                let report = self.child.report();
                let version = report.as_ref().and_then(|found| found["fio version"].as_str());
                let version = version.unwrap_or("unknown").to_owned();
                let folder = self.child.folder().to_owned();
                return Ok(EndedClients { folder, version, images: self.images });
            }
            on.pause(LOOK);
            heed.at(1.0)?;
        }
        Err(Stop::Failed(format!("fio did not end within {END_WITHIN}")))
    }
}

/// What clients have left: the log of every op.
pub(super) struct EndedClients {
    folder: PathBuf,
    pub(super) version: String,
    images: usize,
}

impl EndedClients {
    /// What the clients of each image saw of ops that ended in a window. `began_s` is the time of day at the testbed's zero.
    pub(super) fn seen(&self, began_s: f64, window: (Time, Time)) -> Result<Vec<Seen>, Stop> {
        (0..self.images).map(|image| Ok(self.log(image, began_s, window)?.0)).collect()
    }

    /// The latencies that the clients of the first image saw of such ops.
    pub(super) fn latency(
        &self,
        began_s: f64,
        window: (Time, Time),
    ) -> Result<LatencyHistogram, Stop> {
        Ok(self.log(0, began_s, window)?.1)
    }

    fn log(
        &self,
        image: usize,
        began_s: f64,
        window: (Time, Time),
    ) -> Result<(Seen, LatencyHistogram), Stop> {
        let path = self.folder.join(format!("ops_clat.{}.log", image + 1));
        let failed = |why: String| Stop::Failed(format!("{}: {why}", path.display()));
        let log = File::open(&path).map_err(|error| failed(error.to_string()))?;
        read(log, began_s, window).map_err(failed)
    }
}

/// What a log tells of ops that ended in a window. Its times are milliseconds since 1970.
fn read(
    log: impl std::io::Read,
    began_s: f64,
    (from, to): (Time, Time),
) -> Result<(Seen, LatencyHistogram), String> {
    let mut lines = LatencyLogReader::new(log);
    let (mut all, mut series, mut last) = (LatencyHistogram::new(), LatencySeries::new(), 0);
    let span = to.since(from);
    while let Some(line) = lines.next_line().map_err(|error| error.to_string())? {
        let at_ns = (line.time_ms as f64 / 1e3 - began_s) * 1e9 - from.nanos() as f64;
        if at_ns < 0.0 || at_ns > span.nanos() as f64 {
            continue;
        }
        // Ops of one millisecond may stand in any order, and so may those of several threads.
        last = (at_ns as u64).max(last);
        all.record(line.value);
        series.record(last, line.value);
    }
    let seen = Seen {
        iops: all.count() as f64 / span.as_secs_f64().max(1e-9),
        latency: Latency::from(&all),
        lasted: span,
        seconds: series.finish((span.nanos() / 1_000_000_000) as usize),
        outside: Outside::Unknown,
    };
    Ok((seen, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock of the log is the day's: three ops before the window, four in it, one behind it.
    #[test]
    fn ops_count_that_ended_in_the_window() {
        let began_s = 1_795_878_000.25;
        let line = |ms: u64, ns: u64| format!("{}, {ns}, 1, 4096, 0\n", 1_795_878_000_250 + ms);
        let log: String = [
            line(900, 9_000_000),
            line(950, 9_000_000),
            line(999, 9_000_000),
            line(1_000, 1_000_000),
            line(1_500, 3_000_000),
            line(1_499, 2_000_000),
            line(2_400, 6_000_000),
            line(3_500, 9_000_000),
        ]
        .concat();
        let window = (Time::from_secs(1), Time::from_secs(3));
        let (seen, all) = read(log.as_bytes(), began_s, window).expect("it is a log");
        assert_eq!((seen.iops, seen.latency.mean_ms, seen.latency.max_ms), (2.0, 3.0, 6.0));
        assert_eq!((all.count(), all.max_ns()), (4, 6_000_000));
        let seconds: Vec<u64> = seen.seconds.iter().map(|second| second.count).collect();
        assert_eq!(seconds, [3, 1]);
        assert!(read("no log\n".as_bytes(), began_s, window).is_err());
    }
}
