//! A real drive: what it and this machine must support, and the switches of each workload.
//!
//! Descriptors are never given to a drive from here: a run with limits begins only when the drive holds those of the
//! benchmark's files, and otherwise says how to give them to it.

use super::fio::{FioVersion, HINT_SINCE};
use super::held::held_pages;
use super::order::BenchOrder;
use super::real_error::RealError;
use super::switch::Action;
use crate::workload::ReadWorkload;
use loadline_device::cdl::{DescriptorPage, ModePage};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The highest loss that the vendor's command allows in NCQ priority mode: 200 stands for 20 % (cdl.md 1.7).
const NCQ_KNOB: &str = "200";

/// A block device or a file that the workloads of an order can run on.
#[derive(Clone, Debug)]
pub struct RealDrive {
    path: PathBuf,
    /// `/sys/block/<name>/device` of a block device.
    sysfs: Option<PathBuf>,
    fio: FioVersion,
    /// Whether `cdladm` is there.
    cdladm: bool,
    /// What it was found to hold, if the run needs limits.
    held: Option<HeldDescriptors>,
    /// A switch in sysfs that a dry run takes for there.
    expected: Option<&'static str>,
}

/// The descriptors that a run with limits has found on its drive.
#[derive(Clone, Debug)]
pub(super) struct HeldDescriptors {
    /// As `cdladm show` printed them.
    pub(super) shown: String,
    /// The page of reads and that of writes, as their files have them: what is printed leaves fractions out.
    pub(super) pages: [DescriptorPage; 2],
}

impl RealDrive {
    /// Checks that the drive and this machine can do what is asked.
    pub fn open(path: &Path, order: &BenchOrder) -> Result<RealDrive, RealError> {
        let sysfs = sysfs_of(path)?;
        // fio would say so after its folder is made, behind much else.
        File::open(path).map_err(|error| no_device(path, error))?;
        let fio = FioVersion::installed()?;
        let cdladm = Command::new("cdladm").arg("--version").output().is_ok();
        let drive =
            RealDrive { path: path.to_owned(), sysfs, fio, cdladm, held: None, expected: None };
        for workload in &order.workloads {
            drive.check(workload)?;
        }
        Ok(drive)
    }

    /// A drive that need not be there, with a switch that it will have.
    pub(super) fn expected(
        path: &Path,
        sysfs: Option<PathBuf>,
        expected: Option<&'static str>,
    ) -> RealDrive {
        let path = path.to_owned();
        RealDrive { path, sysfs, fio: HINT_SINCE, cdladm: false, held: None, expected }
    }

    /// The drive's and fio's part in one workload.
    fn check(&self, workload: &ReadWorkload) -> Result<(), RealError> {
        self.supports(workload)?;
        match workload.has_limits() && self.fio < HINT_SINCE {
            true => Err(RealError::OldFio(self.fio.to_string())),
            false => Ok(()),
        }
    }

    /// The drive's part.
    pub(super) fn supports(&self, workload: &ReadWorkload) -> Result<(), RealError> {
        match workload {
            ReadWorkload::Baseline => Ok(()),
            ReadWorkload::NcqPrio { .. } => self.has("ncq_prio_supported", "NCQ priority"),
            ReadWorkload::CdlSingle { .. } | ReadWorkload::CdlMulti { .. } => {
                self.has("cdl_supported", "CDL")
            }
        }
    }

    fn has(&self, attribute: &str, what: &'static str) -> Result<(), RealError> {
        let file = self.sysfs.as_ref().map(|sysfs| sysfs.join(attribute));
        let text = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
        if text.is_some_and(|text| text.trim() == "1") {
            return Ok(());
        }
        let why = file.map_or_else(
            || "it is a file, no drive".to_owned(),
            |file| format!("{} does not hold 1", file.display()),
        );
        Err(RealError::Unsupported { path: self.name(), what, why })
    }

    /// Checks that the drive holds the descriptors of two files, each given with its page, and remembers them: a run that
    /// was interrupted goes on with the same only.
    pub fn check_descriptors(
        &mut self,
        pages: [(&Path, DescriptorPage); 2],
    ) -> Result<(), RealError> {
        let shown = self.show()?;
        self.take_descriptors(shown, pages)
    }

    fn take_descriptors(
        &mut self,
        shown: String,
        pages: [(&Path, DescriptorPage); 2],
    ) -> Result<(), RealError> {
        // The head counts: a page of writes reads like the end of a page of reads with the same descriptors.
        if pages.iter().all(|(_, page)| shown.contains(&page.with_head())) {
            self.held = Some(HeldDescriptors { shown, pages: pages.map(|(_, page)| page) });
            return Ok(());
        }
        let upload = |(file, page): &(&Path, DescriptorPage)| self.upload(file, page.kind());
        let commands = pages.iter().map(upload).collect();
        Err(RealError::OtherDescriptors { path: self.name(), commands })
    }

