//! fio as a process: begun in a folder of its own, ended when it is told or when this program dies.

use crate::Stop;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A fio under way. Dropping it kills it.
pub(crate) struct FioChild {
    child: Child,
    folder: PathBuf,
}

impl FioChild {
    /// Starts `program`, which is fio or becomes it, on jobs.
    pub(crate) fn begin(mut program: Command, folder: &Path, jobs: &str) -> Result<FioChild, Stop> {
        let cannot =
            |error: std::io::Error| Stop::Failed(format!("fio cannot be started: {error}"));
        fs::write(folder.join("clients.fio"), jobs).map_err(cannot)?;
        let errors = fs::File::create(folder.join("fio.err")).map_err(cannot)?;
        let child = program
            .args(["--output-format=json", "--output=fio.json", "clients.fio"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            // Ctrl-C is for the study, which ends fio in its own time.
            .process_group(0)
            .spawn()
            .map_err(cannot)?;
        Ok(FioChild { child, folder: folder.to_owned() })
    }

    pub(crate) fn is_running(&mut self) -> Result<bool, Stop> {
        let ended = self.child.try_wait();
        Ok(ended.map_err(|error| Stop::Failed(format!("fio was lost: {error}")))?.is_none())
    }

    /// fio ends what is in flight, and writes its results.
    pub(crate) fn interrupt(&self) -> Result<(), Stop> {
        kill_process(Pid::from_child(&self.child), Signal::INT)
            .map_err(|error| Stop::Failed(format!("fio cannot be stopped: {error}")))
    }

    pub(crate) fn last_words(&self) -> String {
        let text = fs::read_to_string(self.folder.join("fio.err")).unwrap_or_default();
        text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
    }

    /// What it wrote, from its first brace on: an interrupted fio says so first.
    pub(crate) fn report(&self) -> Option<Value> {
        let text = fs::read_to_string(self.folder.join("fio.json")).unwrap_or_default();
        text.find('{').and_then(|from| serde_json::from_str(&text[from..]).ok())
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for FioChild {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
