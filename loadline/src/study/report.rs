//! `loadline study report`

use super::run::{in_json, table, width};
use crate::cli::ReportArgs;
use crate::failure::Failure;
use crate::show;
use loadline_report::write_report;
use loadline_study::{RunFolder, Session};

pub(super) fn carry_out(args: &ReportArgs) -> Result<(), Failure> {
    let session = Session::reopen(RunFolder::at(&args.folder))?;
    let result = session.conclude()?;
    write_report(&args.folder, &result, session.facts())?;
    if args.json.json {
        return show::json(&in_json(&result, session.facts()));
    }
    let report = args.folder.join("report.html");
    show::text(&format!("{}\nreport: {}\n", table(&result, width()), report.display()))
}