    /// A line with the command that would give it the page of a file.
    fn upload(&self, file: &Path, kind: ModePage) -> String {
        let (file, name) = (file.display(), self.name());
        if self.cdladm {
            return format!("\n  cdladm upload --file {file} {name}");
        }
        let page = format!("{kind}.page");
        // MODE SELECT(10) takes eight bytes of a header before the page; sg_wr_mode 1.48 takes no page of this length.
        format!(
            "\n  loadline cdl encode {file} --as t2 -o {page}; (head -c 8 /dev/zero; cat {page}) | sg_raw -s 240 {name} 55 10 0 0 0 0 0 0 f0 0"
        )
    }

    /// The descriptors that it was found to hold.
    pub(super) fn held(&self) -> Option<&HeldDescriptors> {
        self.held.as_ref()
    }

    /// What `cdladm show` prints of the drive; without cdladm the same of its mode pages.
    fn show(&self) -> Result<String, RealError> {
        let why = |why: String| RealError::NoDescriptors { path: self.name(), why };
        if !self.cdladm {
            let none = |error| why(format!("cdladm is not there, and {error}"));
            let pages = held_pages(&self.path).map_err(none)?;
            return Ok(pages.iter().map(DescriptorPage::with_head).collect());
        }
        let shown = Command::new("cdladm").arg("show").arg(&self.path).output();
        let shown = shown.map_err(|error| why(format!("cdladm: {error}")))?;
        if !shown.status.success() {
            return Err(why(format!("cdladm: {}", String::from_utf8_lossy(&shown.stderr).trim())));
        }
        Ok(String::from_utf8_lossy(&shown.stdout).into_owned())
    }

    /// What `cdladm info` prints of the drive; without cdladm, that it is not there.
    pub fn info(&self) -> String {
        match Command::new("cdladm").arg("info").arg(&self.path).output() {
            Ok(shown) => {
                let said = [shown.stdout, shown.stderr].concat();
                String::from_utf8_lossy(&said).trim_end().to_owned()
            }
            Err(error) => {
                let why = match error.kind() {
                    io::ErrorKind::NotFound => "is not there; cdl-tools have it".to_owned(),
                    other => format!("cannot run: {other}"),
                };
                format!("Device: {}\n    cdladm would tell more, but {why}", self.name())
            }
        }
    }

    /// What is switched before a workload, in the order of the script.
    pub fn actions(&self, workload: &ReadWorkload) -> Vec<Action> {
        match workload {
            ReadWorkload::Baseline => [self.limits(0), self.ncq_off()].concat(),
            ReadWorkload::NcqPrio { .. } => [self.limits(0), self.ncq_on()].concat(),
            ReadWorkload::CdlSingle { .. } | ReadWorkload::CdlMulti { .. } => {
                [self.ncq_off(), self.limits(1)].concat()
            }
        }
    }

    /// Switches for a workload. What cannot be switched is told, and the run goes on as that of the script.
    pub(super) fn prepare(&self, workload: &ReadWorkload) -> Vec<String> {
        self.actions(workload).iter().filter_map(|action| action.carry_out().err()).collect()
    }

    /// Switches everything off again.
    pub(super) fn put_back(&self) -> Vec<String> {
        self.prepare(&ReadWorkload::Baseline)
    }

    fn limits(&self, value: u8) -> Vec<Action> {
        self.switch("cdl_enable", value).into_iter().collect()
    }

    fn ncq_on(&self) -> Vec<Action> {
        let mut actions = vec![self.feature(&["--feature=0x57"])];
        actions.push(self.feature(&["--feature=0x58", &format!("--count={NCQ_KNOB}")]));
        actions.extend(self.switch("ncq_prio_enable", 1));
        actions
    }

    fn ncq_off(&self) -> Vec<Action> {
        // A disk without the attribute has no such mode to leave.
        let Some(off) = self.switch("ncq_prio_enable", 0) else { return Vec::new() };
        vec![off, self.feature(&["--feature=0x56"])]
    }

    /// A switch of sysfs, if the drive has it.
    fn switch(&self, attribute: &str, value: u8) -> Option<Action> {
        let file = self.sysfs.as_ref()?.join(attribute);
        let is_there = self.expected == Some(attribute) || file.exists();
        is_there.then_some(Action::Sysfs { file, value })
    }

    fn feature(&self, options: &[&str]) -> Action {
        let mut command = vec!["sg_sat_set_features".to_owned()];
        command.extend(options.iter().map(|option| (*option).to_owned()));
        command.push(self.name());
        Action::Command(command)
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

fn no_device(path: &Path, error: io::Error) -> RealError {
    RealError::Device { path: path.display().to_string(), error }
}

/// Where sysfs tells of a block device; `None` for a file.
pub(super) fn sysfs_of(path: &Path) -> Result<Option<PathBuf>, RealError> {
    let wrong = |error| no_device(path, error);
    let found = fs::metadata(path).map_err(wrong)?;
    if found.is_file() {
        return Ok(None);
    }
    if !found.file_type().is_block_device() {
        let text = "it is neither a block device nor a file";
        return Err(wrong(io::Error::new(io::ErrorKind::InvalidInput, text)));
    }
    let real = path.canonicalize().map_err(wrong)?;
    let name = real.file_name().expect("a device is no root");
    Ok(Some(Path::new("/sys/block").join(name).join("device")))
}

#[cfg(test)]
mod tests;
