//! The files of one step on the modelled drive: three latency logs, fio's normal output, its JSON+ report.

use super::BenchError;
use crate::folder::{CLAT_LOG, FIO_JSON, FIO_LOG, LAT_LOG, SLAT_LOG, create, unusable, write};
use loadline_base::Span;
use loadline_device::Priority;
use loadline_fio::{Direction, LogLine, LogPriority, LogWriter, ReadJob};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Writes them as reads end.
pub(super) struct Logs {
    place: PathBuf,
    lat: LogWriter<BufWriter<File>>,
    clat: LogWriter<BufWriter<File>>,
    slat: LogWriter<BufWriter<File>>,
    job: ReadJob,
}

impl Logs {
    pub(super) fn begin(place: &Path, job: ReadJob) -> Result<Logs, BenchError> {
        let log = |name: &str| {
            let file = create(&place.join(name))?;
            Ok::<_, BenchError>(LogWriter::new(BufWriter::new(file)))
        };
        let (lat, clat, slat) = (log(LAT_LOG)?, log(CLAT_LOG)?, log(SLAT_LOG)?);
        Ok(Logs { place: place.to_owned(), lat, clat, slat, job })
    }

    /// Adds a read that ended `ended` after the ramp.
    pub(super) fn read(
        &mut self,
        ended: Span,
        slat: Span,
        clat: Span,
        priority: Priority,
    ) -> Result<(), BenchError> {
        let time_ms = ended.nanos() / 1_000_000;
        self.job.count(priority, slat.nanos(), clat.nanos(), time_ms);
        let line = |value: Span| LogLine {
            time_ms,
            value: value.nanos(),
            direction: Direction::Read,
            block_bytes: self.job.block_bytes,
            offset: None,
            priority: LogPriority::Word(priority),
            issue_ns: None,
        };
        let written = self.lat.write(&line(slat + clat));
        let written = written.and_then(|()| self.clat.write(&line(clat)));
        let written = written.and_then(|()| self.slat.write(&line(slat)));
        Ok(written.map_err(|source| unusable(&self.place, source))?)
    }

    /// Ends the logs, and says last that the step is finished.
    pub(super) fn finish(self, command: &str) -> Result<(), BenchError> {
        let Logs { place, lat, clat, slat, job } = self;
        for log in [lat, clat, slat] {
            log.finish().map_err(|source| unusable(&place, source))?;
        }
        let mut report = Vec::new();
        job.report().write(&mut report).expect("writing to memory");
        write(&place.join(FIO_JSON), report)?;
        Ok(write(&place.join(FIO_LOG), format!("{command}\n\n{}", job.text()))?)
    }
}
