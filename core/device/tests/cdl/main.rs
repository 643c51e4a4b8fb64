//! Duration limits in their three forms: text file, SCSI mode page, ATA log.

mod ata;
mod feed;
mod file;
mod mode_page;
mod page;
mod random;
mod sample;
