//! The offline checker on simulated disks.

use crate::StoreDisks;
use loadline_store::paged::StoreDevice;
use loadline_store::paged::check::{ReadAt, check};

impl ReadAt for StoreDisks {
    fn size(&self, target: StoreDevice) -> Option<u64> {
        match target {
            StoreDevice::Data => Some(self.data.spec().size.get()),
            StoreDevice::Log => self.log.as_ref().map(|log| log.spec().size.get()),
        }
    }

    fn read_at(&self, target: StoreDevice, offset: u64, buffer: &mut [u8]) -> bool {
        let end = offset.checked_add(buffer.len() as u64);
        let fits = |size: u64| end.is_some_and(|end| end <= size);
        let disk = match target {
            StoreDevice::Data => Some(&self.data),
            StoreDevice::Log => self.log.as_ref(),
        };
        match disk.filter(|disk| fits(disk.spec().size.get())) {
            Some(disk) => {
                disk.read(offset, buffer);
                true
            }
            None => false,
        }
    }
}

/// What the checker finds wrong, in words.
pub(super) fn findings(disks: &StoreDisks) -> Option<String> {
    let report = check(disks);
    let text = |(at, finding): (usize, _)| format!("{}{finding}", if at > 0 { "; " } else { "" });
    let findings: String = report.findings.iter().take(5).enumerate().map(text).collect();
    (!report.is_clean()).then(|| format!("{} findings: {findings}", report.findings.len()))
}
