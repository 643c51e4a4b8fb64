//! A limits study as it is meant: everything looked up, checked and ready to run.

use super::file::StepsSection;
use super::setup::LimitsSetup;
use loadline_base::Bytes;
use loadline_device::cdl::Limits;
use loadline_load::LoadSpec;
use loadline_sim::hdd::HddSpec;

/// Size of the objects that the image is striped over.
pub(super) const OBJECT: Bytes = Bytes::from_mib(4);

/// The steps of a study of duration limits, with what is set in them.
#[derive(Clone, Debug)]
pub(crate) struct LimitsStudy {
    pub(super) drive: HddSpec,
    pub(super) steps: StepsSection,
    pub(super) client: LoadSpec,
    /// What goes on beside it.
    pub(super) background: LoadSpec,
    /// What is uploaded to the drive.
    pub(super) limits: Limits,
    pub(super) setups: Vec<LimitsSetup>,
}

impl LimitsStudy {
    pub(super) fn guidelines(&self) -> String {
        let told = loadline_osd::guidelines(&self.limits);
        told.map(|(index, guideline)| format!("{index}: {guideline}"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}
